//! What a controller that was let in may not do.

use std::collections::BTreeMap;

use lab::connection::Credentials;
use model::adjust::{ArmRequest, HostState};
use model::control::{Cookie, FromHost, Limits, LinkEnd, Task, ToEndpoint, ToHost};
use model::plan::TrialEnd;
use model::{Bytes, Cell, Family, Nanos, Role, Test};

use crate::claims;
use crate::support::agent::Agent;
use crate::support::files::{Files, SECRET, knows};
use crate::support::inside::{here, loopback};
use crate::support::roles::AgentSpec;
use crate::support::talk::Controller;
use crate::support::{Skip, says};

claims!(
    a_trial_beyond_the_limits_is_refused,
    a_remote_controller_cannot_aim_at_loopback,
    a_controller_on_the_machine_can,
    nothing_is_read_during_anothers_trial,
    buffers_beyond_memory_are_refused,
    the_machine_is_not_changed,
    a_device_is_no_path,
);

pub fn joined(spec: AgentSpec) -> (Agent, Controller) {
    let agent = Agent::start(&AgentSpec { listen: vec![loopback()], ..spec });
    let controller = Controller::connect(agent.address(), &Credentials::default()).unwrap();
    (agent, controller)
}

fn prepare(end: TrialEnd) -> ToHost {
    with(|task| task.end = end)
}

/// The command to prepare a task that is usual but for `change`.
pub fn with(change: impl FnOnce(&mut Task)) -> ToHost {
    let mut task = Task {
        role: Role::Sender,
        cell: Cell::plain(Test::TcpStream, Bytes::new(1_000)),
        local: "127.0.0.1:0".parse().unwrap(),
        cpus: Vec::new(),
        ksoftirqd: Vec::new(),
        cookie: Cookie([1; 16]),
        end: TrialEnd::Length(Nanos::from_millis(100)),
        warmup: Nanos::from_millis(100),
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
    };
    change(&mut task);
    ToHost::Endpoint(ToEndpoint::Prepare(Box::new(task)))
}

fn connect_to(peer: &str) -> ToHost {
    ToHost::Endpoint(ToEndpoint::Connect { peers: vec!["192.0.2.7:7".parse().unwrap(), peer.parse().unwrap()] })
}

/// It has its turn and an endpoint.
pub fn start(controller: &mut Controller) {
    assert_eq!(controller.ask(&ToHost::Turn), FromHost::Yours { shared: false });
    assert_eq!(controller.ask(&ToHost::Start), FromHost::Done);
}

fn a_remote_controller_cannot_aim_at_loopback() -> Result<(), Skip> {
    let files = Files::new();
    let secret = files.secret("secret", SECRET);
    let agent = Agent::start(&AgentSpec { listen: vec![here()?], secret: Some(secret.clone()), ..AgentSpec::default() });
    let mut controller = Controller::connect(agent.address(), &knows(&secret)).unwrap();
    assert!(!controller.connected.local.ip().is_loopback());
    start(&mut controller);
    for local in ["127.0.0.1:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
        let error = controller.refused(&with(|task| task.local = local.parse().unwrap()));
        says(&error, &["loopback of the agent's machine"]);
    }
    for peer in ["127.0.0.1:22", "[::1]:22", "[::ffff:127.0.0.1]:22", "0.0.0.0:22", "[::]:22", "224.0.0.1:22", "255.255.255.255:22"] {
        says(&controller.refused(&connect_to(peer)), &["aim messages at", "an address that both reach"]);
    }
    // Elsewhere it may: what comes next is the answer to the next question.
    controller.tell(&with(|task| task.local = here().unwrap()));
    controller.tell(&connect_to("192.0.2.8:7"));
    assert!(matches!(controller.ask(&ToHost::Clock), FromHost::Clock { .. }));
    Ok(())
}

fn a_controller_on_the_machine_can() -> Result<(), Skip> {
    let (_agent, mut controller) = joined(AgentSpec::default());
    start(&mut controller);
    controller.tell(&with(|_| ()));
    controller.tell(&connect_to("127.0.0.1:7"));
    assert!(matches!(controller.ask(&ToHost::Clock), FromHost::Clock { .. }));
    says(&controller.refused(&connect_to("0.0.0.0:7")), &["that is no host's address"]);
    Ok(())
}

