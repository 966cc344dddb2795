//! What a connection goes over: a socket, or the two pipes of a process.

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags};

/// Both directions; neither blocks.
#[derive(Debug)]
pub(super) enum Wire {
    /// One socket for both.
    Socket(TcpStream),
    /// A pipe each.
    Pipes {
        /// Bytes from the other side.
        from: File,
        /// Bytes to it; `None` once closed.
        to: Option<File>,
    },
}

impl Wire {
    /// Descriptors to poll. A pipe that is not to be written is left out: that nobody
    /// reads it any more would be told again and again, and shows at the next write.
    pub(super) fn fds(&self, listen: bool, write: bool) -> Vec<PollFd<'_>> {
        let if_wanted = |wanted, flag| if wanted { flag } else { PollFlags::empty() };
        match self {
            Self::Socket(socket) => {
                vec![PollFd::new(socket.as_fd(), if_wanted(listen, PollFlags::POLLIN) | if_wanted(write, PollFlags::POLLOUT))]
            }
            Self::Pipes { from, to } => {
                let from = listen.then(|| PollFd::new(from.as_fd(), PollFlags::POLLIN));
                let to = to.as_ref().filter(|_| write).map(|to| PollFd::new(to.as_fd(), PollFlags::POLLOUT));
                from.into_iter().chain(to).collect()
            }
        }
    }

    /// Says that nothing more will come.
    pub(super) fn close(&mut self) {
        match self {
            Self::Socket(socket) => _ = socket.shutdown(Shutdown::Write),
            Self::Pipes { to, .. } => *to = None,
        }
    }
}

impl Read for Wire {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => socket.read(bytes),
            Self::Pipes { from, .. } => from.read(bytes),
        }
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => socket.write(bytes),
            Self::Pipes { to: Some(to), .. } => to.write(bytes),
            Self::Pipes { to: None, .. } => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    /// TLS hands over its records in pieces, and an alert is to leave with what stands before it.
    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => socket.write_vectored(pieces),
            Self::Pipes { to: Some(to), .. } => to.write_vectored(pieces),
            Self::Pipes { to: None, .. } => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
