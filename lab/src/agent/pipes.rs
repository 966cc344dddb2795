//! `nettoll __serve`: serves one controller over standard input and output, as an agent
//! serves one over a connection.
//!
//! Whoever started it has this user's rights already, and so proves nothing. When its
//! input ends, or nothing comes over it for [`SILENCE`](crate::connection::SILENCE), it
//! ends, and everything that it started.

use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::reach::{GO, MOST_NOISE, Ready};
use model::control::{FromHost, Limits};
use model::frame::encode;
use model::sorting::Order;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::poll::poll;

use super::controller::{Budget, Controller, Turn};
use super::host::{HostProcess, adopt_orphans};
use super::limit::{Allowance, Origin, Programs};
use super::machine::MachineTurn;
use super::pending::{Outcome, Pending, Terms};
use super::queue::{Bell, Queue, Ticket};
use super::served::Served;
use crate::connection::link::{Filled, Link, timeout};
use crate::connection::proof::random;
use crate::connection::pump::Pump;
use crate::connection::{Credentials, resolve};
use crate::host::route;
use crate::process;

/// Time that a controller may take to greet.
const GREETING_LIMIT: Duration = Duration::from_secs(60);

/// Serves until the controller is gone.
///
/// # Errors
/// A controller that does not speak as one, or what this machine lacks.
pub fn serve() -> io::Result<()> {
    adopt_orphans();
    let mut stdout = io::stdout();
    stdout.write_all(Ready { addresses: addresses() }.line().as_bytes())?;
    stdout.flush()?;
    let own = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned().map(File::from).and_then(process::never_blocking);
    let Some(admitted) = greet(Link::over_pipes(own(io::stdin().as_fd())?, own(stdout.as_fd())?))? else { return Ok(()) };
    let machine = admitted.controller.map(MachineTurn::new);
    let (mut link, rest) = admitted.into_parts();
    let bell = Arc::new(Bell::new()?);
    let (mut host, from, to) = match HostProcess::start(eprintln) {
        Ok(started) => started,
        Err(error) => {
            let why = format!(
                "start a host process (/proc/self/exe __host): {error}; raise the limits on processes and open files (ulimit -u, -n)"
            );
            if let Ok(frame) = encode(&FromHost::Failed { error: why }) {
                link.queue(&frame);
            }
            return link.flush().map(drop).map_err(|error| io::Error::other(error.words()));
        }
    };
    let ticket = Ticket::new(Arc::<Queue>::default(), Arc::clone(&bell));
    let place = Arc::<Served>::default().add(IpAddr::V4(Ipv4Addr::LOCALHOST), &bell);
    let controller = Controller {
        ticket: &ticket,
        bell,
        ending: Arc::default(),
        allowance: &Allowance::new(Limits::default(), None).with(Programs::Any),
        ports: None,
        // With this user's rights it could aim at loopback anyway.
        origin: Origin::Here,
        presence: place.presence(),
        budget: Budget::new(Instant::now()),
        turn: Turn::Away,
        held: Vec::new(),
        machine,
    };
    let _ = Pump::new(link, &rest, from, to, controller).run();
    host.end();
    Ok(())
}

/// A line of the host process, for the command's standard error.
fn eprintln(line: &str) {
    // Nobody may be there to read it.
    let _ = writeln!(io::stderr(), "nettoll: host process: {line}");
}

/// Lets the controller in; `None` where it went away, did not greet in time, or was refused, which it was told.
fn greet(mut link: Link) -> io::Result<Option<Pending>> {
    let deadline = Instant::now() + GREETING_LIMIT;
    let Some(said) = until_go(&mut link, deadline)? else { return Ok(None) };
    let terms = Terms { id: machine_id(), credentials: Credentials::default(), served: Arc::default() };
    let mut pending = Pending::over_pipes(link, &said, deadline);
    loop {
        match pending.step(&terms) {
            Outcome::Admitted => return Ok(Some(pending)),
            // Interrupted, it looks again.
            Outcome::Stays if Instant::now() < deadline => {
                let _ = poll(&mut pending.fds(), timeout(deadline));
            }
            Outcome::Gone(Some(reason)) => return Err(io::Error::other(reason)),
            Outcome::Stays | Outcome::Refused(_) | Outcome::Gone(None) => return Ok(None),
        }
    }
}

