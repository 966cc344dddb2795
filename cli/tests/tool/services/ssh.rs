//! `--host b=ssh:HOST` over a real ssh and sshd.

use std::collections::BTreeSet;

use serde_json::Value;

use super::sshd::{PORT, Settings, Sshd};
use crate::agents::commands::files;
use crate::agents::support::{B, CELLS, Net, cells, ended, plan, says};
use crate::support::Skip;
use crate::support::tool::{Answer, Tool, note, program};

crate::claims!(
    a_host_that_has_sshd_and_nothing_else,
    the_address_that_ssh_was_called_at_is_the_messages,
    a_copy_stays_and_is_removed,
    a_banner_and_a_shell_that_prints,
    any_login_shell_will_do,
    a_key_that_starts_nettoll_and_nothing_else,
    a_login_that_takes_half_a_minute,
    a_message_costs_what_it_costs_on_a_local_host,
);

/// Runs a command on host a, where `ssh` knows the other.
pub fn run(net: &Net, tool: &Tool, arguments: &[&str]) -> Answer {
    ended(net.a.nettoll(tool, arguments).env("PATH", Sshd::path(tool)).spawn().unwrap())
}

/// Runs a plan with host b at this place.
pub fn study(net: &Net, tool: &Tool, plan: &str, place: &str, options: &[&str]) -> Answer {
    tool.write("plan.toml", plan);
    let host = format!("b={place}");
    run(net, tool, &[&["study", "--plan", "plan.toml", "--host", &host], options].concat())
}

pub fn one_cell() -> String {
    cells(1, "[[cells]]\ntest = \"UDP_RR\"\nsize = 64")
}

fn a_host_that_has_sshd_and_nothing_else() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let sshd = Sshd::start(&net, &tool, &Settings::default())?;
    for place in [format!("ssh:root@{B}:{PORT}"), "ssh:db1".to_owned()] {
        study(&net, &tool, &plan(1), &place, &[]).done();
        let stored = tool.stored();
        assert_eq!(stored.all_measured().len(), CELLS);
        assert_eq!(stored.run().plan.hosts["b"].to_string(), place);
        assert_eq!(files(&tool), BTreeSet::new());
    }
    drop(sshd);
    net.nothing_left(&[&tool]);
    Ok(())
}

/// Not the first that the host has, and not one of its name.
fn the_address_that_ssh_was_called_at_is_the_messages() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    net.b.set(&format!("ip addr del {B}/24 dev eth0; ip addr add 203.0.113.2/24 dev eth0; ip addr add {B}/24 dev eth0"))?;
    net.b.set("ip route replace default via 203.0.113.254")?;
    let sshd = Sshd::start(&net, &tool, &Settings::default())?;
    let answer = study(&net, &tool, &one_cell(), "ssh:db1", &["--dry-run"]).done();
    says(&answer.stderr, &["messages go between 198.51.100.1 (host a) and 203.0.113.1 (host b)"]);
    let answer = study(&net, &tool, &one_cell(), "ssh:db1,data=203.0.113.2", &[]).done();
    assert!(!answer.stderr.contains("messages go between"), "{answer:#?}");
    drop(sshd);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_copy_stays_and_is_removed() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let sshd = Sshd::start(&net, &tool, &Settings::default())?;
    study(&net, &tool, &one_cell(), "ssh:db1", &["--deploy"]).done();
    assert_eq!(files(&tool).len(), 1);
    run(&net, &tool, &["deploy", "ssh:db1"]).done().says("there already");
    run(&net, &tool, &["deploy", "--prune", "ssh:db1"]).done().says("1 copy of nettoll removed");
    assert_eq!(files(&tool), BTreeSet::new());
    drop(sshd);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_banner_and_a_shell_that_prints() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    tool.write("banner", "Authorised use only.\n\x1b[2J\n");
    let more = format!(
        "Banner {}/banner\nForceCommand echo; echo Welcome, last login today; eval \"$SSH_ORIGINAL_COMMAND\"",
        tool.path().display()
    );
    let sshd = Sshd::start(&net, &tool, &Settings { more: &more, ..Settings::default() })?;
    study(&net, &tool, &one_cell(), "ssh:db1", &[]).done();
    drop(sshd);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn any_login_shell_will_do() -> Result<(), Skip> {
    let mut tried = 0;
    for shell in ["/bin/bash", "/bin/dash", "/usr/bin/zsh", "/usr/bin/fish", "/bin/tcsh"] {
        if !std::path::Path::new(shell).exists() {
            continue;
        }
        let (net, tool) = (Net::new()?, Tool::new());
        let sshd = Sshd::start(&net, &tool, &Settings { shell: Some(shell), ..Settings::default() })?;
        study(&net, &tool, &one_cell(), "ssh:db1", &[]).done();
        drop(sshd);
        net.nothing_left(&[&tool]);
        tried += 1;
    }
    assert!(tried >= 2, "{tried}");
    Ok(())
}

