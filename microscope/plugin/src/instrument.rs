// SPDX-License-Identifier: GPL-2.0-or-later
//! What QEMU calls: when it loads the plugin, translates code, and executes it.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::counters::{BYTES, CALLS, INSTRUCTIONS, LOADS, REPEATED, STORES};
use crate::decode::{Kind, decode};
use crate::lines::SHIFT;
use crate::options::Options;
use crate::qemu::{self, Access, Info, Insn, Tb};
use crate::state::State;
use crate::symbols::{Role, Symbols};

/// The version of the interface, which QEMU looks for.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static qemu_plugin_version: c_int = qemu::VERSION;

/// Loads the plugin; 0 where it can work.
///
/// # Safety
/// Called by QEMU.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(id: u64, info: *const Info, count: c_int, arguments: *const *const c_char) -> c_int {
    // SAFETY: QEMU gives what it says in its header.
    let (info, options) = unsafe { (&*info, Options::read(count, arguments)) };
    let installed = options.and_then(|options| {
        if info.processors > 1 {
            return Err(format!("the guest has {} processors; give it one (-smp 1)", info.processors));
        }
        let text = std::fs::read_to_string(&options.symbols).map_err(|error| format!("read {}: {error}", options.symbols.display()))?;
        State::install(options, Symbols::parse(&text)?, info.current)
    });
    match installed {
        Ok(()) => {
            // SAFETY: the number that QEMU gave.
            unsafe { qemu::register(id, translated, processor) };
            0
        }
        Err(why) => {
            eprintln!("nettoll-scope: {why}");
            qemu::say(&why);
            1
        }
    }
}

extern "C" fn processor(_: u64, _: c_uint) {
    // SAFETY: a callback.
    unsafe { State::of_callback() }.find_counters();
}

/// An instruction about which there is something to do when it is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Event {
    what: What,
    address: u64,
    function: u32,
    counter: usize,
}

/// What there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum What {
    Marker(u8),
    User,
    Begin,
    Call,
    Return,
    Leave,
    Repeated,
    Line,
    Execution,
    LeaveStack,
    TakeStack,
    Access,
    RepeatedAccess,
}

/// Instruments one block of code.
extern "C" fn translated(_: u64, tb: *mut Tb) {
    // SAFETY: a callback.
    let state = unsafe { State::of_callback() };
    let mut line = None;
    // SAFETY: the block is being translated.
    for (place, insn) in unsafe { qemu::instructions(tb) }.enumerate() {
        let mut bytes = [0; 16];
        // SAFETY: of this block.
        let (address, length) = unsafe { (qemu::address(insn), qemu::bytes(insn, &mut bytes)) };
        let kind = decode(&bytes[..length.min(16)]);
        let (function, begins) = state.symbols.find(address);
        let user = address >> 63 == 0;
        let counter = state.counter(function);
        let mut at = Instrumented { state: &mut *state, insn, event: Event { what: What::User, address, function, counter } };
        if let Kind::Marker(number) = kind {
            // A marker is not counted, wherever it is.
            if user {
                at.on_execution(What::Marker(number));
            }
            continue;
        }
        // Events first: an instruction belongs to the path that it begins.
        at.path(kind, user && place == 0, begins);
        if at.state.options.lines && line != Some(address >> SHIFT) {
            line = Some(address >> SHIFT);
            at.on_execution(What::Line);
        }
        at.count(kind, begins);
    }
}

/// An instruction of the block that is being translated.
struct Instrumented<'s> {
    state: &'s mut State,
    insn: *mut Insn,
    event: Event,
}

