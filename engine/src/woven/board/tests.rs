use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use model::Nanos;
use model::end::Counts;
use model::woven::Reading;
use sys::clock;

use super::{Board, Interrupted, Mark, Order};
use crate::edge::EdgeReader;
use crate::stage::{Part, Stage};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// A traffic thread that counts messages, at the first seat of a board.
struct Counter {
    board: Arc<Board>,
    stage: Arc<Stage>,
    over: Arc<AtomicBool>,
    counted: Arc<AtomicU64>,
    thread: Option<thread::JoinHandle<u64>>,
}

impl Counter {
    /// It counts as fast as it can.
    fn start(order: Order) -> Self {
        Self::start_with(order, || true)
    }

    /// It counts the messages that `moves` returns true of.
    fn start_with(order: Order, mut moves: impl FnMut() -> bool + Send + 'static) -> Self {
        crate::wake::prepare().unwrap();
        let board = Arc::new(Board::new().unwrap());
        board.clear(0, order);
        let stage = Arc::new(Stage::at(board.seat_here(0).unwrap()));
        let (over, counted) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
        let thread = thread::spawn({
            let (stage, over, counted) = (Arc::clone(&stage), Arc::clone(&over), Arc::clone(&counted));
            move || {
                stage.take();
                let edges = EdgeReader::of_this_thread(&[]);
                let mut messages = 0;
                while !over.load(Ordering::Relaxed) {
                    while stage.is(Part::Measure) && !over.load(Ordering::Relaxed) {
                        messages += u64::from(moves());
                        counted.store(messages, Ordering::Relaxed);
                    }
                    stage.answer_mark(&edges, || Counts { messages, bytes: 7 * messages, ..Counts::default() });
                }
                messages
            }
        });
        stage.enter(Part::Marked);
        Self { board, stage, over, counted, thread: Some(thread) }
    }

    /// The edge of a mark, for which it is interrupted, as by its controller.
    fn answer(&self, mark: Mark) -> Reading {
        let give_up = clock::monotonic() + PATIENCE.into();
        loop {
            if let Some(edge) = self.board.await_edge(0, mark, Duration::from_millis(1)) {
                return edge;
            }
            assert!(clock::monotonic() < give_up, "no edge of {mark:?}");
            self.board.interrupt(0);
        }
    }

    fn end(&mut self) -> u64 {
        self.over.store(true, Ordering::Relaxed);
        self.stage.enter(Part::Drain);
        self.board.mark(0, Order::GoOn);
        self.thread.take().unwrap().join().unwrap()
    }
}

#[test]
fn an_end_that_is_stopped_stands_still_and_goes_on_when_it_may() {
    let mut end = Counter::start(Order::Stop);
    let first = end.board.await_edge(0, Mark::FIRST, PATIENCE).unwrap();
    assert_eq!(first.messages, 0, "it stops before its first message");
    for _ in 0..50 {
        let before = end.counted.load(Ordering::Relaxed);
        thread::sleep(Duration::from_micros(200));
        assert_eq!(end.counted.load(Ordering::Relaxed), before, "it stands still");
        let start = end.board.mark(0, Order::GoOn);
        while end.counted.load(Ordering::Relaxed) == before {
            thread::yield_now();
        }
        let stop = end.board.mark(0, Order::Stop);
        let stopped = end.board.await_edge(0, stop, PATIENCE).unwrap();
        let started = end.board.edge(0, start).unwrap();
        assert_eq!(started.messages, before);
        assert_eq!(stopped.bytes, 7 * stopped.messages);
        assert!(stopped.messages > started.messages && stopped.time > started.time && stopped.cpu > started.cpu);
        assert!(stopped.cpu.since(started.cpu) <= stopped.time.since(started.time) + Nanos::new(20_000));
    }
    assert_eq!(end.end(), end.counted.load(Ordering::Relaxed));
}

#[test]
fn no_mark_is_lost_however_fast_they_come() {
    let mut end = Counter::start(Order::GoOn);
    let mut last = 0;
    for number in 0..20_000 {
        // Several at once: the last counts.
        for _ in 0..number % 4 {
            end.board.mark(0, Order::GoOn);
        }
        let mark = end.board.mark(0, Order::Tell);
        let edge = end.board.await_edge(0, mark, PATIENCE).unwrap_or_else(|| panic!("mark {number} was lost"));
        assert!(edge.messages >= last);
        last = edge.messages;
    }
    end.end();
}

/// The controller is held back for ten times as long as a slice lasts.
#[test]
fn an_end_stops_at_the_planned_time_without_its_controller() {
    const SLICE: Duration = Duration::from_millis(20);
    const SLICES: u32 = 10;
    let mut end = Counter::start(Order::Stop);
    end.board.await_edge(0, Mark::FIRST, PATIENCE).unwrap();
    let mut in_time = 0;
    for _ in 0..SLICES {
        let planned = clock::monotonic() + SLICE.into();
        end.board.plan_end(0, Order::Stop, planned);
        end.board.mark(0, Order::GoOn);
        thread::sleep(10 * SLICE);
        let (back, before) = (clock::monotonic(), end.counted.load(Ordering::Relaxed));
        let stop = end.board.mark_in_slice(0, Order::Stop);
        let stopped = end.board.await_edge(0, stop, PATIENCE).unwrap();
        assert!(stopped.time >= planned);
        if stopped.time < back {
            assert_eq!(stopped.messages, before, "it stood still until the controller came");
        }
        in_time += u32::from(stopped.time < planned + (4 * SLICE).into());
        // A mark within the slice is too late: it makes nothing go on.
        let none = end.board.mark_in_slice(0, Order::GoOn);
        assert_eq!((none, end.board.edge(0, none)), (Mark::NONE, None));
        assert_eq!(end.counted.load(Ordering::Relaxed), stopped.messages);
    }
    // Where other tests keep the CPUs busy, it may wait for one itself.
    assert!(in_time > SLICES / 2, "{in_time} of {SLICES}");
    end.end();
}

