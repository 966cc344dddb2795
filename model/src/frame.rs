//! Messages on a byte stream: a length of four bytes, largest first, then JSON.
//! Between machines a length of zero alone is a beat: a sign of life, nothing more.
//!
//! This half does no input or output: bytes are pushed in and messages taken
//! out, so that it can be fuzzed and used on any kind of connection.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::json;

/// The longest message: the largest real one, host facts, is far below.
pub const LONGEST: usize = 4 << 20;

/// The bytes of a beat.
pub const BEAT: [u8; 4] = [0; 4];

/// A byte stream that does not hold messages.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A length that no message has.
    #[error("a message of {announced} bytes is announced; the longest has {longest}")]
    TooLong {
        /// Its length as announced.
        announced: u64,
        /// Longest that is accepted.
        longest: usize,
    },
    /// Not the message expected.
    #[error("not a control message: {0}")]
    Content(#[from] serde_json::Error),
}

/// The bytes of one message.
///
/// # Errors
/// A message that cannot be written as JSON or is too long.
pub fn encode<T: Serialize>(message: &T) -> Result<Vec<u8>, FrameError> {
    let mut bytes = vec![0; 4];
    json::append(&mut bytes, message, json::Layout::COMPACT)?;
    let length = bytes.len() - 4;
    if length > LONGEST {
        return Err(FrameError::TooLong { announced: length as u64, longest: LONGEST });
    }
    bytes[..4].copy_from_slice(&(length as u32).to_be_bytes());
    Ok(bytes)
}

/// Cuts a stream of bytes into frames of any content.
#[derive(Debug)]
pub struct Frames {
    pending: Vec<u8>,
    longest: usize,
}

impl Frames {
    /// A reader of bodies with at most `longest` bytes.
    pub const fn new(longest: usize) -> Self {
        Self { pending: Vec::new(), longest }
    }

    /// Adds bytes that arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// The next whole frame with its length, if its last byte has arrived.
    ///
    /// # Errors
    /// An announced length that is too long, before its bytes come.
    pub fn take(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        let Some(header) = self.pending.first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*header) as usize;
        if length > self.longest {
            return Err(FrameError::TooLong { announced: length as u64, longest: self.longest });
        }
        if self.pending.len() < 4 + length {
            return Ok(None);
        }
        let rest = self.pending.split_off(4 + length);
        Ok(Some(std::mem::replace(&mut self.pending, rest)))
    }

    /// Returns whether nothing is left of a frame that has begun.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Returns the bytes that have come and were not taken.
    pub fn into_rest(self) -> Vec<u8> {
        self.pending
    }
}

/// Takes messages of one type out of a stream of bytes.
#[derive(Debug)]
pub struct Decoder<T> {
    frames: Frames,
    message: PhantomData<T>,
}

impl<T> Default for Decoder<T> {
    fn default() -> Self {
        Self { frames: Frames::new(LONGEST), message: PhantomData }
    }
}

impl<T: DeserializeOwned> Decoder<T> {
    /// Adds bytes that arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.frames.push(bytes);
    }

    /// The next whole message, if its last byte has arrived.
    ///
    /// # Errors
    /// See [`FrameError`]; the stream cannot be used after one.
    pub fn take(&mut self) -> Result<Option<T>, FrameError> {
        match self.frames.take()? {
            Some(frame) => Ok(Some(serde_json::from_slice(&frame[4..])?)),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BEAT, Decoder, FrameError, Frames, LONGEST, encode};
    use crate::control::{CONTROL_VERSION, FromEndpoint};
    use proptest::prelude::{any, prop, proptest};

    #[test]
    fn a_message_arrives_in_any_pieces() {
        let hello = FromEndpoint::Hello { version: CONTROL_VERSION };
        let mut bytes = encode(&hello).unwrap();
        bytes.extend(encode(&FromEndpoint::Connected { addresses: Vec::new() }).unwrap());
        let mut decoder = Decoder::<FromEndpoint>::default();
        let mut messages = Vec::new();
        for byte in bytes {
            decoder.push(&[byte]);
            messages.extend(decoder.take().unwrap());
        }
        assert_eq!(messages, [hello, FromEndpoint::Connected { addresses: Vec::new() }]);
    }

    #[test]
    fn an_absurd_length_is_refused_before_its_bytes_come() {
        let mut decoder = Decoder::<FromEndpoint>::default();
        decoder.push(&(LONGEST as u32 + 1).to_be_bytes());
        assert!(matches!(decoder.take(), Err(FrameError::TooLong { .. })));
    }

    #[test]
    fn a_beat_is_a_frame_without_a_body() {
        let mut frames = Frames::new(3);
        frames.push(&[0, 0, 0, 2, 7]);
        assert_eq!(frames.take().unwrap(), None);
        frames.push(&[8, 0, 0, 0, 0, 0, 0]);
        assert_eq!(frames.take().unwrap(), Some(vec![0, 0, 0, 2, 7, 8]));
        assert_eq!(frames.take().unwrap(), Some(BEAT.to_vec()));
        assert_eq!(frames.take().unwrap(), None);
        assert!(!frames.is_empty());
        assert_eq!(frames.into_rest(), [0, 0]);
    }

    #[test]
    fn each_reader_has_a_limit_of_its_own() {
        let mut frames = Frames::new(3);
        frames.push(&[0, 0, 0, 4]);
        assert!(matches!(frames.take(), Err(FrameError::TooLong { announced: 4, longest: 3 })));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut decoder = Decoder::<FromEndpoint>::default();
            decoder.push(&bytes);
            let _ = decoder.take();
        }
    }
}
