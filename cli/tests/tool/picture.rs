//! The picture of one message's time, from a stored run.

use std::path::Path;

use crate::support::Skip;
use crate::support::tool::Tool;

crate::claims!(a_stored_receipt_makes_a_picture, what_has_no_picture_says_how_to_get_one,);

/// A directory in which the stored runs can be named.
fn tool() -> Tool {
    let tool = Tool::new();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/runs");
    for run in ["receipt", "sizes"] {
        let to = tool.path().join("runs").join(run);
        std::fs::create_dir_all(to.join("hosts")).unwrap();
        for file in ["run.json", "trials.jsonl"] {
            std::fs::copy(data.join(run).join(file), to.join(file)).unwrap();
        }
        for host in std::fs::read_dir(data.join(run).join("hosts")).unwrap() {
            let host = host.unwrap();
            std::fs::copy(host.path(), to.join("hosts").join(host.file_name())).unwrap();
        }
    }
    tool
}

fn a_stored_receipt_makes_a_picture() -> Result<(), Skip> {
    let tool = tool();
    let said = tool.run(&["report", "runs/receipt", "--picture", "toll.svg"]).done().stdout;
    assert_eq!(said, "Picture: toll.svg\n");
    let picture = std::fs::read_to_string(tool.path().join("toll.svg")).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("UDP_STREAM · 1,448 B"), "{picture}");
    assert!(!tool.path().join("runs/receipt/report.html").exists(), "and nothing else");
    tool.run(&["report", "runs/receipt", "--picture", "small.svg", "--size", "64"]).done();
    assert!(std::fs::read_to_string(tool.path().join("small.svg")).unwrap().contains("UDP_STREAM · 64 B"));
    Ok(())
}

fn what_has_no_picture_says_how_to_get_one() -> Result<(), Skip> {
    let tool = tool();
    let refused = |arguments: &[&str], words: &[&str]| {
        let answer = tool.run(arguments);
        answer.refused(1, words);
        assert!(answer.stderr.lines().count() <= 3, "{}", answer.stderr);
    };
    refused(&["report", "runs/sizes", "--picture", "toll.svg"], &["has no receipts", "nettoll study receipt"]);
    refused(&["report", "runs/receipt", "--picture", "toll.svg", "--size", "63"], &["ask for one of 64, 1,448 B"]);
    assert!(!tool.path().join("toll.svg").exists());
    Ok(())
}
