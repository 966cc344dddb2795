//! Work that is done by many threads while somebody may stop it.

use std::collections::VecDeque;
use std::error::Error;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::event::{Event, Listener};

/// Interval at which the user is heard.
const STEP: Duration = Duration::from_millis(250);
/// Memory of a thread's stack: the work waits for others most of the time.
const STACK: usize = 512 << 10;

/// Says whether work is to stop. Copies of one say the same.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Returns whether to stop.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Whoever works is heard by nobody, and ends where the user wants it.
impl Listener for Stop {
    fn hear(&mut self, _: &Event) -> Result<ControlFlow<()>, Box<dyn Error + Send + Sync>> {
        Ok(if self.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// Work that has ended.
#[derive(Debug)]
pub(crate) struct WorkOutcome<R> {
    /// What was done, in the order in which it ended.
    pub done: Vec<R>,
    /// The user wanted no more.
    pub stopped: bool,
}

/// Has `work` done on every item by at most `workers` threads; `tick` hears again and again how
/// many are done, and may stop it. Threads that are told to stop are given [`PATIENCE`], then
/// they are left alone: they end with this process.
///
/// # Errors
/// That of `tick`, or of a system that starts no thread.
pub(crate) fn on_threads<T: Send + 'static, R: Send + 'static>(
    items: Vec<T>,
    workers: usize,
    work: impl Fn(&Stop, T) -> R + Send + Sync + 'static,
    mut tick: impl FnMut(usize) -> Result<ControlFlow<()>, Box<dyn Error + Send + Sync>>,
) -> Result<WorkOutcome<R>, Box<dyn Error + Send + Sync>> {
    let (all, stop) = (items.len(), Stop::default());
    let (queue, work) = (Arc::new(Mutex::new(VecDeque::from(items))), Arc::new(work));
    let (sender, results) = mpsc::channel();
    for _ in 0..workers.min(all) {
        let (queue, work, sender, stop) = (Arc::clone(&queue), Arc::clone(&work), sender.clone(), stop.clone());
        let body = move || {
            while let Some(item) = next(&queue, &stop) {
                if sender.send(work(&stop, item)).is_err() {
                    break;
                }
            }
        };
        let started = thread::Builder::new().name("nettoll-fleet".to_owned()).stack_size(STACK).spawn(body);
        started.map_err(|answer| format!("start a thread: {answer}; is there a limit of processes (ulimit -u)?"))?;
    }
    drop(sender);
    let mut done = Vec::with_capacity(all);
    let mut patience = PATIENCE;
    while done.len() < all {
        match results.recv_timeout(STEP) {
            Ok(result) => done.push(result),
            Err(RecvTimeoutError::Timeout) if stop.is_set() => {
                patience = patience.saturating_sub(STEP);
                if patience.is_zero() {
                    break;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if !stop.is_set() && tick(done.len())?.is_break() {
            stop.0.store(true, Ordering::Relaxed);
        }
    }
    Ok(WorkOutcome { done, stopped: stop.is_set() })
}

/// Time that threads have to end once they are told to stop: a trial at hand is ended in that
/// time, a login is not waited for.
const PATIENCE: Duration = Duration::from_secs(3);

fn next<T>(queue: &Mutex<VecDeque<T>>, stop: &Stop) -> Option<T> {
    if stop.is_set() {
        return None;
    }
    queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::time::Duration;

    use super::on_threads;

    #[test]
    fn all_is_done_whatever_the_number_of_threads() {
        for workers in [1, 3, 100] {
            let ended = on_threads((0..50).collect(), workers, |_, item: u32| item * 2, |_| Ok(ControlFlow::Continue(()))).unwrap();
            let mut done = ended.done;
            done.sort_unstable();
            assert_eq!((done, ended.stopped), ((0..50).map(|item| item * 2).collect::<Vec<u32>>(), false));
        }
    }

    #[test]
    fn who_stops_waits_for_no_work_that_does_not_end() {
        let endless = |_: &super::Stop, _: u32| std::thread::sleep(Duration::from_secs(600));
        let ended = on_threads(vec![1, 2, 3], 2, endless, |_| Ok(ControlFlow::Break(()))).unwrap();
        assert!(ended.stopped && ended.done.is_empty());
    }

    #[test]
    fn an_error_of_the_listener_ends_it() {
        let slow = |_: &super::Stop, _: u32| std::thread::sleep(Duration::from_millis(1));
        assert!(on_threads(vec![1], 1, slow, |_| Err("no disk".into())).is_err());
    }
}
