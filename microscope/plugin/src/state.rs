// SPDX-License-Identifier: GPL-2.0-or-later
//! Everything that the plugin keeps, and what markers do with it.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::counters::{Counts, KINDS, MOST_FUNCTIONS, WORDS, moved, of_function};
use crate::instrument::Event;
use crate::lines::WorkingSet;
use crate::options::Options;
use crate::qemu::Board;
use crate::region::{Message, Region};
use crate::stack::Stack;
use crate::symbols::Symbols;

/// All of it. QEMU has one processor, and calls the plugin from its thread alone.
pub struct State {
    /// What to count.
    pub options: Options,
    /// The kernel's functions.
    pub symbols: Symbols,
    /// The counters.
    pub board: Board,
    /// The first of them, when there is a processor.
    base: *mut u64,
    /// Functions with counters, in the order in which their code was first translated.
    functions: Vec<u32>,
    places: HashMap<u32, u32>,
    /// What was instrumented before: code is translated many times.
    pub events: HashMap<Event, *const Event>,
    /// The call path.
    pub stack: Stack,
    /// The lines of the current message.
    pub set: WorkingSet,
    /// The place where the kernel keeps the stack pointer of the task that it is leaving.
    pub leaving: u64,
    /// The repeated instruction executed last, and the instructions executed until then.
    pub repeated: (u64, u64),
    region: Option<Region>,
    regions: usize,
    total_before: Counts,
    functions_before: Vec<Counts>,
    out: File,
}

static STATE: AtomicPtr<State> = AtomicPtr::new(std::ptr::null_mut());

impl State {
    /// Makes the state, before anything is translated.
    pub fn install(options: Options, symbols: Symbols, interface: i32) -> Result<(), String> {
        let mut out = File::create(&options.out).map_err(|error| format!("make {}: {error}", options.out.display()))?;
        writeln!(out, "nettoll-scope 1 {interface}").map_err(|error| format!("write {}: {error}", options.out.display()))?;
        let state = Box::new(Self {
            options,
            symbols,
            board: Board::new(WORDS),
            base: std::ptr::null_mut(),
            functions: Vec::new(),
            places: HashMap::new(),
            events: HashMap::new(),
            stack: Stack::new(),
            set: WorkingSet::default(),
            leaving: 0,
            repeated: (0, 0),
            region: None,
            regions: 0,
            total_before: [0; KINDS],
            functions_before: Vec::new(),
            out,
        });
        STATE.store(Box::into_raw(state), Ordering::Release);
        Ok(())
    }

    /// The state, from a callback.
    ///
    /// # Safety
    /// Called from a callback of QEMU with one processor, and not kept beyond it.
    pub unsafe fn of_callback() -> &'static mut Self {
        // SAFETY: made by `install` before callbacks are registered, never dropped, and used by one
        // callback at a time.
        unsafe { &mut *STATE.load(Ordering::Acquire) }
    }

    /// Finds the counters when there is a processor.
    pub fn find_counters(&mut self) {
        self.base = self.board.base();
    }

    /// Place of a function's counters.
    pub fn counter(&mut self, function: u32) -> usize {
        let next = self.functions.len() as u32;
        let place = *self.places.entry(function).or_insert(next);
        if place == next {
            self.functions.push(function);
        }
        of_function(place as usize)
    }

    /// Adds to a counter.
    pub fn add(&mut self, word: usize, by: u64) {
        // SAFETY: every word is below `WORDS`, and the board has that many.
        unsafe {
            let counter = self.base.add(word);
            *counter = (*counter).wrapping_add(by);
        }
    }

    fn read(&self, first: usize) -> Counts {
        // SAFETY: as in `add`.
        std::array::from_fn(|kind| unsafe { *self.base.add(first + kind) })
    }

    /// The counters of everything.
    pub fn now(&self) -> Counts {
        self.read(0)
    }

    /// True between the markers of a region.
    pub fn counting(&self) -> bool {
        self.region.is_some()
    }

    /// A marker is executed.
    pub fn mark(&mut self, number: u8) {
        match number {
            1 => {
                self.region = Some(Region::default());
                self.begin_message();
            }
            2 => self.end_region(),
            3 => self.end_message(),
            _ => {}
        }
    }

    fn functions_now(&self) -> Vec<Counts> {
        (0..self.functions.len().min(MOST_FUNCTIONS)).map(|place| self.read(of_function(place))).collect()
    }

    fn begin_message(&mut self) {
        self.total_before = self.now();
        self.functions_before = self.functions_now();
        self.stack.begin_message(&self.total_before);
        self.set.take();
    }

    fn end_message(&mut self) {
        let now = self.now();
        let mut functions: Vec<(u32, Counts)> = Vec::new();
        for (place, counts) in self.functions_now().iter().enumerate() {
            let spent = moved(counts, self.functions_before.get(place).unwrap_or(&[0; KINDS]));
            if spent != [0; KINDS] {
                functions.push((self.functions[place], spent));
            }
        }
        functions.sort_unstable();
        let paths = self.stack.message(&now);
        let message = Message { total: moved(&now, &self.total_before), functions, paths, lines: self.set.take() };
        if let Some(region) = &mut self.region {
            region.push(message);
        }
        self.begin_message();
    }

    fn end_region(&mut self) {
        let Some(region) = self.region.take() else { return };
        let text = region.write(self.regions, |place| self.stack.node(place));
        self.regions += 1;
        // What cannot be written is missing from the file, which the reader finds out.
        let _ = self.out.write_all(text.as_bytes());
        let _ = writeln!(self.out, "repairs {}", std::mem::take(&mut self.stack.repairs));
    }
}
