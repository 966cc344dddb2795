//! Questions to the kernel over netlink, each with its one answer.
//!
//! Nothing here waits for events but [`Channel::wait`]; no runtime is needed.
//! Answers are taken apart by our own few lines over the crates' checked
//! iterators, and only as far as they are needed: a newer kernel that adds or
//! lengthens an attribute must not stop a study.

mod attribute;
mod error;
pub mod generic;

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use netlink_packet_core::{Emitable, NLM_F_ACK, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, NetlinkBuffer, NetlinkHeader};
use netlink_sys::{Socket, SocketAddr};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

pub(crate) use attribute::{attributes, emit, nest, number, read_text, text};
pub use error::{NetlinkError, verdict};

/// Time that the kernel may take to answer. It answers before the request's
/// system call returns, unless another process holds the network lock.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// The most bytes of an answer: the sockets of a namespace are as many as its programs want.
const ANSWER_BYTES: usize = 96 << 20;

/// More than the kernel puts into one answer.
const ANSWER_ROOM: usize = 64 * 1024;

/// One message from the kernel, without its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its type.
    pub kind: u16,
    /// The request that it answers.
    pub sequence: u32,
    /// The part behind the header.
    pub body: Vec<u8>,
}

/// A netlink socket in the namespace of the process that opened it.
pub(crate) struct Channel {
    socket: Socket,
    sequence: u32,
}

impl Channel {
    /// Opens a socket of `protocol`, one of `netlink_sys::protocols`.
    pub(crate) fn open(protocol: isize) -> Result<Self, NetlinkError> {
        let failed = |source| NetlinkError::Socket { tried: format!("opening netlink socket {protocol}"), source };
        let mut socket = Socket::new(protocol).map_err(failed)?;
        socket.bind_auto().map_err(failed)?;
        socket.connect(&SocketAddr::new(0, 0)).map_err(failed)?;
        // With a refusal the kernel says in words which attribute it disliked,
        // and leaves out the request. Old kernels cannot: then no words.
        let _ = socket.set_ext_ack(true);
        let _ = socket.set_cap_ack(true);
        Ok(Self { socket, sequence: 0 })
    }

    /// Hears of changes in `group` from now on, for [`Channel::wait`].
    pub(crate) fn listen(&mut self, group: u32) -> Result<(), NetlinkError> {
        self.socket.add_membership(group).map_err(|source| NetlinkError::Socket { tried: format!("joining netlink group {group}"), source })
    }

    /// Sends one request and returns what came before its acknowledgement.
    /// `tried` says in words what it is for.
    pub(crate) fn ask(&mut self, tried: &str, kind: u16, flags: u16, body: &[u8]) -> Result<Vec<Message>, NetlinkError> {
        self.sequence = self.sequence.wrapping_add(1);
        let request = frame(kind, flags | NLM_F_REQUEST | NLM_F_ACK, self.sequence, body);
        self.socket.send(&request, 0).map_err(|source| NetlinkError::Socket { tried: tried.to_owned(), source })?;
        let deadline = Instant::now() + ANSWER_LIMIT;
        let (mut answers, mut left) = (Vec::new(), ANSWER_BYTES);
        loop {
            for message in self.receive(tried, deadline)? {
                if message.sequence != self.sequence {
                    continue; // An event, or a late answer.
                }
                match message.kind {
                    NLMSG_ERROR => return verdict(tried, &message.body).map(|()| answers),
                    NLMSG_DONE => return Ok(answers),
                    _ => {
                        let rest = left.checked_sub(message.body.len() + size_of::<Message>());
                        left = rest.ok_or_else(|| NetlinkError::TooMuch { tried: tried.to_owned(), most: ANSWER_BYTES })?;
                        answers.push(message);
                    }
                }
            }
        }
    }

