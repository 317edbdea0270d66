//! What a program does before its first iteration: importing, making a model, getting a device ready, compiling.
//!
//! A heuristic on samples of its main thread: libraries are known by their files and functions, and the innermost function that
//! is known decides. So a device that is made ready by moving a model counts as the device, and a module that a compiler imports as
//! an import. Sampling needs no hook in the program, which would show in its tracebacks.

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use stepscope_model::{PackageImport, StartUpParts};

use crate::samples::{Sample, states};

/// Packages that are distinguished among the imports.
const MAX_IMPORTS: usize = 3;
/// Samples that cover less of the time than this say too little about it.
const MIN_SAMPLED_SHARE: f64 = 0.5;

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Part {
    Imports,
    Weights,
    Device,
    Compilation,
    Other,
}

/// What is known of a frame: what it is part of, and the package whose module it runs.
#[derive(Copy, Clone, Default)]
struct Frame {
    part: Option<Part>,
    package: Option<usize>,
}

/// What a function of some file does; without functions it is any function of the file.
struct Known {
    part: Part,
    file: &'static str,
    functions: &'static [&'static str],
}

const fn known(part: Part, file: &'static str, functions: &'static [&'static str]) -> Known {
    Known { part, file, functions }
}

/// Files by how they end, folders (with a slash at the end) by being somewhere in the path.
const KNOWN: &[Known] = &[
    known(Part::Imports, "importlib._bootstrap>", &[]),
    known(Part::Imports, "importlib._bootstrap_external>", &[]),
    known(Part::Imports, "importlib/_bootstrap.py", &[]),
    known(Part::Device, "torch/cuda/__init__.py", &["_lazy_init"]),
    known(Part::Device, "torch/xpu/__init__.py", &["_lazy_init"]),
    known(Part::Device, "jax/_src/xla_bridge.py", &["backends", "_init_backend", "_get_backend_uncached"]),
    known(Part::Device, "tensorflow/python/eager/context.py", &["ensure_initialized"]),
    known(Part::Compilation, "torch/_dynamo/convert_frame.py", &[]),
    known(Part::Compilation, "torch/_inductor/compile_fx.py", &[]),
    known(Part::Compilation, "torch/_functorch/aot_autograd.py", &[]),
    known(Part::Compilation, "torch/jit/_script.py", &["script"]),
    known(Part::Compilation, "torch/jit/_trace.py", &["trace", "trace_module"]),
    known(Part::Compilation, "torch/utils/cpp_extension.py", &["load", "load_inline"]),
    known(Part::Compilation, "triton/compiler/compiler.py", &[]),
    known(Part::Compilation, "jax/_src/compiler.py", &[]),
    known(Part::Compilation, "jax/_src/interpreters/mlir.py", &[]),
    known(Part::Compilation, "jax/_src/interpreters/partial_eval.py", &[]),
    known(Part::Compilation, "numba/core/compiler.py", &[]),
    known(Part::Weights, "torch/nn/init.py", &[]),
    known(
        Part::Weights,
        "torch/nn/modules/",
        &["__init__", "reset_parameters", "_reset_parameters", "load_state_dict", "_apply", "to_empty"],
    ),
    known(Part::Weights, "torch/serialization.py", &["load", "_load", "_legacy_load"]),
    known(Part::Weights, "safetensors/", &[]),
    known(
        Part::Weights,
        "transformers/modeling_utils.py",
        &["from_pretrained", "_from_config", "init_weights"],
    ),
    known(Part::Weights, "diffusers/models/modeling_utils.py", &["from_pretrained"]),
    known(Part::Weights, "flax/linen/module.py", &["init", "init_with_output"]),
];

/// What a sampled frame, such as `torch/nn/init.py(512): kaiming_uniform_`, is part of.
fn part_of(frame: &str) -> Option<Part> {
    let (place, function) = frame.rsplit_once("): ")?;
    let (file, _) = place.rsplit_once('(')?;
    let is_file = |known: &Known| match known.file.ends_with('/') {
        true => file.starts_with(known.file) || file.contains(&format!("/{}", known.file)),
        false => file.strip_suffix(known.file).is_some_and(|before| {
            before.is_empty() || before.ends_with(['/', '\\']) || known.file.ends_with('>')
        }),
    };
    // The body of a module runs when it is imported, whatever its functions are for.
    let runs = |known: &Known| {
        function != "<module>" && (known.functions.is_empty() || known.functions.contains(&function))
    };
    KNOWN.iter().find(|known| is_file(known) && runs(known)).map(|known| known.part)
}

/// The package whose module a frame runs, such as `torch` of `torch/nn/init.py(1): <module>`.
fn package_of(frame: &str) -> Option<String> {
    let (place, _) = frame.strip_suffix(": <module>")?.rsplit_once('(')?;
    let inside = ["site-packages/", "dist-packages/"].iter().find_map(|folder| place.rsplit_once(folder));
    let path = inside.map_or(place, |(_, path)| path);
    let first = path.split('/').find(|part| !part.is_empty())?;
    Some(first.strip_suffix(".py").unwrap_or(first).to_owned())
}

/// What a thread did from `began_ns` to `until_ns`, without the time in `own`; none if it was hardly sampled.
pub(crate) fn start_up(
    samples: &[Sample],
    thread: u32,
    (began_ns, until_ns): (i64, i64),
    own: &[(i64, i64)],
    name_of: impl Fn(u32) -> String,
) -> Option<StartUpParts> {
    // A sample covers the time before it.
    let within = samples.partition_point(|sample| sample.at_ns < until_ns);
    let last_ns = samples.get(within).map(|sample| sample.at_ns);
    let end = samples.partition_point(|sample| Some(sample.at_ns) <= last_ns.or(Some(until_ns)));
    let mut frames: HashMap<u32, Frame, RandomState> = HashMap::default();
    let mut packages: Vec<String> = Vec::new();
    let samples = &samples[..end];
    for &frame in samples.iter().filter(|sample| sample.thread == thread).flat_map(|sample| &sample.stack) {
        frames.entry(frame).or_insert_with(|| {
            let name = name_of(frame);
            let package = package_of(&name).map(|package| {
                packages.iter().position(|known| *known == package).unwrap_or_else(|| {
                    packages.push(package);
                    packages.len() - 1
                })
            });
            Frame { part: part_of(&name), package }
        });
    }
    let known = |frame: &u32| frames.get(frame).copied().unwrap_or_default();
    let package = |sample: &Sample| {
        let import = sample.stack.iter().position(|frame| known(frame).part == Some(Part::Imports))?;
        sample.stack[import..].iter().find_map(|frame| known(frame).package)
    };
    let part = |sample: &Sample| {
        let innermost = sample.stack.iter().rev().find_map(|frame| known(frame).part);
        let part = innermost.unwrap_or(Part::Other);
        let package = if part == Part::Imports { package(sample) } else { None };
        (sample.thread == thread).then_some((part, package))
    };
    let mut of_package: HashMap<usize, i64, RandomState> = HashMap::default();
    let mut parts = StartUpParts::default();
    let mut sampled_ns = 0;
    for stretch in states(samples, Some(began_ns), part) {
        let (start, end) = (stretch.start_ns.max(began_ns), stretch.end_ns.min(until_ns));
        let ns = (end - start).max(0) - overlap_ns(own, start, end);
        sampled_ns += ns;
        let (part, package) = stretch.state;
        if let Some(package) = package {
            *of_package.entry(package).or_default() += ns;
        }
        match part {
            Part::Imports => parts.imports_ns += ns,
            Part::Weights => parts.weights_ns += ns,
            Part::Device => parts.device_start_ns += ns,
            Part::Compilation => parts.compilation_ns += ns,
            Part::Other => {}
        }
    }
    let mut longest: Vec<(usize, i64)> = of_package.into_iter().collect();
    longest.sort_unstable_by_key(|&(package, ns)| (std::cmp::Reverse(ns), package));
    longest.truncate(MAX_IMPORTS);
    let import =
        |(package, import_ns): (usize, i64)| PackageImport { package: packages[package].clone(), import_ns };
    parts.longest_imports = longest.into_iter().map(import).collect();
    let whole_ns = (until_ns - began_ns) - overlap_ns(own, began_ns, until_ns);
    (whole_ns > 0 && sampled_ns as f64 >= MIN_SAMPLED_SHARE * whole_ns as f64).then_some(parts)
}

/// What stretches that do not overlap each other cover of a window.
fn overlap_ns(stretches: &[(i64, i64)], start_ns: i64, end_ns: i64) -> i64 {
    stretches.iter().map(|(start, end)| (*end.min(&end_ns) - *start.max(&start_ns)).max(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Waits;

    #[test]
    fn frames_are_known_by_file_and_function() {
        let expected = [
            ("<frozen importlib._bootstrap>(1002): _find_and_load", Some(Part::Imports)),
            ("torch/nn/init.py(512): kaiming_uniform_", Some(Part::Weights)),
            ("/usr/lib/python3/dist-packages/torch/nn/modules/linear.py(98): __init__", Some(Part::Weights)),
            ("torch/nn/modules/linear.py(120): forward", None),
            ("torch/nn/modules/linear.py(1): <module>", None),
            ("torch/cuda/__init__.py(305): _lazy_init", Some(Part::Device)),
            ("torch/cuda/__init__.py(900): synchronize", None),
            ("torch/_dynamo/convert_frame.py(1): <module>", None),
            ("torch/_dynamo/convert_frame.py(500): _compile", Some(Part::Compilation)),
            ("my_torch/nn/init.py(512): kaiming_uniform_", None),
            ("train.py(3): main", None),
            ("waiting", None),
        ];
        for (frame, part) in expected {
            assert_eq!(part_of(frame), part, "{frame}");
        }
    }

    const NAMES: [&str; 5] = [
        "train.py(1): <module>",
        "<frozen importlib._bootstrap>(1002): _find_and_load",
        "torch/nn/init.py(512): kaiming_uniform_",
        "torch/_dynamo/convert_frame.py(500): _compile",
        "torch/cuda/__init__.py(305): _lazy_init",
    ];

    fn sample(thread: u32, at_ns: i64, stack: &[u32]) -> Sample {
        let stack = stack.to_vec();
        Sample { thread, at_ns, waits: Waits::Unknown, lock: None, task: None, stack, line: 0 }
    }

    fn parts(samples: &[Sample], until_ns: i64, own: &[(i64, i64)]) -> Option<StartUpParts> {
        start_up(samples, 7, (0, until_ns), own, |number| NAMES[number as usize].to_owned())
    }

    fn import(package: &str, import_ns: i64) -> PackageImport {
        PackageImport { package: package.to_owned(), import_ns }
    }

    #[test]
    fn an_import_is_that_of_the_package_which_the_program_imports() {
        let names = [
            "train.py(1): <module>",
            NAMES[1],
            "torch/nn/init.py(1): <module>",
            "numpy/__init__.py(1): <module>",
        ];
        let samples = [sample(7, 10, &[0, 1, 2, 1, 3]), sample(7, 15, &[0, 1, 3]), sample(7, 20, &[0, 1])];
        let found = start_up(&samples, 7, (0, 20), &[], |number| names[number as usize].to_owned()).unwrap();
        assert_eq!(found.imports_ns, 20);
        assert_eq!(found.longest_imports, [import("torch", 10), import("numpy", 5)]);
        assert_eq!(
            package_of("/x/lib/site-packages/pandas/core/api.py(3): <module>").as_deref(),
            Some("pandas")
        );
        assert_eq!(package_of("helpers.py(3): <module>").as_deref(), Some("helpers"));
        assert_eq!(package_of("train.py(3): main"), None);
    }

    #[test]
    fn the_innermost_known_function_decides() {
        let samples = [
            sample(7, 10, &[0, 1, 0]),
            // Another thread imports: that takes none of the main one's time.
            sample(8, 10, &[0, 1]),
            sample(7, 20, &[0, 3, 1]),
            sample(7, 30, &[0, 2, 4]),
            sample(7, 40, &[0, 2]),
            sample(7, 50, &[0, 3]),
            sample(7, 60, &[0]),
            sample(7, 70, &[0, 2]),
            sample(7, 80, &[0, 2]),
        ];
        let expected = StartUpParts {
            imports_ns: 20,
            weights_ns: 10,
            device_start_ns: 10,
            compilation_ns: 10,
            longest_imports: vec![import("train", 10)],
        };
        assert_eq!(parts(&samples, 60, &[]), Some(expected.clone()));
        // The first iteration ends between two samples: the second covers the time before it.
        assert_eq!(parts(&samples, 64, &[]), Some(StartUpParts { weights_ns: 14, ..expected }));
    }

    #[test]
    fn the_recorders_own_time_is_nobodys() {
        let samples = [sample(7, 10, &[0, 1]), sample(7, 20, &[0, 1]), sample(7, 30, &[0, 2])];
        let expected = StartUpParts { imports_ns: 15, weights_ns: 8, ..StartUpParts::default() };
        assert_eq!(parts(&samples, 30, &[(12, 17), (22, 24)]), Some(expected));
    }

    #[test]
    fn what_was_hardly_sampled_is_unknown() {
        assert_eq!(parts(&[sample(7, 10, &[0, 1])], 100, &[]), None);
        assert_eq!(parts(&[sample(8, 10, &[0, 1])], 10, &[]), None);
        assert_eq!(parts(&[], 10, &[]), None);
    }
}
