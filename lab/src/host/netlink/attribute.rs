//! Attributes: the type-length-value units of which netlink messages are made.

use netlink_packet_core::{DefaultNla, Emitable, NLA_F_NESTED, NlasIterator};

/// The attributes in `bytes` as (type, value), up to the first that is broken.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    NlasIterator::new(bytes).map_while(|attribute| {
        let attribute = attribute.ok()?;
        let (kind, length) = (attribute.kind(), usize::from(attribute.length()));
        Some((kind, attribute.into_inner().get(4..length)?))
    })
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

/// The text in a value, up to its closing zero.
pub(crate) fn read_text(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

/// The 32-bit number in a value.
pub(crate) fn number(value: &[u8]) -> Option<u32> {
    value.first_chunk().copied().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use netlink_packet_core::DefaultNla;
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    use super::{attributes, emit, nest, read_text, text};

    #[test]
    fn texts_and_nests_are_read_again() {
        let bytes = emit(&[nest(3, &[text(2, "veth0")])]);
        let (kind, inner) = attributes(&bytes).next().unwrap();
        let (inner_kind, value) = attributes(inner).next().unwrap();
        assert_eq!((kind, inner_kind, read_text(value).as_str()), (3, 2, "veth0"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(attributes(&bytes).map(|(_, value)| value.len()).sum::<usize>() <= bytes.len());
        }

        #[test]
        fn what_was_emitted_is_read_again(given in prop::collection::vec((1_u16..1000, prop::collection::vec(any::<u8>(), 0..20)), 0..8)) {
            let bytes = emit(&given.iter().map(|(kind, value)| DefaultNla::new(*kind, value.clone())).collect::<Vec<_>>());
            let read: Vec<(u16, Vec<u8>)> = attributes(&bytes).map(|(kind, value)| (kind, value.to_vec())).collect();
            prop_assert_eq!(read, given);
        }
    }
}
