//! Questions to the kernel over netlink(7), each with its one answer.
//!
//! Answers are taken apart by these few lines, and only as far as they are needed: a newer kernel that
//! adds or lengthens an attribute must not stop a study.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
pub use nix::sys::socket::SockProtocol as Protocol;
use nix::sys::socket::{AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockType, bind, connect, recvfrom, send, socket};

use crate::refusal::KernelRefusal;
use crate::socket::set_int;

/// Time that the kernel may take to answer. It answers before the request's
/// system call returns, unless another process holds the network lock.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// The most bytes of an answer: the sockets of a namespace are as many as its programs want.
const ANSWER_BYTES: usize = 96 << 20;
/// More than the kernel puts into one datagram.
const ROOM: usize = 64 * 1024;
/// Length of the header of a message, and of an attribute.
const HEADER: usize = 16;
const ATTRIBUTE: usize = 4;
const KIND_BITS: u16 = libc::NLA_TYPE_MASK as u16;

/// A request that the kernel did not carry out.
#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    /// The kernel answered no.
    #[error("{tried}: the system answered {errno}{}", said(.words))]
    Refused {
        /// The attempt.
        tried: String,
        /// The kernel's answer.
        errno: Errno,
        /// The kernel's own words; empty where it has none.
        words: String,
    },
    /// The socket failed.
    #[error("{tried}: {source}")]
    Socket {
        /// The attempt.
        tried: String,
        /// Answer of the system.
        source: io::Error,
    },
    /// The answer makes no sense.
    #[error("{tried}: the kernel's answer cannot be read; please report this with the kernel's version")]
    Garbled {
        /// The attempt.
        tried: String,
    },
    /// The answer is longer than any that is kept.
    #[error("{tried}: the kernel's answer has more than {} MiB and was not kept", .most >> 20)]
    TooMuch {
        /// The attempt.
        tried: String,
        /// The most bytes that are kept.
        most: usize,
    },
    /// There was no answer.
    #[error("{tried}: the kernel did not answer in time; is another program holding the network lock?")]
    Silent {
        /// The attempt.
        tried: String,
    },
}

impl NetlinkError {
    /// The kernel's answer, where it gave one.
    pub const fn errno(&self) -> Option<Errno> {
        match self {
            Self::Refused { errno, .. } => Some(*errno),
            _ => None,
        }
    }
}

/// The errno of a refusal stays ([`KernelRefusal::errno`]).
impl From<NetlinkError> for io::Error {
    fn from(error: NetlinkError) -> Self {
        match error {
            NetlinkError::Refused { tried, errno, .. } => KernelRefusal::error(tried, errno.into()),
            NetlinkError::Socket { tried, source } => KernelRefusal::error(tried, source),
            other => Self::other(other),
        }
    }
}

fn said(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!(" (the kernel says: {words})") }
}

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
#[derive(Debug)]
pub struct Channel {
    socket: OwnedFd,
    sequence: u32,
}

