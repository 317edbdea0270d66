//! `--op NAME --speedup X` and `--kernel TEXT --speedup X`, in the order in which they stand on the command line.
//!
//! clap keeps the values of each option apart; which speedup belongs to which name is told by their places.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

/// One of these options with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// `--op NAME`.
    Op(String),
    /// `--kernel TEXT`.
    Kernel(String),
    /// `--speedup X`, as written.
    Speedup(String),
}

/// All of them, as they were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faster {
    /// In the order of the command line.
    pub(crate) words: Vec<Word>,
}

impl FromArgMatches for Faster {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Faster, Error> {
        let mut words: Vec<(usize, Word)> = Vec::new();
        for (id, word) in [
            ("op", Word::Op as fn(String) -> Word),
            ("kernel", Word::Kernel as fn(String) -> Word),
            ("speedup", Word::Speedup as fn(String) -> Word),
        ] {
            let places = matches.indices_of(id).into_iter().flatten();
            let values = matches.get_many::<String>(id).into_iter().flatten();
            words.extend(places.zip(values).map(|(place, value)| (place, word(value.clone()))));
        }
        words.sort_by_key(|w| w.0);
        Ok(Faster { words: words.into_iter().map(|w| w.1).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Faster::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Faster {
    fn augment_args(command: Command) -> Command {
        let option = |id: &'static str, value: &'static str, help: &'static str| {
            Arg::new(id).long(id).value_name(value).help(help).action(ArgAction::Append)
        };
        let speedup = "How many times faster the operator or kernels before it are";
        command
            .arg(option("op", "NAME", "An operator or named range, with all it calls; `--speedup` follows"))
            .arg(option("kernel", "TEXT", "Kernels with this text in their name; `--speedup` follows"))
            .arg(option("speedup", "X", speedup).allow_negative_numbers(true))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Faster::augment_args(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_the_command_line_is_kept() {
        let command = Faster::augment_args(Command::new("x"));
        let line = ["x", "--op", "a", "--speedup", "2", "--kernel", "k", "--speedup", "-1", "--op", "b"];
        let found = Faster::from_arg_matches(&command.get_matches_from(line)).unwrap();
        let text = |text: &str| text.to_owned();
        assert_eq!(
            found.words,
            [
                Word::Op(text("a")),
                Word::Speedup(text("2")),
                Word::Kernel(text("k")),
                Word::Speedup(text("-1")),
                Word::Op(text("b"))
            ]
        );
    }
}
