//! Scheduling of the endpoint of a trial.

use std::fs;

use engine::scheduling;
use model::condition::Priority;

use crate::refusal::{Refusal, refused};

/// Has every thread of a process scheduled so, and with them those that it will
/// start; reads it back.
///
/// # Errors
/// See [`Refusal`].
pub fn schedule(process: u32, asked: Priority) -> Result<(), Refusal> {
    let unread = |answer: std::io::Error| {
        Refusal::new(format!("reading how the endpoint is scheduled (process {process})"), answer, "did something kill it?")
    };
    let mut threads = Vec::new();
    for entry in fs::read_dir(format!("/proc/{process}/task")).map_err(unread)? {
        threads.extend(entry.map_err(unread)?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    for thread in threads {
        scheduling::set(thread, asked).map_err(refused(
            format!("priority {asked} of the endpoint ({})", call(asked)),
            "run nettoll as root (or with CAP_SYS_NICE), raise the limit (ulimit -e for nice values, ulimit -r for rt), or leave it out",
        ))?;
        let got = scheduling::read(thread).map_err(unread)?;
        if got != asked && asked != Priority::Usual {
            let got = format!("asked {asked}, set without an error, got {got}");
            return Err(Refusal::new("priority did not take effect", got, "leave it out"));
        }
    }
    Ok(())
}

const fn call(priority: Priority) -> &'static str {
    match priority {
        Priority::Usual | Priority::Nice(_) => "setpriority",
        Priority::Realtime(_) => "sched_setscheduler SCHED_FIFO",
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::schedule;
    use model::condition::Priority;

    #[test]
    fn a_process_is_scheduled_as_asked_or_it_is_said_why_not() {
        let mut process = Command::new("sleep").arg("60").spawn().unwrap();
        let later = schedule(process.id(), Priority::Nice(19));
        let real_time = schedule(process.id(), Priority::Realtime(1));
        process.kill().unwrap();
        process.wait().unwrap();
        assert!(later.is_ok(), "{later:?}");
        if let Err(refused) = real_time {
            let words = refused.to_string();
            assert!(words.starts_with("priority rt:1 of the endpoint (sched_setscheduler SCHED_FIFO): Operation not permitted"), "{words}");
        }
        let gone = schedule(process.id(), Priority::Nice(19));
        assert!(gone.unwrap_err().to_string().starts_with("reading how the endpoint is scheduled"));
    }
}
