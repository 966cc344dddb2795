//! The implementations that nettoll brings along, as ends of trials.

use model::trial::{Measured, Outcome};
use model::{Role, TrialRecord};

use crate::support::study::Study;
use crate::support::tool::Tool;
use crate::support::{Skip, need_root};

crate::claims!(
    a_provider_over_sockets_copies_once_and_queues_once_at_either_end,
    a_stack_of_its_own_queues_once_in_all_and_balances_over_a_link,
    a_stack_of_its_own_carries_over_loopback_and_changes_nothing_there,
    a_stack_on_frames_queues_once_in_all_and_balances_over_a_link,
    a_stack_on_frames_copies_what_finds_no_frame,
    a_stack_on_frames_is_refused_in_words_where_it_cannot_be,
    water_marks_and_service_procedures_can_be_set,
    what_an_implementation_cannot_do_is_refused,
);

fn measured(record: &TrialRecord) -> &Measured {
    record.measured().unwrap_or_else(|| panic!("{}: {:?}", record.cell, record.outcome))
}

/// The counters that an end keeps of its own, by the names that it gave them.
fn counters<const N: usize>(measured: &Measured, role: Role, names: [&str; N]) -> [u64; N] {
    let end = if role == Role::Sender { &measured.sender } else { &measured.receiver };
    let own = &end.external.as_deref().unwrap().counters;
    names.map(|name| *own.get(name).unwrap_or_else(|| panic!("{name}: {own:?}")))
}

fn plan(cells: &str) -> String {
    format!("name = \"stacks\"\nseed = 3\ntrial = {{ length = \"60ms\", warmup = \"20ms\" }}\nblocks = {{ least = 1, most = 1 }}\n{cells}")
}

/// Fails for a doubt about counts or conservation.
fn no_doubt(record: &TrialRecord) {
    let doubts = ["claim", "unaccounted", "wrong_path", "impossible"];
    let codes: Vec<&str> = record.warnings.iter().map(|warning| warning.code()).collect();
    assert!(!codes.iter().any(|code| doubts.contains(code)), "{}: {:?}", record.cell, record.warnings);
}

fn a_provider_over_sockets_copies_once_and_queues_once_at_either_end() -> Result<(), Skip> {
    let cells = "[[cells]]\ntest = \"UDP_STREAM\"\nsize = [1, 64, 1460, 8192]\napi = [\"tpi-sockets\"]\n[[cells]]\ntest = \
                 \"UDP_STREAM\"\nsize = [64]\napi = [\"tpi-sockets\"]\nreceive = [\"recv\"]\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = \
                 [64]\nreceive = [\"tpi-sockets\"]\n";
    let study = Study::of(&plan(cells));
    let trials = study.stored.trials();
    assert_eq!(trials.len(), 6);
    for record in &trials {
        no_doubt(record);
        let measured = measured(record);
        for (role, end) in [(Role::Sender, &measured.sender), (Role::Receiver, &measured.receiver)] {
            assert_eq!(end.external.is_some(), record.cell.external(role).is_some());
            if end.external.is_some() {
                let messages = end.total.messages;
                let [copies, puts, gets] = counters(measured, role, ["copies", "putq", "getq"]);
                // In addition to the kernel's own copy and queue.
                assert_eq!([copies, puts, gets], [messages; 3], "{} {role}", record.cell);
                assert_eq!(end.total.calls, messages);
                assert_eq!(end.total.bytes, messages * record.cell.size.get());
            }
        }
    }
    Ok(())
}

/// Holds the copies, the queue operations and the balance of a stack of its own to its messages.
fn holds_for_its_own_stack(record: &TrialRecord) {
    no_doubt(record);
    let measured = measured(record);
    let [sent, received] = [measured.sender.total.messages, measured.receiver.total.messages];
    assert!(received > 0 && measured.receiver.counts.messages > 0, "{}", record.cell);
    let of = |role| counters(measured, role, ["copies", "putq", "getq", "flow-controlled"]);
    // Its put procedure queues nothing; the stream head of the receiver has the only queue.
    assert_eq!(of(Role::Sender), [sent, 0, 0, 0], "{}", record.cell);
    assert_eq!(of(Role::Receiver), [received, received, received, 0], "{}", record.cell);
    assert_eq!(measured.sender.total.calls, sent, "one call of the device a message");
}

