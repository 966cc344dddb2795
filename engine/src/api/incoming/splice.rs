//! `splice` of what has come into a pipe, and from it to nowhere.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, RawFd};
use std::ptr;

use super::is_readable;
use crate::api::{CallOutcome, Incoming, Open, Place};

/// `splice(2)` from the socket into a pipe and from that to `/dev/null`: the pages of the
/// segments are passed on, and nothing is copied. Two calls a read.
#[derive(Debug)]
pub struct Splice {
    socket: RawFd,
    pipe: (PipeReader, PipeWriter),
    nowhere: File,
    /// Most bytes of a call: what the pipe holds.
    most: usize,
    calls: u64,
}

impl Open for Splice {
    fn open(place: &Place<'_>) -> io::Result<Self> {
        let pipe = io::pipe()?;
        let wanted = libc::c_int::try_from(place.cell.read_size.get()).unwrap_or(libc::c_int::MAX);
        // SAFETY: the call reads no memory. One that is refused leaves the usual size.
        let enlarged = unsafe { libc::fcntl(pipe.0.as_raw_fd(), libc::F_SETPIPE_SZ, wanted) };
        // SAFETY: as above.
        let size = if enlarged > 0 { enlarged } else { unsafe { libc::fcntl(pipe.0.as_raw_fd(), libc::F_GETPIPE_SZ) } };
        let most = usize::try_from(size).unwrap_or(1 << 16);
        let nowhere = File::options().write(true).open("/dev/null")?;
        Ok(Self { socket: place.socket.as_raw_fd(), pipe, nowhere, most, calls: 0 })
    }
}

impl Incoming for Splice {
    fn receive(&mut self, limit: usize, wait: bool) -> CallOutcome {
        // Of a socket that blocks the kernel waits whatever the call's flags say
        // (tcp_splice_read() in net/ipv4/tcp.c).
        if !wait && !is_readable(self.socket) {
            return CallOutcome::NOTHING;
        }
        let moved = splice(self.socket, self.pipe.1.as_raw_fd(), limit.min(self.most));
        self.calls += u64::from(moved.0 > 0);
        let mut left = moved.0;
        while left > 0 {
            let gone = splice(self.pipe.0.as_raw_fd(), self.nowhere.as_raw_fd(), left as usize);
            // A signal that is pending ends the call before it moves what is there
            // (splice_from_pipe_next() in fs/splice.c).
            if gone.0 == -(libc::EINTR as isize) {
                continue;
            }
            if gone.0 <= 0 {
                return gone;
            }
            self.calls += 1;
            left -= gone.0;
        }
        moved
    }

    /// The bytes are nowhere.
    fn last(&self) -> &[u8] {
        &[]
    }

    fn take_calls(&mut self) -> Option<u64> {
        Some(std::mem::take(&mut self.calls))
    }
}

fn splice(from: RawFd, to: RawFd, bytes: usize) -> CallOutcome {
    let here = ptr::null::<libc::loff_t>();
    // SAFETY: no offsets are given; descriptors that are not open are an errno.
    CallOutcome::from_syscall(unsafe { libc::syscall(libc::SYS_splice, from, here, to, here, bytes, libc::SPLICE_F_MOVE) })
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Duration;

    use model::{Bytes, Cell, Test};

    use super::Splice;
    use crate::api::{Incoming, Open, Place};
    use crate::wake::Alarm;

    #[test]
    fn no_byte_is_lost_to_signals() {
        const ALL: usize = 64 << 20;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sends = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let receives = listener.accept().unwrap().0;
        let sender = thread::spawn(move || {
            let piece = vec![0; 1 << 16];
            (0..ALL / piece.len()).for_each(|_| sends.write_all(&piece).unwrap());
        });
        let cell = Cell::plain(Test::TcpStream, Bytes::new(1 << 16));
        let place = Place::new(&cell, receives.into(), Duration::ZERO);
        let mut splice = Splice::open(&place).unwrap();
        let _alarm = Alarm::every(Duration::from_micros(20)).unwrap();
        let mut came = 0;
        loop {
            match splice.receive(1 << 17, true).0 {
                0 => break,
                moved if moved > 0 => came += moved as usize,
                errno => assert_eq!(errno, -(libc::EINTR as isize)),
            }
        }
        sender.join().unwrap();
        assert_eq!(came, ALL);
    }
}
