//! smoltcp on a TUN device: UDP and TCP of its own, polled after every message.

use std::io;
use std::time::{Duration, Instant as Clock};

use model::{Protocol, Role};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::socket::{tcp, udp};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint};

use crate::contract::{Harness, Running, STOP, Setup};
use crate::error::StackError;
use crate::net::place::{Place, Stand};
use crate::net::tun::Tun;
use crate::net::udp::HEADERS;

/// Time that a wait for a packet takes at most.
const WAIT: Duration = Duration::from_millis(5);
/// Time that a connection may take, retransmission of its first segment included.
const JOIN_LIMIT: Duration = Duration::from_secs(9);
/// Bytes of a socket's buffer where the plan names none.
const BUFFER: usize = 256 << 10;
/// Datagrams that a socket's buffer holds.
const DATAGRAMS: usize = 64;

/// Is an end on smoltcp.
///
/// # Errors
/// A breach of the contract, a machine that is to stay as it is, a refusal of the system.
pub fn run(mut harness: Harness) -> Result<(), StackError> {
    let setup = harness.setup().clone();
    let place = Place::find(&setup, "smoltcp")?;
    let port = place.port()?;
    let peer = harness.join(Some(port))?;
    let stand = place.stand(peer)?;
    if setup.protocol == Protocol::Udp && setup.size + HEADERS > stand.mtu {
        let most = stand.mtu.saturating_sub(HEADERS);
        return Err(StackError::contract(format!(
            "a datagram of {} B does not fit the MTU of {} on the way to the other end, and smoltcp loses most fragments: take messages of at \
             most {most} B, or a larger MTU",
            setup.size, stand.mtu
        )));
    }
    let to = IpEndpoint::new(IpAddress::from(stand.peer), peer.port());
    let mut end = End::new(stand, &setup, port)?;
    if setup.protocol == Protocol::Tcp {
        end.connect(&setup, to, port)?;
    }
    let running = harness.begin(&["dropped"])?;
    match (setup.protocol, setup.role) {
        (Protocol::Udp, Role::Sender) => end.send_datagrams(&setup, to, running),
        (Protocol::Udp, Role::Receiver) => end.receive_datagrams(&setup, &running),
        (Protocol::Tcp, Role::Sender) => end.send_stream(&setup, running),
        (Protocol::Tcp, Role::Receiver) => end.receive_stream(&setup, &running),
    }
}

/// A stack with one socket.
struct End {
    device: Device,
    stack: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
}

fn failed(what: &str, why: impl std::fmt::Display) -> StackError {
    StackError::contract(format!("smoltcp, {what}: {why}"))
}

