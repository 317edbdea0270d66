//! Which machine a measurement is from: timings of two machines say nothing about the code.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// What timings depend on. What is not known is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    pub cpu: String,
    /// How many processors this process may use.
    pub cores: usize,
    /// The operating system and architecture.
    pub system: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub driver: String,
}

impl Machine {
    pub fn here() -> Machine {
        Machine::read(Path::new("/proc"))
    }

    fn read(proc: &Path) -> Machine {
        let text = |path: &str| fs::read_to_string(proc.join(path)).unwrap_or_default();
        let field = |text: &str, name: &str| {
            let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name));
            line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned())
        };
        let folders = fs::read_dir(proc.join("driver/nvidia/gpus")).into_iter().flatten().flatten();
        let mut gpus: Vec<String> = folders
            .filter_map(|entry| field(&fs::read_to_string(entry.path().join("information")).ok()?, "Model"))
            .collect();
        gpus.sort();
        let driver = text("driver/nvidia/version");
        let driver = driver.lines().next().unwrap_or_default();
        // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23 …"
        let driver = driver
            .split_whitespace()
            .find(|word| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.'));
        Machine {
            cpu: field(&text("cpuinfo"), "model name").unwrap_or_default(),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            gpus,
            driver: driver.unwrap_or_default().to_owned(),
        }
    }

    /// What is different on another machine, in words; `None` if timings can be compared.
    pub fn differs_from(&self, other: &Machine) -> Option<String> {
        let list = |gpus: &[String]| if gpus.is_empty() { "no GPU".to_owned() } else { gpus.join(", ") };
        [
            ("processor", self.cpu.clone(), other.cpu.clone()),
            ("number of processors", self.cores.to_string(), other.cores.to_string()),
            ("system", self.system.clone(), other.system.clone()),
            ("GPUs", list(&self.gpus), list(&other.gpus)),
            ("GPU driver", self.driver.clone(), other.driver.clone()),
        ]
        .into_iter()
        .find(|(_, here, there)| here != there)
        .map(|(what, here, there)| format!("{what}: {here} here, {there} in the baseline"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_read_off_the_systems_files() {
        let root = std::env::temp_dir().join(format!("stepscope-machine-{}", std::process::id()));
        let gpu = root.join("driver/nvidia/gpus/0000:19:00.0");
        fs::create_dir_all(&gpu).unwrap();
        fs::write(root.join("cpuinfo"), "processor\t: 0\nmodel name\t: Xeon 8\nmodel name\t: Xeon 8\n")
            .unwrap();
        fs::write(gpu.join("information"), "Model: \t\t NVIDIA H200\nIRQ: 1\n").unwrap();
        let version =
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Thu Jan 23\nGCC version: 12.2\n";
        fs::write(root.join("driver/nvidia/version"), version).unwrap();
        let found = Machine::read(&root);
        assert_eq!((found.cpu.as_str(), found.driver.as_str()), ("Xeon 8", "570.86.15"));
        assert_eq!(found.gpus, ["NVIDIA H200"]);
        let without = Machine { gpus: Vec::new(), ..found.clone() };
        assert_eq!(found.differs_from(&found), None);
        let words = without.differs_from(&found).unwrap();
        assert_eq!(words, "GPUs: no GPU here, NVIDIA H200 in the baseline");
        fs::remove_dir_all(&root).unwrap();
    }
}
