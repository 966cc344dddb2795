//! The same trial over agents and local: over the same link between the same
//! namespaces, on the same CPUs. What differs is who started the endpoints.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context, ensure};
use lab::agent::{Agent, Listen, Settings};
use lab::connection::Credentials;
use lab::session::Session;
use model::control::Limits;
use model::host_place::HostPlace;
use model::{Family, Plan, Protocol, Role};
use nix::sched::{CloneFlags, setns};

use crate::bars::Row;
use crate::cpu_per_message::ENDS;
use crate::{ours, pairs};

/// Largest half-width of an interval, as a share.
const HALF_WIDTH: f64 = 0.03;
/// One whose ratio no noise of this size explains is never shown to be equal.
const CELLS: [(Protocol, u64); 3] = [(Protocol::Udp, 1), (Protocol::Udp, 1_024), (Protocol::Tcp, 16 << 10)];

/// Measures pairs of trials, through agents and without.
pub fn measure(count: u32) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (protocol, size) in CELLS {
        let mut local = ours::session()?;
        let agents = [Serving::start(&mut local, Role::Sender)?, Serving::start(&mut local, Role::Receiver)?];
        let remote = RefCell::new(reach(&mut local, &agents)?);
        let local = RefCell::new(local);
        for role in [Role::Sender, Role::Receiver] {
            let cpus = |session: &Session| session.place(role, false).cpus(1).first().map(|place| place.cpu);
            ensure!(cpus(&local.borrow()) == cpus(&remote.borrow()), "the two would run on different CPUs");
        }
        let one = |session: &RefCell<Session>| ours::run(&mut session.borrow_mut(), protocol, size);
        let pairs = pairs::run(count, || one(&remote), || one(&local))?;
        for (end, pick) in ENDS {
            let what = format!("CPU per message, {protocol} {size} B, {end}, over agents / local");
            let row = pairs::ratio(what, &pairs, |trial| pick(trial).cpu_per_message(), 0.95)?;
            let equal = |row: &Row| row.ends().0 <= 1.0 && row.ends().1 >= 1.0 && row.half_width() <= HALF_WIDTH;
            rows.push(row.judged(format!("95 % holds 1, half-width <= {HALF_WIDTH}"), equal));
        }
    }
    Ok(rows)
}

/// A secret in a file that only its owner can read.
pub fn secret(file: &Path) -> anyhow::Result<PathBuf> {
    fs::write(file, "of this benchmark alone\n")?;
    fs::set_permissions(file, fs::Permissions::from_mode(0o600))?;
    Ok(file.to_owned())
}

/// An agent in the namespace of a host. Dropped, it ends.
struct Serving {
    child: Child,
    address: SocketAddr,
    secret: tempfile::TempDir,
}

impl Serving {
    fn start(session: &mut Session, role: Role) -> anyhow::Result<Self> {
        let secret = tempfile::tempdir()?;
        let file = self::secret(&secret.path().join("secret"))?;
        let address = session.place(role, false).address(Family::V4).context("no IPv4 address")?;
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", session.host(role, false).pid()));
        command.arg(std::env::current_exe()?).args(["__agent", &address.to_string()]).arg(&file);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().context("start an agent")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no pipe")?).read_line(&mut line)?;
        let address = line.trim().parse().with_context(|| format!("the agent said '{line}'"))?;
        Ok(Self { child, address, secret })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves as an agent until standard input ends. It is this program, as the
/// local endpoints are: two builds of one loop may differ in speed.
pub fn serve(address: SocketAddr, secret: &Path) -> anyhow::Result<()> {
    let settings = Settings {
        listen: Listen::At(vec![address]),
        credentials: Credentials::load(Some(secret), None)?,
        at_once: std::num::NonZeroU32::MIN,
        limits: Limits::default(),
        data_ports: None,
        endpoints: std::collections::BTreeMap::new(),
    };
    let agent = Agent::open(settings)?;
    println!("{}", agent.addresses()[0]);
    io::stdout().flush()?;
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (stop, stopped) = std::os::unix::net::UnixStream::pair()?;
    thread::spawn(move || {
        let _ = input.read_to_end(&mut Vec::new());
        drop(stopped);
    });
    Ok(agent.serve(stop.as_fd())?)
}

/// A session over both agents. The connections to them are made in the
/// sender's namespace, by a thread that stays in it.
fn reach(local: &mut Session, agents: &[Serving; 2]) -> anyhow::Result<Session> {
    let space = File::open(format!("/proc/{}/ns/net", local.host(Role::Sender, false).pid()))?;
    let mut plan: Plan = ours::plan(ours::stream(Protocol::Udp, 1, 1), 20, 100);
    let host = |agent: &Serving| agent.address.to_string().parse::<HostPlace>();
    plan.hosts = [("a".to_owned(), host(&agents[0])?), ("b".to_owned(), host(&agents[1])?)].into();
    let plan = ours::approved(plan)?;
    // Each agent has a secret of its own file; what stands in it is the same.
    let credentials = Credentials::load(Some(&agents[0].secret.path().join("secret")), None)?;
    thread::scope(|scope| {
        let opened = scope.spawn(|| -> anyhow::Result<Session> {
            setns(&space, CloneFlags::CLONE_NEWNET).context("enter a host's namespace (setns)")?;
            Ok(Session::open(&plan, &credentials, &mut lab::event::Quiet)?)
        });
        opened.join().map_err(|_| anyhow::anyhow!("the thread that reaches the agents panicked"))?
    })
}