fn nothing_is_read_during_anothers_trial() -> Result<(), Skip> {
    let (agent, mut first) = joined(AgentSpec::default());
    let mut second = Controller::connect(agent.address(), &Credentials::default()).unwrap();
    let facts = ToHost::Facts { device: "lo".to_owned(), endpoint_cpus: Vec::new() };
    let counters = ToHost::Counters { device: "lo".to_owned(), family: Family::V4 };
    says(&first.refused(&facts), &["ask for the turn first"]);
    start(&mut first);
    assert_eq!(second.ask(&ToHost::Turn), FromHost::Waiting { place: 1 });
    says(&second.refused(&facts), &["would disturb the trial of another controller"]);
    says(&second.refused(&counters), &["would disturb the trial of another controller"]);
    assert!(matches!(first.ask(&facts), FromHost::Facts(_)));
    assert!(matches!(first.ask(&counters), FromHost::Counters(_)));
    Ok(())
}

fn buffers_beyond_memory_are_refused() -> Result<(), Skip> {
    let (_agent, mut controller) = joined(AgentSpec::default());
    start(&mut controller);
    let command = with(|task| {
        task.cell.flows = 1_024;
        task.cell.size = Bytes::new(8 << 20);
    });
    says(&controller.refused(&command), &["1024 flows", "take fewer flows, or smaller messages"]);
    Ok(())
}

fn a_trial_beyond_the_limits_is_refused() -> Result<(), Skip> {
    let (_agent, mut controller) =
        joined(AgentSpec { time: Some(Nanos::from_millis(2_000)), bytes: Some(Bytes::new(50_000)), ..AgentSpec::default() });
    assert_eq!(controller.ask(&ToHost::Turn), FromHost::Yours { shared: false });
    assert_eq!(controller.ask(&ToHost::Start), FromHost::Done);
    let error = controller.refused(&prepare(TrialEnd::Length(Nanos::from_millis(1_901))));
    says(&error, &["2.001 s", "the agent allows 2 s", "--limit-time"]);
    let error = controller.refused(&prepare(TrialEnd::Messages(51)));
    says(&error, &["51 messages of 1000 bytes", "--limit-bytes"]);
    // And the talk goes on.
    assert!(matches!(controller.ask(&ToHost::Clock), FromHost::Clock { .. }));
    Ok(())
}

fn the_machine_is_not_changed() -> Result<(), Skip> {
    let (_agent, mut controller) = joined(AgentSpec::default());
    let end = LinkEnd {
        device: "lo".to_owned(),
        addresses: Vec::new(),
        neighbours: Vec::new(),
        mtu: Some(1_280),
        offloads: BTreeMap::new(),
        charged: false,
        shape: None,
    };
    says(&controller.refused(&ToHost::Configure(Box::new(end))), &["change the machine's network: an agent does not"]);
    let link = ToHost::MakeLink { device: "x0".to_owned(), far_device: "x1".to_owned(), far_pid: 1 };
    says(&controller.refused(&link), &["change the machine's network: an agent does not"]);
    for arm in [
        ArmRequest::Adjust(HostState { device: "lo".to_owned(), mtu: Some(1_400), ..HostState::default() }),
        ArmRequest::Run { command: "true".to_owned(), environment: Vec::new() },
        ArmRequest::Start { tool: "/bin/true".to_owned() },
        ArmRequest::Version { tool: "/bin/true".to_owned() },
    ] {
        says(&controller.refused(&ToHost::Arm(arm)), &["run something of the controller's choosing: an agent does not"]);
    }
    assert!(!std::fs::read_to_string("/proc/net/dev").unwrap().contains("x0:"));
    assert_ne!(std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap().trim(), "1280");
    Ok(())
}

fn a_device_is_no_path() -> Result<(), Skip> {
    let (_agent, mut controller) = joined(AgentSpec::default());
    for device in ["", ".", "..", "../../../etc", "a/b", "a b", "sixteen-letters-"] {
        for command in [
            ToHost::Counters { device: device.to_owned(), family: Family::V4 },
            ToHost::Facts { device: device.to_owned(), endpoint_cpus: Vec::new() },
        ] {
            says(&controller.refused(&command), &["no name of a device"]);
        }
    }
    Ok(())
}
