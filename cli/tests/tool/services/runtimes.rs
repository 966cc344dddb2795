//! The implementations of the companion program, next to the tool.

use model::trial::Measured;
use model::{Role, TrialRecord};

use crate::support::Skip;
use crate::support::study::Study;
use crate::support::tool::{Tool, program};

crate::claims!(runtimes_carry_both_protocols_at_either_end, a_companion_that_is_not_there_is_told_in_words,);

/// A plan of all runtimes, at both ends and next to plain calls.
const PLAN: &str = r#"
name = "runtimes"
seed = 3
trial = { length = "80ms", warmup = "20ms" }
blocks = { least = 1, most = 1 }
[[cells]]
test = ["UDP_STREAM", "TCP_STREAM"]
size = [64, 1024]
api = ["tokio", "mio", "compio"]
[[cells]]
test = ["UDP_STREAM", "TCP_STREAM"]
size = [1024]
api = ["tokio", "mio", "compio"]
receive = ["recv"]
[[cells]]
test = ["UDP_STREAM", "TCP_STREAM"]
size = [1024]
receive = ["tokio", "mio", "compio"]
[[cells]]
test = ["UDP_STREAM", "TCP_STREAM"]
size = [64, 1024]
api = ["smoltcp", "quinn"]
[[cells]]
test = ["UDP_STREAM", "TCP_STREAM"]
size = [1, 64, 1460]
api = ["smoltcp-xdp"]
[[cells]]
test = ["UDP_STREAM", "TCP_STREAM"]
size = [1]
api = ["quinn"]
family = ["ipv4", "ipv6"]
"#;

fn measured(record: &TrialRecord) -> &Measured {
    record.measured().unwrap_or_else(|| panic!("{}: {:?}", record.cell, record.outcome))
}

fn runtimes_carry_both_protocols_at_either_end() -> Result<(), Skip> {
    let companion = super::folder("stacks")?.join("nettoll-stacks");
    let copy = program().with_file_name("nettoll-stacks");
    std::fs::copy(companion, &copy).unwrap();
    let study = Study::of(PLAN);
    std::fs::remove_file(copy).unwrap();
    let trials = study.stored.trials();
    assert_eq!(trials.len(), 28 + 6 + 4 + 4);
    for record in &trials {
        let (cell, measured) = (&record.cell, measured(record));
        let codes: Vec<&str> = record.warnings.iter().map(|warning| warning.code()).collect();
        let doubts = ["claim", "unaccounted", "wrong_path", "impossible"];
        assert!(!codes.iter().any(|code| doubts.contains(code)), "{cell}: {:?}", record.warnings);
        assert!(measured.sender.total.messages > 0 && measured.receiver.total.messages > 0, "{cell}");
        if cell.protocol() == model::Protocol::Tcp {
            assert_eq!(measured.sender.total.bytes, measured.receiver.total.bytes, "{cell}");
        }
        for (role, end) in [(Role::Sender, &measured.sender), (Role::Receiver, &measured.receiver)] {
            assert_eq!(end.external.is_some(), cell.external(role).is_some(), "{cell}");
        }
    }
    Ok(())
}

fn a_companion_that_is_not_there_is_told_in_words() -> Result<(), Skip> {
    let tool = Tool::new();
    let plan = "name = \"x\"\ntrial = { length = \"60ms\", warmup = \"0s\" }\nblocks = { least = 1, most = 1 }\n[[cells]]\ntest = \
                \"UDP_STREAM\"\nsize = 64\napi = [\"send\", \"tokio\"]\n";
    // Alone in a folder: next to the program itself it may stand.
    std::fs::copy(program(), tool.path().join("nettoll")).unwrap();
    tool.write("plan.toml", plan);
    tool.script(&[], "./nettoll study --plan plan.toml");
    let trials = tool.stored().trials();
    let failed = trials.iter().find(|record| record.cell.api.name() == "tokio").unwrap();
    let model::trial::Outcome::Failed { error, .. } = &failed.outcome else { panic!("{:?}", failed.outcome) };
    assert!(error.contains("libexec/nettoll") && error.contains("--features runtimes"), "{error}");
    Ok(())
}
