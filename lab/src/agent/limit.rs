//! What one trial may take on an agent's machine.

use std::sync::{Mutex, PoisonError};

use model::Protocol;
use model::control::{Limits, Task};
use model::plan::TrialEnd;

/// What an agent allows each trial.
#[derive(Debug)]
pub struct Allowance {
    /// Time and bytes.
    pub limits: Limits,
    ports: Option<Ports>,
}

/// The ports that others reach endpoints at.
#[derive(Debug)]
struct Ports {
    first: u16,
    count: u32,
    /// How many of them come before the next trial's.
    next: Mutex<u32>,
}

/// Why a trial is not allowed, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl Allowance {
    /// `ports` is the first and the last; `None`: the kernel chooses.
    pub fn new(limits: Limits, ports: Option<(u16, u16)>) -> Self {
        let ports = ports.map(|(first, last)| Ports { first, count: u32::from(last.saturating_sub(first)) + 1, next: Mutex::new(0) });
        Self { limits, ports }
    }

    /// Refuses a task that is planned to take more than is allowed, has the
    /// endpoint keep the limits whatever happens, and gives it its ports.
    pub fn apply(&self, task: &mut Task) -> Result<(), Refused> {
        if let (TrialEnd::Length(length), Some(limit)) = (task.end, self.limits.time)
            && task.warmup + length > limit
        {
            let planned = task.warmup + length;
            let remedy = "make trials shorter, or start the agent with a longer --limit-time";
            return Err(Refused(format!("a trial of {planned}, warm-up included, was asked for, but the agent allows {limit}: {remedy}")));
        }
        if let (TrialEnd::Messages(messages), Some(limit)) = (task.end, self.limits.bytes)
            && messages.saturating_mul(task.cell.size.get()) > limit.get()
        {
            let planned = format!("{messages} messages of {} bytes", task.cell.size);
            let remedy = "send fewer, or start the agent with a larger --limit-bytes";
            return Err(Refused(format!("{planned} were asked for, but the agent allows {limit} bytes: {remedy}")));
        }
        task.limits = smaller(task.limits, self.limits);
        match &self.ports {
            // Who connects over TCP is answered wherever it comes from.
            Some(ports) if task.cell.protocol() == Protocol::Udp || task.cell.test.listener() == task.role => ports.give(task),
            _ => Ok(()),
        }
    }
}

impl Ports {
    /// As many in a row as the task may need, after those of the trial before,
    /// so that one just closed has time to rest.
    fn give(&self, task: &mut Task) -> Result<(), Refused> {
        let wanted = task.cell.flows.saturating_mul(if task.cell.bidirectional { 2 } else { 1 });
        if wanted > self.count {
            let (first, count) = (self.first, self.count);
            let remedy = "start the agent with more of them (--data-ports)";
            return Err(Refused(format!("{wanted} flows need a port each, but the agent has {count}, from {first}: {remedy}")));
        }
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let start = if *next + wanted > self.count { 0 } else { *next };
        *next = start + wanted;
        task.local.set_port(self.first + start as u16);
        Ok(())
    }
}

fn smaller(theirs: Limits, ours: Limits) -> Limits {
    Limits { time: least(theirs.time, ours.time), bytes: least(theirs.bytes, ours.bytes) }
}

/// The smaller of two limits, where none is larger than any.
fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    a.into_iter().chain(b).min()
}

#[cfg(test)]
mod tests {
    use model::control::{Cookie, Limits, Task};
    use model::plan::TrialEnd;
    use model::{Bytes, Cell, Nanos, Role, Test};

    use super::Allowance;

    fn task(test: Test, role: Role, end: TrialEnd) -> Task {
        Task {
            role,
            cell: Cell::plain(test, Bytes::new(1_000)),
            local: "192.0.2.1:0".parse().unwrap(),
            cpus: Vec::new(),
            ksoftirqd: Vec::new(),
            cookie: Cookie([1; 16]),
            end,
            warmup: Nanos::from_millis(500),
            silence: Nanos::from_millis(20),
            answer_limit: Nanos::from_millis(100),
            irq_time_subtracted: false,
            progress: None,
            limits: Limits::default(),
        }
    }

    fn limits(millis: Option<u64>, bytes: Option<u64>) -> Limits {
        Limits { time: millis.map(Nanos::from_millis), bytes: bytes.map(Bytes::new) }
    }

    const SECOND: TrialEnd = TrialEnd::Length(Nanos::from_millis(1_000));

    #[test]
    fn a_task_that_is_planned_to_take_too_long_is_refused_with_both_times() {
        let allowance = Allowance::new(limits(Some(1_499), None), None);
        let error = allowance.apply(&mut task(Test::TcpStream, Role::Sender, SECOND)).unwrap_err().0;
        assert!(error.contains("1.5 s") && error.contains("1.499 s") && error.contains("--limit-time"), "{error}");
        assert!(Allowance::new(limits(Some(1_500), None), None).apply(&mut task(Test::TcpStream, Role::Sender, SECOND)).is_ok());
    }

    #[test]
    fn a_task_that_is_planned_to_send_too_much_is_refused() {
        let allowance = Allowance::new(limits(None, Some(9_999)), None);
        let error = allowance.apply(&mut task(Test::TcpStream, Role::Sender, TrialEnd::Messages(10))).unwrap_err().0;
        assert!(error.contains("10 messages of 1000 bytes") && error.contains("--limit-bytes"), "{error}");
        assert!(allowance.apply(&mut task(Test::TcpStream, Role::Sender, TrialEnd::Messages(9))).is_ok());
    }

    #[test]
    fn the_smaller_of_both_limits_holds() {
        let allowance = Allowance::new(limits(Some(5_000), Some(7)), None);
        let mut with = task(Test::TcpStream, Role::Sender, SECOND);
        with.limits = limits(Some(9_000), None);
        allowance.apply(&mut with).unwrap();
        assert_eq!(with.limits, limits(Some(5_000), Some(7)));
        with.limits = limits(Some(3_000), Some(3));
        allowance.apply(&mut with).unwrap();
        assert_eq!(with.limits, limits(Some(3_000), Some(3)));
    }

    #[test]
    fn ports_go_round_and_flows_get_them_in_a_row() {
        let allowance = Allowance::new(Limits::default(), Some((7_000, 7_004)));
        let port = |test, role, flows| {
            let mut task = task(test, role, SECOND);
            task.cell.flows = flows;
            allowance.apply(&mut task).map(|()| task.local.port())
        };
        assert_eq!(port(Test::TcpStream, Role::Receiver, 1), Ok(7_000));
        assert_eq!(port(Test::TcpStream, Role::Sender, 1), Ok(0), "who connects needs none");
        assert_eq!(port(Test::TcpMaerts, Role::Sender, 1), Ok(7_001));
        assert_eq!(port(Test::UdpStream, Role::Sender, 2), Ok(7_002));
        assert_eq!(port(Test::UdpStream, Role::Receiver, 2), Ok(7_000), "two do not fit behind 7003");
        assert_eq!(port(Test::UdpStream, Role::Receiver, 5), Ok(7_000));
        assert!(port(Test::UdpStream, Role::Receiver, 6).unwrap_err().0.contains("--data-ports"));
    }
}
