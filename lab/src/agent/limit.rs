//! Limits of one trial on an agent's machine.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use model::control::{Limits, Task};
use model::plan::TrialEnd;
use model::{Bytes, Nanos, Program, Protocol};

use super::ports::{PortLease, Ports};

/// Time of a trial next to that in which messages flow: both ends are
/// joined before, and drained and counted afterwards. Its endpoint counts from
/// its preparation, and is allowed that much more than the limit says.
pub const TRIAL_SLACK: Duration = Duration::from_secs(60);
/// The most that one endpoint's messages may take: each flow has a buffer of
/// each way's size and read size.
const MOST_MEMORY: Bytes = Bytes::new(4 << 30);

/// The first port that any user may bind to, unless
/// `net.ipv4.ip_unprivileged_port_start` says otherwise. An agent that runs as root
/// could bind those below.
const FIRST_UNPRIVILEGED: u16 = 1_024;

/// Limits that an agent sets each trial.
#[derive(Debug)]
pub struct Allowance {
    /// Time and bytes.
    pub limits: Limits,
    ports: Option<Ports>,
    programs: Programs,
}

/// Programs that may be an end of a trial.
#[derive(Debug)]
pub enum Programs {
    /// Those of an operator, each by its name.
    Listed(BTreeMap<String, Program>),
    /// Any: whoever asks could start it there anyway.
    Any,
}

/// Reason why a trial is not allowed, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub struct LimitRefusal(pub String);

impl Allowance {
    /// `ports` is the first and the last; `None`: the kernel chooses.
    pub fn new(limits: Limits, ports: Option<(u16, u16)>) -> Self {
        Self { limits, ports: ports.map(|(first, last)| Ports::new(first, last)), programs: Programs::Listed(BTreeMap::new()) }
    }

    /// The same, with programs.
    #[must_use]
    pub fn with(self, programs: Programs) -> Self {
        Self { programs, ..self }
    }

    /// Refuses a task that is planned to take more than is allowed, has the
    /// endpoint keep the limits in any case, and gives it its ports for as long as the lease is kept.
    pub fn apply(&self, task: &mut Task) -> Result<Option<PortLease<'_>>, LimitRefusal> {
        // A descriptor of the controller's is no open file of this machine.
        task.woven = None;
        let conditions = &task.cell.conditions;
        if !task.hosts.is_empty() || (conditions.senders, conditions.receivers) != (1, 1) {
            let why = "spread an end over several network namespaces: an agent's ends are in its own";
            return Err(LimitRefusal(why.to_owned()));
        }
        self.check_time(task)?;
        self.check_bytes(task)?;
        check_memory(task)?;
        self.choose_program(task)?;
        check_congestion_control(task, &available_congestion_controls())?;
        let time = self.limits.time.map(|limit| limit + Nanos::from(TRIAL_SLACK));
        task.limits = smaller(task.limits, Limits { time, ..self.limits });
        match &self.ports {
            Some(ports) if task.cell.protocol() == Protocol::Udp || task.cell.test.listener() == task.role => {
                let lease = ports.take(ways(task)).map_err(LimitRefusal)?;
                task.local.set_port(lease.first());
                Ok(Some(lease))
            }
            // Who connects over TCP is answered wherever it comes from, and takes no port that is another's.
            Some(_) => {
                task.local.set_port(0);
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// Puts the operator's program in the place of its name. Where the other end is a program,
    /// it shows no cookie: then only an agent whose operator lists programs takes part.
    fn choose_program(&self, task: &mut Task) -> Result<(), LimitRefusal> {
        let (own, other) = (task.cell.external(task.role), task.cell.external(task.role.other()));
        let Programs::Listed(listed) = &self.programs else {
            task.program = own;
            return Ok(());
        };
        task.program = None;
        if listed.is_empty() && (own.is_some() || other.is_some()) {
            return Err(LimitRefusal(
                "an external endpoint was asked for, and this agent lists none: start it with --endpoint NAME=PROGRAM".to_owned(),
            ));
        }
        let Some(name) = own.map(Program::command) else { return Ok(()) };
        let known = listed.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let refused = || {
            LimitRefusal(format!(
                "run '{name}': an agent runs only what its operator listed with --endpoint, by name and without arguments; here: {known}"
            ))
        };
        task.program = Some(*listed.get(name).ok_or_else(refused)?);
        Ok(())
    }

    fn check_time(&self, task: &Task) -> Result<(), LimitRefusal> {
        let planned = match task.end {
            TrialEnd::Length(length) => task.warmup + length,
            TrialEnd::Messages(_) => task.warmup,
        };
        match self.limits.time {
            Some(limit) if planned > limit => {
                let remedy = "make trials shorter, or start the agent with a longer --limit-time";
                Err(LimitRefusal(format!("a trial of {planned}, warm-up included, was asked for, but the agent allows {limit}: {remedy}")))
            }
            _ => Ok(()),
        }
    }

    fn check_bytes(&self, task: &Task) -> Result<(), LimitRefusal> {
        let TrialEnd::Messages(messages) = task.end else { return Ok(()) };
        match self.limits.bytes {
            Some(limit) if messages.saturating_mul(task.cell.size.get()) > limit.get() => {
                let planned = format!("{messages} messages of {} bytes", task.cell.size);
                let remedy = "send fewer, or start the agent with a larger --limit-bytes";
                Err(LimitRefusal(format!("{planned} were asked for, but the agent allows {limit} bytes: {remedy}")))
            }
            _ => Ok(()),
        }
    }
}

/// Refuses what would take more memory than any trial needs.
fn check_memory(task: &Task) -> Result<(), LimitRefusal> {
    let cell = &task.cell;
    let a_flow = cell.size.get().saturating_add(cell.read_size.get());
    let wanted = Bytes::new(a_flow.saturating_mul(ways(task).into()));
    if wanted <= MOST_MEMORY {
        return Ok(());
    }
    let (flows, size, read_size) = (cell.flows, cell.size, cell.read_size);
    let asked = format!("{flows} flows with messages of {size} and reads of {read_size} need buffers of {wanted}");
    Err(LimitRefusal(format!("{asked}, but an agent allows one end {MOST_MEMORY}: take fewer flows, or smaller messages")))
}

/// The congestion controls that the kernel has loaded.
fn available_congestion_controls() -> String {
    // Without the file every name is refused.
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default()
}

/// Refuses a congestion control that is not loaded: for root the kernel would look
/// for a module of that name.
fn check_congestion_control(task: &Task, available: &str) -> Result<(), LimitRefusal> {
    match &task.cell.cc {
        Some(name) if !available.split_whitespace().any(|known| known == name) => Err(LimitRefusal(format!(
            "the congestion control '{name}' is not loaded on the agent's machine, which has {}; load it there (modprobe tcp_{name})",
            available.split_whitespace().collect::<Vec<_>>().join(", ")
        ))),
        _ => Ok(()),
    }
}

/// Returns the number of flows, each way counted.
fn ways(task: &Task) -> u32 {
    task.cell.flows.saturating_mul(if task.cell.bidirectional { 2 } else { 1 })
}

fn smaller(theirs: Limits, ours: Limits) -> Limits {
    Limits { time: least(theirs.time, ours.time), bytes: least(theirs.bytes, ours.bytes) }
}

/// The smaller of two limits, where none is larger than any.
fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    a.into_iter().chain(b).min()
}

/// Where a controller is, as far as its address and the agent's trust in loopback tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// On this machine.
    Here,
    /// It came over loopback, which this agent does not trust: a tunnel or a proxy
    /// may stand there for a controller elsewhere.
    Loopback,
    /// On another machine.
    Elsewhere,
}

