//! What an endpoint says when the system gives it no more threads or files.

use std::fs;
use std::process::Child;

use model::control::{Task, ToEndpoint};
use model::plan::TrialEnd;
use model::{Cell, Family, Nanos, Test};

use crate::Skip;
use crate::child;
use crate::support::cell;
use crate::support::several::{ready, tasks};

const FLOWS: u32 = 8;

/// Two joined endpoints; the sender's process is limited before it is let go.
fn failure_with(resource: libc::__rlimit_resource_t, limit: impl FnOnce(&Child) -> u64) -> String {
    let ((mut sender, mut sending), (mut receiver, mut receiving)) = (child::endpoint(), child::endpoint());
    let cell = Cell { flows: FLOWS, ..cell(Test::TcpStream, Family::V4, 64) };
    let end = TrialEnd::Length(Nanos::from_millis(60_000));
    let [sends, receives]: [Task; 2] = tasks(&cell, end, Nanos::from_millis(0));
    let (from, to) = (ready(&mut sender, sends), ready(&mut receiver, receives));
    receiver.tell(&ToEndpoint::Connect { peers: from });
    sender.tell(&ToEndpoint::Connect { peers: to });
    receiver.hear_joined();
    sender.hear_joined();
    restrict(&sending, resource, limit(&sending));
    sender.tell(&ToEndpoint::Go);
    let error = sender.hear_failure();
    receiver.abandon();
    sending.wait().unwrap();
    receiving.wait().unwrap();
    error
}

fn restrict(process: &Child, resource: libc::__rlimit_resource_t, limit: u64) {
    let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
    // SAFETY: `limit` outlives the call, and the old limit is not asked for.
    let answer = unsafe { libc::prlimit(process.id().cast_signed(), resource, &raw const limit, std::ptr::null_mut()) };
    assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
}

/// The stack of a thread comes out of the address space, where there is no room for one.
pub fn threads() -> Result<(), Skip> {
    let error = failure_with(libc::RLIMIT_AS, |process| {
        let pages = fs::read_to_string(format!("/proc/{}/statm", process.id())).unwrap();
        let pages: u64 = pages.split(' ').next().unwrap().parse().unwrap();
        pages * 4096 + (64 << 10)
    });
    for part in ["traffic: start the thread of flow 1 of 8: ", "ulimit -u", "TasksMax=", "or run fewer flows"] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
    Ok(())
}

pub fn pipes() -> Result<(), Skip> {
    // No number is left below those of input and output.
    let error = failure_with(libc::RLIMIT_NOFILE, |_| 3);
    for part in ["traffic: open the pipe that tells of the end of flow 1 of 8: ", "(os error 24)", "ulimit -n", "or run fewer flows"] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
    Ok(())
}
