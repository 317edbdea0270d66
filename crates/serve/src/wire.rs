//! The types of everything the page is sent, as TypeScript. `ui/src/data/wire.ts` is written by a test from the Rust types
//! and the forms of answers, never from examples; another test holds what is really sent against the same schemas.

mod conforms;
mod examples;
mod typescript;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;
use stepscope_analyse::causes::cause::Cause;
use stepscope_analyse::causes::idle::GapKind;
use stepscope_analyse::replay::critical_path::PathClass;
use stepscope_analyse::replay::what_if::MAX_REPLAY_ERROR;
use stepscope_analyse::views::flame::Flame;
use stepscope_analyse::views::memory::{AllocationDetails, Instant, MemoryAbout, PictureHead};
use stepscope_analyse::views::timeline::{Area, CATEGORIES, Details, Hits, Layout};
use stepscope_ask::write::{self, AnswerFrame};
use stepscope_ask::{Form, MemberKind, QUESTIONS, answer};
use stepscope_service::dashboard::ServiceDashboard;
use stepscope_service::thresholds::{
    FAST_BURN_TIMES, HIGH_ERROR_SHARE, LOW_BUDGET_SHARE, MIN_ERROR_SHARE, SLOW_BURN_TIMES,
};

use self::conforms::misfit;
use self::examples::{asked, profiles, traces};
use self::typescript::{declaration, key, list, typescript};
use crate::api::reply;
use crate::backend::{BaselineListed, MetricHistory};
use crate::cached_run::CachedRun;
use crate::messages::{
    Counters, ErrorReply, Names, PathPieces, ReportMade, SessionInfo, ShownPages, StillLoading,
};
use crate::runs::ListedRun;
use crate::source::SourceFile;
use crate::source_files::SourceFiles;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Schemas of what is written, not of what could be read.
fn generator() -> SchemaGenerator {
    SchemaSettings::default().for_serialize().into_generator()
}

/// Every type that the page is sent outside of answers.
fn declare_all(generator: &mut SchemaGenerator) {
    fn declare<T: JsonSchema>(generator: &mut SchemaGenerator) {
        generator.subschema_for::<T>();
    }
    declare::<AnswerFrame<'_>>(generator);
    declare::<SessionInfo<'_>>(generator);
    declare::<StillLoading>(generator);
    declare::<ErrorReply<'_>>(generator);
    declare::<Names<'_>>(generator);
    declare::<Counters>(generator);
    declare::<PathPieces<'_>>(generator);
    declare::<ShownPages>(generator);
    declare::<BaselineListed>(generator);
    declare::<MetricHistory>(generator);
    declare::<ServiceDashboard>(generator);
    declare::<SourceFile>(generator);
    declare::<Layout>(generator);
    declare::<Details>(generator);
    declare::<Area>(generator);
    declare::<Hits>(generator);
    declare::<Flame>(generator);
    declare::<MemoryAbout>(generator);
    declare::<PictureHead>(generator);
    declare::<Instant>(generator);
    declare::<AllocationDetails>(generator);
}

/// The members of a form as TypeScript.
fn interface(form: &Form, generator: &mut SchemaGenerator) -> String {
    let mut text = format!("export interface {} extends AnswerFrame {{\n", form.name);
    for member in form.members() {
        let one = typescript(member.schema(generator).as_value());
        let kind = if member.kind == MemberKind::Rows { list(&one) } else { one };
        let optional = if member.always { "" } else { "?" };
        let _ = writeln!(text, "  {}{optional}: {kind};", member.key);
    }
    text + "}\n"
}

fn generated() -> String {
    let mut generator = generator();
    declare_all(&mut generator);
    let mut answers: BTreeMap<&str, String> = BTreeMap::new();
    for question in QUESTIONS {
        for form in question.forms {
            let known = answers.insert(form.name, interface(form, &mut generator));
            assert!(known.is_none(), "two forms are called alike: {}", form.name);
        }
    }
    let mut text = String::from(
        "// What the server sends, written by a test of `crates/serve` from the Rust types: `make wire` writes it anew.\n\
         // What a member means is said there. All times are nanoseconds since the trace's first event.\n",
    );
    let definitions: BTreeMap<&String, &Value> = generator.definitions().iter().collect();
    let alike: Vec<_> = definitions
        .keys()
        .filter(|name| name.ends_with(|c: char| c.is_ascii_digit()) || answers.contains_key(name.as_str()))
        .collect();
    assert!(
        alike.is_empty(),
        "several types are called alike; rename one of each with #[schemars(rename)]: {alike:?}"
    );
    for (name, schema) in definitions {
        let _ = write!(text, "\n{}", declaration(name, schema));
    }
    for answer in answers.values() {
        let _ = write!(text, "\n{answer}");
    }
    text.push_str("\n/** The forms of answers, by question. */\nexport interface Answers {\n");
    for question in QUESTIONS {
        let forms: Vec<&str> = question.forms.iter().map(|form| form.name).collect();
        let _ = writeln!(text, "  {}: {};", key(question.name), forms.join(" | "));
    }
    text + "}\n" + &constants()
}

