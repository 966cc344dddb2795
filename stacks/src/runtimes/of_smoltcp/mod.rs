//! smoltcp on a TUN device or on AF_XDP: UDP and TCP of its own, polled after every message.

mod adapter;

use std::net::Ipv4Addr;
use std::time::{Duration, Instant as Clock};

use model::{Nanos, Protocol, Role};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::socket::{tcp, udp};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint};

use crate::contract::{Harness, Running, STOP, Setup};
use crate::error::StackError;
use crate::net;
use crate::net::place::Placed;
use crate::net::udp::fits;
use adapter::Adapter;

/// Time that a wait for a packet takes at most.
const WAIT: Duration = Duration::from_millis(5);
/// Time that a connection may take, retransmission of its first segment included.
const JOIN_LIMIT: Duration = Duration::from_secs(9);
/// Bytes of a socket's buffer where the plan names none.
const BUFFER: usize = 256 << 10;
/// Datagrams that a socket's buffer holds.
const DATAGRAMS: usize = 64;

/// Is an end on smoltcp, on a device; `name` is the implementation's.
///
/// # Errors
/// A breach of the contract, a machine that is to stay as it is, a refusal of the system.
pub fn run<D: Placed>(mut harness: Harness, name: &str) -> Result<(), StackError> {
    let place = D::find_place(harness.setup(), name)?;
    let port = place.port()?;
    let peer = harness.join(Some(port))?;
    let stand = D::stand(&place, peer)?;
    let setup = harness.setup().clone();
    if setup.protocol == Protocol::Udp {
        fits(setup.size, stand.mtu, "smoltcp loses most fragments")?;
    }
    let to = IpEndpoint::new(IpAddress::from(stand.peer), peer.port());
    let mut end = End::new(Adapter::new(stand.device, stand.mtu), stand.own, &setup, port)?;
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
struct End<D> {
    device: Adapter<D>,
    stack: Interface,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
}

fn failed(what: &str, why: impl std::fmt::Display) -> StackError {
    StackError::contract(format!("smoltcp, {what}: {why}"))
}

impl<D: net::Device> End<D> {
    fn new(mut device: Adapter<D>, own: Ipv4Addr, setup: &Setup, port: u16) -> Result<Self, StackError> {
        let mut stack = Interface::new(Config::new(HardwareAddress::Ip), &mut device, Instant::now());
        let mut added = true;
        // Both stacks are in one network, so that neither needs a route.
        stack.update_ip_addrs(|all| added = all.push(IpCidr::new(IpAddress::from(own), 24)).is_ok());
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
            self.device.below().wait(due).map_err(|answer| StackError::system("wait for a packet", answer))?;
        }
        self.stack.poll(Instant::now(), &mut self.device, &mut self.sockets);
        self.device.fault().map_or(Ok(()), |answer| Err(StackError::system("use the device", answer)))
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
                return Err(failed("join the other end", format!("no connection within {}", Nanos::from(JOIN_LIMIT))));
            }
            self.poll(Some(WAIT))?;
        }
        Ok(())
    }

    fn send_datagrams(mut self, setup: &Setup, to: IpEndpoint, running: Running) -> Result<(), StackError> {
        let message = vec![0; setup.size];
        let mut messages = 0;
        while running.page.stage() != STOP {
            match self.udp().send_slice(&message, to) {
                Ok(()) => messages += 1,
                // The device takes nothing now.
                Err(udp::SendError::BufferFull) => {}
                Err(why) => return Err(failed("send", why)),
            }
            self.poll(None)?;
            running.page.count(messages, messages * setup.size as u64, self.device.below().calls());
        }
        // What the device did not take at once is sent as well.
        while self.udp().send_queue() > 0 {
            self.poll(None)?;
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
                running.page.own([self.device.below().dropped()]);
                self.device.below().wait(WAIT).map_err(|answer| StackError::system("wait for a packet", answer))?;
                continue;
            }
            let (length, _) = self.udp().recv_slice(&mut room).map_err(|why| failed("receive", why))?;
            messages += 1;
            bytes += length as u64;
            running.page.count(messages, bytes, self.device.below().calls());
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
                running.page.count(messages, messages * setup.size as u64, self.device.below().calls());
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
                running.page.count(messages, bytes, self.device.below().calls());
            }
            self.poll((length == 0).then_some(WAIT))?;
        }
        Ok(())
    }
}
