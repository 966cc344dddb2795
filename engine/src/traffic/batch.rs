//! The sender of a stream whose api hands over many messages with one call.

use std::io;
use std::ops::Range;

use model::end::Counts;
use model::{Cell, Nanos, Pacing};

use super::mix::{Sequence, trial_sequence};
use super::open::timetable::Timetable;
use super::open::wait::{wait, wake_exactly};
use super::schedule_stats::ScheduleStats;
use super::send::{Stretch, send_parts};
use super::{Done, Trial, stamp};
use crate::api::{Api, Batching, CallOutcome, Transmit, Trouble, Verdict, send_rest};
use crate::recorder::Recorder;
use crate::stage::{Part, Stage};
use sys::clock;

pub(super) fn run<A: Api>(api: &mut A, trial: &mut Trial) -> io::Result<Done> {
    let cell = &trial.task.cell;
    match &cell.mix {
        Some(mix) => {
            let sequence = trial_sequence(trial, mix);
            Ok(run_with(api, trial, &mut Batches::new(Mixed::new(sequence, cell.batch), cell)))
        }
        None if cell.rate.is_some() || cell.stamp => run_offered(api, trial),
        None => Ok(run_with(api, trial, &mut Batches::new(Same { size: cell.size.as_len() }, cell))),
    }
}

fn run_with<A: Api, F: Fill>(api: &mut A, trial: &mut Trial, batches: &mut Batches<F>) -> Done {
    let stage = trial.stage;
    send_parts(api, trial, |api, Stretch { part, limit, .. }| send(api, batches, stage, part, limit))
}

fn run_offered<A: Api>(api: &mut A, trial: &mut Trial) -> io::Result<Done> {
    wake_exactly()?;
    let (cell, stage) = (&trial.task.cell, trial.stage);
    let mut batches = Batches::new(Offered::new(cell, trial.task.seed), cell);
    let mut numbers = None;
    let done = send_parts(api, trial, |api, Stretch { part, limit, measured, paused }| {
        batches.fill.measured = measured;
        batches.fill.stand_still(paused);
        let before = batches.fill.number;
        let counts = send(api, &mut batches, stage, part, limit);
        if measured {
            let (first, _) = numbers.unwrap_or((before, before));
            numbers = Some((first, batches.fill.number));
        }
        counts
    });
    let Offered { timetable, lateness, .. } = batches.fill;
    if let (Some(timetable), Some((first, next))) = (timetable, numbers) {
        let stats = ScheduleStats { lateness, ..ScheduleStats::new() };
        trial.schedule = Some(stats.in_window(&timetable.numbers_of(trial, done.usage.window, first), next));
    }
    Ok(done)
}

fn send<A: Api, F: Fill>(api: &mut A, batches: &mut Batches<F>, stage: &Stage, part: Part, limit: u64) -> Counts {
    api.batch().map_or_else(Counts::default, |api| batches.send_until(api, stage, part, limit))
}

/// The messages of batches.
pub trait Fill {
    /// Puts messages into the first places, `most` at most, and returns how many:
    /// none where it has waited instead.
    fn fill(&mut self, api: &mut dyn Batching, most: usize) -> usize;

    /// Readies messages that were put into `places` before and are handed over now.
    fn ready(&mut self, _api: &mut dyn Batching, _places: Range<usize>) {}

    /// Bytes of the message at a place.
    fn size(&self, place: usize) -> usize;

    /// Counts the messages at `places`, which went whole; returns their bytes.
    fn sent(&mut self, places: Range<usize>) -> u64;
}

/// Batches of messages, one after the other. Messages that a call did not take
/// keep their places, and go first with the next.
#[derive(Debug)]
pub struct Batches<F> {
    fill: F,
    work: Nanos,
    /// The messages that are filled in and have not gone.
    pending: Range<usize>,
}

impl<F: Fill> Batches<F> {
    /// Batches of these messages, with the work before each that a cell asks for.
    pub fn new(fill: F, cell: &Cell) -> Self {
        Self { fill, work: cell.work, pending: 0..0 }
    }

