//! What an ordinary user is told.

use model::Nanos;
use nix::unistd::{Gid, Uid, setgid, setuid};
use profile::Who;
use profile::counts::CallCounter;
use profile::owners::{MessageCounts, SampleMarks, Sockets};
use profile::sampler::{Sampler, Settings, Target};
use profile::symbols::Symbols;
use profile::waits::WaitRecorder;

use crate::Skip;
use crate::observed::Observed;

pub fn to_an_ordinary_user() -> Result<(), Skip> {
    let mut observed = Observed::start("nobody")?;
    observed.begin();
    loop {
        let line = observed.line();
        if line == "done" {
            return Ok(());
        }
        assert!(!line.is_empty(), "it ended too early");
        println!("  {line}");
        let (part, refusal) = line.split_once('|').unwrap();
        // A machine may allow an ordinary user more; what it refuses has a reason and a remedy.
        if refusal != "allowed" {
            let (answer, remedy) = refusal.split_once('|').unwrap();
            assert!(answer.len() > 8 && remedy.len() > 8, "{part}: {line}");
            let has_reason = answer.contains(": E") || answer.contains("every address reads 0");
            assert!(has_reason, "{part}: {answer}");
            // A task may be sampled at 1, a CPU at 0.
            let limit = [("samples", "set it to 1 or less"), ("whole CPUs", "set it to 0 or less")].into_iter().find(|(of, _)| *of == part);
            assert!(limit.is_none_or(|(_, limit)| remedy.contains(limit)), "{part}: {remedy}");
        }
    }
}

/// Gives up root's rights and tries everything.
pub fn child() {
    if let Err(errno) = setgid(Gid::from_raw(65_534)).and_then(|()| setuid(Uid::from_raw(65_534))) {
        return println!("giving up root's rights: {errno}");
    }
    println!("ready");
    let (pid, longest) = (std::process::id(), Nanos::from_millis(100));
    let who = Who::Process(pid);
    say("samples", Sampler::open(&Settings::new(Target::Process(pid), longest)).err());
    say("whole CPUs", Sampler::open(&Settings::new(Target::Cpu { cpu: 0, process: pid }, longest)).err());
    say("symbols", Symbols::of_kernel().err());
    say("calls", CallCounter::open(who, &["net:netif_rx"], &["udp_sendmsg"], &mut || {}).err());
    say("marks", SampleMarks::open().err());
    say("sockets", Sockets::open().err());
    say("messages", MessageCounts::load().and_then(|mut counts| counts.start()).err());
    say("waits", WaitRecorder::open(who, longest).err());
    println!("done");
}

fn say(part: &str, refusal: Option<model::Refusal>) {
    println!("{part}|{}", refusal.map_or_else(|| "allowed".to_owned(), |refusal| format!("{}|{}", refusal.answer, refusal.remedy)));
}
