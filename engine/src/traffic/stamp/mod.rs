//! Messages that bear their number and the time they were sent.

mod account;
mod beyond;
mod sequence;

use std::io;

use model::Cell;

pub use account::Account;

/// Bytes of the number and the time, at the start of a message.
const LENGTH: usize = 16;

/// Returns whether messages and reads of a cell have room for both.
pub(super) fn has_room(cell: &Cell) -> io::Result<()> {
    let least = cell.size.min(cell.read_size);
    if least.as_len() >= LENGTH {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "messages that bear a number and a time have {LENGTH} B at least, and are read whole: {least} is too little"
    )))
}

/// Writes both, big end first; nothing into a message that is too short.
#[inline(always)]
pub(super) fn write(message: &mut [u8], number: u64, time: u64) {
    if let Some(place) = message.first_chunk_mut::<LENGTH>() {
        let both = u128::from(number) << 64 | u128::from(time);
        *place = both.to_be_bytes();
    }
}

/// Number and time of a message; `None` when it is too short.
#[inline(always)]
pub(super) fn read(message: &[u8]) -> Option<(u64, u64)> {
    let both = u128::from_be_bytes(*message.first_chunk::<LENGTH>()?);
    Some(((both >> 64) as u64, both as u64))
}

#[cfg(test)]
mod tests {
    use super::{read, write};
    use proptest::prelude::{any, prop, proptest};

    #[test]
    fn both_stand_big_end_first() {
        let mut message = [9; 18];
        write(&mut message, 1, 0x0203);
        assert_eq!(message, [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 3, 9, 9]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(number in any::<u64>(), time in any::<u64>(), length in 16usize..40) {
            let mut message = vec![0; length];
            write(&mut message, number, time);
            assert_eq!(read(&message), Some((number, time)));
        }

        #[test]
        fn what_is_too_short_is_nothing(mut message in prop::collection::vec(any::<u8>(), 0..16)) {
            assert_eq!(read(&message), None);
            write(&mut message, 1, 2);
        }
    }
}
