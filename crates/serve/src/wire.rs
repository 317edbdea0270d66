//! The types of everything the page is sent, as TypeScript: `ui/src/data/wire.ts` is written by the test below, so that
//! no copy of a Rust type is kept by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;
use stepscope_analyse::compare::{ComparedBy, PairRow, SideRow};
use stepscope_analyse::run::Run;
use stepscope_analyse::scope::definition::Definition;
use stepscope_analyse::tables::functions::EdgeRow;
use stepscope_analyse::views::flame::Flame;
use stepscope_analyse::views::memory::{AllocationDetails, Instant, MemoryAbout, PictureHead};
use stepscope_analyse::views::timeline::{Area, Counter, Details, Hits, Layout};
use stepscope_ask::{Ask, DIFF, QUESTIONS, Question, answer};
use stepscope_formats::{OpenOptions, open, open_trace};
use stepscope_ground::Problem;
use stepscope_production::dashboard::ServiceDashboard;

use crate::backend::{BaselineListed, MetricHistory};
use crate::path::Stretch;
use crate::runs::Listed;
use crate::source::SourceFile;

/// A part or a fact of an answer: its types, and in how many of the answers it is.
#[derive(Default)]
struct Member {
    types: BTreeSet<String>,
    seen: usize,
}

#[derive(Default)]
struct AnswerType {
    members: BTreeMap<&'static str, Member>,
    /// Parts with rows, which can be asked for page by page.
    paged: BTreeSet<&'static str>,
    answers: usize,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Traces that together have everything: kernels, stacks, modules, memory, communication, data loading, compiled programs, and
/// nothing.
fn runs() -> Vec<Arc<Run>> {
    let fixtures = root().join("fixtures/pytorch");
    let paths = [
        "2.11-h200/gpt_stack/gpt_stack.pt.trace.json.gz",
        "2.11-h200/conv_slow_loader/conv_slow_loader.pt.trace.json.gz",
        "mini/mini.pt.trace.json",
        "../xla/layers.xplane.pb",
    ];
    let read = |path: &&str| open_trace(&fixtures.join(path), &OpenOptions::default()).unwrap();
    paths.iter().map(read).map(|trace| Arc::new(Run::new(trace))).collect()
}

/// Profiles that together have everything: calls, lines, stacks and memory.
fn profiles() -> Vec<Arc<Run>> {
    let fixtures = root().join("fixtures/profiles");
    let paths = [
        "demo-3.11.pstats",
        "hot-5.1.lprof",
        "pyspy.raw",
        "cache.mem",
        "../memory/out_of_memory_by_shortage.pickle.gz",
    ];
    let read = |path: &&str| open(&fixtures.join(path), &OpenOptions::default()).unwrap();
    paths.iter().map(read).map(|document| Arc::new(Run::of_document(document))).collect()
}

/// The types of the answers about some runs.
fn answers(generator: &mut SchemaGenerator, runs: &[Arc<Run>]) -> BTreeMap<&'static str, AnswerType> {
    let mut all: BTreeMap<&'static str, AnswerType> = BTreeMap::new();
    let fits = |question: &Question| runs.iter().all(|run| question.answers_for.contains(&run.kind()));
    for question in QUESTIONS.iter().copied().chain([&DIFF]).filter(|question| fits(question)) {
        let of_question = all.entry(question.name).or_default();
        let flags = question.report_by.unwrap_or_default().iter().filter(|word| !question.by.contains(word));
        let ways: Vec<Option<(&str, &str)>> = question
            .variants()
            .map(|by| by.map(|by| ("by", by)))
            .chain(flags.map(|&flag| Some((flag, "1"))))
            .chain((question.name == "hlo").then_some(Some(("around", "custom-call.1"))))
            .collect();
        for (way, run) in ways.iter().flat_map(|way| runs.iter().map(move |run| (way, run))) {
            let ask = Ask::with(question.name, *way).unwrap();
            // Some questions have no answer about a trace without a device, and some flags none about a trace.
            let both = [runs[0].clone(), run.clone()];
            let asked = if question.name == DIFF.name { &both[..] } else { &both[1..] };
            let Ok(answer) = answer(&ask, asked) else { continue };
            of_question.answers += 1;
            let mut members: BTreeMap<&'static str, String> = BTreeMap::new();
            for part in answer.parts.iter().filter(|part| part.in_json) {
                let row = typescript(part.schema(generator).as_value());
                if !part.is_single() {
                    of_question.paged.insert(part.key);
                }
                members.insert(part.key, if part.is_single() { row } else { list(&row) });
            }
            for fact in &answer.facts {
                members.insert(fact.key, typescript(fact.schema(generator).as_value()));
            }
            for (key, kind) in members {
                let member = of_question.members.entry(key).or_default();
                member.seen += 1;
                member.types.insert(kind);
            }
        }
    }
    all
}

fn list(of: &str) -> String {
    if of.contains('|') { format!("({of})[]") } else { format!("{of}[]") }
}

