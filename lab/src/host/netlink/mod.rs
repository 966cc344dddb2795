//! Requests over netlink: attributes and messages as the kernel reads them. [`sys::netlink`] sends them and
//! takes answers apart.

pub mod generic;

use netlink_packet_core::{DefaultNla, Emitable, NLA_F_NESTED};
use sys::netlink::NetlinkError;

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

#[cfg(test)]
mod tests {
    use netlink_packet_core::DefaultNla;
    use proptest::prelude::{any, prop, prop_assert_eq, proptest};
    use sys::netlink::{attributes, read_text};

    use super::{emit, nest, text};

    #[test]
    fn texts_and_nests_are_read_again() {
        let bytes = emit(&[nest(3, &[text(2, "veth0")])]);
        let (kind, inner) = attributes(&bytes).next().unwrap();
        let (inner_kind, value) = attributes(inner).next().unwrap();
        assert_eq!((kind, inner_kind, read_text(value).as_str()), (3, 2, "veth0"));
    }

    proptest! {
        #[test]
        fn what_was_emitted_is_read_again(given in prop::collection::vec((1_u16..1000, prop::collection::vec(any::<u8>(), 0..20)), 0..8)) {
            let bytes = emit(&given.iter().map(|(kind, value)| DefaultNla::new(*kind, value.clone())).collect::<Vec<_>>());
            let read: Vec<(u16, Vec<u8>)> = attributes(&bytes).map(|(kind, value)| (kind, value.to_vec())).collect();
            prop_assert_eq!(read, given);
        }
    }
}