    /// Sends messages while the trial is in `part`, `limit` at most: one call, one
    /// look at the stage, one count a batch.
    pub fn send_until(&mut self, api: &mut dyn Batching, stage: &Stage, part: Part, limit: u64) -> Counts {
        let mut counts = Counts::default();
        let mut trouble = Trouble::default();
        let capacity = api.capacity();
        while stage.is(part) && counts.messages < limit {
            let most = usize::try_from(limit - counts.messages).map_or(capacity, |left| left.min(capacity));
            if self.pending.is_empty() {
                self.pending = 0..self.fill.fill(api, most);
                if self.work > Nanos::default() {
                    clock::spin_for(Nanos::new(self.work.get().saturating_mul(self.pending.len() as u64)));
                }
            }
            let places = self.pending.start..self.pending.end.min(self.pending.start + most);
            if !places.is_empty() && self.hand_over(api, places, &mut counts, &mut trouble) == Verdict::Over {
                break;
            }
        }
        counts.sent = counts.messages;
        counts
    }

    fn hand_over(&mut self, api: &mut dyn Batching, places: Range<usize>, counts: &mut Counts, trouble: &mut Trouble) -> Verdict {
        self.fill.ready(api, places.clone());
        let handed = api.send_batch(places.clone());
        let next = places.start + handed.messages;
        counts.calls += handed.calls;
        counts.messages += handed.messages as u64;
        counts.bytes += self.fill.sent(places.start..next);
        self.pending.start = next;
        if next == places.end { Verdict::Again } else { self.finish(api, handed.next, counts, trouble) }
    }

    /// Sees to the message that ended a call before its last.
    #[cold]
    fn finish(&mut self, api: &mut dyn Batching, moved: CallOutcome, counts: &mut Counts, trouble: &mut Trouble) -> Verdict {
        if moved.0 < 0 {
            return trouble.judge(moved, counts.calls, counts);
        }
        counts.short += 1;
        if moved.0 == 0 {
            // The next call begins with it and says what is wrong.
            return Verdict::Again;
        }
        let (place, from) = (self.pending.start, moved.0 as usize);
        counts.bytes += moved.0 as u64;
        let size = self.fill.size(place);
        let verdict = send_rest(&mut AtPlace { api, place }, size, from, 0, counts, trouble);
        if verdict == Verdict::Again {
            counts.messages += 1;
            self.fill.sent(place..place + 1);
            self.pending.start += 1;
        }
        verdict
    }
}

/// One message of a batch by itself.
struct AtPlace<'a> {
    api: &'a mut dyn Batching,
    place: usize,
}

impl Transmit for AtPlace<'_> {
    fn send_part(&mut self, from: usize, to: usize) -> CallOutcome {
        self.api.send_span(self.place, from, to)
    }
}

/// Messages that are all the same.
#[derive(Debug)]
pub struct Same {
    /// Bytes of each.
    pub size: usize,
}

impl Fill for Same {
    fn fill(&mut self, _: &mut dyn Batching, most: usize) -> usize {
        most
    }

    fn size(&self, _: usize) -> usize {
        self.size
    }

    fn sent(&mut self, places: Range<usize>) -> u64 {
        (places.len() * self.size) as u64
    }
}

/// Messages whose sizes follow a sequence.
#[derive(Debug)]
struct Mixed {
    sequence: Sequence,
    sizes: Vec<usize>,
}

impl Mixed {
    fn new(sequence: Sequence, batch: u32) -> Self {
        Self { sequence, sizes: vec![0; batch as usize] }
    }
}

impl Fill for Mixed {
    fn fill(&mut self, api: &mut dyn Batching, most: usize) -> usize {
        for (place, size) in self.sizes.iter_mut().enumerate().take(most) {
            *size = self.sequence.next();
            self.sequence.advance();
            api.set_length(place, *size);
        }
        most.min(self.sizes.len())
    }

    fn size(&self, place: usize) -> usize {
        self.sizes[place]
    }

    fn sent(&mut self, places: Range<usize>) -> u64 {
        self.sizes[places].iter().map(|size| *size as u64).sum()
    }
}

/// Messages that follow a schedule, or bear a number and a time. A batch has
/// those that are due when it begins: none waits for others to come.
#[derive(Debug)]
struct Offered {
    size: usize,
    /// `None`: every message is due at once.
    timetable: Option<Timetable>,
    pacing: Pacing,
    stamp: bool,
    /// Number of the first message that has not gone.
    number: u64,
    /// Number of the message at the first place.
    first: u64,
    /// Due times of the messages at their places, in ns.
    due: Vec<u64>,
    /// Time of the last hand-over, in ns.
    now: u64,
    /// True when the part is measured.
    measured: bool,
    /// Delays of sends behind their times in it.
    lateness: Recorder,
}

