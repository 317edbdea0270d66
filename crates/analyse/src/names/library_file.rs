//! Whether a Python file is the program's own, or comes with the interpreter or a package.

/// Parts of paths that only installed code has. `/Lib/` is where Windows keeps the standard library; PyTorch may run from its
/// source tree.
const INSTALLED_PATHS: [&str; 10] = [
    "site-packages/",
    "dist-packages/",
    "lib/python",
    "Python.framework/",
    "/Lib/",
    "/torch/nn/",
    "/torch/optim/",
    "/torch/autograd/",
    "/torch/utils/",
    "/torch/_",
];

/// Modules of the standard library, and packages, whose files recordings name relative to where they are installed.
const MODULES: &[&str] = &[
    "_bootlocale",
    "_collections_abc",
    "_compression",
    "_pydatetime",
    "_pydecimal",
    "_pyio",
    "_strptime",
    "_weakrefset",
    "abc",
    "argparse",
    "ast",
    "asyncio",
    "base64",
    "bdb",
    "bisect",
    "bz2",
    "cProfile",
    "calendar",
    "cmd",
    "codecs",
    "collections",
    "concurrent",
    "configparser",
    "contextlib",
    "copy",
    "copyreg",
    "csv",
    "ctypes",
    "dataclasses",
    "datetime",
    "decimal",
    "difflib",
    "email",
    "encodings",
    "enum",
    "filecmp",
    "fnmatch",
    "fractions",
    "ftplib",
    "functools",
    "genericpath",
    "getpass",
    "glob",
    "gzip",
    "hashlib",
    "heapq",
    "hmac",
    "html",
    "http",
    "imaplib",
    "importlib",
    "inspect",
    "ipaddress",
    "json",
    "linecache",
    "locale",
    "logging",
    "lzma",
    "mimetypes",
    "multiprocessing",
    "ntpath",
    "numbers",
    "numpy",
    "opcode",
    "operator",
    "os",
    "pandas",
    "pathlib",
    "pickle",
    "pkgutil",
    "platform",
    "posixpath",
    "pprint",
    "profile",
    "pstats",
    "queue",
    "random",
    "re",
    "reprlib",
    "runpy",
    "sched",
    "secrets",
    "selectors",
    "shelve",
    "shlex",
    "shutil",
    "signal",
    "site",
    "smtplib",
    "socket",
    "socketserver",
    "sqlite3",
    "sre_compile",
    "sre_parse",
    "ssl",
    "stat",
    "statistics",
    "stepscope",
    "string",
    "struct",
    "subprocess",
    "sysconfig",
    "tarfile",
    "tempfile",
    "textwrap",
    "threading",
    "timeit",
    "tokenize",
    "torch",
    "trace",
    "traceback",
    "tracemalloc",
    "types",
    "typing",
    "unittest",
    "urllib",
    "uuid",
    "warnings",
    "weakref",
    "xml",
    "xmlrpc",
    "zipfile",
    "zipimport",
    "zoneinfo",
];

/// What cells of a notebook, the prompt and tests in documentation are called: people write those, too.
const WRITTEN_PREFIXES: [&str; 4] = ["<ipython", "<stdin", "<cell", "<doctest"];

/// Whether a file is not the program's own. A file without a name is a function that is not Python's.
pub fn is_library_file(file: &str) -> bool {
    if file.is_empty() || file.starts_with('<') || file == "~" {
        return !WRITTEN_PREFIXES.iter().any(|name| file.starts_with(name));
    }
    let file = file.replace('\\', "/");
    if INSTALLED_PATHS.iter().any(|part| file.contains(part)) {
        return true;
    }
    let first = file.split('/').next().unwrap_or_default();
    MODULES.binary_search(&first.strip_suffix(".py").unwrap_or(first)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_in_order() {
        let mut sorted = MODULES.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, MODULES);
    }

    #[test]
    fn a_program_is_told_from_its_libraries() {
        for file in [
            "json/encoder.py",
            "threading.py",
            "/usr/lib/python3.11/json/decoder.py",
            "C:\\Python311\\Lib\\threading.py",
            "/workspace/pytorch/torch/nn/modules/module.py",
            "C:\\x\\Lib\\site-packages\\pandas\\core\\apply.py",
            "<frozen importlib._bootstrap>",
            "",
            "~",
        ] {
            assert!(is_library_file(file), "{file}");
        }
        for file in
            ["train.py", "<ipython-input-3-aa>", "/home/me/project/json/load.py", "src/random.py", "my_json.py"]
        {
            assert!(!is_library_file(file), "{file}");
        }
    }
}
