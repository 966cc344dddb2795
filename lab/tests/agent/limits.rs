//! What a controller that was let in may not do.

use std::collections::BTreeMap;

use lab::wire::Credentials;
use model::control::{Cookie, FromHost, Limits, LinkEnd, Task, ToEndpoint, ToHost};
use model::plan::TrialEnd;
use model::{Bytes, Cell, Family, Nanos, Role, Test};

use crate::claims;
use crate::support::agent::Agent;
use crate::support::inside::loopback;
use crate::support::roles::AgentSpec;
use crate::support::talk::Controller;
use crate::support::{Skip, says};

claims!(a_trial_beyond_the_limits_is_refused, the_machine_is_not_changed, a_device_is_no_path);

fn joined(spec: AgentSpec) -> (Agent, Controller) {
    let agent = Agent::start(&AgentSpec { listen: vec![loopback()], ..spec });
    let controller = Controller::connect(agent.address(), &Credentials::default()).unwrap();
    (agent, controller)
}

fn prepare(end: TrialEnd) -> ToHost {
    let task = Task {
        role: Role::Sender,
        cell: Cell::plain(Test::TcpStream, Bytes::new(1_000)),
        local: "127.0.0.1:0".parse().unwrap(),
        cpus: Vec::new(),
        ksoftirqd: Vec::new(),
        cookie: Cookie([1; 16]),
        end,
        warmup: Nanos::from_millis(100),
        silence: Nanos::from_millis(20),
        answer_limit: Nanos::from_millis(100),
        irq_time_subtracted: false,
        progress: None,
        limits: Limits::default(),
    };
    ToHost::Endpoint(ToEndpoint::Prepare(Box::new(task)))
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
    let end =
        LinkEnd { device: "lo".to_owned(), addresses: Vec::new(), neighbours: Vec::new(), mtu: Some(1_280), offloads: BTreeMap::new() };
    says(&controller.refused(&ToHost::Configure(Box::new(end))), &["change the machine's network: an agent does not"]);
    let link = ToHost::MakeLink { device: "x0".to_owned(), far_device: "x1".to_owned(), far_pid: 1 };
    says(&controller.refused(&link), &["change the machine's network: an agent does not"]);
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