/// Skips what comes before the controller's line, such as a script that nobody wanted;
/// returns what came behind it, or `None` where the controller went away.
fn until_go(link: &mut Link, deadline: Instant) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut searched = 0;
    loop {
        if let Some(at) = bytes[searched..].windows(GO.len()).position(|window| window == GO) {
            return Ok(Some(bytes.split_off(searched + at + GO.len())));
        }
        searched = bytes.len().saturating_sub(GO.len() - 1);
        if bytes.len() > MOST_NOISE {
            return Err(io::Error::other("this is no controller: it sends something else"));
        }
        if !more(link, &mut bytes, deadline)? {
            return Ok(None);
        }
    }
}

/// Waits for bytes; `false` at their end or at the deadline.
fn more(link: &mut Link, bytes: &mut Vec<u8>, deadline: Instant) -> io::Result<bool> {
    loop {
        link.flush().map_err(|error| io::Error::other(error.words()))?;
        // Interrupted, it looks again.
        let _ = poll(&mut link.fds(true), timeout(deadline));
        match link.fill(bytes).map_err(|error| io::Error::other(error.words()))? {
            Filled::Some => return Ok(true),
            Filled::Closed => return Ok(false),
            Filled::Nothing if Instant::now() >= deadline => return Ok(false),
            Filled::Nothing => {}
        }
    }
}

/// The same for all hosts of one machine, so that every controller asks machines for their
/// turn in one order; random where the kernel does not say.
fn machine_id() -> [u8; 16] {
    let digits: String = sys::process::boot_id().chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&digits, 16).map_or_else(|_| random().unwrap_or_default(), u128::to_be_bytes)
}

/// This machine's addresses by which others may know it, the likeliest first: the one that
/// ssh was called at, the one of the node's name in a Slurm allocation, the one that the way to
/// elsewhere begins with, then all others.
fn addresses() -> Vec<IpAddr> {
    let own = own_addresses();
    let named = std::env::var("SLURMD_NODENAME").ok().and_then(|name| resolve(&name, 0).ok()).unwrap_or_default();
    let first = ssh_address(std::env::var("SSH_CONNECTION").unwrap_or_default().as_str());
    let likely = first.into_iter().chain(named.into_iter().map(|address| address.ip()).filter(|address| own.contains(address)));
    // Documentation networks: no packet is sent, and the usual route is the one to them.
    let elsewhere = ["198.18.0.1:9", "[2001:db8:ffff::1]:9"].into_iter().filter_map(|to| {
        let source = route::find(to.parse::<SocketAddr>().ok()?).ok()?.source.ip();
        own.contains(&source).then_some(source)
    });
    let mut all = Vec::new();
    for address in likely.chain(elsewhere).chain(own.iter().copied()) {
        if !all.contains(&address) {
            all.push(address);
        }
    }
    all
}

/// Addresses that are neither loopback's nor those of one link alone.
fn own_addresses() -> Vec<IpAddr> {
    let up = InterfaceFlags::IFF_UP;
    let all = getifaddrs().into_iter().flatten().filter(|one| one.flags.contains(up) && !one.flags.contains(InterfaceFlags::IFF_LOOPBACK));
    let mut found: Vec<IpAddr> =
        all.filter_map(|one| Some(route::address_of(&one)?.ip())).filter(|address| !is_link_local(*address)).collect();
    found.order_by_key(IpAddr::is_ipv6);
    found
}

const fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

/// The address that ssh was called at, of `$SSH_CONNECTION`: client, its port, server, its port.
fn ssh_address(connection: &str) -> Option<IpAddr> {
    let server: IpAddr = connection.split(' ').nth(2)?.parse().ok()?;
    (!is_link_local(server)).then_some(server)
}

#[cfg(test)]
mod tests {
    use super::{machine_id, own_addresses, ssh_address};

    #[test]
    fn the_address_of_ssh_is_the_servers() {
        let address = |text| ssh_address(text).map(|address| address.to_string());
        assert_eq!(address("198.51.100.1 40000 203.0.113.1 22").as_deref(), Some("203.0.113.1"));
        assert_eq!(address("2001:db8::1 40000 2001:db8::2 22").as_deref(), Some("2001:db8::2"));
        assert_eq!((address(""), address("a b c d"), address("fe80::1%eth0 1 fe80::2%eth0 22")), (None, None, None));
    }

    #[test]
    fn hosts_of_one_machine_say_that_they_are() {
        assert_eq!(machine_id(), machine_id());
        assert!(own_addresses().iter().all(|address| !address.is_loopback()));
    }
}
