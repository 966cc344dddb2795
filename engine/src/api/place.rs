//! The place from which an api is opened.

use std::os::fd::OwnedFd;
use std::time::Duration;

use model::Protocol;
use model::control::Task;

use super::Buffer;

/// Bytes of a cache line: messages of a batch do not share one.
const CACHE_LINE: usize = 64;

/// The place where an api opens: a flow of a trial.
///
/// Every flow has a socket, over which its ends have found each other. An api
/// that sends past it finds its own way from here: the socket's addresses, the
/// device that has them, the cell.
#[derive(Debug)]
pub struct Place<'a> {
    /// The task of the flow's end.
    pub task: &'a Task,
    /// Connected to the other end.
    pub socket: OwnedFd,
    /// The longest that a call waits before its loop looks at the stage.
    pub patience: Duration,
}

impl Place<'_> {
    /// Memory for the message. Not zeros: pages of zeros could all be one page, always cached.
    pub fn message(&self) -> Buffer {
        Buffer::repeating(self.task.cell.largest().as_len(), 251, |place| place as u8 | 1)
    }

    /// Memory for `count` messages, each a multiple of `stride` bytes from the
    /// start; for one where all are the same.
    pub fn messages(&self, count: usize) -> (Buffer, usize) {
        if !self.task.cell.stamp {
            return (self.message(), 0);
        }
        let stride = self.task.cell.largest().as_len().next_multiple_of(CACHE_LINE);
        (Buffer::repeating(stride * count, stride, |place| (place % 251) as u8 | 1), stride)
    }

    /// Memory for what one call receives: a read, or `count` datagrams, each a
    /// multiple of `stride` bytes from the start.
    pub fn rooms(&self, count: usize) -> (Buffer, usize) {
        let stride = self.task.cell.read_size.as_len().next_multiple_of(CACHE_LINE);
        (Buffer::ones(stride * count), stride)
    }

    /// Memory for what one call receives.
    pub fn room(&self) -> Buffer {
        Buffer::ones(self.task.cell.read_size.as_len())
    }

    /// Messages of one call.
    pub fn batch(&self) -> usize {
        self.task.cell.batch.max(1) as usize
    }

    /// Returns whether the flow is a stream of bytes, in which no message ends.
    pub fn is_byte_stream(&self) -> bool {
        self.task.cell.protocol() == Protocol::Tcp
    }
}
