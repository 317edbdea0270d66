//! Questions as commands: built from the registry, so that a new question is a new command by itself.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};
use stepscope_ask::{Ask, Findings, OPTIONS, OptionSpec, Question, Takes};
use stepscope_ground::Problem;

use super::values::size;
use super::{Common, FailOn};

/// Room for an example before what it shows.
const EXAMPLE_COLUMNS: usize = 52;

/// Where a page is written to, and what may be in it.
#[derive(Debug)]
pub(crate) struct Html {
    pub(crate) path: PathBuf,
    pub(crate) max_size: usize,
    pub(crate) redact: bool,
}

impl Html {
    fn from_matches(matches: &ArgMatches) -> Option<Html> {
        Some(Html {
            path: matches.get_one::<PathBuf>("html")?.clone(),
            max_size: matches.get_one::<usize>("max-size").copied().unwrap_or_default(),
            redact: matches.get_flag("redact"),
        })
    }

    fn args(command: Command) -> Command {
        let html = Arg::new("html").long("html").value_name("FILE").value_parser(value_parser!(PathBuf));
        let size = Arg::new("max-size").long("max-size").value_name("SIZE").value_parser(size);
        let redact = Arg::new("redact").long("redact").action(ArgAction::SetTrue);
        command
            .arg(html.help("Write the comparison as one HTML file too, with both runs: open it in any browser"))
            .arg(
                size.default_value("20MB")
                    .requires("html")
                    .help("Maximum size of that file; what does not fit is left out, and the page says so"),
            )
            .arg(redact.requires("html").help("Leave folder names and arguments out of that file"))
    }
}

