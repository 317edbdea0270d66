use super::*;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("stepscope-segment-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn block(sequence: u64) -> Block {
    Block { minute: 60 + sequence as i64, sequence, ..Block::default() }
}

#[test]
fn names_are_read_as_they_are_written() {
    let process = Process { host: "node-1.example".to_owned(), id: 4711, token: 0xab };
    let name = Name { hour: 496_297, process, open: false };
    // date -u -d @$((496297 * 3600)) +%Y%m%dT%H
    assert_eq!(name.text(), "20260814T01_node-1.example_4711_000000ab.minutes");
    assert_eq!(Name::parse(&name.text()), Some(name));
    for other in [
        "",
        "x.minutes",
        "20260814T01_h_1_zz.minutes",
        "20260814T01_h_1_1_1.open",
        "20260814T01_h_1_1.txt",
        "99999999T99_h_1_1.open",
    ] {
        assert_eq!(Name::parse(other), None, "{other}");
    }
}

#[test]
fn a_torn_file_is_whole_up_to_there() {
    let folder = folder("torn");
    let path = folder.join("a.minutes");
    (1..4).for_each(|n| append(&path, &block(n)).unwrap());
    assert_eq!(read(&path).unwrap().blocks.len(), 3);
    let bytes = fs::read(&path).unwrap();
    let record = (bytes.len() - HEADER_BYTES) / 3;
    for cut in 0..bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        let found = read(&path).unwrap();
        assert_eq!(found.blocks.len(), cut.saturating_sub(HEADER_BYTES) / record);
        assert_eq!(
            found.trouble.is_none(),
            cut == 0 || (cut >= HEADER_BYTES && (cut - HEADER_BYTES).is_multiple_of(record)),
            "{cut}"
        );
    }
    // A flipped bit anywhere is noticed.
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 1;
        fs::write(&path, &other).unwrap();
        let found = read(&path).unwrap();
        assert!(found.trouble.is_some() || at == 6, "{at}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_newer_version_is_said_and_left_alone() {
    let folder = folder("newer");
    let path = folder.join("a.minutes");
    append(&path, &block(1)).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[6] = 9;
    fs::write(&path, &bytes).unwrap();
    assert!(read(&path).unwrap().trouble.unwrap().contains("newer version (schema 9"));
    assert_eq!(check_mark(&folder, true).unwrap(), Ok(()));
    assert_eq!(check_mark(&folder, true).unwrap(), Ok(()));
    fs::write(folder.join(MARK_FILE), r#"{"schema": 7}"#).unwrap();
    assert_eq!(check_mark(&folder, true).unwrap(), Err(7));
    fs::remove_dir_all(folder).unwrap();
}