fn a_key_that_starts_nettoll_and_nothing_else() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let options = format!("restrict,command=\"exec {} __serve\" ", program().display());
    let sshd = Sshd::start(&net, &tool, &Settings { key_options: &options, ..Settings::default() })?;
    study(&net, &tool, &one_cell(), "ssh:db1", &[]).done();
    drop(sshd);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_login_that_takes_half_a_minute() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let more = "ForceCommand sleep 30; eval \"$SSH_ORIGINAL_COMMAND\"";
    let sshd = Sshd::start(&net, &tool, &Settings { more, ..Settings::default() })?;
    study(&net, &tool, &one_cell(), "ssh:db1", &[]).done();
    drop(sshd);
    net.nothing_left(&[&tool]);
    Ok(())
}

/// The share by which the CPU time of a message may differ.
const ALIKE: [f64; 2] = [0.97, 1.03];
/// An interval wider than this says more about the machine than about ssh.
const NOISY: f64 = 1.25;

/// Host b by ssh against one that a command of this machine starts: the same namespaces and
/// CPUs, each block with both in random order.
fn a_message_costs_what_it_costs_on_a_local_host() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let sshd = Sshd::start(&net, &tool, &Settings::default())?;
    let text = cells(40, "[[cells]]\ntest = \"TCP_RR\"\nsize = 64\n").replace("30ms", "100ms");
    let local = format!("cmd:{}", net.b.shell("X=1"));
    let words = ["--arm", "local", "--arm", "ssh: host.b=ssh:db1", "-J"];
    let analysis = study(&net, &tool, &text, &local, &words).judged().json();
    assert_eq!((&analysis["trials"], &analysis["failed"]), (&80.into(), &0.into()));
    let mut cpus = [BTreeSet::new(), BTreeSet::new()];
    for (record, measured) in tool.stored().all_measured() {
        cpus[usize::from(record.arm.as_deref() == Some("ssh"))].insert((record.swapped, measured.sender.cpu, measured.receiver.cpu));
    }
    assert_eq!(cpus[0], cpus[1], "both on the same CPUs");
    let metrics = analysis["verdicts"][0]["metrics"].as_array().unwrap();
    let mut noisy = Vec::new();
    for name in ["sender_cpu_per_message_ns", "receiver_cpu_per_message_ns"] {
        let metric = metrics.iter().find(|metric| metric["metric"] == name).unwrap_or_else(|| panic!("{metrics:#?}"));
        let ratio = &metric["comparison"]["cells"][0]["ratio"];
        let [value, low, high] = [&ratio["value"], &ratio["interval"]["low"], &ratio["interval"]["high"]].map(Value::as_f64);
        let (Some(value), Some(low), Some(high)) = (value, low, high) else { panic!("{metric:#}") };
        let figure = format!("{name} by ssh over local: {value:.3} ({low:.3} to {high:.3})");
        note(&figure);
        if high / low > NOISY {
            noisy.push(figure);
        } else {
            assert!(low <= ALIKE[1] && high >= ALIKE[0], "{figure}");
        }
    }
    drop(sshd);
    net.nothing_left(&[&tool]);
    if noisy.is_empty() { Ok(()) } else { Err(Skip(format!("this machine is too noisy to tell: {}", noisy.join("; ")))) }
}