#[test]
fn an_end_that_waits_for_messages_writes_its_edge_at_the_planned_time() {
    const SLICES: u32 = 10;
    let (mut reader, writer) = std::io::pipe().unwrap();
    let mut end = Counter::start_with(Order::Tell, move || std::io::Read::read(&mut reader, &mut [0]).is_ok());
    end.board.await_edge(0, Mark::FIRST, PATIENCE).unwrap();
    let mut by_itself = 0;
    for _ in 0..SLICES {
        let planned = clock::monotonic() + Nanos::from_millis(50);
        end.board.plan_end(0, Order::Tell, planned);
        end.board.mark(0, Order::GoOn);
        // It is in its call: a signal gets it out, to see that it goes on.
        end.board.interrupt(0);
        thread::sleep(Duration::from_millis(150));
        by_itself += u32::from(end.board.mark_in_slice(0, Order::GoOn) == Mark::NONE);
        let edge = end.answer(end.board.mark_in_slice(0, Order::Tell));
        assert!(edge.time >= planned);
        // It went on: its controller may ask again.
        let later = end.board.mark(0, Order::Tell);
        assert!(end.answer(later).time > edge.time);
    }
    // A signal that comes just before the call is lost.
    assert!(by_itself > SLICES / 2, "{by_itself} of {SLICES}");
    drop(writer);
    end.end();
}

#[test]
fn a_slice_ends_once_whichever_comes_first() {
    const SLICES: u64 = 3_000;
    let mut end = Counter::start(Order::Stop);
    end.board.await_edge(0, Mark::FIRST, PATIENCE).unwrap();
    let mut by_itself = 0;
    for number in 0..SLICES {
        end.board.plan_end(0, Order::Stop, clock::monotonic() + Nanos::new(number % 40 * 10_000));
        end.board.mark(0, Order::GoOn);
        clock::spin_for(Nanos::new(number % 7 * 40_000));
        let middle = end.board.mark_in_slice(0, Order::GoOn);
        let stop = end.board.mark_in_slice(0, Order::Stop);
        let stopped = end.board.await_edge(0, stop, PATIENCE).unwrap_or_else(|| panic!("slice {number} has no end"));
        by_itself += u64::from(middle == Mark::NONE);
        assert_eq!(end.board.mark_in_slice(0, Order::Stop), stop, "an end is one mark");
        assert_eq!(end.counted.load(Ordering::Relaxed), stopped.messages, "slice {number} ended");
    }
    assert!((1..SLICES).contains(&by_itself), "{by_itself} of {SLICES} by the end itself");
    end.end();
}

#[test]
fn the_end_of_the_measured_part_ends_the_sleep() {
    let mut end = Counter::start(Order::Stop);
    end.board.await_edge(0, Mark::FIRST, PATIENCE).unwrap();
    // As the main thread of an endpoint does: another part, and the signal.
    end.over.store(true, Ordering::Relaxed);
    end.stage.enter(Part::Drain);
    assert_eq!(end.board.interrupt(0), Interrupted::Sent);
    assert_eq!(end.thread.take().unwrap().join().unwrap(), 0);
    assert_eq!(end.board.interrupt(0), Interrupted::Gone);
}

#[test]
fn an_end_without_its_controller_looks_for_itself() {
    let mut end = Counter::start(Order::Stop);
    end.board.await_edge(0, Mark::FIRST, PATIENCE).unwrap();
    end.over.store(true, Ordering::Relaxed);
    end.stage.enter(Part::Drain);
    // Nothing wakes it.
    assert_eq!(end.thread.take().unwrap().join().unwrap(), 0);
}

#[test]
fn a_file_that_is_no_board_is_refused() {
    let board = Board::new().unwrap();
    let seat = board.seat(0).unwrap();
    assert!(crate::woven::Seat::open(seat).is_ok());
    assert!(crate::woven::Seat::open(model::woven::Seat { number: 1_000, ..seat }).is_err());
    for other in [u32::MAX, 1_000_000] {
        assert!(crate::woven::Seat::open(model::woven::Seat { board: other, number: 0 }).is_err());
    }
    let file = tempfile();
    let number = std::os::fd::AsRawFd::as_raw_fd(&file).cast_unsigned();
    assert!(crate::woven::Seat::open(model::woven::Seat { board: number, number: 0 }).is_err());
    assert!(board.seat(1_000).is_none());
}

/// A file in memory that may become shorter.
fn tempfile() -> std::fs::File {
    let file = sys::shared::empty_file(c"other", libc::MFD_CLOEXEC).unwrap();
    file.set_len(1 << 20).unwrap();
    file
}