impl Channel {
    /// Opens a socket of a protocol, and says that it is for questions to the kernel alone.
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn open(protocol: Protocol) -> Result<Self, NetlinkError> {
        let failed = |errno: Errno| NetlinkError::Socket {
            tried: format!("opening a netlink socket ({protocol:?})"), // words:allow
            source: errno.into(),
        };
        let socket = socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, protocol).map_err(failed)?;
        let number = socket.as_raw_fd();
        // The kernel chooses this end's port; its own is 0.
        bind(number, &NetlinkAddr::new(0, 0)).map_err(failed)?;
        connect(number, &NetlinkAddr::new(0, 0)).map_err(failed)?;
        // With a refusal the kernel says in words which attribute it disliked,
        // and leaves out the request. Old kernels cannot: then no words.
        for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK] {
            let _ = set_int(number, libc::SOL_NETLINK, option, 1);
        }
        Ok(Self { socket, sequence: 0 })
    }

    /// Receives the news of `group` from now on, for [`Channel::wait`].
    ///
    /// # Errors
    /// A refusal of the system.
    pub fn listen(&mut self, group: libc::c_int) -> Result<(), NetlinkError> {
        set_int(self.socket.as_raw_fd(), libc::SOL_NETLINK, libc::NETLINK_ADD_MEMBERSHIP, group)
            .map_err(|source| NetlinkError::Socket { tried: format!("joining netlink group {group}"), source })
    }

    /// Sends one request and returns what came before its acknowledgement.
    /// `tried` says in words what it is for.
    ///
    /// # Errors
    /// See [`NetlinkError`].
    pub fn ask(&mut self, tried: &str, kind: u16, flags: u16, body: &[u8]) -> Result<Vec<Message>, NetlinkError> {
        self.sequence = self.sequence.wrapping_add(1);
        let request = frame(kind, flags | (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16, self.sequence, body);
        send(self.socket.as_raw_fd(), &request, MsgFlags::empty())
            .map_err(|errno| NetlinkError::Socket { tried: tried.to_owned(), source: errno.into() })?;
        let deadline = Instant::now() + ANSWER_LIMIT;
        let (mut answers, mut left) = (Vec::new(), ANSWER_BYTES);
        loop {
            for message in self.receive(tried, deadline)? {
                if message.sequence != self.sequence {
                    continue; // An event, or a late answer.
                }
                match libc::c_int::from(message.kind) {
                    libc::NLMSG_ERROR => return verdict(tried, &message.body).map(|()| answers),
                    // A dump that failed ends with its errno, as a request does; older kernels send none.
                    libc::NLMSG_DONE if message.body.len() < 4 => return Ok(answers),
                    libc::NLMSG_DONE => return verdict(tried, &message.body).map(|()| answers),
                    _ => {
                        let rest = left.checked_sub(message.body.len() + size_of::<Message>());
                        left = rest.ok_or_else(|| NetlinkError::TooMuch { tried: tried.to_owned(), most: ANSWER_BYTES })?;
                        answers.push(message);
                    }
                }
            }
        }
    }

    /// Sends requests that take effect together, such as a batch of nftables. The last but one (behind which
    /// their end is) is acknowledged; every one that the kernel refuses is an error.
    ///
    /// # Errors
    /// See [`NetlinkError`].
    pub fn ask_together(&mut self, tried: &str, requests: &[(u16, u16, Vec<u8>)]) -> Result<(), NetlinkError> {
        let first = self.sequence.wrapping_add(1);
        let mut datagram = Vec::new();
        for (place, (kind, flags, body)) in requests.iter().enumerate() {
            self.sequence = self.sequence.wrapping_add(1);
            let acknowledged = if place + 2 == requests.len() { libc::NLM_F_ACK as u16 } else { 0 };
            datagram.extend(frame(*kind, flags | libc::NLM_F_REQUEST as u16 | acknowledged, self.sequence, body));
            datagram.resize(datagram.len().next_multiple_of(4), 0);
        }
        send(self.socket.as_raw_fd(), &datagram, MsgFlags::empty())
            .map_err(|errno| NetlinkError::Socket { tried: tried.to_owned(), source: errno.into() })?;
        let (deadline, acknowledged) = (Instant::now() + ANSWER_LIMIT, self.sequence.wrapping_sub(1));
        loop {
            for message in self.receive(tried, deadline)? {
                let is_ours = message.sequence.wrapping_sub(first) <= self.sequence.wrapping_sub(first);
                if is_ours && libc::c_int::from(message.kind) == libc::NLMSG_ERROR {
                    verdict(tried, &message.body)?;
                    if message.sequence == acknowledged {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Waits until something happens in a group listened to, or the deadline
    /// has passed: then `false`.
    ///
    /// # Errors
    /// See [`NetlinkError`].
    pub fn wait(&mut self, tried: &str, deadline: Instant) -> Result<bool, NetlinkError> {
        match self.receive(tried, deadline) {
            Ok(_) => Ok(true),
            Err(NetlinkError::Silent { .. }) => Ok(false),
            Err(other) => Err(other),
        }
    }

    fn receive(&self, tried: &str, deadline: Instant) -> Result<Vec<Message>, NetlinkError> {
        let failed = |errno: Errno| NetlinkError::Socket { tried: tried.to_owned(), source: errno.into() };
        let mut bytes = vec![0; ROOM];
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX);
            match poll(&mut [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)], timeout) {
                Ok(0) => return Err(NetlinkError::Silent { tried: tried.to_owned() }),
                Ok(_) => {}
                Err(Errno::EINTR) if !left.is_zero() => continue,
                Err(errno) => return Err(failed(errno)),
            }
            let (length, from) = match recvfrom::<NetlinkAddr>(self.socket.as_raw_fd(), &mut bytes) {
                Err(Errno::EINTR) => continue,
                received => received.map_err(failed)?,
            };
            // Port 0 is the kernel. Another process may send here too.
            if from.is_some_and(|from| from.pid() == 0) {
                return split(&bytes[..length]).ok_or_else(|| NetlinkError::Garbled { tried: tried.to_owned() });
            }
        }
    }
}

/// A message with its header.
pub fn frame(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + body.len()).unwrap_or(u32::MAX);
    [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &flags.to_ne_bytes(), &sequence.to_ne_bytes(), &[0; 4], body].concat()
}

/// The messages of one datagram, or `None` where it is not made of messages.
pub fn split(mut bytes: &[u8]) -> Option<Vec<Message>> {
    let mut messages = Vec::new();
    while !bytes.is_empty() {
        let length = number(bytes)? as usize;
        let body = bytes.get(HEADER..length)?.to_vec();
        messages.push(Message { kind: short(bytes.get(4..)?)?, sequence: number(bytes.get(8..)?)?, body });
        // The last message need not be padded.
        bytes = bytes.get(length.checked_next_multiple_of(4)?..).unwrap_or_default();
    }
    Some(messages)
}

/// Reads an acknowledgement: an error number, the header of the request, and,
/// where asked for and known, attributes.
///
/// # Errors
/// The refusal that it is.
pub fn verdict(tried: &str, body: &[u8]) -> Result<(), NetlinkError> {
    /// The kernel's own words, an attribute after the acknowledged header.
    const WORDS: u16 = 1;
    let code = number(body).ok_or_else(|| NetlinkError::Garbled { tried: tried.to_owned() })?.cast_signed();
    if code == 0 {
        return Ok(());
    }
    let words = attribute(body.get(4 + HEADER..).unwrap_or_default(), WORDS).map_or_else(String::new, read_text);
    Err(NetlinkError::Refused { tried: tried.to_owned(), errno: Errno::from_raw(code.wrapping_neg()), words })
}

/// The attributes in `bytes` as (type, value), up to the first that is broken.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (length, kind) = (usize::from(short(bytes)?), short(bytes.get(2..)?)?);
        let value = bytes.get(ATTRIBUTE..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & KIND_BITS, value))
    })
}

