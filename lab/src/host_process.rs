//! The process of a host: it holds the host's namespace, changes and reads it
//! on command, and starts an endpoint for each trial.
//!
//! It ends when its standard input does, that is with its controller, however
//! that died; its endpoint and its namespace end with it.

mod endpoint;
mod offer;

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::str::FromStr;
use std::time::{Duration, Instant};

use engine::channel::{self, ChannelError, Receiver};
use engine::probe;
use model::adjust::ArmRequest;
use model::control::{CONTROL_VERSION, FromHost, ToEndpoint, ToHost, WireTask};
use model::host::HostFacts;
use model::kernel::WireCounters;
use model::plan::LinkKind;
use profile::probe::wakeup::wakeups_on;
use profile::sampler::cost;

use crate::arm::{self, Adjuster};
use crate::background::Background;
use crate::host::injection::{self, Injector};
use crate::host::namespace::{self, Entered, Isolation};
use crate::host::{counters, facts, link, route};
use crate::process::THIS_PROGRAM;
use crate::profiler::EndpointProfiler;
use crate::refusal::{Refusal, refused};
use crate::relay::Relay;
use sys::clock;

use endpoint::EndpointProcess;
use offer::Offer;

/// Interval at which a host that is at work says so: a small part of the time for which it may be silent.
const SIGN: Duration = Duration::from_secs(2);

impl FromStr for Isolation {
    type Err = String;

    /// Reads the argument of `nettoll __host`.
    fn from_str(word: &str) -> Result<Self, String> {
        match (word, word.strip_prefix("join=").map(str::parse)) {
            ("network", _) => Ok(Self::Network),
            ("user", _) => Ok(Self::UserAndNetwork),
            ("none", _) => Ok(Self::None),
            (_, Some(Ok(pid))) => Ok(Self::JoinUser { pid }),
            _ => Err(format!("'{word}' is no isolation: network, user, join=PID or none")),
        }
    }
}

/// Serves a controller over standard input and output until it is gone.
///
/// # Errors
/// The loss of the controller before it was greeted.
pub fn run(name: &str, isolation: Isolation) -> Result<(), ChannelError> {
    // Before anything starts a thread: the kernel gives a new user namespace only to a process with one.
    let entered = namespace::enter(isolation);
    let mut control = Receiver::new(File::from(io::stdin().as_fd().try_clone_to_owned()?));
    let ToHost::Hello { version } = control.receive()? else { return Err(ChannelError::Closed) };
    let entered = match entered {
        Ok(entered) => entered,
        Err(error) => return tell(&FromHost::Failed { error: error.to_string() }),
    };
    tell(&FromHost::Hello { version: CONTROL_VERSION, pid: std::process::id(), boot: sys::process::boot_id() })?;
    if version != CONTROL_VERSION {
        return Ok(());
    }
    HostProcess {
        name,
        entered,
        endpoint: None,
        profiler: EndpointProfiler::default(),
        adjuster: Adjuster::default(),
        background: Background::default(),
        wire: Wire::None,
        offer: Offer::default(),
        injector: Injector::default(),
    }
    .serve(&mut control)
}

/// Writes one message to the controller. Whole messages only: the endpoint's
/// are passed on by a thread of their own.
pub(crate) fn tell(message: &FromHost) -> Result<(), ChannelError> {
    channel::send(&mut io::stdout().lock(), message)
}

/// Tells the controller that a command that takes long is being carried out.
struct Signs {
    last: Instant,
}

impl Signs {
    /// Signs of life of a command that has just come.
    fn of_command() -> Self {
        Self { last: Instant::now() }
    }

    /// Called after every step; says it now and then.
    fn step(&mut self) {
        if self.last.elapsed() >= SIGN {
            // A controller that is gone is found out at the answer.
            let _ = tell(&FromHost::Working);
            self.last = Instant::now();
        }
    }
}

struct HostProcess<'a> {
    name: &'a str,
    entered: Entered,
    endpoint: Option<EndpointProcess>,
    profiler: EndpointProfiler,
    adjuster: Adjuster,
    background: Background,
    wire: Wire,
    offer: Offer,
    injector: Injector,
}

/// The wire that this process holds between other hosts, if any.
enum Wire {
    None,
    /// Devices and queues of the kernel's.
    Kernel,
    Relay(Relay),
}

impl Wire {
    fn make(entered: &Entered, task: &WireTask) -> Result<Self, Refusal> {
        match task.kind {
            LinkKind::Relay(wire) => Relay::start(entered, wire, task).map(Self::Relay),
            _ => link::make_wire(entered, task).map(|()| Self::Kernel),
        }
    }

    fn counters(&self) -> Result<WireCounters, Refusal> {
        match self {
            Self::None => Err(Refusal::new("read the wire's counters", "this host holds none", "a fault of the controller")),
            Self::Kernel => Ok(WireCounters { dropped: link::dropped()?, ..WireCounters::default() }),
            Self::Relay(relay) => relay.counters(),
        }
    }
}