impl Origin {
    /// Why loopback is not for it, with the remedy; `None` if it is.
    const fn refuses_loopback(self) -> Option<&'static str> {
        match self {
            Self::Here => None,
            Self::Loopback => Some(
                "that is loopback, and a controller that comes over loopback may be at the far end of a tunnel; give the agent \
                 --trust-loopback where there is none, or name the host by another of its addresses",
            ),
            Self::Elsewhere => Some(
                "that is loopback of the agent's machine, and the controller is on another; name the host by an address that both reach",
            ),
        }
    }
}

/// Refuses the address of an endpoint that only this machine can reach, unless
/// the controller is here itself.
pub fn check_local(local: SocketAddr, origin: Origin) -> Result<(), LimitRefusal> {
    if (1..FIRST_UNPRIVILEGED).contains(&local.port()) {
        return Err(LimitRefusal(format!(
            "bind an endpoint to port {}: ports below {FIRST_UNPRIVILEGED} are for the machine's services",
            local.port()
        )));
    }
    match local.ip().to_canonical() {
        ip if ip.is_multicast() || is_broadcast(ip) => Err(LimitRefusal(format!("bind an endpoint to {ip}: that is the address of many"))),
        // It is loopback's too.
        ip if ip.is_unspecified() && origin != Origin::Here => {
            Err(LimitRefusal(format!("bind an endpoint to {ip}: that is every address, loopback's among them")))
        }
        ip if ip.is_loopback() => match origin.refuses_loopback() {
            Some(why) => Err(LimitRefusal(format!("bind an endpoint to {ip}: {why}"))),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Refuses other ends that are not one machine's, or that only this machine can
/// reach, unless the controller is here itself.
pub fn check_peers(peers: &[SocketAddr], origin: Origin) -> Result<(), LimitRefusal> {
    peers.iter().try_for_each(|peer| check_peer(peer.ip().to_canonical(), origin))
}

fn check_peer(ip: IpAddr, origin: Origin) -> Result<(), LimitRefusal> {
    let why = match ip {
        ip if ip.is_multicast() || is_broadcast(ip) => {
            Some("that is the address of many; name the other host by an address that both reach")
        }
        // The kernel takes it for loopback.
        ip if ip.is_unspecified() => Some("that is no host's address; name the other host by an address that both reach"),
        ip if ip.is_loopback() => origin.refuses_loopback(),
        _ => None,
    };
    why.map_or(Ok(()), |why| Err(LimitRefusal(format!("aim messages at {ip}: {why}"))))
}

const fn is_broadcast(ip: IpAddr) -> bool {
    // That of a network the kernel refuses itself: no endpoint sets SO_BROADCAST.
    matches!(ip, IpAddr::V4(Ipv4Addr::BROADCAST))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use model::control::{Cookie, Limits, Task};
    use model::plan::TrialEnd;
    use model::{Bytes, Cell, Nanos, Program, Role, Test};

    use super::Origin::{Elsewhere, Here, Loopback};
    use super::{Allowance, Programs, check_congestion_control, check_local, check_peers};

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
            seed: 0,
            woven: None,
            hosts: Vec::new(),
            program: None,
            irq_time_subtracted: false,
            progress: None,
            limits: Limits::default(),
            injection: None,
        }
    }

    fn limits(millis: Option<u64>, bytes: Option<u64>) -> Limits {
        Limits { time: millis.map(Nanos::from_millis), bytes: bytes.map(Bytes::new) }
    }

    const SECOND: TrialEnd = TrialEnd::Length(Nanos::from_millis(1_000));

    #[test]
    fn only_listed_programs_run_and_by_their_names() {
        let listed = || Programs::Listed([("fast".to_owned(), Program::new("/opt/fast -x").unwrap())].into());
        let apply = |allowance: &Allowance, role, name: &str| {
            let mut task = task(Test::UdpStream, role, SECOND);
            task.cell.api = model::Api::External(Program::new(name).unwrap());
            task.cell.receive = Some(model::Receive::Recv);
            task.program = Some(Program::new("/bin/evil").unwrap());
            allowance.apply(&mut task).map(|_| task.program.map(Program::command)).map_err(|refused| refused.0)
        };
        let allowance = Allowance::new(Limits::default(), None).with(listed());
        assert_eq!(apply(&allowance, Role::Sender, "fast"), Ok(Some("/opt/fast -x")));
        assert_eq!(apply(&allowance, Role::Receiver, "fast"), Ok(None), "the other end's program is not this one's");
        for name in ["/opt/fast -x", "fast -y", "/bin/sh"] {
            let error = apply(&allowance, Role::Sender, name).unwrap_err();
            assert!(error.contains("--endpoint") && error.contains("here: fast"), "{error}");
        }
        let none = Allowance::new(Limits::default(), None);
        for role in [Role::Sender, Role::Receiver] {
            assert!(apply(&none, role, "fast").unwrap_err().contains("lists none"));
        }
        let any = Allowance::new(Limits::default(), None).with(Programs::Any);
        assert_eq!(apply(&any, Role::Sender, "./own"), Ok(Some("./own")));
    }

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
    fn a_warm_up_alone_can_take_too_long() {
        let allowance = Allowance::new(limits(Some(499), None), None);
        let error = allowance.apply(&mut task(Test::TcpStream, Role::Sender, TrialEnd::Messages(1))).unwrap_err().0;
        assert!(error.contains("0.5 s") || error.contains("500 ms"), "{error}");
        let mut endless = task(Test::TcpStream, Role::Sender, SECOND);
        endless.warmup = Nanos::new(u64::MAX);
        assert!(allowance.apply(&mut endless).is_err(), "the sum does not wrap");
    }

    #[test]
    fn buffers_beyond_four_gibibytes_are_refused() {
        let allowance = Allowance::new(Limits::default(), None);
        let with = |flows, bidirectional, size| {
            let mut task = task(Test::TcpStream, Role::Sender, SECOND);
            (task.cell.flows, task.cell.bidirectional) = (flows, bidirectional);
            (task.cell.size, task.cell.read_size) = (Bytes::new(size), Bytes::new(size));
            allowance.apply(&mut task).map(drop).map_err(|refused| refused.0)
        };
        assert_eq!(with(1_024, false, 2 << 20), Ok(()));
        let error = with(1_024, true, 2 << 20).unwrap_err();
        assert!(error.contains("1024 flows") && error.contains("take fewer flows"), "{error}");
        assert!(with(1_024, false, (2 << 20) + 1).is_err());
        assert!(with(u32::MAX, true, u64::MAX).is_err(), "the product does not wrap");
    }

    #[test]
    fn the_smaller_of_both_limits_holds() {
        let allowance = Allowance::new(limits(Some(5_000), Some(7)), None);
        let mut with = task(Test::TcpStream, Role::Sender, SECOND);
        with.limits = limits(Some(90_000), None);
        allowance.apply(&mut with).unwrap();
        // The endpoint counts from its preparation: a trial as long as the limit has to fit.
        assert_eq!(with.limits, limits(Some(65_000), Some(7)));
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
            allowance.apply(&mut task).map(|_| task.local.port())
        };
        assert_eq!(port(Test::TcpStream, Role::Receiver, 1), Ok(7_000));
        assert_eq!(port(Test::TcpStream, Role::Sender, 1), Ok(0), "who connects needs none");
        let mut greedy = task(Test::TcpStream, Role::Sender, SECOND);
        greedy.local.set_port(7_001);
        allowance.apply(&mut greedy).unwrap();
        assert_eq!(greedy.local.port(), 0, "nor may it take one of its own choice");
        assert_eq!(port(Test::TcpMaerts, Role::Sender, 1), Ok(7_001));
        assert_eq!(port(Test::UdpStream, Role::Sender, 2), Ok(7_002));
        assert_eq!(port(Test::UdpStream, Role::Receiver, 2), Ok(7_000), "two do not fit behind 7003");
        assert_eq!(port(Test::UdpStream, Role::Receiver, 5), Ok(7_000));
        assert!(port(Test::UdpStream, Role::Receiver, 6).unwrap_err().0.contains("--data-ports"));
    }

    /// A namespace is this machine's, and so is a listener for each of thousands of hosts.
    #[test]
    fn an_end_is_at_one_host() {
        let allowance = Allowance::new(Limits::default(), Some((7_000, 7_004)));
        let changes: [fn(&mut Task); 3] = [
            |task| task.cell.conditions.receivers = 5_000,
            |task| task.cell.conditions.senders = 0,
            |task| task.hosts = vec![model::control::FlowHost { pid: 1, local: std::net::Ipv4Addr::LOCALHOST.into() }],
        ];
        for change in changes {
            let mut task = task(Test::TcpStream, Role::Receiver, SECOND);
            change(&mut task);
            assert!(allowance.apply(&mut task).unwrap_err().0.contains("network namespaces"));
        }
    }

    fn at(address: &str) -> SocketAddr {
        SocketAddr::new(address.parse().unwrap(), 8_000)
    }

    #[test]
    fn loopback_is_for_controllers_on_this_machine() {
        for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            assert!(check_local(at(address), Here).is_ok() && check_peers(&[at(address)], Here).is_ok(), "{address}");
            // What is said of the controller is so.
            for (origin, said, not) in
                [(Elsewhere, "the controller is on another", "tunnel"), (Loopback, "--trust-loopback", "on another;")]
            {
                let peers = [at("192.0.2.7"), at(address)];
                for error in [check_local(at(address), origin).unwrap_err().0, check_peers(&peers, origin).unwrap_err().0] {
                    assert!(error.contains(said) && !error.contains(not), "{error}");
                }
            }
        }
    }

    #[test]
    fn ports_of_services_are_refused() {
        let with = |port| check_local(SocketAddr::new("192.0.2.1".parse().unwrap(), port), Here);
        assert!(with(1_023).unwrap_err().0.contains("port 1023"));
        assert!(with(22).is_err() && with(0).is_ok() && with(1_024).is_ok());
    }

    #[test]
    fn only_loaded_congestion_controls_are_taken() {
        let mut task = task(Test::TcpStream, Role::Sender, SECOND);
        assert_eq!(check_congestion_control(&task, "reno cubic"), Ok(()));
        for (name, fits) in [("cubic", true), ("reno", true), ("bbr", false), ("cub", false)] {
            task.cell.cc = Some(name.to_owned());
            assert_eq!(check_congestion_control(&task, "reno cubic").is_ok(), fits, "{name}");
        }
    }

    #[test]
    fn nobody_aims_at_many_or_at_none() {
        for address in ["224.0.0.1", "255.255.255.255", "ff02::1", "::ffff:224.0.0.1", "0.0.0.0", "::", "::ffff:0.0.0.0"] {
            for origin in [Here, Loopback, Elsewhere] {
                assert!(check_peers(&[at(address)], origin).is_err(), "{address}");
            }
        }
        assert!(check_local(at("ff02::1"), Here).is_err());
        assert!(check_local(at("0.0.0.0"), Elsewhere).is_err() && check_local(at("::"), Loopback).is_err());
    }

    #[test]
    fn any_other_address_will_do() {
        for address in ["192.0.2.7", "10.0.0.1", "2001:db8::1", "fe80::1"] {
            assert!(check_local(at(address), Elsewhere).is_ok() && check_peers(&[at(address)], Elsewhere).is_ok(), "{address}");
        }
        assert!(check_peers(&[], Elsewhere).is_ok());
    }
}