    /// Waits until something happens in a group listened to, or the deadline
    /// has passed: then `false`.
    pub(crate) fn wait(&mut self, tried: &str, deadline: Instant) -> Result<bool, NetlinkError> {
        match self.receive(tried, deadline) {
            Ok(_) => Ok(true),
            Err(NetlinkError::Silent { .. }) => Ok(false),
            Err(other) => Err(other),
        }
    }

    fn receive(&self, tried: &str, deadline: Instant) -> Result<Vec<Message>, NetlinkError> {
        let failed = |source| NetlinkError::Socket { tried: tried.to_owned(), source };
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
            match poll(&mut [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)], timeout) {
                Ok(0) => return Err(NetlinkError::Silent { tried: tried.to_owned() }),
                Ok(_) => {}
                Err(nix::errno::Errno::EINTR) if !left.is_zero() => continue,
                Err(errno) => return Err(failed(errno.into())),
            }
            let mut bytes = Vec::with_capacity(ANSWER_ROOM);
            let from = match self.socket.recv_from(&mut bytes, 0) {
                Ok((_, from)) => from,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(error)),
            };
            // Port 0 is the kernel. Another process may send here too.
            if from.port_number() == 0 {
                return split(&bytes).ok_or_else(|| NetlinkError::Garbled { tried: tried.to_owned() });
            }
        }
    }
}

/// The bytes of a message, its attributes included.
pub(crate) fn bytes(message: &impl Emitable) -> Vec<u8> {
    let mut bytes = vec![0; message.buffer_len()];
    message.emit(&mut bytes);
    bytes
}

pub(crate) fn frame(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    let mut header = NetlinkHeader::default();
    let room = header.buffer_len();
    header.length = u32::try_from(room + body.len()).unwrap_or(u32::MAX);
    header.message_type = kind;
    header.flags = flags;
    header.sequence_number = sequence;
    let mut bytes = vec![0; room];
    header.emit(&mut bytes);
    bytes.extend_from_slice(body);
    bytes
}

/// The messages of one datagram, or `None` where it is not made of messages.
pub fn split(mut bytes: &[u8]) -> Option<Vec<Message>> {
    let mut messages = Vec::new();
    while !bytes.is_empty() {
        let buffer = NetlinkBuffer::new_checked(bytes).ok()?;
        let length = buffer.length() as usize;
        messages.push(Message { kind: buffer.message_type(), sequence: buffer.sequence_number(), body: buffer.payload().to_vec() });
        // The last message need not be padded.
        bytes = bytes.get(length.checked_next_multiple_of(4)?..).unwrap_or_default();
    }
    Some(messages)
}

#[cfg(test)]
mod tests {
    use netlink_sys::protocols::NETLINK_ROUTE;
    use proptest::prelude::{any, prop, prop_assert_eq, proptest};

    use super::{Channel, Message, NetlinkError, frame, split};

    #[test]
    fn a_refusal_says_what_was_tried_and_the_errno() {
        let mut channel = Channel::open(NETLINK_ROUTE).unwrap();
        // RTM_GETLINK for a device that cannot exist.
        let mut body = vec![0_u8; 16];
        body[4..8].copy_from_slice(&i32::MAX.to_ne_bytes());
        let error = channel.ask("looking for a device", 18, 0, &body).unwrap_err();
        assert!(matches!(error, NetlinkError::Refused { errno: nix::errno::Errno::ENODEV, .. }), "{error:?}");
        assert!(error.to_string().starts_with("looking for a device: the system answered ENODEV"), "{error}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_split_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = split(&bytes);
        }

        #[test]
        fn what_was_framed_is_split_again(bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..5)) {
            let mut bytes = Vec::new();
            let mut expected = Vec::new();
            for (body, sequence) in bodies.into_iter().zip(1_u32..) {
                bytes.extend(frame(16, 1, sequence, &body));
                bytes.resize(bytes.len().next_multiple_of(4), 0);
                expected.push(Message { kind: 16, sequence, body });
            }
            prop_assert_eq!(split(&bytes), Some(expected));
        }
    }
}
