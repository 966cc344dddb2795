//! A discrete-event model of one TCP connection that sends all that it can over
//! a wire: what a window, host times and acknowledgements let through.
//!
//! The sender has always something to send and reads every acknowledgement; the
//! receiver reads at once what comes. Losses are not repaired: the model is of
//! wires without.

use model::Nanos;
use model::link::Wire;

use super::frame::{Cut, HEADER};
use crate::emulator::{End, LinkEmulator};

/// TCP as two hosts speak it: segments, and when they are acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AckPolicy {
    /// The way in which packets are cut.
    pub cut: Cut,
    /// Bytes of a message: no segment holds more.
    pub message: u32,
    /// Segments for an acknowledgement. A receiver that reads each message as it
    /// comes acknowledges each; one of long reads every second.
    pub per_ack: u32,
    /// Longest time that an acknowledgement waits for the next segment.
    pub patience: Nanos,
    /// True where the sender never sends more at once than half of the largest
    /// window that it was offered, as Linux does with windows above 536 bytes
    /// (`tcp_bound_to_half_wnd`).
    pub halves: bool,
}

impl AckPolicy {
    /// Segments of 1,460 bytes, each written by itself and acknowledged by itself.
    pub const SEGMENT_FOR_SEGMENT: Self =
        Self { cut: Cut::PLAIN, message: 1_460, per_ack: 1, patience: Nanos::from_millis(40), halves: false };
}

/// The buffers of a connection and how much it moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Payload that the sender holds until it is acknowledged.
    pub sender_buffer: u32,
    /// Payload that the receiver's window allows.
    pub receiver_buffer: u32,
    /// Payload still held at which a sender that had filled its buffer goes on
    /// writing; `None`: as soon as there is room. See [`SenderBuffer`].
    pub resumes_at: Option<u32>,
    /// Payload in all; more than one segment.
    pub bytes: u64,
}

/// A send buffer as Linux accounts for it.
///
/// A segment is charged with what the kernel spent on it, payload and
/// bookkeeping, and one more is let in as long as what is there is less than
/// `sk_sndbuf` (`sk_stream_memory_free`). A writer that found it full is woken
/// only when a third of it is free (`sk_stream_is_writeable`): the free part has
/// to be at least half of what is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderBuffer {
    /// Segments that it holds.
    pub segments: u32,
    /// Segments still held when a blocked writer goes on.
    pub resumes_at: u32,
}

impl SenderBuffer {
    /// Charge of a segment beyond its payload: the head of 256 bytes
    /// that `tcp_stream_alloc_skb` asks for (MAX_TCP_HEADER, rounded), `struct
    /// sk_buff` (256) and `struct skb_shared_info` (320), of 64-bit kernels from
    /// 5.10 to 6.18. Compared with what was seen in flight in `docs/buffers.md`.
    pub const BOOKKEEPING: u32 = 256 + 256 + 320;

    /// The model of a buffer as `getsockopt(SO_SNDBUF)` tells it, for segments of `payload`
    /// bytes, each written by itself.
    pub const fn from_sockopt(sndbuf: u32, payload: u32) -> Self {
        let charged = payload.saturating_add(Self::BOOKKEEPING);
        let segments = sndbuf.div_ceil(charged);
        Self { segments: if segments == 0 { 1 } else { segments }, resumes_at: (sndbuf / 3).saturating_mul(2) / charged }
    }
}

/// The outcome of a transfer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transfer {
    /// Payload a second, from the first byte handed over to the last delivered.
    pub bytes_per_s: f64,
    /// Data segments.
    pub segments: u64,
    /// Acknowledgements.
    pub acknowledgements: u64,
    /// The most segments in flight at one time.
    pub most_in_flight: u64,
    /// Collisions.
    pub collisions: u64,
}

enum Packet {
    Segment { end: u64 },
    Acknowledgement { up_to: u64 },
}

struct Model {
    link: LinkEmulator<Packet>,
    policy: AckPolicy,
    segment: u64,
    /// Payload that the sender holds at most.
    buffer: u64,
    /// Payload that it holds when it goes on writing.
    resumes_at: u64,
    /// Payload that the receiver's window allows.
    window: u64,
    bytes: u64,
    /// Handed over by the sending process.
    written: u64,
    sent: u64,
    acknowledged: u64,
    received: u64,
    unacknowledged: u32,
    /// Time at which the receiver acknowledges what it has not yet.
    patience_ends: Option<u64>,
    made: Transfer,
}