/// Lists and thresholds that the page goes by as well.
fn constants() -> String {
    let mut text = String::from(
        "\n/** How questions group their rows, the default first. */\nexport const GROUPINGS = {\n",
    );
    for question in QUESTIONS.iter().filter(|question| !question.by.is_empty()) {
        let _ = writeln!(text, "  {}: {:?},", key(question.name), question.by);
    }
    text +=
        "} as const;\n\n/** What keys are called, on the page as in every table. */\nexport const LABELS = {\n";
    labels(&mut text, "cause", Cause::all().map(|cause| (cause, cause.label_of_idle())));
    labels(&mut text, "gap", GapKind::ALL.map(|kind| (kind, kind.label())));
    labels(&mut text, "path", PathClass::ALL.map(|class| (class, class.label())));
    let reported = |question: &&stepscope_ask::Question| question.report_by.unwrap_or_default().iter();
    let flags: Vec<&str> = QUESTIONS
        .iter()
        .flat_map(|question| reported(question).filter(|word| !question.by.contains(word)).copied())
        .collect();
    let _ = write!(
        text,
        "}} satisfies Record<string, Record<string, string>>;\n\n\
         /** Flags whose answers a report may hold beside the plain one. */\n\
         export const REPORT_FLAGS: readonly string[] = {flags:?};\n\n\
         /** What the categories of slices are called, by number. */\n\
         export const CATEGORIES = {CATEGORIES:?} as const;\n\n\
         /** An error budget that burns so many times too fast alerts at once, or soon. */\n\
         export const FAST_BURN_TIMES = {FAST_BURN_TIMES};\n\
         export const SLOW_BURN_TIMES = {SLOW_BURN_TIMES};\n\n\
         /** A share of failed requests to look at, and one whose change says something. */\n\
         export const HIGH_ERROR_SHARE = {HIGH_ERROR_SHARE};\n\
         export const MIN_ERROR_SHARE = {MIN_ERROR_SHARE};\n\n\
         /** So much of an error budget is nearly all of it. */\n\
         export const LOW_BUDGET_SHARE = {LOW_BUDGET_SHARE};\n\n\
         /** A replay that is further off than this, as a share of the measured time, only gives bounds. */\n\
         export const MAX_REPLAY_ERROR = {MAX_REPLAY_ERROR};\n"
    );
    text
}