/// The value of the first attribute of a type.
pub fn attribute(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
}

/// The text in a value, up to its closing zero.
pub fn read_text(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

/// The 32-bit number in a value.
pub fn number(value: &[u8]) -> Option<u32> {
    value.first_chunk().copied().map(u32::from_ne_bytes)
}

fn short(value: &[u8]) -> Option<u16> {
    value.first_chunk().copied().map(u16::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use nix::errno::Errno;
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    use super::{Channel, Message, NetlinkError, Protocol, attribute, attributes, frame, split, verdict};

    #[test]
    fn a_refusal_says_what_was_tried_and_the_errno() {
        let mut channel = Channel::open(Protocol::NetlinkRoute).unwrap();
        // RTM_GETLINK for a device that cannot exist.
        let mut body = vec![0_u8; 16];
        body[4..8].copy_from_slice(&i32::MAX.to_ne_bytes());
        let error = channel.ask("looking for a device", 18, 0, &body).unwrap_err();
        assert!(matches!(error, NetlinkError::Refused { errno: Errno::ENODEV, .. }), "{error:?}");
        assert!(error.to_string().starts_with("looking for a device: the system answered ENODEV"), "{error}");
        let io = std::io::Error::from(error);
        assert_eq!(crate::KernelRefusal::errno(&io), Some(libc::ENODEV), "{io}");
    }

    #[test]
    fn the_kernels_words_are_passed_on() {
        let mut body = (-22_i32).to_ne_bytes().to_vec();
        body.extend([0; 16]);
        body.extend([9, 0, 1, 0]);
        body.extend(b"nope\0\0\0\0");
        let error = verdict("asking", &body).unwrap_err();
        assert_eq!(error.to_string(), "asking: the system answered EINVAL: Invalid argument (the kernel says: nope)");
    }

    #[test]
    fn attributes_are_found_in_their_order() {
        // The second has a bit that says that it holds others.
        let body = [6, 0, 7, 0, 1, 2, 0, 0, 5, 0, 4, 0x80, 9];
        assert_eq!([7, 4, 5].map(|kind| attribute(&body, kind)), [Some(&[1, 2][..]), Some(&[9][..]), None]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = split(&bytes);
            prop_assert!(verdict("asking", &bytes).is_err() || bytes.starts_with(&[0; 4]));
            prop_assert!(attributes(&bytes).map(|(_, value)| value.len()).sum::<usize>() <= bytes.len());
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
