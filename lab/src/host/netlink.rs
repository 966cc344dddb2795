//! Requests over netlink: attributes and messages as the kernel reads them. [`sys::netlink`] sends them and
//! takes answers apart. Families of generic netlink are found by their names.

use netlink_packet_core::{DefaultNla, Emitable, NLA_F_NESTED};
use sys::netlink::{Channel, Message, NetlinkError, Protocol, attribute};

use crate::refusal::Refusal;

/// Makes refusals of the kernel's answers, with what to do.
pub(crate) fn refused(remedy: &str) -> impl Fn(NetlinkError) -> Refusal + Copy {
    move |error| Refusal::new(error.to_string(), "", remedy)
}

/// An attribute that holds attributes.
pub(crate) fn nest(kind: u16, inner: &[DefaultNla]) -> DefaultNla {
    DefaultNla::new(kind | NLA_F_NESTED, emit(inner))
}

/// An attribute that holds a text.
pub(crate) fn text(kind: u16, text: &str) -> DefaultNla {
    DefaultNla::new(kind, [text.as_bytes(), &[0]].concat())
}

/// The bytes of `attributes`.
pub(crate) fn emit(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    bytes
}

/// The bytes of a message, its attributes included.
pub(crate) fn bytes(message: &impl Emitable) -> Vec<u8> {
    let mut bytes = vec![0; message.buffer_len()];
    message.emit(&mut bytes);
    bytes
}

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
    use netlink_packet_core::DefaultNla;
    use proptest::prelude::{any, prop, prop_assert_eq, proptest};
    use sys::netlink::{attributes, read_text};

    use super::{emit, family, nest, text};

    #[test]
    fn texts_and_nests_are_read_again() {
        let bytes = emit(&[nest(3, &[text(2, "veth0")])]);
        let (kind, inner) = attributes(&bytes).next().unwrap();
        let (inner_kind, value) = attributes(inner).next().unwrap();
        assert_eq!((kind, inner_kind, read_text(value).as_str()), (3, 2, "veth0"));
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = family(&body);
        }

        #[test]
        fn what_was_emitted_is_read_again(given in prop::collection::vec((1_u16..1000, prop::collection::vec(any::<u8>(), 0..20)), 0..8)) {
            let bytes = emit(&given.iter().map(|(kind, value)| DefaultNla::new(*kind, value.clone())).collect::<Vec<_>>());
            let read: Vec<(u16, Vec<u8>)> = attributes(&bytes).map(|(kind, value)| (kind, value.to_vec())).collect();
            prop_assert_eq!(read, given);
        }
    }
}
