//! Embeds the bundle that `npm run build` wrote to `dist/`, compressed. Runs no tool and touches no network: without a
//! bundle the crate still builds, and the server says how to get one.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=dist");
    println!("cargo::rerun-if-env-changed=REQUIRE_UI");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let mut names: Vec<String> = fs::read_dir("dist")
        .map(|files| files.flatten().map(|file| file.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    if !names.iter().any(|name| name == "index.html") {
        assert!(env::var_os("REQUIRE_UI").is_none(), "the UI is not built: run `make ui` first");
        println!("cargo::warning=no browser UI in this build: run `make ui`, then build again");
        names.clear();
    }
    let mut code = String::from(
        "/// Name and gzipped content of each file.\npub(crate) static FILES: &[(&str, &[u8])] = &[\n",
    );
    for name in &names {
        let content = fs::read(Path::new("dist").join(name)).expect("a file of dist/ can be read");
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gz.write_all(&content).expect("writing to memory");
        let packed = Path::new(&out).join(format!("{name}.gz"));
        fs::write(&packed, gz.finish().expect("writing to memory")).expect("OUT_DIR can be written to");
        let _ = writeln!(code, "    ({name:?}, include_bytes!({:?})),", packed.display().to_string());
    }
    code.push_str("];\n");
    fs::write(Path::new(&out).join("assets.rs"), code).expect("OUT_DIR can be written to");
}
