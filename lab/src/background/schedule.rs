//! Scheduling of the endpoint of a trial.

use std::{fs, io};

use engine::scheduling;
use model::condition::Priority;

/// A priority that an endpoint could not be given.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// The system refused it.
    #[error(
        "priority {asked} of the endpoint ({call}): {answer}; run nettoll as root (or with CAP_SYS_NICE), raise the limit (ulimit -e for \
         nice values, ulimit -r for rt), or leave it out"
    )]
    Refused {
        /// The value asked for.
        asked: Priority,
        /// The call.
        call: &'static str,
        /// Answer of the system.
        answer: io::Error,
    },
    /// The endpoint's threads, or their scheduling, could not be read.
    #[error("reading how the endpoint is scheduled (process {process}): {answer}; did something kill it?")]
    Unread {
        /// The endpoint.
        process: u32,
        /// Answer of the system.
        answer: io::Error,
    },
    /// The system took it and did something else.
    #[error("priority did not take effect: asked {asked}, set without an error, got {got}; leave it out")]
    Kept {
        /// The value asked for.
        asked: Priority,
        /// Priority of a thread.
        got: Priority,
    },
}

/// Has every thread of a process scheduled so, and with them those that it will
/// start; reads it back.
///
/// # Errors
/// See [`ScheduleError`].
pub fn schedule(process: u32, asked: Priority) -> Result<(), ScheduleError> {
    let unread = |answer| ScheduleError::Unread { process, answer };
    let mut threads = Vec::new();
    for entry in fs::read_dir(format!("/proc/{process}/task")).map_err(unread)? {
        threads.extend(entry.map_err(unread)?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    for thread in threads {
        scheduling::set(thread, asked).map_err(|answer| ScheduleError::Refused { asked, call: call(asked), answer })?;
        let got = scheduling::read(thread).map_err(unread)?;
        if got != asked && asked != Priority::Usual {
            return Err(ScheduleError::Kept { asked, got });
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

    use super::{ScheduleError, schedule};
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
        assert!(matches!(gone, Err(ScheduleError::Unread { .. })), "{gone:?}");
    }
}
