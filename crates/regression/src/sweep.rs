//! One command with several settings: their combinations, and which of them is worth having.

use std::ffi::{OsStr, OsString};

use stepscope_ground::Problem;

use crate::Measurement;

/// More combinations than this are a mistake.
const MAX_COMBINATIONS: usize = 1_000;

/// A setting and the values to try: `batch=32,64,128`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name; `{name}` in the command is replaced.
    pub name: String,
    pub values: Vec<String>,
}

impl Setting {
    /// Reads `name=a,b,c`.
    pub fn parse(text: &str) -> Result<Setting, Problem> {
        let wrong =
            || Problem::new(format!("this is not a setting to try: {text}"), "write --arg batch=32,64,128");
        let (name, values) = text.split_once('=').ok_or_else(wrong)?;
        let values: Vec<String> = values.split(',').map(|v| v.trim().to_owned()).collect();
        if name.trim().is_empty() || values.iter().any(String::is_empty) {
            return Err(wrong());
        }
        Ok(Setting { name: name.trim().to_owned(), values })
    }
}

/// One combination: the value of each setting, in the order of the settings.
pub type Combination = Vec<String>;

/// All combinations, the last setting changing fastest.
pub fn combinations(settings: &[Setting]) -> Result<Vec<Combination>, Problem> {
    let count = settings.iter().try_fold(1usize, |count, setting| count.checked_mul(setting.values.len()));
    if count.is_none_or(|count| count > MAX_COMBINATIONS) {
        return Err(Problem::new(
            format!("these settings have more than {MAX_COMBINATIONS} combinations"),
            "try fewer values at a time",
        ));
    }
    let mut all = vec![Vec::new()];
    for setting in settings {
        all = all
            .iter()
            .flat_map(|head: &Vec<String>| {
                setting.values.iter().map(|value| [head.as_slice(), std::slice::from_ref(value)].concat())
            })
            .collect();
    }
    Ok(all)
}

/// The command of a combination. A setting that the command does not mention is an error.
pub fn command(
    words: &[OsString],
    settings: &[Setting],
    combination: &Combination,
) -> Result<Vec<OsString>, Problem> {
    let mut used = vec![false; settings.len()];
    let filled = words.iter().map(|word| {
        let Some(text) = word.to_str() else { return word.clone() };
        let mut text = text.to_owned();
        for ((setting, value), used) in settings.iter().zip(combination).zip(&mut used) {
            let mark = format!("{{{}}}", setting.name);
            *used |= text.contains(&mark);
            text = text.replace(&mark, value);
        }
        AsRef::<OsStr>::as_ref(&text).to_owned()
    });
    let filled: Vec<OsString> = filled.collect();
    match settings.iter().zip(&used).find(|(_, used)| !**used) {
        Some((setting, _)) => Err(Problem::new(
            format!("the command does not use the setting {}", setting.name),
            format!("put {{{0}}} where its value goes: -- python train.py --{0} {{{0}}}", setting.name),
        )),
        None => Ok(filled),
    }
}

/// What a combination gives and costs.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Tradeoff {
    /// More is better.
    pub throughput: f64,
    /// Less is better; unknown for all or for none.
    pub memory: Option<f64>,
}

impl Tradeoff {
    /// `items` is how many items a step has. `self_timed`: go by the throughput that the programs measured themselves. `None`
    /// for what took no time.
    pub fn of(measurement: &Measurement, items: Option<f64>, self_timed: bool) -> Option<Tradeoff> {
        let ns = measurement.center(measurement.usual_metric()).filter(|ns| *ns > 0.0)?;
        let measured = measurement.center("samples_per_s").filter(|_| self_timed);
        let memory = measurement.center("peak_gpu_memory").or_else(|| measurement.center("peak_memory"));
        Some(Tradeoff { throughput: measured.unwrap_or(items.unwrap_or(1.0) / (ns / 1e9)), memory })
    }
}

/// Which combinations no other one beats in both throughput and memory.
pub fn front(all: &[Tradeoff]) -> Vec<bool> {
    let beats = |a: &Tradeoff, b: &Tradeoff| {
        let (more, less) = (a.memory.unwrap_or(0.0), b.memory.unwrap_or(0.0));
        a.throughput >= b.throughput && more <= less && (a.throughput > b.throughput || more < less)
    };
    all.iter().map(|each| !all.iter().any(|other| beats(other, each))).collect()
}

/// The combination to take: the highest throughput; of those within `noise` of it, the one with the least memory.
pub fn pick(all: &[Tradeoff], noise: f64) -> Option<usize> {
    let best = all.iter().map(|worth| worth.throughput).max_by(f64::total_cmp)?;
    let close = (0..all.len()).filter(|&at| all[at].throughput >= best * (1.0 - noise));
    close.min_by(|&a, &b| {
        let memory = |at: usize| all[at].memory.unwrap_or(0.0);
        memory(a).total_cmp(&memory(b)).then(all[b].throughput.total_cmp(&all[a].throughput))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_has_its_command() {
        let settings = [Setting::parse("batch=32,64").unwrap(), Setting::parse("w=0,4").unwrap()];
        let all = combinations(&settings).unwrap();
        assert_eq!(all, [["32", "0"], ["32", "4"], ["64", "0"], ["64", "4"]]);
        let words = ["train", "--batch={batch}", "{w}{w}"].map(OsString::from);
        assert_eq!(
            command(&words, &settings, &all[3]).unwrap(),
            ["train", "--batch=64", "44"].map(OsString::from)
        );
        assert!(command(&words[..2], &settings, &all[3]).unwrap_err().hint.contains("--w {w}"));
        for wrong in ["batch", "=3", "batch=", "batch=1,,2"] {
            assert!(Setting::parse(wrong).is_err(), "{wrong}");
        }
        let many = Setting { name: "a".to_owned(), values: vec!["x".to_owned(); 40] };
        assert!(combinations(&[many.clone(), many]).is_err());
    }

    #[test]
    fn nobody_beats_the_front() {
        let worth = |throughput: f64, memory: f64| Tradeoff { throughput, memory: Some(memory) };
        let all = [worth(10.0, 5.0), worth(19.0, 7.0), worth(18.0, 8.0), worth(19.2, 20.0)];
        assert_eq!(front(&all), [true, true, false, true]);
        // 19.2 is within 2% of 19 and takes three times the memory.
        assert_eq!(pick(&all, 0.02), Some(1));
        assert_eq!(pick(&all, 0.0), Some(3));
        assert_eq!(pick(&[], 0.0), None);
    }
}
