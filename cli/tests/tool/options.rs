//! Asked, set, got.

use model::end::{EndReport, OptionValue, SocketOption};
use model::run::Status;

use crate::support::Skip;
use crate::support::tool::Tool;

crate::claims!(
    every_option_is_stored_as_asked_as_set_and_as_got,
    what_the_kernel_limits_is_said,
    a_congestion_control_that_is_missing_fails_its_cell_alone,
    a_study_of_which_nothing_works_fails_with_the_reason,
);

fn plan(factors: &str) -> String {
    format!(
        r#"
        name = "options"
        trial = {{ length = "30ms", warmup = "5ms" }}
        blocks = {{ least = 1, most = 1 }}
        [[cells]]
        {factors}
        "#
    )
}

#[track_caller]
fn option<'a>(end: &'a EndReport, name: &str) -> &'a SocketOption {
    end.options.iter().find(|option| option.name == name).unwrap_or_else(|| panic!("no {name}: {:?}", end.options))
}

fn every_option_is_stored_as_asked_as_set_and_as_got() -> Result<(), Skip> {
    let number = OptionValue::Number;
    let tool = Tool::new();
    let cells =
        "test = ['TCP_STREAM', 'UDP_STREAM']\nsize = 512\nsndbuf = '16K'\nrcvbuf = ['8K', '64K']\nnodelay = [true, false]\ncc = 'reno'";
    tool.study(&plan(cells), &[]).done();
    let trials = tool.stored().all_measured();
    assert_eq!(trials.len(), 4 + 2, "UDP has no TCP_NODELAY to vary");
    for (record, measured) in trials {
        let cell = &record.cell;
        for end in [&measured.sender, &measured.receiver] {
            // The kernel doubles a size, for its own bookkeeping (socket(7)).
            for (name, asked) in [("SO_SNDBUF", cell.sndbuf), ("SO_RCVBUF", cell.rcvbuf)] {
                let (option, asked) = (option(end, name), asked.unwrap().get().cast_signed());
                assert_eq!(
                    (&option.asked, &option.set, &option.got),
                    (&Some(number(asked)), &number(2 * asked), &number(2 * asked)),
                    "{cell}"
                );
            }
            if cell.test.protocol() == model::Protocol::Tcp {
                let nodelay = number(i64::from(cell.nodelay));
                assert_eq!(
                    (&option(end, "TCP_NODELAY").asked, &option(end, "TCP_NODELAY").got),
                    (&Some(nodelay.clone()), &nodelay),
                    "{cell}"
                );
                let reno = OptionValue::Text("reno".to_owned());
                assert_eq!(
                    (&option(end, "TCP_CONGESTION").asked, &option(end, "TCP_CONGESTION").got),
                    (&Some(reno.clone()), &reno),
                    "{cell}"
                );
            } else {
                assert!(!end.options.iter().any(|option| option.name.as_str().starts_with("TCP_")), "{cell}: {:?}", end.options);
            }
        }
    }
    Ok(())
}

fn what_the_kernel_limits_is_said() -> Result<(), Skip> {
    let tool = Tool::new();
    let analysis = tool.study(&plan("test = 'UDP_STREAM'\nsize = 512\nrcvbuf = '1G'"), &["-J"]).done().json();
    let found = analysis["findings"].as_array().unwrap().iter().find(|found| found["warning"]["kind"] == "option_not_taken");
    let found = found.unwrap_or_else(|| panic!("{analysis:#}"));
    assert_eq!(found["warning"]["option"], "SO_RCVBUF");
    assert_eq!(found["warning"]["asked"], (1u64 << 30).to_string());
    assert!(found["remedy"].as_str().unwrap().contains("net.core.rmem_max"), "{found:#}");
    Ok(())
}

fn a_congestion_control_that_is_missing_fails_its_cell_alone() -> Result<(), Skip> {
    let tool = Tool::new();
    let answer = tool.study(&plan("test = ['TCP_STREAM', 'TCP_RR']\nsize = 512\ncc = ['reno', 'nosuchcc']"), &[]).done();
    let stored = tool.stored();
    let errors = stored.errors();
    assert_eq!((stored.trials().len(), errors.len()), (4, 2));
    for error in errors {
        for words in ["TCP_CONGESTION = nosuchcc", "tcp_available_congestion_control", "No such file or directory"] {
            assert!(error.contains(words), "{words} is missing: {error}");
        }
    }
    assert_eq!(stored.status(), Status::BlocksDone);
    answer.says("2 trials measured, 2 failed");
    answer.says("nosuchcc");
    Ok(())
}

fn a_study_of_which_nothing_works_fails_with_the_reason() -> Result<(), Skip> {
    let tool = Tool::new();
    let plan = plan("test = ['TCP_STREAM', 'TCP_RR']\nsize = 512\ncc = 'nosuchcc'");
    let answer = tool.study(&plan, &[]);
    assert_eq!(answer.code, Some(1), "{answer:#?}");
    for words in ["every trial of a block failed", "nosuchcc", "tcp_available_congestion_control", "runs/"] {
        assert!(answer.stderr.contains(words), "{words} is missing: {}", answer.stderr);
    }
    assert!(matches!(tool.stored().status(), Status::Failed { error } if error.contains("nosuchcc")));
    tool.study(&plan, &["-J"]).refused_in_json(1, &["every trial of a block failed", "nosuchcc"]);
    Ok(())
}
