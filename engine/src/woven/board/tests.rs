use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use model::end::Counts;

use super::{Board, Interrupted, Mark, Order};
use crate::edge::EdgeReader;
use crate::stage::{Part, Stage};

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// A traffic thread that counts as fast as it can, at the first seat of a board.
struct Counter {
    board: Arc<Board>,
    stage: Arc<Stage>,
    over: Arc<AtomicBool>,
    counted: Arc<AtomicU64>,
    thread: Option<thread::JoinHandle<u64>>,
}

impl Counter {
    fn start(order: Order) -> Self {
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
                        messages += 1;
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
        assert!(stopped.cpu.since(started.cpu) <= stopped.time.since(started.time) + model::Nanos::new(20_000));
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
