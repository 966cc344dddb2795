//! This program as a file, for hosts that lack it.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use ring::digest::{Context, SHA256};

use crate::process::THIS_PROGRAM;

/// Bytes read at a time.
const PIECE: usize = 256 << 10;

/// Its size in bytes and its SHA-256 in hexadecimal. Read once: of many hosts that ask at the same time one reads, and
/// the others wait for it.
pub(super) fn identity() -> io::Result<(u64, String)> {
    static IDENTITY: OnceLock<Result<(u64, String), (io::ErrorKind, String)>> = OnceLock::new();
    let known = IDENTITY.get_or_init(|| read().map_err(|error| (error.kind(), error.to_string())));
    known.clone().map_err(|(kind, words)| io::Error::new(kind, words))
}

fn read() -> io::Result<(u64, String)> {
    let mut file = open()?;
    let (mut context, mut size) = (Context::new(&SHA256), 0);
    let mut piece = vec![0; PIECE];
    loop {
        let length = file.read(&mut piece)?;
        if length == 0 {
            break;
        }
        context.update(&piece[..length]);
        size += length as u64;
    }
    let mut digest = String::new();
    for byte in context.finish().as_ref() {
        // Writing to a string does not fail.
        let _ = write!(digest, "{byte:02x}");
    }
    Ok((size, digest))
}

/// The program as gzip packs it. Packed once: hosts that take it at the same time share the bytes.
pub(super) fn packed() -> io::Result<&'static [u8]> {
    static PACKED: OnceLock<Result<Vec<u8>, (io::ErrorKind, String)>> = OnceLock::new();
    match PACKED.get_or_init(|| pack().map_err(|error| (error.kind(), error.to_string()))) {
        Ok(bytes) => Ok(bytes),
        Err((kind, words)) => Err(io::Error::new(*kind, words.clone())),
    }
}

fn pack() -> io::Result<Vec<u8>> {
    // Of a better packer little is gained, and hosts wait for it.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    io::copy(&mut open()?, &mut encoder)?;
    encoder.finish()
}

/// The rest of the program, to be sent.
#[derive(Debug)]
pub(super) enum Source {
    /// As it is.
    Plain(File),
    /// As gzip packs it.
    Packed(&'static [u8]),
}

impl Read for Source {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(room),
            Self::Packed(bytes) => bytes.read(room),
        }
    }
}

/// Opens it: what runs, even where its path has another file by now.
pub(super) fn open() -> io::Result<File> {
    File::open(THIS_PROGRAM)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, sink};

    use flate2::read::GzDecoder;

    use super::{Source, identity, packed};

    #[test]
    fn it_is_packed_whole() {
        let (size, _) = identity().unwrap();
        let bytes = packed().unwrap();
        assert!((bytes.len() as u64) < size);
        assert_eq!(std::io::copy(&mut GzDecoder::new(Source::Packed(bytes)), &mut sink()).unwrap(), size);
        let mut some = [0; 4];
        Source::Plain(super::open().unwrap()).read_exact(&mut some).unwrap();
        assert_eq!(&some, b"\x7fELF");
    }

    #[test]
    fn the_identity_is_that_of_the_file() {
        let (size, digest) = identity().unwrap();
        let path = std::env::current_exe().unwrap();
        assert_eq!(size, std::fs::metadata(&path).unwrap().len());
        let said = std::process::Command::new("sha256sum").arg(&path).output().unwrap();
        assert!(String::from_utf8(said.stdout).unwrap().starts_with(&digest));
    }
}