/// A question as it was typed.
#[derive(Debug)]
pub(crate) struct QuestionArgs {
    pub(crate) question: &'static Question,
    pub(crate) common: Common,
    /// More files, where the question takes them.
    pub(crate) more: Vec<PathBuf>,
    /// The later side of a comparison, where it is named as such.
    pub(crate) after: Vec<PathBuf>,
    /// The file that a comparison is written to as a page.
    pub(crate) html: Option<Html>,
    /// Options of the question with their values, in the order of the command line.
    options: Vec<(&'static str, String)>,
    /// Where rules and thresholds of findings are set.
    pub(crate) config: Option<PathBuf>,
    /// The severity that makes the answer a no.
    pub(crate) fail_on: Option<FailOn>,
    /// Whether the rules are wanted instead of an answer.
    pub(crate) list: bool,
}

impl QuestionArgs {
    pub(crate) fn from_matches(
        question: &'static Question,
        matches: &ArgMatches,
    ) -> Result<QuestionArgs, clap::Error> {
        let mut options: Vec<(usize, &'static str, String)> = Vec::new();
        for spec in options_of(question) {
            match spec.value {
                None if matches.get_flag(spec.name) => {
                    options.push((matches.index_of(spec.name).unwrap_or(0), spec.name, String::new()));
                }
                None => {}
                Some(_) => {
                    let places = matches.indices_of(spec.name).into_iter().flatten();
                    let values = matches.get_many::<String>(spec.name).into_iter().flatten();
                    options.extend(places.zip(values).map(|(at, value)| (at, spec.name, value.clone())));
                }
            }
        }
        options.sort_by_key(|option| option.0);
        let paths = |known: bool, name: &str| -> Vec<PathBuf> {
            let given = if known { matches.get_many::<PathBuf>(name) } else { None };
            given.into_iter().flatten().cloned().collect()
        };
        let gates = question.findings == Findings::Answer;
        Ok(QuestionArgs {
            common: Common::from_arg_matches(matches)?,
            more: paths(question.takes != Takes::One, "more"),
            after: paths(question.compares(), "after"),
            html: if question.compares() { Html::from_matches(matches) } else { None },
            options: options.into_iter().map(|(_, name, value)| (name, value)).collect(),
            config: paths(question.judges(), "config").pop(),
            fail_on: if gates { matches.get_one::<FailOn>("fail-on").copied() } else { None },
            list: gates && matches.get_flag("list"),
            ..QuestionArgs::about(question, Common::default())
        })
    }

    /// A question without options.
    pub(crate) fn about(question: &'static Question, common: Common) -> QuestionArgs {
        QuestionArgs {
            question,
            common,
            more: Vec::new(),
            after: Vec::new(),
            html: None,
            options: Vec::new(),
            config: None,
            fail_on: None,
            list: false,
        }
    }

    /// The question itself.
    pub(crate) fn ask(&self) -> Result<Ask, Problem> {
        let mut ask = Ask::about_all(self.question);
        for (option, value) in &self.options {
            ask.set(option, value)?;
        }
        Ok(ask)
    }

    /// The first option given, if any.
    pub(crate) fn first_option(&self) -> Option<&'static str> {
        self.options.first().map(|option| option.0)
    }
}

fn options_of(question: &'static Question) -> impl Iterator<Item = &'static OptionSpec> {
    OPTIONS.iter().filter(|spec| question.has_option(spec.name))
}

/// The command of a question.
pub(super) fn command(question: &'static Question) -> Command {
    let command = with_args(Command::new(question.name), question);
    // After the arguments: their struct has words of its own, which clap would take for the command's.
    let command = command.about(question.about).long_about(None).after_help(examples(question));
    match question.alias {
        Some(alias) => command.visible_alias(alias),
        None => command,
    }
}

/// A command with the arguments of a question.
pub(super) fn with_args(command: Command, question: &'static Question) -> Command {
    let mut command = command;
    for spec in options_of(question) {
        command = command.arg(arg(spec, question));
    }
    if question.judges() {
        let help = "TOML file that turns rules off and sets thresholds (default: ./stepscope.toml)";
        let config = Arg::new("config").long("config").value_name("FILE").help(help);
        command = command.arg(config.value_parser(value_parser!(PathBuf)));
    }
    command = Common::augment_args(command);
    if let Takes::Several(help) | Takes::Sides(help) = question.takes {
        let more = Arg::new("more").value_name("MORE").num_args(0..).value_parser(value_parser!(PathBuf));
        command = command.arg(more.help(help));
    }
    if question.compares() {
        let after = Arg::new("after").long("after").value_name("AFTER").num_args(1..);
        command = command.arg(
            after.value_parser(value_parser!(PathBuf)).help("The later runs, where a side has several files"),
        );
        command = Html::args(command);
    }
    if question.findings == Findings::Answer {
        let fail_on =
            Arg::new("fail-on").long("fail-on").value_name("SEVERITY").value_parser(value_parser!(FailOn));
        let list = Arg::new("list").long("list").visible_alias("rules").action(ArgAction::SetTrue);
        command = command
            .arg(fail_on.help("Exit with code 1 if a finding (matching --filter) is at least this severe"))
            .arg(list.help("List the rules and their thresholds instead; needs no trace"))
            .mut_arg("path", |path| path.required_unless_present_any(["explain", "list"]))
            .mut_arg("format", |format| {
                format.help("Output format: table, json, csv, md, or sarif for code scanning")
            });
    }
    command
}

fn arg(spec: &'static OptionSpec, question: &'static Question) -> Arg {
    let arg = Arg::new(spec.name).long(spec.name);
    let Some(value) = spec.value else { return arg.help(spec.help).action(ArgAction::SetTrue) };
    let arg = arg.value_name(value);
    match spec.name {
        "by" => arg
            .help(format!("{} (default: {})", spec.help, question.by[0]))
            .value_parser(PossibleValuesParser::new(question.by))
            .ignore_case(true),
        // Their order says which speedup belongs to which name.
        "op" if question.has_option("speedup") => {
            let help = "An operator or named range, with everything it calls; follow it with `--speedup`";
            arg.help(help).action(ArgAction::Append)
        }
        "op" => arg.help("Only kernels, copies and memsets of the operator or range with exactly this name"),
        "kernel" => arg.help(spec.help).action(ArgAction::Append),
        "speedup" => arg.help(spec.help).action(ArgAction::Append).allow_negative_numbers(true),
        "top" => arg.help(spec.help).short('n'),
        "frames" | "device" | "step" => arg.help(spec.help).allow_negative_numbers(true),
        _ => arg.help(spec.help),
    }
}

/// The examples as a shell takes them.
fn examples(question: &Question) -> String {
    let heading = if question.examples.len() == 1 { "Example:" } else { "Examples:" };
    let mut text = heading.to_owned();
    for example in question.examples {
        let (line, about) = example.split_once("  ").unwrap_or((example, ""));
        let line = format!("stepscope {}", line.replace("TRACE", "trace.json.gz"));
        let gap = if about.is_empty() { 0 } else { EXAMPLE_COLUMNS.saturating_sub(line.len()).max(2) };
        text.push_str(&format!("\n  {line}{}{about}", " ".repeat(gap)));
    }
    if question.findings == Findings::Answer {
        text.push_str(
            "\n\nstepscope.toml:\n  [findings]\n  off = [\"low_utilization\"]\n  [findings.thresholds]\n  \
             \"data_loading.min_share\" = 0.1",
        );
    }
    text
}