impl Instrumented<'_> {
    /// The event, made once for each instruction and kept for good: QEMU may call with it
    /// as long as it runs.
    fn event(&mut self, what: What) -> *mut c_void {
        let event = Event { what, ..self.event };
        let kept = *self.state.events.entry(event).or_insert_with(|| Box::into_raw(Box::new(event)));
        kept.cast_mut().cast()
    }

    fn on_execution(&mut self, what: What) {
        let data = self.event(what);
        // SAFETY: of this block, and an event is what `executed` expects.
        unsafe { qemu::on_execution(self.insn, executed, data) }
    }

    fn on_access(&mut self, what: What, access: Access) {
        let data = self.event(what);
        // SAFETY: of this block, and an event is what `accessed` expects.
        unsafe { qemu::on_access(self.insn, accessed, access, data) }
    }

    /// What changes the call path.
    fn path(&mut self, kind: Kind, user: bool, begins: bool) {
        if user {
            self.on_execution(What::User);
        }
        if begins {
            self.on_execution(What::Begin);
        }
        let kernel = self.event.address >> 63 == 1;
        let switching = self.state.symbols.role(self.event.function) == Role::Switch;
        match kind {
            // The switch of tasks fills the processor's own stack of returns by calls that none follows.
            Kind::Call if kernel && !switching => self.on_execution(What::Call),
            Kind::Return if kernel => self.on_execution(What::Return),
            Kind::Leave if kernel => self.on_execution(What::Leave),
            Kind::LeaveStack if switching => self.on_access(What::LeaveStack, Access::Store),
            Kind::TakeStack if switching => self.on_access(What::TakeStack, Access::Load),
            _ => {}
        }
    }

    /// What is counted, inline or by callbacks.
    fn count(&mut self, kind: Kind, begins: bool) {
        let repeated = kind == Kind::Repeated;
        if repeated {
            self.on_execution(What::Repeated);
        }
        let firsts = [0, self.event.counter];
        if self.state.options.executions_by_callback {
            self.on_execution(What::Execution);
        }
        for first in firsts {
            // SAFETY: of this block, in each of these.
            unsafe {
                if !self.state.options.executions_by_callback {
                    self.state.board.count_execution(self.insn, first + INSTRUCTIONS);
                }
                if begins {
                    self.state.board.count_execution(self.insn, first + CALLS);
                }
            }
        }
        if self.state.options.accesses_by_callback || self.state.options.lines {
            self.on_access(if repeated { What::RepeatedAccess } else { What::Access }, Access::Any);
        }
        if !self.state.options.accesses_by_callback {
            for first in firsts {
                // SAFETY: of this block, in each of these.
                unsafe {
                    self.state.board.count_access(self.insn, Access::Load, first + LOADS);
                    self.state.board.count_access(self.insn, Access::Store, first + STORES);
                    if repeated {
                        self.state.board.count_access(self.insn, Access::Any, first + REPEATED);
                    }
                }
            }
        }
    }
}

extern "C" fn executed(_: c_uint, data: *mut c_void) {
    // SAFETY: a callback, with an event that is never dropped.
    let (state, event) = unsafe { (State::of_callback(), &*data.cast::<Event>()) };
    match event.what {
        What::Line => {
            if state.counting() {
                state.set.code.touch(event.address >> SHIFT);
            }
            return;
        }
        What::Call => return state.stack.call(),
        What::Marker(number) => return state.mark(number),
        What::Execution => {
            state.add(INSTRUCTIONS, 1);
            state.add(event.counter + INSTRUCTIONS, 1);
            return;
        }
        _ => {}
    }
    let now = state.now();
    let State { stack, symbols, .. } = state;
    match event.what {
        What::User => stack.user(&now),
        What::Begin => stack.begin(event.function, symbols.role(event.function), |function| symbols.role(function), &now),
        What::Return => stack.leave(symbols.role(event.function), &now),
        What::Leave => stack.resume(&now),
        What::Repeated => {
            // QEMU enters a repeated instruction more than once; it is one all the same. Nothing was
            // executed in between but itself.
            let again = state.repeated == (event.address, now[INSTRUCTIONS].wrapping_sub(1));
            let before = if again { now[INSTRUCTIONS].wrapping_sub(1) } else { now[INSTRUCTIONS] };
            if again {
                state.add(INSTRUCTIONS, u64::MAX);
                state.add(event.counter + INSTRUCTIONS, u64::MAX);
            }
            state.repeated = (event.address, before);
        }
        _ => {}
    }
}

extern "C" fn accessed(_: c_uint, info: u32, address: u64, data: *mut c_void) {
    // SAFETY: a callback, with an event that is never dropped.
    let (state, event) = unsafe { (State::of_callback(), &*data.cast::<Event>()) };
    match event.what {
        What::LeaveStack => state.leaving = address,
        What::TakeStack => {
            let now = state.now();
            let leaving = state.leaving;
            state.stack.switch(leaving, address, &now);
        }
        _ => {
            let stores = qemu::stores(info);
            let kind = if stores { STORES } else { LOADS };
            let repeated = event.what == What::RepeatedAccess;
            for first in [0, event.counter] {
                state.add(first + BYTES, qemu::width(info));
                if state.options.accesses_by_callback {
                    state.add(first + kind, 1);
                    if repeated {
                        state.add(first + REPEATED, 1);
                    }
                }
            }
            if state.options.lines && state.counting() {
                let lines = if stores { &mut state.set.written } else { &mut state.set.read };
                lines.touch(address >> SHIFT);
            }
        }
    }
}