fn labels<K: Serialize>(text: &mut String, of: &str, keys: impl IntoIterator<Item = (K, &'static str)>) {
    let _ = writeln!(text, "  {of}: {{");
    for (known, label) in keys {
        let name = serde_json::to_value(known).unwrap();
        let _ = writeln!(text, "    {}: {label:?},", key(name.as_str().unwrap()));
    }
    text.push_str("  },\n");
}

#[test]
fn the_page_has_the_types_of_what_it_is_sent() {
    let path = root().join("ui/src/data/wire.ts");
    let text = generated();
    if std::env::var_os("STEPSCOPE_WRITE_WIRE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let held = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(held == text, "ui/src/data/wire.ts is not what the Rust types say: run `make wire`");
}

/// Holds an answer against its form, member by member.
fn check_answer(
    form: &Form,
    object: &serde_json::Map<String, Value>,
    generator: &mut SchemaGenerator,
) -> Option<String> {
    let mut frame = object.clone();
    for member in form.members() {
        let Some(value) = frame.remove(member.key) else { continue };
        let schema = member.schema(generator);
        let rows = match (member.kind, &value) {
            (MemberKind::Rows, Value::Array(rows)) => rows.as_slice(),
            _ => std::slice::from_ref(&value),
        };
        let wrong = rows.iter().find_map(|row| misfit(row, schema.as_value(), generator.definitions()));
        if let Some(wrong) = wrong {
            return Some(format!("{}: {wrong}", member.key));
        }
    }
    let schema = generator.subschema_for::<AnswerFrame<'_>>();
    misfit(&Value::Object(frame), schema.as_value(), generator.definitions())
}

#[test]
fn answers_are_what_their_forms_say() {
    let mut generator = generator();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for runs in [traces(), profiles()] {
        for question in QUESTIONS {
            for (what, ask, asked) in asked(question, &runs) {
                // Some questions have no answer about a trace without a device, and some flags none about a trace.
                let Ok(found) = answer(&ask, &asked) else { continue };
                let form = question
                    .form_of(asked[0].kind(), &found)
                    .unwrap_or_else(|why| panic!("{what}: {}", why.what));
                seen.insert(form.name);
                let wrong = check_answer(form, &write::object(&found, true), &mut generator);
                assert!(wrong.is_none(), "{what} is no {}: {}", form.name, wrong.unwrap_or_default());
            }
        }
    }
    let unseen: Vec<&str> = QUESTIONS
        .iter()
        .flat_map(|question| question.forms)
        .map(|form| form.name)
        .filter(|name| !seen.contains(name))
        .collect();
    assert!(unseen.is_empty(), "no example has these forms; add one to `examples.rs`: {unseen:?}");
}

/// Holds what an endpoint sends against the type that the page takes it for.
fn check_reply<T: JsonSchema>(run: &CachedRun, path: &str, query: &str) -> bool {
    let Some(Ok(reply)) = reply(run, path, query) else { return false };
    let body = match path {
        // A picture begins with the length of its head.
        "memory/picture" => {
            let length = u64::from_le_bytes(*reply.body.first_chunk().unwrap()) as usize;
            &reply.body[8..8 + length]
        }
        _ => &reply.body[..],
    };
    check::<T>(&serde_json::from_slice(body).unwrap(), path);
    true
}

fn check<T: JsonSchema>(value: &Value, what: &str) {
    let mut generator = generator();
    let schema = generator.subschema_for::<T>();
    let wrong = misfit(value, schema.as_value(), generator.definitions());
    assert!(wrong.is_none(), "{what}: {}", wrong.unwrap_or_default());
}

#[test]
fn endpoints_send_what_their_types_say() {
    let mut sent: BTreeMap<&str, bool> = BTreeMap::new();
    for run in traces().into_iter().chain(profiles()) {
        let file = run.profile().and_then(|profile| {
            let named = profile.stacks.frames().map(|(_, frame)| profile.stacks.text(frame.file));
            named.filter(|name| !name.is_empty()).map(str::to_owned).next()
        });
        let run = CachedRun::new(run, SourceFiles::default(), Arc::default());
        let mut note = |path, answered| *sent.entry(path).or_default() |= answered;
        note("timeline", check_reply::<Layout>(&run, "timeline", ""));
        note("names", check_reply::<Names<'_>>(&run, "names", "ids=0"));
        note("slice", check_reply::<Details>(&run, "slice/0", ""));
        note("area", check_reply::<Area>(&run, "area", "rows=0-40"));
        note("search", check_reply::<Hits>(&run, "search", "q=a&limit=50"));
        note("counters", check_reply::<Counters>(&run, "counters", "buckets=10"));
        note("path", check_reply::<PathPieces<'_>>(&run, "path", "buckets=100"));
        note("shown", check_reply::<ShownPages>(&run, "shown", ""));
        for weight in ["weight=host", "weight=device", "weight=module"] {
            note("flame", check_reply::<Flame>(&run, "flame", weight));
        }
        let source = format!("file={}", file.unwrap_or_default());
        note("source", check_reply::<SourceFile>(&run, "source", &source));
        note("memory/about", check_reply::<MemoryAbout>(&run, "memory/about", ""));
        note("memory/picture", check_reply::<PictureHead>(&run, "memory/picture", "to=1000&high=1e9"));
        note("memory/state", check_reply::<Instant>(&run, "memory/state", "state=1"));
        note("memory/flame", check_reply::<Flame>(&run, "memory/flame", "state=1"));
        note("memory/allocation", check_reply::<AllocationDetails>(&run, "memory/allocation", "id=0"));
        note("memory/segment", check_reply::<AllocationDetails>(&run, "memory/allocation", "id=0&of=segments"));
    }
    let silent: Vec<_> = sent.iter().filter(|(_, answered)| !**answered).map(|(path, _)| path).collect();
    assert!(silent.is_empty(), "no example gets an answer from {silent:?}");
    let mut opened = SessionInfo {
        version: "1",
        watching: false,
        runs: vec![ListedRun::in_report(0, "a")],
        history: false,
        service: None,
        problem: None,
        report: None,
    };
    check::<SessionInfo<'_>>(&serde_json::to_value(&opened).unwrap(), "what is open");
    opened.report = Some(ReportMade { made: "a", left_out: &[] });
    check::<SessionInfo<'_>>(&serde_json::to_value(&opened).unwrap(), "what is open in a report");
}