impl Offered {
    fn new(cell: &Cell, seed: u64) -> Self {
        let (lateness, due) = (Recorder::new(), vec![1; cell.batch as usize]);
        // Last: the schedule begins with it.
        let start = clock::monotonic();
        Self {
            size: cell.size.as_len(),
            timetable: Timetable::for_cell(cell, seed, start),
            pacing: cell.pacing,
            stamp: cell.stamp,
            number: 0,
            first: 0,
            due,
            now: start.get(),
            measured: false,
            lateness,
        }
    }

    /// The schedule stood still for some time.
    fn stand_still(&mut self, time: Nanos) {
        self.timetable.iter_mut().for_each(|timetable| timetable.stand_still(time));
        self.due.iter_mut().for_each(|due| *due = due.saturating_add(time.get()));
    }
}

impl Fill for Offered {
    fn fill(&mut self, _: &mut dyn Batching, most: usize) -> usize {
        let now = clock::monotonic().get();
        self.first = self.number;
        let mut filled = 0;
        for place in self.due.iter_mut().take(most) {
            *place = self.timetable.as_ref().map_or(now, Timetable::due);
            if *place > now {
                break;
            }
            filled += 1;
            if let Some(timetable) = &mut self.timetable {
                timetable.advance();
            }
        }
        if filled == 0 {
            wait(self.pacing, now, self.due[0]);
        }
        filled
    }

    fn ready(&mut self, api: &mut dyn Batching, places: Range<usize>) {
        self.now = clock::monotonic().get();
        for place in places.filter(|_| self.stamp) {
            stamp::write(api.message_at(place), self.first + place as u64, self.now);
        }
    }

    fn size(&self, _: usize) -> usize {
        self.size
    }

