//! Messages of netlink, and the kernel's answer to them.

use crate::sys::{self, Answer, Errno, Fd, call};

/// Attributes of links (linux/if_link.h).
pub mod attribute {
    /// `IFLA_IFNAME`.
    pub const NAME: u16 = 3;
    /// `IFLA_LINKINFO`.
    pub const LINK_INFO: u16 = 18;
    /// `IFLA_NET_NS_FD`.
    pub const NAMESPACE_FD: u16 = 28;
}

/// Room of a message, and of an answer.
const ROOM: usize = 512;
/// Bytes of `struct nlmsghdr`.
const HEADER: usize = 16;

/// The current message.
#[derive(Debug)]
pub struct Message {
    bytes: [u8; ROOM],
    length: usize,
}

impl Message {
    /// A message of a type; `NLM_F_REQUEST | NLM_F_ACK` are added to its flags.
    pub fn new(kind: u16, flags: u16) -> Self {
        Self::unanswered(kind, flags | 4)
    }

    /// A message of a type that the kernel answers only where it fails; `NLM_F_REQUEST` is added to
    /// its flags.
    pub fn unanswered(kind: u16, flags: u16) -> Self {
        let mut message = Self { bytes: [0; ROOM], length: HEADER };
        message.bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        message.bytes[6..8].copy_from_slice(&(flags | 1).to_ne_bytes());
        message
    }

    /// Adds bytes, filled up to a multiple of four.
    ///
    /// # Errors
    /// There is no room.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let end = self.length + bytes.len();
        self.bytes.get_mut(self.length..end).ok_or(Errno::INVALID)?.copy_from_slice(bytes);
        self.length = end.next_multiple_of(4);
        Ok(())
    }

    /// Adds an attribute.
    ///
    /// # Errors
    /// There is no room.
    pub fn attribute(&mut self, kind: u16, content: &[u8]) -> Result<(), Errno> {
        self.nested(kind, |inner| inner.put(content))
    }

    /// Adds an attribute that is a text.
    ///
    /// # Errors
    /// There is no room.
    pub fn text(&mut self, kind: u16, text: &str) -> Result<(), Errno> {
        let mut buffer = [0; 32];
        buffer.get_mut(..text.len()).filter(|_| text.len() < 32).ok_or(Errno::INVALID)?.copy_from_slice(text.as_bytes());
        self.attribute(kind, &buffer[..=text.len()])
    }

    /// Adds an attribute whose content is added by `fill`.
    ///
    /// # Errors
    /// There is no room.
    pub fn nested(&mut self, kind: u16, fill: impl FnOnce(&mut Self) -> Result<(), Errno>) -> Result<(), Errno> {
        let start = self.length;
        self.put(&[0; 4])?;
        let from = self.length;
        fill(self)?;
        // The length of the last one counts without its filling, which the kernel passes over.
        let length = (self.length.max(from) - start) as u16;
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.bytes[start + 2..start + 4].copy_from_slice(&kind.to_ne_bytes());
        Ok(())
    }

    /// The message with its length.
    pub fn finished(&mut self) -> &[u8] {
        self.bytes[..4].copy_from_slice(&(self.length as u32).to_ne_bytes());
        &self.bytes[..self.length]
    }

    /// Sends it to the family of routes, and takes the kernel's answer.
    ///
    /// # Errors
    /// The kernel's.
    pub fn send(&mut self) -> Answer {
        exchange(0, self.finished())
    }
}

/// Sends messages to a family of netlink's, and takes the kernel's first answer.
///
/// # Errors
/// The kernel's.
pub fn exchange(family: usize, messages: &[u8]) -> Answer {
    // SAFETY: numbers: a raw socket of netlink's.
    let socket = unsafe { call(41, [16, 3, family, 0, 0, 0]) }? as Fd;
    let mut answer = [0; ROOM];
    let taken = sys::write(socket, messages).and_then(|_| sys::read(socket, &mut answer));
    sys::close(socket);
    let taken = taken?;
    match answer.get(HEADER..HEADER + 4) {
        Some(&[a, b, c, d]) if taken >= HEADER + 4 => match i32::from_ne_bytes([a, b, c, d]) {
            0 => Ok(0),
            error => Err(Errno(error.unsigned_abs() as u16)),
        },
        _ => Err(Errno::INVALID),
    }
}

#[cfg(test)]
mod tests {
    use super::Message;

    #[test]
    fn attributes_have_their_lengths() {
        let mut message = Message::new(16, 0x600);
        message.put(&[0; 16]).unwrap();
        message.text(3, "va").unwrap();
        message.nested(18, |info| info.text(1, "veth")).unwrap();
        let bytes = message.finished();
        // Two heads of 16, "va" in 8, the nest in 4 and "veth" with its end in 12.
        assert_eq!(bytes[..8], [56, 0, 0, 0, 16, 0, 5, 6]);
        // Each a multiple of four, which the kernel takes as filling of the text.
        assert_eq!(bytes[32..40], [8, 0, 3, 0, b'v', b'a', 0, 0]);
        assert_eq!(bytes[40..44], [16, 0, 18, 0]);
        assert!(Message::new(1, 0).text(1, "a text of more than thirty-two letters").is_err());
        assert!(Message::new(1, 0).put(&[0; 600]).is_err());
    }
}
