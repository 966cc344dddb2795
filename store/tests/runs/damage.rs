//! Whatever happens to `trials.jsonl`, every undamaged line is kept and every
//! damaged one is named.

use std::fs;
use std::path::PathBuf;

use crate::support::{STARTED, failed, read, run, trial};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};
use store::RunDirectory;
use tempfile::TempDir;

/// What may happen to a file, at a place given as a share of its length.
#[derive(Debug, Clone)]
enum Damage {
    CutOff,
    Overwrite(Vec<u8>),
    Insert(Vec<u8>),
    Remove(usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    // A byte of 0x80 or above is never part of ASCII JSON: a hit is always seen.
    let bytes = || proptest::collection::vec(prop_oneof![Just(0_u8), Just(b'\n'), 0x80..=0xff_u8], 1..40);
    prop_oneof![
        Just(Damage::CutOff),
        bytes().prop_map(Damage::Overwrite),
        bytes().prop_map(Damage::Insert),
        (1..2_000_usize).prop_map(Damage::Remove),
    ]
}

fn apply(file: &mut Vec<u8>, at: usize, damage: &Damage) {
    match damage {
        Damage::CutOff => file.truncate(at),
        Damage::Overwrite(bytes) => {
            let end = file.len().min(at + bytes.len());
            file[at..end].copy_from_slice(&bytes[..end - at]);
        }
        Damage::Insert(bytes) => drop(file.splice(at..at, bytes.iter().copied())),
        Damage::Remove(length) => drop(file.drain(at..file.len().min(at + length))),
    }
}

/// Whether `hurt` is an object with every name and value of `line`.
fn says_all_of(hurt: &[u8], line: &[u8]) -> bool {
    let fields = |bytes| serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(bytes).ok();
    match (fields(hurt), fields(line)) {
        (Some(hurt), Some(line)) => line.iter().all(|(name, value)| hurt.get(name) == Some(value)),
        _ => false,
    }
}

fn with_trials(count: u64) -> (TempDir, PathBuf, Vec<u8>) {
    let root = tempfile::tempdir().unwrap();
    let mut directory = RunDirectory::create(root.path(), "quick", STARTED).unwrap();
    directory.write_run(&run(directory.id())).unwrap();
    (0..count).for_each(|number| directory.append_trial(&failed(number)).unwrap());
    let file = directory.path().join("trials.jsonl");
    let bytes = fs::read(&file).unwrap();
    (root, file, bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn undamaged_lines_are_kept(place in 0.0..1.0_f64, damage in damage()) {
        let (_root, file, bytes) = with_trials(12);
        let at = (place * bytes.len() as f64) as usize;
        let mut hurt = bytes.clone();
        apply(&mut hurt, at, &damage);
        fs::write(&file, &hurt).unwrap();

        let (good, bad) = read(file.parent().unwrap());
        // A line is undamaged when it stands in the hurt file as it was written.
        let lines: Vec<&[u8]> = hurt.split(|byte| *byte == b'\n').collect();
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
            let kept = good.contains(&failed(number as u64));
            if lines.contains(&line) {
                assert!(kept, "trial {number} lost after {damage:?} at {at}");
            } else if kept {
                // Two halves may meet in a name that the format does not know,
                // `{"format":1,"ormat":1,`, and still say all they said.
                assert!(lines.iter().any(|hurt| says_all_of(hurt, line)), "trial {number} invented after {damage:?} at {at}");
            }
        }
        // Nothing is passed over in silence, and each number is right.
        let ended = lines.len() - usize::from(lines.last().is_some_and(|last| last.is_empty()));
        assert_eq!(good.len() + bad.len(), ended);
        for line in &bad {
            let text = lines[usize::try_from(line.line).unwrap() - 1];
            assert!(!bytes.split(|byte| *byte == b'\n').any(|whole| whole == text && !whole.is_empty()), "{line}");
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..4_000)) {
        let (_root, file, _) = with_trials(0);
        fs::write(&file, &bytes).unwrap();
        let (good, _) = read(file.parent().unwrap());
        assert!(good.is_empty());
    }
}

#[test]
fn a_full_record_survives_the_loss_of_its_newline() {
    let (_root, file, mut bytes) = with_trials(2);
    bytes.pop();
    fs::write(&file, &bytes).unwrap();
    assert_eq!(read(file.parent().unwrap()), (vec![failed(0), failed(1)], vec![]));
}

#[test]
fn a_real_record_is_one_line_of_the_usual_length() {
    let line = serde_json::to_string(&trial(3)).unwrap();
    assert!((2_000..4_000).contains(&line.len()), "{}", line.len());
    assert!(!line.contains('\n'));
}

#[test]
fn a_trial_of_another_version_is_named_and_passed_over() {
    let (_root, file, bytes) = with_trials(3);
    let text = String::from_utf8(bytes).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[1] = lines[1].replacen("\"format\":1", "\"format\":2", 1);
    fs::write(&file, lines.join("\n")).unwrap();
    let (good, bad) = read(file.parent().unwrap());
    assert_eq!(good, [failed(0), failed(2)]);
    assert_eq!(bad[0].to_string(), "trials.jsonl line 2: format version 2, but this build of nettoll reads version 1");
}