    fn sent(&mut self, places: Range<usize>) -> u64 {
        self.number += places.len() as u64;
        if self.measured {
            let due = &self.due[places.clone()];
            due.iter().for_each(|due| self.lateness.record(self.now.saturating_sub(*due)));
        }
        (places.len() * self.size) as u64
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use model::{Bytes, Cell, Mix, Nanos, OfferedRate, Test};
    use proptest::prelude::{Just, Strategy, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};

    use super::{Batches, Fill, Mixed, Offered, Same};
    use crate::api::{BatchOutcome, Batching, CallOutcome, Outgoing};
    use crate::stage::{Part, Stage};
    use crate::traffic::mix::Sequence;
    use crate::traffic::stamp;

    const SIZE: usize = 20;

    /// The answer of one call.
    #[derive(Debug, Clone, Copy)]
    enum Answer {
        /// It takes this many messages at most.
        Takes(usize),
        /// It takes one whole, where there are two, and half of the next.
        Cuts,
        Fails(i32),
    }
    use Answer::{Cuts, Fails, Takes};

    /// Answers calls as it was told, then takes all it gets.
    #[derive(Debug)]
    struct Played {
        answers: Vec<Answer>,
        memory: Vec<[u8; SIZE]>,
        lengths: Vec<usize>,
        /// Messages that went whole, and the bytes that went.
        went: Vec<[u8; SIZE]>,
        bytes: usize,
        calls: u64,
    }

    impl Played {
        fn new(capacity: usize, answers: &[Answer]) -> Self {
            let answers = answers.iter().rev().copied().collect();
            let memory = vec![[1; SIZE]; capacity];
            Self { answers, memory, lengths: vec![SIZE; capacity], went: Vec::new(), bytes: 0, calls: 0 }
        }
    }

    impl Outgoing for Played {
        fn message_at(&mut self, place: usize) -> &mut [u8] {
            &mut self.memory[place]
        }

        fn send_span(&mut self, place: usize, from: usize, _: usize) -> CallOutcome {
            let errno = self.answers.last().and_then(|answer| if let Fails(errno) = answer { Some(*errno) } else { None });
            if let Some(errno) = errno {
                self.answers.pop();
                return CallOutcome(-(errno as isize));
            }
            self.calls += 1;
            self.went.push(self.memory[place]);
            self.bytes += self.lengths[place] - from;
            CallOutcome((self.lengths[place] - from) as isize)
        }
    }

    impl Batching for Played {
        fn capacity(&self) -> usize {
            self.memory.len()
        }

        fn set_length(&mut self, place: usize, length: usize) {
            self.lengths[place] = length;
        }

        fn send_batch(&mut self, places: Range<usize>) -> BatchOutcome {
            assert!(!places.is_empty() && places.end <= self.capacity());
            let (taken, next) = match self.answers.pop() {
                None => (places.len(), 0),
                Some(Takes(most)) => (most.min(places.len()), 0),
                Some(Cuts) => {
                    let whole = usize::from(places.len() > 1);
                    (whole, (self.lengths[places.start + whole] / 2) as isize)
                }
                Some(Fails(errno)) => return BatchOutcome { next: CallOutcome(-(errno as isize)), ..BatchOutcome::default() },
            };
            self.calls += 1;
            for place in places.start..places.start + taken {
                self.went.push(self.memory[place]);
                self.bytes += self.lengths[place];
            }
            self.bytes += next as usize;
            BatchOutcome { messages: taken, calls: 1, next: CallOutcome(next) }
        }
    }

    fn measuring() -> Stage {
        Stage::starting_in(Part::Measure)
    }

    fn cell() -> Cell {
        Cell { batch: 4, ..Cell::plain(Test::UdpStream, Bytes::new(SIZE as u64)) }
    }

    fn same() -> Batches<Same> {
        Batches::new(Same { size: SIZE }, &cell())
    }

    #[test]
    fn a_short_batch_goes_on_where_it_ended() {
        let mut api = Played::new(4, &[Takes(4), Takes(1), Takes(3)]);
        let counts = same().send_until(&mut api, &measuring(), Part::Measure, 10);
        assert_eq!((counts.messages, counts.sent, counts.bytes), (10, 10, 200));
        assert_eq!((counts.calls, counts.short, counts.errors), (4, 1, 0), "4, 1 of 4, the other 3, and the last 2");
    }

    #[test]
    fn no_room_in_the_middle_of_a_batch_loses_nothing_and_is_no_failure() {
        let mut api = Played::new(4, &[Takes(2), Fails(libc::EAGAIN), Fails(libc::EINTR)]);
        let counts = same().send_until(&mut api, &measuring(), Part::Measure, 4);
        assert_eq!((counts.messages, counts.calls, counts.short, counts.errors), (4, 2, 1, 0));
        assert_eq!(api.went.len(), 4);
    }

    #[test]
    fn a_failed_message_is_counted_and_tried_again() {
        let mut api = Played::new(4, &[Takes(1), Fails(libc::ECONNREFUSED), Takes(3)]);
        let counts = same().send_until(&mut api, &measuring(), Part::Measure, 4);
        assert_eq!((counts.messages, counts.calls, counts.errors, counts.last_errno), (4, 2, 1, Some(libc::ECONNREFUSED)));
    }

    #[test]
    fn a_peer_that_is_gone_ends_it_with_what_went() {
        let mut api = Played::new(4, &[Takes(3), Fails(libc::EPIPE)]);
        let counts = same().send_until(&mut api, &measuring(), Part::Measure, u64::MAX);
        assert_eq!((counts.messages, counts.calls, counts.errors, counts.last_errno), (3, 1, 1, Some(libc::EPIPE)));
    }

    #[test]
    fn a_message_cut_short_is_finished_before_the_next() {
        let mut api = Played::new(4, &[Cuts, Fails(libc::EINTR)]);
        let counts = same().send_until(&mut api, &measuring(), Part::Measure, 4);
        assert_eq!((counts.messages, counts.bytes, counts.errors), (4, 80, 0));
        assert_eq!((counts.calls, counts.short), (3, 1), "the cut one, its rest, and the last two");
    }

    #[test]
    fn a_part_that_is_over_ends_it_between_two_calls() {
        let stage = measuring();
        stage.enter(Part::Drain);
        assert_eq!(same().send_until(&mut Played::new(4, &[]), &stage, Part::Measure, 4).messages, 0);
    }

    #[test]
    fn a_schedule_hands_over_what_is_due_and_numbers_it() {
        let cell = Cell { rate: Some(OfferedRate::Messages(1_000_000_000)), stamp: true, ..cell() };
        let mut api = Played::new(4, &[Takes(3), Fails(libc::EAGAIN)]);
        let mut batches = Batches::new(Offered::new(&cell, 0), &cell);
        batches.fill.measured = true;
        let counts = batches.send_until(&mut api, &measuring(), Part::Measure, 100);
        assert_eq!((counts.messages, batches.fill.number), (100, 100));
        let numbers: Vec<u64> = api.went.iter().map(|message| stamp::read(message).unwrap().0).collect();
        assert_eq!(numbers, (0..100).collect::<Vec<_>>());
        assert_eq!(batches.fill.lateness.total(), 100);
        assert!(counts.calls < 100, "a rate that nobody keeps leaves batches due: {} calls", counts.calls);
    }

    #[test]
    fn what_is_not_due_is_not_sent() {
        let cell = Cell { rate: Some(OfferedRate::Messages(200)), ..cell() };
        let mut batches = Batches::new(Offered::new(&cell, 0), &cell);
        let (mut api, begun) = (Played::new(4, &[]), std::time::Instant::now());
        let counts = batches.send_until(&mut api, &measuring(), Part::Measure, 4);
        assert_eq!(counts.messages, 4);
        assert!(begun.elapsed() >= std::time::Duration::from_millis(15), "the fourth is due after three periods of 5 ms");
    }

    #[test]
    fn work_is_done_before_each_message_of_a_batch() {
        let cell = Cell { work: Nanos::from_millis(1), ..cell() };
        let begun = std::time::Instant::now();
        Batches::new(Same { size: SIZE }, &cell).send_until(&mut Played::new(4, &[]), &measuring(), Part::Measure, 6);
        assert!(begun.elapsed() >= std::time::Duration::from_millis(6));
    }

    fn answers() -> impl Strategy<Value = Vec<Answer>> {
        let answer = prop_oneof![(1usize..5).prop_map(Takes), Just(Cuts), Just(Fails(libc::EAGAIN)), Just(Fails(libc::ENOBUFS))];
        prop::collection::vec(answer, 0..40)
    }

    proptest! {
        #[test]
        fn whatever_calls_answer_counts_are_what_went(answers in answers(), capacity in 2usize..6, limit in 0u64..60) {
            let mut api = Played::new(capacity, &answers);
            let counts = same().send_until(&mut api, &measuring(), Part::Measure, limit);
            prop_assert_eq!((counts.messages, counts.sent), (limit, limit));
            prop_assert_eq!((api.went.len() as u64, api.bytes as u64, api.calls), (limit, counts.bytes, counts.calls));
            prop_assert!(counts.calls <= counts.messages + counts.short);
        }

        #[test]
        fn a_mix_keeps_its_sizes_in_order_over_parts(answers in answers(), parts in prop::collection::vec(0u64..30, 1..4)) {
            let mix = Mix::new("x", 3, &[(8, 0.5), (20, 0.5)]).unwrap();
            let (mut api, cell) = (Played::new(4, &answers), cell());
            let mut batches = Batches::new(Mixed::new(Sequence::from_mix(&mix), 4), &cell);
            let (mut messages, mut bytes) = (0, 0);
            for limit in parts {
                let counts = batches.send_until(&mut api, &measuring(), Part::Measure, limit);
                (messages, bytes) = (messages + counts.messages, bytes + counts.bytes);
            }
            let expected: u64 = mix.sequence().iter().cycle().take(messages as usize).map(|size| u64::from(*size)).sum();
            prop_assert_eq!((bytes, api.bytes as u64), (expected, expected));
        }
    }

    #[test]
    fn a_fill_that_has_nothing_yet_hands_over_nothing() {
        struct Never<'a>(&'a Stage);
        impl Fill for Never<'_> {
            fn fill(&mut self, _: &mut dyn Batching, _: usize) -> usize {
                self.0.enter(Part::Drain);
                0
            }
            fn size(&self, _: usize) -> usize {
                SIZE
            }
            fn sent(&mut self, _: Range<usize>) -> u64 {
                0
            }
        }
        let (stage, mut api) = (measuring(), Played::new(4, &[]));
        let counts = Batches::new(Never(&stage), &cell()).send_until(&mut api, &stage, Part::Measure, 1);
        assert_eq!((counts.messages, api.calls), (0, 0));
    }
}
