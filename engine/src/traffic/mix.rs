//! The sender of a stream whose messages have many sizes.

use model::Mix;
use model::end::Counts;

use super::send::{Stretch, send_parts};
use super::{Done, Trial};
use crate::api::{Api, Transmit, Trouble, Verdict, finish};
use crate::stage::{Part, Stage};

pub(super) fn run<A: Api>(api: &mut A, trial: &mut Trial, mix: &Mix) -> Done {
    let mut sequence = trial_sequence(trial, mix);
    let stage = trial.stage;
    send_parts(api, trial, |api, Stretch { part, limit, .. }| send_mix_until(api, &mut sequence, stage, part, limit))
}

/// The sequence of a trial, which its host lets send so many messages of it.
pub(super) fn trial_sequence(trial: &mut Trial, mix: &Mix) -> Sequence {
    let sequence = trial.sizes.take().map_or_else(|| Sequence::from_mix(mix), |sizes| Sequence { sizes, place: 0 });
    if let Some(limit) = trial.task.limits.bytes {
        trial.most = sequence.messages_within(limit.get() / u64::from(trial.task.cell.flows.max(1)));
    }
    sequence
}

/// The sizes of messages, one after the other, again and again.
#[derive(Debug)]
pub struct Sequence {
    sizes: Vec<u32>,
    /// Place of the next message; always within `sizes`, which is never empty.
    place: usize,
}

impl Sequence {
    /// Sizes of a mix, from its first message on.
    pub fn from_mix(mix: &Mix) -> Self {
        Self { sizes: mix.sequence(), place: 0 }
    }

    #[inline(always)]
    pub(super) fn next(&self) -> usize {
        self.sizes[self.place] as usize
    }

    #[inline(always)]
    pub(super) fn advance(&mut self) {
        let next = self.place + 1;
        self.place = if next == self.sizes.len() { 0 } else { next };
    }

    /// Number of messages, from the first on, that hold no more than `bytes`.
    fn messages_within(&self, bytes: u64) -> u64 {
        let cycle: u64 = self.sizes.iter().map(|size| u64::from(*size)).sum();
        let (cycles, mut left) = (bytes / cycle.max(1), bytes % cycle.max(1));
        let fits = |size: &&u32| {
            let fits = u64::from(**size) <= left;
            left = left.saturating_sub(u64::from(**size));
            fits
        };
        cycles.saturating_mul(self.sizes.len() as u64).saturating_add(self.sizes.iter().take_while(fits).count() as u64)
    }
}

/// Sends messages of a sequence while the trial is in `part`, `limit` at most.
///
/// Works as [`super::send_until`], with a size that is looked up for each: one call,
/// one comparison of its answer, one look at the stage, one count.
pub fn send_mix_until<A: Transmit>(api: &mut A, sequence: &mut Sequence, stage: &Stage, part: Part, mut limit: u64) -> Counts {
    let mut counts = Counts::default();
    let mut trouble = Trouble::default();
    let (mut whole, mut bytes) = (0u64, 0u64);
    while stage.is(part) && whole < limit {
        let size = sequence.next();
        let moved = api.send_part(0, size);
        if moved.0 == size as isize {
            whole += 1;
            bytes += size as u64;
            sequence.advance();
        } else {
            let finished = counts.messages;
            if finish(api, size, moved, whole, &mut counts, &mut trouble) == Verdict::Over {
                break;
            }
            if counts.messages > finished {
                // A message in several calls is one of the limit's, too.
                limit -= 1;
                sequence.advance();
            }
        }
    }
    counts.calls += whole;
    counts.messages += whole;
    counts.bytes += bytes;
    counts.sent = counts.messages;
    counts
}

#[cfg(test)]
mod tests {
    use super::{Sequence, send_mix_until};
    use crate::api::{CallOutcome, Transmit};
    use crate::stage::{Part, Stage};
    use model::Mix;
    use proptest::prelude::{prop, prop_assert_eq, proptest};

    fn sequence(sizes: &[u32]) -> Sequence {
        Sequence { sizes: sizes.to_vec(), place: 0 }
    }

    /// Answers calls as it was told, then takes what it gets.
    #[derive(Default)]
    struct Played {
        answers: Vec<isize>,
        calls: Vec<(usize, usize)>,
    }

    impl Transmit for Played {
        fn send_part(&mut self, from: usize, to: usize) -> CallOutcome {
            self.calls.push((from, to));
            CallOutcome(if self.answers.is_empty() { (to - from) as isize } else { self.answers.remove(0) })
        }
    }

    #[test]
    fn short_calls_and_interrupts_keep_messages_whole_and_in_order() {
        let eintr = -(libc::EINTR as isize);
        // The first is interrupted, the second cut short, interrupted and finished.
        let mut api = Played { answers: vec![eintr, 3, 4, eintr, 6], ..Played::default() };
        let mut sizes = sequence(&[3, 10, 5]);
        let counts = send_mix_until(&mut api, &mut sizes, &Stage::starting_in(Part::Measure), Part::Measure, 4);
        assert_eq!(api.calls, [(0, 3), (0, 3), (0, 10), (4, 10), (4, 10), (0, 5), (0, 3)]);
        assert_eq!((counts.messages, counts.sent, counts.bytes), (4, 4, 21));
        assert_eq!((counts.calls, counts.short, counts.errors), (5, 1, 0));
        assert_eq!(sizes.place, 1);
    }

    #[test]
    fn it_sends_what_the_mix_says() {
        let mix = Mix::new("x", 3, &[(8, 0.75), (1_000, 0.25)]).unwrap();
        let (mut api, mut sizes) = (Played::default(), Sequence::from_mix(&mix));
        let counts = send_mix_until(&mut api, &mut sizes, &Stage::starting_in(Part::Warmup), Part::Warmup, 1_024);
        let large = api.calls.iter().filter(|(_, to)| *to == 1_000).count();
        assert_eq!((counts.messages, large), (1_024, 256));
        assert_eq!(counts.bytes, 256 * 1_000 + 768 * 8);
    }

    proptest! {
        #[test]
        fn a_limit_of_bytes_is_never_exceeded_and_used_up(sizes in prop::collection::vec(1u32..1_000, 1..50), limit in 0u64..100_000) {
            let mut sent = (0u64, 0u64);
            for size in sizes.iter().cycle() {
                if sent.1 + u64::from(*size) > limit {
                    break;
                }
                sent = (sent.0 + 1, sent.1 + u64::from(*size));
            }
            prop_assert_eq!(sequence(&sizes).messages_within(limit), sent.0);
        }
    }
}
