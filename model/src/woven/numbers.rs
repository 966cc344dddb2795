//! A slice as plain numbers: as it is stored and exported.

use super::{BackTraffic, Reading, Slice, SliceEnd};
use crate::end::Switches;
use crate::quantity::Nanos;

impl Slice {
    /// Names of its numbers, in their order.
    pub const FIELDS: [&'static str; 36] = [
        "arm",
        "round",
        "place",
        "begun_ns",
        "sender_time_ns",
        "sender_cpu_ns",
        "sender_run_delay_ns",
        "sender_messages",
        "sender_bytes",
        "sender_calls",
        "sender_voluntary_switches",
        "sender_involuntary_switches",
        "sender_first_half_time_ns",
        "sender_first_half_cpu_ns",
        "sender_first_half_messages",
        "sender_first_half_bytes",
        "sender_back_messages",
        "sender_back_bytes",
        "receiver_time_ns",
        "receiver_cpu_ns",
        "receiver_run_delay_ns",
        "receiver_messages",
        "receiver_bytes",
        "receiver_calls",
        "receiver_voluntary_switches",
        "receiver_involuntary_switches",
        "receiver_first_half_time_ns",
        "receiver_first_half_cpu_ns",
        "receiver_first_half_messages",
        "receiver_first_half_bytes",
        "receiver_back_messages",
        "receiver_back_bytes",
        "late_ns",
        "hand_over_ns",
        "drain_ns",
        "not_drained",
    ];

    /// Its numbers.
    pub fn numbers(&self) -> [u64; Self::FIELDS.len()] {
        let Self { arm, round, place, begun, sender, receiver, late, hand_over, drain, not_drained } = self;
        let first = [(*arm).into(), (*round).into(), (*place).into(), begun.get()];
        let ends = [sender, receiver].into_iter().flat_map(|end| {
            let SliceEnd { whole: Reading { time, cpu, run_delay, messages, bytes, calls, switches }, half, back } = *end;
            let whole = [time.get(), cpu.get(), run_delay.get(), messages, bytes, calls, switches.voluntary, switches.involuntary];
            whole.into_iter().chain([half.time.get(), half.cpu.get(), half.messages, half.bytes, back.messages, back.bytes])
        });
        let last = [late.get(), hand_over.get(), drain.get(), (*not_drained).into()];
        let mut numbers = [0; Self::FIELDS.len()];
        for (place, number) in numbers.iter_mut().zip(first.into_iter().chain(ends).chain(last)) {
            *place = number;
        }
        numbers
    }

    /// The slice that has these numbers; `None` of numbers that none has.
    pub fn from_numbers(numbers: &[u64; Self::FIELDS.len()]) -> Option<Self> {
        let (&[arm, round, place, begun], rest) = numbers.split_first_chunk()?;
        let (sender, rest) = rest.split_first_chunk()?;
        let (receiver, rest) = rest.split_first_chunk()?;
        let &[late, hand_over, drain, not_drained] = <&[u64; 4]>::try_from(rest).ok()?;
        let end = |&[time, cpu, run_delay, messages, bytes, calls, voluntary, involuntary, ref rest @ ..]: &[u64; 14]| {
            let reading = |time, cpu, messages, bytes| Reading {
                time: Nanos::new(time),
                cpu: Nanos::new(cpu),
                messages,
                bytes,
                ..Reading::default()
            };
            let &[half_time, half_cpu, half_messages, half_bytes, back_messages, back_bytes] = rest;
            SliceEnd {
                whole: Reading {
                    run_delay: Nanos::new(run_delay),
                    calls,
                    switches: Switches { voluntary, involuntary },
                    ..reading(time, cpu, messages, bytes)
                },
                half: reading(half_time, half_cpu, half_messages, half_bytes),
                back: BackTraffic { messages: back_messages, bytes: back_bytes },
            }
        };
        Some(Self {
            arm: u32::try_from(arm).ok()?,
            round: u32::try_from(round).ok()?,
            place: u32::try_from(place).ok()?,
            begun: Nanos::new(begun),
            sender: end(sender),
            receiver: end(receiver),
            late: Nanos::new(late),
            hand_over: Nanos::new(hand_over),
            drain: Nanos::new(drain),
            not_drained: match not_drained {
                0 => false,
                1 => true,
                _ => return None,
            },
        })
    }
}