impl End {
    fn new(stand: Stand, setup: &Setup, port: u16) -> Result<Self, StackError> {
        let mut device = Device { tun: stand.device, mtu: stand.mtu, room: vec![0; 1 << 16], out: Vec::new(), calls: 0, fault: None };
        let mut stack = Interface::new(Config::new(HardwareAddress::Ip), &mut device, Instant::now());
        let mut added = true;
        // Both stacks are in one network, so that neither needs a route.
        stack.update_ip_addrs(|all| added = all.push(IpCidr::new(IpAddress::from(stand.own), 24)).is_ok());
        if !added {
            return Err(failed("take an address", "no room"));
        }
        let mut sockets = SocketSet::new(Vec::new());
        let socket = match setup.protocol {
            Protocol::Udp => {
                let room =
                    || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; DATAGRAMS], vec![0; DATAGRAMS * setup.size.max(setup.read)]);
                let mut socket = udp::Socket::new(room(), room());
                socket.bind(port).map_err(|why| failed("bind", why))?;
                sockets.add(socket)
            }
            Protocol::Tcp => {
                let room = |bytes: Option<usize>| tcp::SocketBuffer::new(vec![0; bytes.unwrap_or(BUFFER)]);
                let mut socket = tcp::Socket::new(room(setup.rcvbuf), room(setup.sndbuf));
                socket.set_nagle_enabled(!setup.nodelay);
                sockets.add(socket)
            }
        };
        Ok(Self { device, stack, sockets, socket })
    }

    fn tcp(&mut self) -> &mut tcp::Socket<'static> {
        self.sockets.get_mut(self.socket)
    }

    fn udp(&mut self) -> &mut udp::Socket<'static> {
        self.sockets.get_mut(self.socket)
    }

    /// Has the stack do what is due; waits for a packet first where `wait` is given.
    fn poll(&mut self, wait: Option<Duration>) -> Result<(), StackError> {
        if let Some(wait) = wait {
            let due = self.stack.poll_delay(Instant::now(), &self.sockets).map_or(wait, |due| wait.min(due.into()));
            self.device.tun.wait(due).map_err(|answer| StackError::system("wait for a packet", answer))?;
        }
        self.stack.poll(Instant::now(), &mut self.device, &mut self.sockets);
        self.device.fault.take().map_or(Ok(()), |answer| Err(StackError::system("use the TUN device", answer)))
    }

    fn connect(&mut self, setup: &Setup, to: IpEndpoint, port: u16) -> Result<(), StackError> {
        let sends = setup.role == Role::Sender;
        if sends {
            let socket = self.sockets.get_mut::<tcp::Socket<'_>>(self.socket);
            socket.connect(self.stack.context(), to, port).map_err(|why| failed("connect", why))?;
        } else {
            self.tcp().listen(port).map_err(|why| failed("listen", why))?;
        }
        let give_up = Clock::now() + JOIN_LIMIT;
        while !(if sends { self.tcp().may_send() } else { self.tcp().may_recv() }) {
            if Clock::now() > give_up {
                return Err(failed("join the other end", format!("no connection within {JOIN_LIMIT:?}")));
            }
            self.poll(Some(WAIT))?;
        }
        Ok(())
    }

    fn send_datagrams(mut self, setup: &Setup, to: IpEndpoint, running: Running) -> Result<(), StackError> {
        let message = vec![0; setup.size];
        let mut messages = 0;
        while running.page.stage() != STOP {
            self.udp().send_slice(&message, to).map_err(|why| failed("send", why))?;
            self.poll(None)?;
            messages += 1;
            running.page.count(messages, messages * setup.size as u64, self.device.calls);
        }
        running.done()
    }

    fn receive_datagrams(mut self, setup: &Setup, running: &Running) -> Result<(), StackError> {
        let mut room = vec![0; setup.read];
        let (mut messages, mut bytes) = (0, 0);
        loop {
            // One packet at a time: what finds no room in the socket smoltcp drops without a count.
            self.stack.poll_ingress_single(Instant::now(), &mut self.device, &mut self.sockets);
            if !self.udp().can_recv() {
                running.page.own([self.device.tun.dropped()]);
                self.device.tun.wait(WAIT).map_err(|answer| StackError::system("wait for a packet", answer))?;
                continue;
            }
            let (length, _) = self.udp().recv_slice(&mut room).map_err(|why| failed("receive", why))?;
            messages += 1;
            bytes += length as u64;
            running.page.count(messages, bytes, self.device.calls);
        }
    }

    fn send_stream(mut self, setup: &Setup, running: Running) -> Result<(), StackError> {
        let message = vec![0; setup.size];
        let (mut messages, mut done) = (0, 0);
        // The last message is sent whole.
        while running.page.stage() != STOP || done > 0 {
            let sent = self.tcp().send_slice(&message[done..]).map_err(|why| failed("send", why))?;
            done += sent;
            if done == message.len() {
                done = 0;
                messages += 1;
                running.page.count(messages, messages * setup.size as u64, self.device.calls);
            }
            self.poll((sent == 0).then_some(WAIT))?;
        }
        while self.tcp().send_queue() > 0 {
            self.poll(Some(WAIT))?;
        }
        running.done()
    }

    fn receive_stream(mut self, setup: &Setup, running: &Running) -> Result<(), StackError> {
        let mut room = vec![0; setup.read];
        let (mut messages, mut bytes) = (0, 0);
        while self.tcp().may_recv() {
            let length = self.tcp().recv_slice(&mut room).map_err(|why| failed("receive", why))?;
            if length > 0 {
                messages += 1;
                bytes += length as u64;
                running.page.count(messages, bytes, self.device.calls);
            }
            self.poll((length == 0).then_some(WAIT))?;
        }
        Ok(())
    }
}

/// The device as smoltcp wants it.
struct Device {
    tun: Tun,
    mtu: usize,
    room: Vec<u8>,
    out: Vec<u8>,
    calls: u64,
    fault: Option<io::Error>,
}

struct Received<'a>(&'a [u8]);

struct Transmit<'a> {
    tun: &'a Tun,
    out: &'a mut Vec<u8>,
    calls: &'a mut u64,
    fault: &'a mut Option<io::Error>,
}

impl phy::Device for Device {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Transmit<'a>;

    fn receive(&mut self, _now: Instant) -> Option<(Received<'_>, Transmit<'_>)> {
        match self.tun.receive(&mut self.room, None) {
            Ok(length) => {
                let packet = Received(&self.room[..length?]);
                self.calls += 1;
                Some((packet, Transmit { tun: &self.tun, out: &mut self.out, calls: &mut self.calls, fault: &mut self.fault }))
            }
            Err(answer) => {
                self.fault = Some(answer);
                None
            }
        }
    }

    fn transmit(&mut self, _now: Instant) -> Option<Transmit<'_>> {
        Some(Transmit { tun: &self.tun, out: &mut self.out, calls: &mut self.calls, fault: &mut self.fault })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut found = DeviceCapabilities::default();
        found.medium = Medium::Ip;
        found.max_transmission_unit = self.mtu;
        found
    }
}

impl phy::RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(self.0)
    }
}

impl phy::TxToken for Transmit<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        self.out.clear();
        self.out.resize(length, 0);
        let answer = write(self.out);
        *self.calls += 1;
        if let Err(refused) = self.tun.send(self.out) {
            *self.fault = Some(refused);
        }
        answer
    }
}
