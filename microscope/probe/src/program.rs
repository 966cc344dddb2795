//! Programs that the probe starts, each as a child with its output in a file.

use crate::sys::{self, Errno, Fd};

/// Words of a command beyond which it is refused.
const MOST_WORDS: usize = 62;
/// Bytes of a command beyond which it is refused.
const MOST_BYTES: usize = 2048;
/// What every program finds in its environment.
const ENVIRONMENT: [&[u8]; 3] = [b"HOME=/tmp\0", b"PATH=/\0", b"LC_ALL=C\0"];

/// Words of a command, each with a zero behind it, and where they begin.
struct Words {
    bytes: [u8; MOST_BYTES],
    starts: [usize; MOST_WORDS],
    count: usize,
}

impl Words {
    /// Words of a command between single spaces.
    fn of(command: &str) -> Result<Self, Errno> {
        let mut words = Self { bytes: [0; MOST_BYTES], starts: [0; MOST_WORDS], count: 0 };
        let mut end = 0;
        for word in command.split(' ').filter(|word| !word.is_empty()) {
            let room = words.bytes.get_mut(end..end + word.len() + 1).ok_or(Errno::INVALID)?;
            room[..word.len()].copy_from_slice(word.as_bytes());
            *words.starts.get_mut(words.count).ok_or(Errno::INVALID)? = end;
            words.count += 1;
            end += word.len() + 1;
        }
        if words.count == 0 { Err(Errno::INVALID) } else { Ok(words) }
    }

    /// Becomes the program that the first word names; comes back where that fails.
    fn become_program(&self) -> Errno {
        let mut arguments = [0_usize; MOST_WORDS + 1];
        for (place, start) in arguments.iter_mut().zip(&self.starts[..self.count]) {
            *place = self.bytes.as_ptr() as usize + start;
        }
        let mut environment = [0_usize; ENVIRONMENT.len() + 1];
        for (place, text) in environment.iter_mut().zip(ENVIRONMENT) {
            *place = text.as_ptr() as usize;
        }
        sys::execute(&arguments, &environment)
    }
}

/// Runs a command to its end with both outputs in `output`, which it makes. Returns the
/// exit code, 128 more than the number of a signal that ended it.
///
/// # Errors
/// The kernel's, where it cannot be started.
pub fn run(command: &str, output: &str) -> Result<u32, Errno> {
    let status = sys::wait(begin(command, output)?)?;
    Ok(if status & 0x7f != 0 { 128 + (status & 0x7f) } else { status >> 8 & 0xff })
}

/// Starts a command with both outputs in `output`, which it makes. Returns its process.
///
/// # Errors
/// The kernel's, where it cannot be started.
pub fn begin(command: &str, output: &str) -> Result<usize, Errno> {
    let words = Words::of(command)?;
    let file = sys::create(output)?;
    // What `execve(2)` answers comes back through a pipe that a program closes by starting.
    let [answer, tell] = sys::pipe_until_program()?;
    let child = sys::fork()?;
    if child == 0 {
        let failed = start(&words, file);
        let _ = sys::write(tell, &failed.0.to_ne_bytes());
        sys::exit(127);
    }
    sys::close(file);
    sys::close(tell);
    let mut number = [0; 2];
    let told = sys::read(answer, &mut number);
    sys::close(answer);
    match told {
        Ok(2) => {
            sys::wait(child)?;
            Err(Errno(u16::from_ne_bytes(number)))
        }
        _ => Ok(child),
    }
}

fn start(words: &Words, output: Fd) -> Errno {
    for end in 1..=2 {
        if let Err(error) = sys::duplicate(output, end) {
            return error;
        }
    }
    words.become_program()
}

#[cfg(test)]
mod tests {
    use super::{MOST_BYTES, Words};
    use crate::sys::Errno;

    #[test]
    fn a_command_is_its_words() {
        let words = Words::of(" /nettoll  doctor -J").unwrap();
        assert_eq!((words.count, &words.starts[..3]), (3, &[0, 9, 16][..]));
        assert_eq!(&words.bytes[..19], b"/nettoll\0doctor\0-J\0");
        let refused = |command: &str| Words::of(command).err();
        assert_eq!(refused("  "), Some(Errno::INVALID));
        assert_eq!(refused(&"a ".repeat(63)), Some(Errno::INVALID));
        assert_eq!(refused(&"a".repeat(MOST_BYTES)), Some(Errno::INVALID));
    }
}
