//! An initramfs: an archive in cpio's "newc" form, as the kernel unpacks it
//! (Documentation/driver-api/early-userspace/buffer-format.rst).

/// An archive that is written.
#[derive(Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    entries: u32,
}

impl Archive {
    /// Adds a directory.
    pub fn directory(&mut self, name: &str) {
        self.entry(name, 0o40_755, [0, 0], &[]);
    }

    /// Adds a character device.
    pub fn device(&mut self, name: &str, major: u32, minor: u32) {
        self.entry(name, 0o20_600, [major, minor], &[]);
    }

    /// Adds a file that can be executed.
    pub fn program(&mut self, name: &str, content: &[u8]) {
        self.entry(name, 0o100_700, [0, 0], content);
    }

    /// Adds a file.
    pub fn file(&mut self, name: &str, content: &[u8]) {
        self.entry(name, 0o100_644, [0, 0], content);
    }

    fn entry(&mut self, name: &str, mode: u32, [major, minor]: [u32; 2], content: &[u8]) {
        self.entries += 1;
        // Inode, mode, owner, group, links, time, size, device, device of a device, length of the name, checksum.
        let fields = [self.entries, mode, 0, 0, 1, 0, content.len() as u32, 0, 0, major, minor, name.len() as u32 + 1, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// The archive with its end.
    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, [0, 0], &[]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::Archive;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    /// Names and contents of an archive, read as the kernel does.
    fn read(mut bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
        let mut found = Vec::new();
        loop {
            let field =
                |place: usize| usize::from_str_radix(std::str::from_utf8(&bytes[6 + 8 * place..14 + 8 * place]).unwrap(), 16).unwrap();
            assert_eq!(&bytes[..6], b"070701");
            let (size, name) = (field(6), field(11));
            let text = std::str::from_utf8(&bytes[110..110 + name - 1]).unwrap().to_owned();
            let begin = (110 + name).next_multiple_of(4);
            if text == "TRAILER!!!" {
                return found;
            }
            found.push((text, bytes[begin..begin + size].to_vec()));
            bytes = &bytes[(begin + size).next_multiple_of(4)..];
        }
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(names in proptest::collection::vec("[a-z/]{1,20}", 0..5), content in proptest::collection::vec(0_u8.., 0..100)) {
            let mut archive = Archive::default();
            names.iter().for_each(|name| archive.file(name, &content));
            let bytes = archive.finish();
            prop_assert!(bytes.len() % 4 == 0);
            let found = read(&bytes);
            prop_assert_eq!(found.len(), names.len());
            for ((name, held), wanted) in found.iter().zip(&names) {
                prop_assert_eq!(name, wanted);
                prop_assert_eq!(held, &content);
            }
        }
    }
}