fn a_stack_of_its_own_queues_once_in_all_and_balances_over_a_link() -> Result<(), Skip> {
    need_tun()?;
    let study = Study::of(&plan("[[cells]]\ntest = \"UDP_STREAM\"\nsize = [1, 64, 1472, 1473]\napi = [\"tpi-streams\"]\n"));
    let trials = study.stored.trials();
    for record in &trials {
        match record.cell.size.get() {
            1_473 => {
                let Outcome::Failed { error, .. } = &record.outcome else { panic!("{:?}", record.outcome) };
                assert!(error.contains("does not fit the MTU of 1500") && error.contains("at most 1472 B"), "{error}");
            }
            _ => {
                holds_for_its_own_stack(record);
                let measured = measured(record);
                // The kernel's UDP sees nothing; that it crossed the link, and that nothing is
                // unaccounted, the warnings would say.
                assert_eq!([measured.sender_host.udp.out_datagrams, measured.receiver_host.udp.in_datagrams], [0, 0]);
            }
        }
    }
    Ok(())
}

fn a_stack_of_its_own_carries_over_loopback_and_changes_nothing_there() -> Result<(), Skip> {
    need_root()?;
    need_tun()?;
    let devices = || std::fs::read_to_string("/proc/net/dev").unwrap().lines().count();
    let before = devices();
    let cells = "link = { kind = \"loopback\" }\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = [1, 1024, 16384]\napi = [\"tpi-streams\"]\n";
    let study = Study::of(&plan(cells));
    for record in &study.stored.trials() {
        holds_for_its_own_stack(record);
        let measured = measured(record);
        let lost = measured.receiver.drops.get("dropped by tpi-streams").copied().unwrap_or(0);
        assert_eq!(measured.sender.total.sent, measured.receiver.total.received + lost, "{}: {:?}", record.cell, record.warnings);
    }
    assert_eq!(devices(), before);
    Ok(())
}

fn a_stack_on_frames_queues_once_in_all_and_balances_over_a_link() -> Result<(), Skip> {
    need_xdp()?;
    let study = Study::of(&plan("[[cells]]\ntest = \"UDP_STREAM\"\nsize = [1, 64, 1460, 1472, 1473]\napi = [\"tpi-streams-xdp\"]\n"));
    let trials = study.stored.trials();
    assert_eq!(trials.len(), 5);
    for record in &trials {
        if record.cell.size.get() == 1_473 {
            let Outcome::Failed { error, .. } = &record.outcome else { panic!("{:?}", record.outcome) };
            assert!(error.contains("does not fit the MTU of 1500") && error.contains("at most 1472 B"), "{error}");
            continue;
        }
        holds_for_its_own_stack(record);
        let measured = measured(record);
        // Neither the kernel's UDP nor its IP has a part in it.
        assert_eq!([measured.sender_host.udp.out_datagrams, measured.receiver_host.udp.in_datagrams], [0, 0]);
        let balance = analysis::conservation::balance(measured, &record.cell).unwrap();
        assert_eq!(balance.unaccounted, 0, "{}: {balance:?}", record.cell);
        // Frames cross the link, each once.
        let crossed = measured.sender_host.link.tx_packets;
        assert!(
            (measured.sender.total.sent..measured.sender.total.sent + 100).contains(&crossed),
            "{crossed}: {:?}",
            measured.sender.total
        );
    }
    Ok(())
}

fn a_stack_on_frames_copies_what_finds_no_frame() -> Result<(), Skip> {
    need_xdp()?;
    // More messages wait in the queue of the receiver's head than there are frames for them.
    let program =
        format!("{} endpoint run tpi-streams-xdp --defer 1000 --high-water 1M --low-water 4K", crate::support::tool::program().display());
    let study = Study::of(&plan(&format!("[[cells]]\ntest = \"UDP_STREAM\"\nsize = [64, 1460]\napi = [\"exec:{program}\"]\n")));
    for record in &study.stored.trials() {
        let measured = measured(record);
        let [copies, puts, gets] = counters(measured, Role::Receiver, ["copies", "putq", "getq"]);
        let received = measured.receiver.total.messages;
        assert!(received > 0 && [copies, gets] == [received; 2] && puts >= gets, "{}: {copies} {puts} {gets}", record.cell);
        assert_eq!(measured.receiver.total.bytes, received * record.cell.size.get());
    }
    Ok(())
}

