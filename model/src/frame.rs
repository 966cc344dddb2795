//! Messages on a byte stream: a length of four bytes, largest first, then JSON.
//!
//! This half does no input or output: bytes are pushed in and messages taken
//! out, so that it can be fuzzed and used on any kind of connection.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest message: the largest real one, host facts, is far below.
pub const LONGEST: usize = 4 << 20;

/// A byte stream that does not hold messages.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A length that no message has.
    #[error("a message of {0} bytes is announced; the longest has {LONGEST}")]
    TooLong(u64),
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
    serde_json::to_writer(&mut bytes, message)?;
    let length = bytes.len() - 4;
    if length > LONGEST {
        return Err(FrameError::TooLong(length as u64));
    }
    bytes[..4].copy_from_slice(&(length as u32).to_be_bytes());
    Ok(bytes)
}

/// Takes messages of one type out of a stream of bytes.
#[derive(Debug)]
pub struct Decoder<T> {
    pending: Vec<u8>,
    message: PhantomData<T>,
}

impl<T> Default for Decoder<T> {
    fn default() -> Self {
        Self { pending: Vec::new(), message: PhantomData }
    }
}

impl<T: DeserializeOwned> Decoder<T> {
    /// Adds bytes that arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// The next whole message, if its last byte has arrived.
    ///
    /// # Errors
    /// See [`FrameError`]; the stream cannot be used after one.
    pub fn take(&mut self) -> Result<Option<T>, FrameError> {
        let Some((header, rest)) = self.pending.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*header) as usize;
        if length > LONGEST {
            return Err(FrameError::TooLong(length as u64));
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let message = serde_json::from_slice(body)?;
        self.pending.drain(..4 + length);
        Ok(Some(message))
    }
}

#[cfg(test)]
mod tests {
    use super::{Decoder, FrameError, LONGEST, encode};
    use crate::control::{CONTROL_VERSION, FromEndpoint};
    use proptest::prelude::{any, prop, proptest};

    #[test]
    fn a_message_arrives_in_any_pieces() {
        let hello = FromEndpoint::Hello { version: CONTROL_VERSION };
        let mut bytes = encode(&hello).unwrap();
        bytes.extend(encode(&FromEndpoint::Connected).unwrap());
        let mut decoder = Decoder::<FromEndpoint>::default();
        let mut messages = Vec::new();
        for byte in bytes {
            decoder.push(&[byte]);
            messages.extend(decoder.take().unwrap());
        }
        assert_eq!(messages, [hello, FromEndpoint::Connected]);
    }

    #[test]
    fn an_absurd_length_is_refused_before_its_bytes_come() {
        let mut decoder = Decoder::<FromEndpoint>::default();
        decoder.push(&(LONGEST as u32 + 1).to_be_bytes());
        assert!(matches!(decoder.take(), Err(FrameError::TooLong(_))));
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
