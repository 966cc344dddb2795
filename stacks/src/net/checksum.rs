//! The Internet checksum (RFC 1071): the ones' complement sum of 16-bit words. Sums are of words in
//! the machine's byte order, which RFC 1071 section 2 (B) allows, and folded by [`fold`].

/// The sum of the words of `bytes`; an odd byte at the end counts as followed by 0. Below 2^17 times
/// the number of words: fits for whatever a datagram holds.
pub fn sum(bytes: &[u8]) -> u32 {
    let mut words = bytes.chunks_exact(8);
    let whole = words.by_ref().fold(0, |sum, word| sum + halves(word));
    narrow(whole + rest(words.remainder()))
}

/// Copies `from` into `to` and returns the sum of its words, in one pass.
///
/// # Panics
/// Slices of different lengths: a fault of this program.
pub fn copy_and_sum(from: &[u8], to: &mut [u8]) -> u32 {
    assert_eq!(from.len(), to.len());
    let (mut source, mut target) = (from.chunks_exact(8), to.chunks_exact_mut(8));
    let mut whole = 0;
    for (to, from) in target.by_ref().zip(source.by_ref()) {
        to.copy_from_slice(from);
        whole += halves(from);
    }
    let (left, room) = (source.remainder(), target.into_remainder());
    room.copy_from_slice(left);
    narrow(whole + rest(left))
}

/// Folds sums into 16 bits. The sum of what bears a right checksum is 0xffff.
pub const fn fold(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// The two halves of 8 bytes: as many fit a sum of 64 bits without a carry.
fn halves(word: &[u8]) -> u64 {
    let word = word.try_into().map_or(0, u64::from_ne_bytes);
    (word & 0xffff_ffff) + (word >> 32)
}

fn rest(left: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..left.len()].copy_from_slice(left);
    halves(&word)
}

/// A sum of 32-bit words as one of 16-bit words.
const fn narrow(sum: u64) -> u32 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    (sum as u32 & 0xffff) + (sum as u32 >> 16)
}

#[cfg(test)]
mod tests {
    use super::{copy_and_sum, fold, sum};
    use proptest::prelude::{any, prop_assert_eq, proptest};

    /// As RFC 1071 defines it, word by word in network order.
    fn defined(bytes: &[u8]) -> u16 {
        let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
        let mut sum: u32 = bytes.chunks(2).map(word).sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum as u16
    }

    #[test]
    fn the_example_of_rfc_1071_holds() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(sum(&bytes)).to_ne_bytes(), [0xdd, 0xf2]);
    }

    #[test]
    fn the_largest_datagram_does_not_overflow() {
        assert_eq!(fold(sum(&[0xff; 65_535])).to_ne_bytes(), defined(&[0xff; 65_535]).to_be_bytes());
    }

    proptest! {
        #[test]
        fn sums_are_those_of_the_definition(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut copied = vec![0; bytes.len()];
            let together = copy_and_sum(&bytes, &mut copied);
            prop_assert_eq!(&copied, &bytes);
            prop_assert_eq!(together, sum(&bytes));
            prop_assert_eq!(fold(together).to_ne_bytes(), defined(&bytes).to_be_bytes());
        }
    }
}
