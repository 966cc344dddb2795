//! Message blocks: what primitives and user data travel in, taken from a pool and put back.

use crate::net::frames::Room;

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A primitive of the interface (`M_PROTO`).
    Proto,
    /// User data (`M_DATA`).
    Data,
}

/// A message block; blocks that are linked make a message.
#[derive(Debug)]
pub struct Block {
    /// What it holds.
    pub kind: Kind,
    room: Room,
    read: usize,
    write: usize,
    /// Sum that goes with the data: of its words where the copy in made it, of all else that a
    /// checksum covers where it came from below.
    pub sum: Option<u32>,
    /// The next block of the message (`b_cont`).
    pub next: Option<Box<Self>>,
}

impl Block {
    fn over(kind: Kind, room: Room) -> Box<Self> {
        Box::new(Self { kind, room, read: 0, write: 0, sum: None, next: None })
    }

    /// The bytes between its read and its write pointer.
    pub fn bytes(&self) -> &[u8] {
        &self.room[self.read..self.write]
    }

    /// All of its room.
    pub fn room(&mut self) -> &mut Room {
        &mut self.room
    }

    /// Sets what of its room is in use.
    ///
    /// # Panics
    /// A range that is not within the room: a fault of this program.
    pub fn set(&mut self, read: usize, write: usize) {
        assert!(read <= write && write <= self.room.len(), "{read}..{write} of {}", self.room.len());
        (self.read, self.write) = (read, write);
    }

    /// Bytes that lie before the read pointer, where a header fits.
    pub const fn headroom(&self) -> usize {
        self.read
    }

    /// Bytes in all blocks of the message (`msgsize`), which queues count.
    pub fn size(&self) -> usize {
        let mut all = 0;
        let mut block = Some(self);
        while let Some(one) = block {
            all += one.write - one.read;
            block = one.next.as_deref();
        }
        all
    }
}

/// Room for a primitive: a fixed part of 20 bytes and an address.
pub const PROTO_ROOM: usize = 64;

/// Free blocks: `allocb` and `freeb` of a stream, without a call of the allocator for each.
#[derive(Debug)]
#[expect(clippy::vec_box, reason = "blocks move between lists and queues by their pointers")]
pub struct Pool {
    data_room: usize,
    proto: Vec<Box<Block>>,
    data: Vec<Box<Block>>,
}

impl Pool {
    /// A pool whose data blocks have room for `data_room` bytes.
    pub const fn new(data_room: usize) -> Self {
        Self { data_room, proto: Vec::new(), data: Vec::new() }
    }

    /// An empty block for a primitive.
    pub fn proto(&mut self) -> Box<Block> {
        self.proto.pop().unwrap_or_else(|| Block::over(Kind::Proto, Room::heap(PROTO_ROOM)))
    }

    /// An empty block for data; the room of a new one is what `room` makes, of that many bytes at
    /// least.
    pub fn data(&mut self, room: impl FnOnce(usize) -> Room) -> Box<Block> {
        self.data.pop().unwrap_or_else(|| Block::over(Kind::Data, room(self.data_room)))
    }

    /// Takes a message back.
    pub fn give(&mut self, message: Box<Block>) {
        let mut block = Some(message);
        while let Some(mut one) = block {
            block = one.next.take();
            (one.read, one.write, one.sum) = (0, 0, None);
            match one.kind {
                Kind::Proto => self.proto.push(one),
                Kind::Data => self.data.push(one),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Pool, Room};

    #[test]
    fn blocks_are_used_again() {
        let mut pool = Pool::new(100);
        let mut proto = pool.proto();
        let mut data = pool.data(Room::heap);
        proto.set(0, 20);
        data.set(10, 100);
        let room = data.room().as_ptr();
        proto.next = Some(data);
        assert_eq!((proto.size(), proto.bytes().len()), (110, 20));
        pool.give(proto);
        let mut again = pool.data(Room::heap);
        assert_eq!((again.room().as_ptr(), again.bytes().len(), again.headroom()), (room, 0, 0));
        assert!(pool.proto().next.is_none());
    }
}
