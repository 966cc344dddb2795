//! Generic netlink: families that are found by their names, and commands to them.

use netlink_packet_core::DefaultNla;
use sys::netlink::{Channel, Message, NetlinkError, Protocol, attribute};

use super::{emit, text};

/// The message type of generic netlink's own family, which knows the others.
const CONTROL: u16 = 16;
const CONTROL_GET_FAMILY: u8 = 3;
const CONTROL_FAMILY_ID: u16 = 1;
const CONTROL_FAMILY_NAME: u16 = 2;

/// An open channel to a family.
pub(crate) struct Family {
    channel: Channel,
    number: u16,
}

impl Family {
    /// Finds a family by its name. The kernel answers ENOENT where it has none of that name.
    pub(crate) fn open(name: &str) -> Result<Self, NetlinkError> {
        let mut channel = Channel::open(Protocol::NetlinkGeneric)?;
        let tried = format!("looking for the kernel's {name} interface");
        let answers = channel.ask(&tried, CONTROL, 0, &command(CONTROL_GET_FAMILY, &[text(CONTROL_FAMILY_NAME, name)]))?;
        let number = answers.iter().find_map(|answer| family(&answer.body)).ok_or(NetlinkError::Garbled { tried })?;
        Ok(Self { channel, number })
    }

    /// Sends a command and returns what came before its acknowledgement.
    pub(crate) fn ask(&mut self, tried: &str, flags: u16, body: &[u8]) -> Result<Vec<Message>, NetlinkError> {
        self.channel.ask(tried, self.number, flags, body)
    }
}

/// The number of a family, in the answer to the question for it.
pub fn family(body: &[u8]) -> Option<u16> {
    attribute(body.get(4..)?, CONTROL_FAMILY_ID)?.first_chunk().copied().map(u16::from_ne_bytes)
}

/// A command with its attributes.
pub(crate) fn command(command: u8, inner: &[DefaultNla]) -> Vec<u8> {
    /// The version of every family used here.
    const VERSION: u8 = 1;
    [&[command, VERSION, 0, 0], emit(inner).as_slice()].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    proptest! {
        #[test]
        fn any_answer_is_read_without_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = super::family(&body);
        }
    }
}