/// A schema as a type.
fn typescript(schema: &Value) -> String {
    let Some(schema) = schema.as_object() else { return "unknown".to_owned() };
    let union = |of: &[Value]| {
        let all: BTreeSet<String> = of.iter().map(typescript).collect();
        // `null` is read more easily at the end.
        let (null, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|kind| kind == "null");
        rest.into_iter().chain(null).collect::<Vec<_>>().join(" | ")
    };
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        return name.rsplit('/').next().unwrap_or(name).to_owned();
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(of) = schema.get(key).and_then(Value::as_array) {
            return union(of);
        }
    }
    match schema.get("type") {
        Some(Value::Array(kinds)) => {
            let one = |kind: &Value| {
                let mut schema = schema.clone();
                schema.insert("type".to_owned(), kind.clone());
                Value::Object(schema)
            };
            union(&kinds.iter().map(one).collect::<Vec<_>>())
        }
        Some(Value::String(kind)) => match kind.as_str() {
            "integer" | "number" => "number".to_owned(),
            "string" => "string".to_owned(),
            "boolean" => "boolean".to_owned(),
            "null" => "null".to_owned(),
            "array" => match (schema.get("prefixItems").and_then(Value::as_array), schema.get("items")) {
                (Some(items), _) => {
                    format!("[{}]", items.iter().map(typescript).collect::<Vec<_>>().join(", "))
                }
                (None, Some(item)) => list(&typescript(item)),
                (None, None) => "unknown[]".to_owned(),
            },
            "object" => match schema.get("properties") {
                Some(_) => fields(schema, "  "),
                None => {
                    let of = schema.get("additionalProperties").map_or("unknown".to_owned(), typescript);
                    format!("Record<string, {of}>")
                }
            },
            _ => "unknown".to_owned(),
        },
        _ => "unknown".to_owned(),
    }
}

/// The fields of an object, in braces.
fn fields(schema: &serde_json::Map<String, Value>, indent: &str) -> String {
    let mut text = String::from("{\n");
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, field) in properties.into_iter().flatten() {
        if let Some(about) = field.get("description").and_then(Value::as_str) {
            let _ = writeln!(text, "{indent}/** {} */", about.replace('\n', " "));
        }
        let kind = typescript(field).replace('\n', &format!("\n{indent}"));
        let _ = writeln!(text, "{indent}{name}: {kind};");
    }
    text.push('}');
    text
}

fn declare<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

fn generated() -> String {
    let mut generator = SchemaGenerator::default();
    let of_traces = answers(&mut generator, &runs());
    let of_profiles = answers(&mut generator, &profiles());
    declare::<Definition>(&mut generator);
    declare::<Problem>(&mut generator);
    declare::<Listed>(&mut generator);
    declare::<BaselineListed>(&mut generator);
    declare::<ComparedBy>(&mut generator);
    declare::<SideRow>(&mut generator);
    declare::<PairRow>(&mut generator);
    declare::<MetricHistory>(&mut generator);
    declare::<ServiceDashboard>(&mut generator);
    declare::<SourceFile>(&mut generator);
    declare::<EdgeRow>(&mut generator);
    declare::<Layout>(&mut generator);
    declare::<Details>(&mut generator);
    declare::<Counter>(&mut generator);
    declare::<Area>(&mut generator);
    declare::<Hits>(&mut generator);
    declare::<Flame>(&mut generator);
    declare::<MemoryAbout>(&mut generator);
    declare::<PictureHead>(&mut generator);
    declare::<Instant>(&mut generator);
    declare::<AllocationDetails>(&mut generator);
    declare::<Stretch<'static>>(&mut generator);
    let mut text = String::from(
        "// What the server sends, written by a test of `crates/serve` from the Rust types: `make wire` writes it anew.\n\
         // All times are nanoseconds since the trace's first event.\n",
    );
    let definitions: BTreeMap<&String, &Value> = generator.definitions().iter().collect();
    let alike: Vec<_> =
        definitions.keys().filter(|name| name.ends_with(|c: char| c.is_ascii_digit())).collect();
    assert!(
        alike.is_empty(),
        "several types are called alike; rename one of each with #[schemars(rename)]: {alike:?}"
    );
    for (name, schema) in definitions {
        assert!(
            !name.ends_with(|c: char| c.is_ascii_digit()),
            "two types are called alike: {name}; rename one"
        );
        text.push('\n');
        if let Some(about) = schema.get("description").and_then(Value::as_str) {
            let _ = writeln!(text, "/** {} */", about.replace('\n', " "));
        }
        let _ = match schema.as_object().filter(|s| s.contains_key("properties") && !s.contains_key("oneOf")) {
            Some(object) => writeln!(text, "export interface {name} {}", fields(object, "  ")),
            None => writeln!(text, "export type {name} = {};", typescript(schema)),
        };
    }
    let of_traces = of_traces.into_iter().map(|(question, answer)| (question, answer, "Answer", ""));
    let of_profiles =
        of_profiles.into_iter().map(|(question, answer)| (question, answer, "OfProfile", " about a profile"));
    for (question, answer, ending, about) in of_traces.chain(of_profiles) {
        let name: String = question.split('-').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
        let _ =
            writeln!(text, "\n/** The answer to `{question}`{about}. */\nexport interface {name}{ending} {{");
        for (key, member) in &answer.members {
            let optional = if member.seen < answer.answers { "?" } else { "" };
            let types = member.types.iter().cloned().collect::<Vec<_>>().join(" | ");
            let _ = writeln!(text, "  {key}{optional}: {types};");
        }
        for key in &answer.paged {
            let _ = writeln!(text, "  {key}_total?: number;");
        }
        text.push_str("  definitions?: Definition[];\n  origin_ns: number;\n  remarks: string[];\n}\n");
    }
    text
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