/// Runs the model. `None` where nothing can ever be sent, or some of it was
/// lost on the way.
pub fn run(wire: Wire, policy: AckPolicy, load: Load, seed: u64) -> Option<Transfer> {
    let window = load.sender_buffer.min(load.receiver_buffer);
    let half = if policy.halves && load.receiver_buffer > 536 { load.receiver_buffer / 2 } else { u32::MAX };
    let segment = policy.message.min(policy.cut.segment_payload()).min(window).min(half);
    if segment == 0 || load.bytes == 0 {
        return None;
    }
    let model = Model {
        link: LinkEmulator::new(wire, seed),
        policy,
        segment: u64::from(segment),
        buffer: u64::from(load.sender_buffer),
        resumes_at: u64::from(load.resumes_at.unwrap_or(load.sender_buffer).min(load.sender_buffer)),
        window: u64::from(load.receiver_buffer),
        bytes: load.bytes,
        written: 0,
        sent: 0,
        acknowledged: 0,
        received: 0,
        unacknowledged: 0,
        patience_ends: None,
        made: Transfer { bytes_per_s: 0.0, segments: 0, acknowledgements: 0, most_in_flight: 0, collisions: 0 },
    };
    model.run()
}

impl Model {
    fn run(mut self) -> Option<Transfer> {
        self.send(0);
        loop {
            let timer = self.patience_ends.unwrap_or(u64::MAX);
            let at = match self.link.next_at() {
                Some(at) => at.get().min(timer),
                None if timer < u64::MAX => timer,
                // Nothing is under way, but not all has come: it was lost.
                None => return None,
            };
            while let Some(frame) = self.link.take(Nanos::new(at)) {
                match frame.load {
                    Packet::Segment { end } => self.receive(frame.at.get(), end),
                    Packet::Acknowledgement { up_to } => {
                        self.acknowledged = self.acknowledged.max(up_to);
                        self.send(frame.at.get());
                    }
                }
                if self.received >= self.bytes {
                    return Some(self.result(frame.at));
                }
            }
            if self.patience_ends.is_some_and(|end| end <= at) {
                self.acknowledge(at);
            }
        }
    }

    /// Sends as much as the window allows, in whole segments but for the last.
    fn send(&mut self, now: u64) {
        if self.written - self.acknowledged <= self.resumes_at {
            self.written = self.bytes.min(self.acknowledged + self.buffer);
        }
        while self.sent < self.bytes {
            let payload = self.segment.min(self.bytes - self.sent);
            if self.sent + payload > self.written.min(self.acknowledged + self.window) {
                return;
            }
            self.sent += payload;
            self.made.segments += 1;
            let in_flight = (self.sent - self.acknowledged).div_ceil(self.segment);
            self.made.most_in_flight = self.made.most_in_flight.max(in_flight);
            // A segment's payload is below 64 KiB.
            let frame = self.policy.cut.segment(u32::try_from(payload).unwrap_or(u32::MAX));
            self.hand(now, End::A, frame.bytes, Packet::Segment { end: self.sent });
        }
    }

    fn receive(&mut self, now: u64, end: u64) {
        self.received = self.received.max(end);
        self.unacknowledged += 1;
        if self.unacknowledged >= self.policy.per_ack {
            self.acknowledge(now);
        } else if self.patience_ends.is_none() {
            self.patience_ends = Some(now + self.policy.patience.get());
        }
    }

    fn acknowledge(&mut self, now: u64) {
        self.unacknowledged = 0;
        self.patience_ends = None;
        self.made.acknowledgements += 1;
        let frame = self.policy.cut.acknowledgement();
        self.hand(now, End::B, frame.bytes, Packet::Acknowledgement { up_to: self.received });
    }

    fn hand(&mut self, now: u64, from: End, bytes: u64, packet: Packet) {
        let counted = u32::try_from(bytes).unwrap_or(HEADER);
        // One that the queue refuses is missed by the loop above.
        let _ = self.link.hand(Nanos::new(now), from, counted, packet);
    }

    fn result(self, at: Nanos) -> Transfer {
        let seconds = at.as_secs_f64();
        let bytes_per_s = if seconds > 0.0 { self.bytes as f64 / seconds } else { f64::INFINITY };
        Transfer { bytes_per_s, collisions: self.link.tally(End::A).collisions, ..self.made }
    }
}
