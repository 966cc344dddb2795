//! What is read off datagrams that another may have sent: the marks of answers, and
//! the numbers and times of stamped messages. The loops read them as they do here.

use model::end::OneWay;

use super::late::MARK;
use super::open::Outstanding;
use super::stamp::{self, Account};

/// Requests that wait for their answers, which bear their marks.
#[derive(Debug)]
pub struct Marked {
    waiting: Outstanding,
    size: usize,
}

impl Marked {
    /// Requests of `size` bytes, at least 1.
    pub fn new(size: usize) -> Self {
        Self { waiting: Outstanding::new(size.max(1), true), size: size.max(1) }
    }

    /// Sends one at `now`, in ns; with its number. `None`: as many wait as can be separated.
    pub fn send(&mut self, now: u64) -> Option<u64> {
        let number = self.waiting.next();
        (!self.waiting.is_full()).then(|| self.waiting.push(now, now))?;
        Some(number)
    }

    /// The number of the request that a datagram answers, and whether it had been given up; `None` of one that
    /// answers none.
    pub fn answer(&mut self, datagram: &[u8]) -> Option<(u64, bool)> {
        let length = datagram.len().min(MARK).min(self.size);
        self.waiting.take_marked(&datagram[..length]).map(|answered| (answered.number, answered.late))
    }

    /// Gives up those that were sent before `time`; returns how many.
    pub fn give_up(&mut self, time: u64) -> u64 {
        self.waiting.give_up(time)
    }
}

/// The account of stamped datagrams, each with the time at which it came, in ns: of those in
/// the window, and of late ones.
pub fn stamped<'a>(window: impl IntoIterator<Item = (&'a [u8], u64)>, late: impl IntoIterator<Item = &'a [u8]>) -> OneWay {
    let mut account = Account::new();
    account.begin();
    for (datagram, now) in window {
        if let Some((number, sent)) = stamp::read(datagram) {
            account.take(number, sent, now);
        }
    }
    account.end();
    late.into_iter().filter_map(stamp::read).for_each(|(number, _)| account.take_late(number));
    account.one_way()
}