fn a_stack_on_frames_is_refused_in_words_where_it_cannot_be() -> Result<(), Skip> {
    let refused = |tool: &Tool, link: &str, api: &str| {
        let cells = format!("{link}[[cells]]\ntest = \"UDP_STREAM\"\nsize = 64\napi = [\"send\", \"{api}\"]\n");
        tool.study(&plan(&cells), &[]).done();
        let trials = tool.stored().trials();
        assert_eq!(trials.len(), 2);
        let told = trials.iter().find_map(|record| match &record.outcome {
            Outcome::Failed { error, .. } => Some((record.cell.api.to_string(), error.clone())),
            _ => None,
        });
        told.map(|(failed, error)| {
            assert_eq!(failed, api, "the study goes on: {error}");
            error
        })
    };
    let over_loopback = refused(&Tool::new(), "link = { kind = \"loopback\" }\n", "tpi-streams-xdp").unwrap();
    assert!(over_loopback.contains("loopback has none") && over_loopback.contains("tpi-streams over loopback"), "{over_loopback}");
    need_xdp()?;
    let past_the_rate = refused(&Tool::new(), "link = { kind = \"ethernet 10M\" }\n", "tpi-streams-xdp").unwrap();
    assert!(past_the_rate.contains("queue discipline of its device (tbf)"), "{past_the_rate}");
    let nobody = Tool::of_nobody();
    let told = refused(&nobody, "", "tpi-streams-xdp");
    if nobody.stored().run().warnings.iter().any(|warning| matches!(warning, model::Warning::NoLink { .. })) {
        return Err(Skip("nobody has no namespaces here".to_owned()));
    }
    // To lock much memory and to load a program is the machine's root's, where it does not let anybody.
    let told = told.unwrap();
    assert!(told.contains("CAP_BPF") && told.contains("EPERM") || told.contains("`ulimit -l` bounds it"), "{told}");
    Ok(())
}

/// Programs can be loaded for frames here.
fn need_xdp() -> Result<(), Skip> {
    need_root()?;
    engine::ways::try_receiving(model::Receive::XdpGeneric).map_err(|refused| Skip(refused.to_string()))
}

/// A device of this kind can be made here.
fn need_tun() -> Result<(), Skip> {
    match std::fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun") {
        Ok(_) => Ok(()),
        Err(error) => Err(Skip(format!("/dev/net/tun: {error}"))),
    }
}

fn water_marks_and_service_procedures_can_be_set() -> Result<(), Skip> {
    let program =
        format!("{} endpoint run tpi-sockets --defer 16 --high-water 16K --low-water 4K", crate::support::tool::program().display());
    let cells = format!("[[cells]]\ntest = \"UDP_STREAM\"\nsize = [64, 8192]\napi = [\"exec:{program}\"]\n");
    let study = Study::of(&plan(&cells));
    for record in &study.stored.trials() {
        no_doubt(record);
        let [stopped, enabled] = counters(measured(record), Role::Sender, ["flow-controlled", "back-enabled"]);
        assert_eq!(stopped, enabled, "whoever was stopped was enabled again");
        // 16 messages of 64 B with their requests fit; of 8,192 B two fill the queue.
        assert_eq!(stopped > 0, record.cell.size.get() == 8_192, "{}: {stopped}", record.cell);
    }
    Ok(())
}

fn what_an_implementation_cannot_do_is_refused() -> Result<(), Skip> {
    let tool = Tool::new();
    for (arguments, words) in [
        (&["--api", "tpi-sockets", "--test", "TCP_STREAM"][..], "does not carry TCP_STREAM, but UDP_STREAM"),
        (&["--api", "tpi-socket", "--test", "UDP_STREAM"], "did you mean 'tpi-sockets'?"),
        (&["--api", "tpi-sockets", "--test", "UDP_STREAM", "--flows", "2"], "more than one flow"),
        (&["--api", "tpi-streams", "--receive", "recv", "--test", "UDP_STREAM"], "which no other end understands"),
        (&["--receive", "tpi-streams", "--test", "UDP_STREAM"], "which no other end understands"),
        (&["--api", "tpi-streams", "--test", "UDP_STREAM", "-6"], "carries IPv4 alone"),
    ] {
        let refused = tool.run(&[&["study", "size", "--dry-run", "--size", "64"], arguments].concat());
        assert!(refused.code == Some(2) && refused.stderr.contains(words), "{arguments:?}: {refused:?}");
    }
    for (arguments, code, words) in [
        (&["tpi-sokets"][..], 2, "did you mean 'tpi-sockets'?"),
        (&["tpi-sockets", "--high-water", "1K", "--low-water", "1K"], 2, "has to lie below"),
        (&["tpi-sockets", "--defer", "0"], 2, "after 1 message or more"),
        (&["tpi-sockets"], 1, "NT_VERSION is not set"),
    ] {
        let refused = tool.run(&[&["endpoint", "run"], arguments].concat());
        assert!(refused.code == Some(code) && refused.stderr.contains(words), "{arguments:?}: {refused:?}");
    }
    Ok(())
}
