// SPDX-License-Identifier: GPL-2.0-or-later
//! A region: its messages, the different courses that they took, and what is written
//! of it.
//!
//! Two messages took the same course where every function and every path counted the
//! same. The course of most messages is the undisturbed one: the others were hit by a
//! tick, by RCU or by a timer.

use std::collections::HashMap;
use std::fmt::Write;

use crate::counters::Counts;

/// Courses that are kept whole; of those beyond only their messages' totals are.
const MOST_COURSES: usize = 4096;

/// One message.
#[derive(Debug, Clone)]
pub struct Message {
    /// Everything that it executed.
    pub total: Counts,
    /// By function number.
    pub functions: Vec<(u32, Counts)>,
    /// By path.
    pub paths: Vec<(u32, Counts)>,
    /// Lines of code, loads and stores.
    pub lines: [u64; 3],
}

/// What is kept of a message.
#[derive(Debug)]
struct MessageRecord {
    total: Counts,
    lines: [u64; 3],
    course: usize,
}

/// A course: how many messages took it, and the first of them.
#[derive(Debug)]
struct Course {
    messages: u64,
    first: Message,
}

/// A region in progress.
#[derive(Debug, Default)]
pub struct Region {
    kept: Vec<MessageRecord>,
    courses: Vec<Course>,
    by_hash: HashMap<u64, usize>,
}

impl Region {
    /// Takes a message.
    pub fn push(&mut self, message: Message) {
        let hash = hash(&message);
        let next = self.courses.len();
        let course = *self.by_hash.entry(hash).or_insert(next);
        self.kept.push(MessageRecord { total: message.total, lines: message.lines, course });
        if course < next {
            self.courses[course].messages += 1;
        } else if next < MOST_COURSES {
            self.courses.push(Course { messages: 1, first: message });
        } else {
            self.by_hash.remove(&hash);
        }
    }

    /// The course of most messages; the first of several.
    fn usual(&self) -> Option<usize> {
        let most = self.courses.iter().map(|course| course.messages).max()?;
        self.courses.iter().position(|course| course.messages == most)
    }

    /// The region as lines: each message, then the usual course. `node` tells a path's
    /// caller and function.
    pub fn write(&self, number: usize, node: impl Fn(u32) -> (u32, u32)) -> String {
        let mut text = format!("region {number}\n");
        let counts = |counts: &Counts| counts.map(|count| count.to_string()).join(" ");
        for message in &self.kept {
            let lines = message.lines.map(|lines| lines.to_string()).join(" ");
            // Writing to a string cannot fail.
            let _ = writeln!(text, "message {} {} {lines}", message.course, counts(&message.total));
        }
        if let Some(usual) = self.usual() {
            let _ = writeln!(text, "course {usual}");
            let first = &self.courses[usual].first;
            for (function, spent) in &first.functions {
                let _ = writeln!(text, "function {function} {}", counts(spent));
            }
            // Paths with the paths that lead to them, a caller before what it calls.
            let mut paths: HashMap<u32, Counts> = first.paths.iter().copied().collect();
            for (place, _) in &first.paths {
                let mut place = *place;
                while place != 0 {
                    paths.entry(place).or_default();
                    place = node(place).0;
                }
            }
            let mut paths: Vec<(u32, Counts)> = paths.into_iter().filter(|(place, _)| *place != 0).collect();
            paths.sort_unstable_by_key(|(place, _)| *place);
            for (place, spent) in &paths {
                let (parent, function) = node(*place);
                let _ = writeln!(text, "path {place} {parent} {function} {}", counts(spent));
            }
        }
        text.push_str("end\n");
        text
    }
}

/// FNV-1a over every count: the same for messages that took the same course.
fn hash(message: &Message) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |number: u64| {
        for byte in number.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    message.total.iter().for_each(|count| take(*count));
    for (place, counts) in message.functions.iter().chain(&message.paths) {
        take(u64::from(*place));
        counts.iter().for_each(|count| take(*count));
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::{Message, Region};

    fn message(instructions: u64) -> Message {
        let counts = [instructions, 1, 0, 0, 0, 4];
        Message { total: counts, functions: vec![(7, counts)], paths: vec![(3, counts)], lines: [1, 2, 3] }
    }

    #[test]
    fn the_usual_course_is_written() {
        let mut region = Region::default();
        [9, 5, 5, 8].into_iter().for_each(|count| region.push(message(count)));
        let text = region.write(4, |place| (place - 1, place + 10));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..3], ["region 4", "message 0 9 1 0 0 0 4 1 2 3", "message 1 5 1 0 0 0 4 1 2 3"]);
        assert_eq!(
            lines[5..],
            ["course 1", "function 7 5 1 0 0 0 4", "path 1 0 11 0 0 0 0 0 0", "path 2 1 12 0 0 0 0 0 0", "path 3 2 13 5 1 0 0 0 4", "end"]
        );
    }
}