impl HostProcess<'_> {
    fn serve(&mut self, control: &mut Receiver<ToHost>) -> Result<(), ChannelError> {
        loop {
            let command = match control.receive() {
                Err(ChannelError::Closed) => return Ok(()),
                command => command?,
            };
            match self.carry_out(command) {
                Ok(Some(answer)) => tell(&answer)?,
                Ok(None) => {}
                Err(refusal) => tell(&FromHost::Failed { error: refusal.to_string() })?,
            }
        }
    }

    fn carry_out(&mut self, command: ToHost) -> Result<Option<FromHost>, Refusal> {
        let mut signs = Signs::of_command();
        Ok(Some(match command {
            ToHost::Hello { .. } => return Err(Refusal::new("a second hello", "the controller and this host have lost step", "")),
            ToHost::MakeLink { device, far_device, far_pid } => {
                link::make_veth(&self.entered, &device, &far_device, far_pid)?;
                FromHost::Done
            }
            ToHost::MakeWire(task) => {
                self.wire = Wire::None;
                self.wire = Wire::make(&self.entered, &task)?;
                FromHost::Done
            }
            ToHost::WireCounters => FromHost::Wire(self.wire.counters()?),
            ToHost::Configure(end) => {
                let configured = link::configure(&self.entered, &end)?;
                FromHost::Configured { unset: configured.settings.unset }
            }
            ToHost::Counters { device, family } => FromHost::Counters(Box::new(counters::read(&device, family)?)),
            ToHost::Facts { device, endpoint_cpus } => {
                let offered: Vec<u32> = self.offer.renew().iter().map(|place| place.cpu).collect();
                FromHost::Facts(Box::new(self.facts(&device, &endpoint_cpus, &offered)))
            }
            ToHost::Route { to } => FromHost::Route(route::find(to)?),
            ToHost::Cpus => FromHost::Cpus(self.offer.renew().to_vec()),
            ToHost::Clock => FromHost::Clock { now: clock::monotonic() },
            // Nobody but the controller that started this host can ask it.
            ToHost::Turn => FromHost::Yours { shared: false },
            ToHost::Company => FromHost::Company { others: 0 },
            ToHost::Release => return Ok(None),
            ToHost::Start => self.start(THIS_PROGRAM, &mut signs)?,
            ToHost::Arm(ArmRequest::Start { tool }) => self.start(&tool, &mut signs)?,
            ToHost::Arm(command) => arm::host_side::carry_out(command, &mut self.adjuster, &mut self.entered)?,
            ToHost::Background(command) => {
                let endpoint = self.endpoint.as_ref().map(EndpointProcess::pid);
                FromHost::Background(self.background.carry_out(command, &self.entered, endpoint)?)
            }
            ToHost::Endpoint(mut message) => {
                if let ToEndpoint::Prepare(task) = &mut message {
                    self.injector.prepare(task);
                    self.offer.check_threads(task.ksoftirqd.iter().copied())?;
                }
                // An endpoint that died says so itself, through its relay.
                if let Some(endpoint) = &mut self.endpoint {
                    endpoint.tell(&message);
                }
                self.background.hear(&message);
                return Ok(None);
            }
            ToHost::SampleCost { cpus } => {
                self.offer.check(&cpus)?;
                // Where nothing can be sampled the attempt to watch says so.
                let first = cpus.first().map_or(0, |place| place.cpu);
                FromHost::SampleCost(cost::of_sample(first, |_| Ok(())).unwrap_or_default())
            }
            ToHost::Inject { injection, device } => {
                self.injector.set(&self.entered, injection, device)?;
                FromHost::Done
            }
            ToHost::Calibrate { injection, cpu } => FromHost::Calibrated(injection::cost(&self.entered, injection, cpu)?),
            ToHost::Observe(observe) => {
                self.offer.check(&observe.cpus)?;
                let none = || Refusal::new("watch an endpoint", "none is running (a fault of the controller)", "");
                let endpoint = self.endpoint.as_ref().ok_or_else(none)?;
                match self.profiler.start(endpoint.pid(), &observe, &mut || signs.step()) {
                    Ok(()) => FromHost::Observing,
                    Err(refused) => FromHost::NotObserved(refused),
                }
            }
            ToHost::Sampling { on } => {
                self.profiler.switch(on)?;
                FromHost::Done
            }
            ToHost::Observed { window, threads } => {
                FromHost::Observation(Box::new(self.profiler.finish(window, &threads, &mut || signs.step())))
            }
            ToHost::Stop { mark } => {
                self.end(&mut signs);
                FromHost::Stopped { mark }
            }
        }))
    }

    fn start(&mut self, program: &str, signs: &mut Signs) -> Result<FromHost, Refusal> {
        self.end(signs);
        let remedy = "raise the limits on processes and open files (ulimit -u, -n)";
        let started = EndpointProcess::start(program, self.entered.is_isolated())
            .map_err(refused(format!("start an endpoint ({program} __endpoint)"), remedy))?;
        self.endpoint = Some(started);
        Ok(FromHost::Done)
    }

    /// Ends the endpoint, and what watches it.
    fn end(&mut self, signs: &mut Signs) {
        self.endpoint = None;
        self.profiler.stop(&mut || signs.step());
    }

    fn facts(&self, device: &str, endpoint_cpus: &[u32], offered: &[u32]) -> HostFacts {
        let mut facts = facts::gather(self.name, &self.entered, device, endpoint_cpus);
        facts.irq_time_subtracted = probe::irq_time_subtracted();
        facts.loop_overhead_ns = probe::loop_overhead_ns();
        // On CPUs that the host's owner offers alone: the best first, cores before their further threads.
        let cpu = endpoint_cpus.first().filter(|cpu| offered.contains(cpu)).or(offered.first());
        facts.wakeups = cpu.and_then(|cpu| wakeups_on(*cpu, offered));
        facts
    }
}
