// SPDX-License-Identifier: GPL-2.0-or-later
//! The call path that the guest is in, kept as a second stack, and the tree of all
//! paths with what each cost.
//!
//! A call pushes, a return pops. A jump to the start of another function (a tail
//! call) pushes as well, and the return that follows pops both. An interrupt pushes
//! a frame to which its return pops. A switch of tasks exchanges the whole stack.

use std::collections::HashMap;

use crate::counters::{CALLS, Counts, INSTRUCTIONS, KINDS, LOADS, add, moved};
use crate::symbols::{Role, USER};

/// How a frame came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    /// By a call.
    Call,
    /// By a jump from the frame below.
    Jump,
    /// By an entry from user code or an interrupt; `true`: a call was in progress.
    Entry(bool),
}

/// A function that was entered and not left yet.
#[derive(Debug, Clone, Copy)]
struct Frame {
    function: u32,
    node: u32,
    by: By,
}

/// A path: a function and the path that called it.
#[derive(Debug)]
pub struct Node {
    /// Place of the caller's path.
    pub parent: u32,
    /// Number of the function.
    pub function: u32,
    /// What was spent in the function itself on this path, ever.
    pub spent: Counts,
    /// The same when the message began that touched it last.
    before: Counts,
    /// The message that touched it last.
    touched: u64,
}

/// The path that the guest is in, and the tree of all.
#[derive(Debug)]
pub struct Stack {
    frames: Vec<Frame>,
    /// The stacks of other tasks, by the place where the kernel keeps their stack pointer.
    tasks: HashMap<u64, Vec<Frame>>,
    /// A call was executed, and its function did not begin yet.
    calling: bool,
    nodes: Vec<Node>,
    children: HashMap<(u32, u32), u32>,
    /// The path that what is executed is charged to.
    here: u32,
    /// Counters of everything when `here` was last charged.
    charged: Counts,
    /// Paths that the current message touched.
    touched: Vec<u32>,
    message: u64,
    /// Returns and entries that fit no frame.
    pub repairs: u64,
}

/// The root: what is charged to no path.
const ROOT: u32 = 0;

impl Stack {
    /// A stack in user code.
    pub fn new() -> Self {
        let root = Node { parent: ROOT, function: USER, spent: [0; KINDS], before: [0; KINDS], touched: 0 };
        let mut stack = Self {
            frames: Vec::new(),
            tasks: HashMap::new(),
            calling: false,
            nodes: vec![root],
            children: HashMap::new(),
            here: ROOT,
            charged: [0; KINDS],
            touched: Vec::new(),
            message: 0,
            repairs: 0,
        };
        stack.here = stack.child(ROOT, USER);
        stack
    }

    fn child(&mut self, parent: u32, function: u32) -> u32 {
        let next = self.nodes.len() as u32;
        let place = *self.children.entry((parent, function)).or_insert(next);
        if place == next {
            self.nodes.push(Node { parent, function, spent: [0; KINDS], before: [0; KINDS], touched: 0 });
        }
        place
    }

    /// The node that a frame on top of the stack would belong below.
    fn top(&self) -> u32 {
        self.frames.last().map_or(ROOT, |frame| frame.node)
    }

    fn touch(&mut self, place: u32) -> &mut Node {
        let node = &mut self.nodes[place as usize];
        if node.touched != self.message {
            node.touched = self.message;
            node.before = node.spent;
            self.touched.push(place);
        }
        node
    }

    /// Charges what was executed since the last charge to the path that it was in.
    pub fn charge(&mut self, now: &Counts) {
        let mut spent = moved(now, &self.charged);
        // Calls are counted when a function begins: its first instruction is counted later.
        spent[CALLS] = 0;
        self.charged = *now;
        add(&mut self.touch(self.here).spent, &spent);
    }

    fn push(&mut self, function: u32, parent: u32, by: By) {
        let node = self.child(parent, function);
        self.frames.push(Frame { function, node, by });
        self.here = node;
        self.touch(node).spent[CALLS] += 1;
    }

    /// A call is about to be executed.
    pub fn call(&mut self) {
        self.local();
        self.calling = true;
    }

    /// The call before went to a place within its function, not to a function's start: it
    /// has a frame all the same, whose return is to come.
    fn local(&mut self) {
        if std::mem::take(&mut self.calling)
            && let Some(frame) = self.frames.last().copied()
        {
            self.frames.push(Frame { by: By::Call, ..frame });
        }
    }

    /// A function is about to begin.
    pub fn begin(&mut self, function: u32, role: Role, role_of: impl Fn(u32) -> Role, now: &Counts) {
        self.charge(now);
        let last = self.frames.last().copied();
        match (role, last) {
            // The labels within an entry are functions as well: not interrupted by each other.
            (Role::Entry, Some(Frame { by: By::Entry(calling), .. })) if !self.calling && self.is_entry_on_top(&role_of) => {
                self.frames.pop();
                let parent = self.top();
                self.push(function, parent, By::Entry(calling));
            }
            (Role::Entry, _) => {
                let calling = std::mem::take(&mut self.calling);
                let parent = self.top();
                self.push(function, parent, By::Entry(calling));
            }
            _ if std::mem::take(&mut self.calling) => {
                let parent = self.top();
                self.push(function, parent, By::Call);
            }
            // A loop to its own start.
            (_, Some(frame)) if frame.function == function => {
                self.here = frame.node;
                self.touch(frame.node).spent[CALLS] += 1;
            }
            // What a trampoline goes on to, and what an entry falls through to, stands in its place.
            (_, Some(frame)) if role_of(frame.function) == Role::Thunk || matches!(frame.by, By::Entry(_)) => {
                self.frames.pop();
                let parent = self.top();
                self.push(function, parent, frame.by);
            }
            (_, Some(frame)) => self.push(function, frame.node, By::Jump),
            (_, None) => {
                self.repairs += 1;
                self.push(function, ROOT, By::Call);
            }
        }
    }

    fn is_entry_on_top(&self, role_of: &impl Fn(u32) -> Role) -> bool {
        self.frames.last().is_some_and(|frame| role_of(frame.function) == Role::Entry)
    }

    /// A return is about to be executed, within a function of this role.
    pub fn leave(&mut self, role: Role, now: &Counts) {
        self.charge(now);
        // The return itself is the callee's: one instruction that loads one word.
        let mut own = [0; KINDS];
        (own[INSTRUCTIONS], own[LOADS]) = (1, 1);
        add(&mut self.touch(self.here).spent, &own);
        add(&mut self.charged, &own);
        let local = std::mem::take(&mut self.calling);
        match role {
            // It jumps to an address that it pushed itself.
            Role::Thunk => return,
            Role::SafeReturn => self.pop_call(),
            // It returns from a call to a place within its function.
            _ if local => return,
            _ => {}
        }
        self.pop_call();
        self.here = self.top();
    }

    /// Drops the frame of the last call with the jumps that followed it. The frame of an
    /// entry stays: only a return from interrupts drops that.
    fn pop_call(&mut self) {
        while let Some(frame) = self.frames.last().copied() {
            match frame.by {
                By::Jump => drop(self.frames.pop()),
                By::Call => {
                    self.frames.pop();
                    return;
                }
                By::Entry(_) => break,
            }
        }
        self.repairs += 1;
    }

    /// A return from an interrupt or to user code is about to be executed.
    pub fn resume(&mut self, now: &Counts) {
        self.charge(now);
        while let Some(frame) = self.frames.pop() {
            if let By::Entry(calling) = frame.by {
                self.calling = calling;
                break;
            }
        }
        // The return itself is of the path that it ends: user code tells when it begins.
        if !self.frames.is_empty() {
            self.here = self.top();
        }
    }

    /// User code is about to be executed.
    pub fn user(&mut self, now: &Counts) {
        if self.nodes[self.here as usize].function == USER && self.here != ROOT {
            return;
        }
        self.charge(now);
        self.frames.clear();
        self.calling = false;
        self.here = self.child(ROOT, USER);
    }

    /// The kernel goes from the stack of one task to that of another; tasks go by the
    /// place where it keeps their stack pointer.
    pub fn switch(&mut self, from: u64, to: u64, now: &Counts) {
        self.charge(now);
        let switching = self.frames.last().copied();
        let left = std::mem::replace(&mut self.frames, self.tasks.remove(&to).unwrap_or_default());
        self.tasks.insert(from, left);
        if self.frames.is_empty() {
            // A task whose beginning was not seen: as if it had switched itself.
            self.frames.extend(switching.map(|frame| Frame { by: By::Call, ..frame }));
        }
        self.here = self.top();
    }

    /// Begins a message; paths that it touches are noted.
    pub fn begin_message(&mut self, now: &Counts) {
        self.charge(now);
        self.message += 1;
        self.touched.clear();
    }

    /// What each path spent in the current message, by place, for paths that spent anything.
    pub fn message(&mut self, now: &Counts) -> Vec<(u32, Counts)> {
        self.charge(now);
        let of_node = |place: &u32| {
            let node = &self.nodes[*place as usize];
            (*place, moved(&node.spent, &node.before))
        };
        let mut spent: Vec<(u32, Counts)> = self.touched.iter().map(of_node).filter(|(_, spent)| *spent != [0; KINDS]).collect();
        spent.sort_unstable_by_key(|(place, _)| *place);
        spent
    }

    /// A path: its caller's place and its function.
    pub fn node(&self, place: u32) -> (u32, u32) {
        let node = &self.nodes[place as usize];
        (node.parent, node.function)
    }
}

#[cfg(test)]
mod tests {
    use super::{ROOT, Stack};
    use crate::counters::{Counts, INSTRUCTIONS, KINDS, LOADS};
    use crate::symbols::{Role, USER};

    /// A guest that executes one instruction a step.
    struct Guest {
        stack: Stack,
        now: Counts,
    }

    const ENTRY: u32 = 10;
    const INTERRUPT: u32 = 11;
    const THUNK: u32 = 12;

    fn role(function: u32) -> Role {
        match function {
            ENTRY | INTERRUPT => Role::Entry,
            THUNK => Role::Thunk,
            _ => Role::Plain,
        }
    }

    impl Guest {
        fn new() -> Self {
            let mut guest = Self { stack: Stack::new(), now: [0; KINDS] };
            guest.stack.begin_message(&[0; KINDS]);
            guest
        }

        fn step(&mut self, count: u64) {
            self.now[INSTRUCTIONS] += count;
        }

        fn enter(&mut self, function: u32) {
            self.stack.begin(function, role(function), role, &self.now);
            self.step(1);
        }

        fn call(&mut self, function: u32) {
            self.stack.call();
            self.step(1);
            self.enter(function);
        }

        fn ret(&mut self, function: u32) {
            self.stack.leave(role(function), &self.now);
            self.step(1);
            self.now[LOADS] += 1;
        }

        /// Paths of the message as functions with their instructions.
        fn paths(&mut self) -> Vec<(Vec<u32>, u64)> {
            let spent = self.stack.message(&self.now);
            let sum: u64 = spent.iter().map(|(_, spent)| spent[INSTRUCTIONS]).sum();
            assert_eq!(sum, self.now[INSTRUCTIONS], "every instruction is charged once");
            let path = |mut place: u32| {
                let mut path = Vec::new();
                while place != ROOT {
                    let (parent, function) = self.stack.node(place);
                    path.insert(0, function);
                    place = parent;
                }
                path
            };
            spent.iter().map(|(place, spent)| (path(*place), spent[INSTRUCTIONS])).collect()
        }
    }

    #[test]
    fn a_call_is_a_path() {
        let mut guest = Guest::new();
        guest.step(3);
        guest.enter(ENTRY);
        guest.call(20);
        guest.step(4);
        guest.ret(20);
        guest.step(2);
        guest.stack.resume(&guest.now.clone());
        guest.step(1);
        guest.stack.user(&guest.now.clone());
        guest.step(1);
        assert_eq!(guest.paths(), [(vec![USER], 4), (vec![ENTRY], 5), (vec![ENTRY, 20], 6)]);
        assert_eq!(guest.stack.repairs, 0);
    }

    #[test]
    fn tail_calls_and_trampolines_return_to_the_caller() {
        let mut guest = Guest::new();
        guest.enter(ENTRY);
        guest.call(20);
        guest.enter(21);
        guest.call(THUNK);
        guest.enter(22);
        guest.ret(22);
        guest.step(5);
        guest.ret(21);
        guest.step(7);
        let paths = guest.paths();
        assert!(paths.contains(&(vec![ENTRY, 20, 21, 22], 2)), "{paths:?}");
        assert!(paths.contains(&(vec![ENTRY, 20, 21, THUNK], 1)), "{paths:?}");
        assert!(paths.contains(&(vec![ENTRY, 20, 21], 8)), "{paths:?}");
        assert!(paths.contains(&(vec![ENTRY], 9)), "{paths:?}");
    }

    #[test]
    fn an_interrupt_between_call_and_callee_changes_nothing() {
        let mut guest = Guest::new();
        guest.enter(ENTRY);
        guest.stack.call();
        guest.step(1);
        guest.enter(INTERRUPT);
        guest.call(30);
        guest.ret(30);
        guest.stack.resume(&guest.now.clone());
        guest.enter(20);
        guest.ret(20);
        guest.step(1);
        let paths = guest.paths();
        assert!(paths.contains(&(vec![ENTRY, 20], 2)), "{paths:?}");
        assert!(paths.contains(&(vec![ENTRY, INTERRUPT, 30], 2)), "{paths:?}");
        assert_eq!(guest.stack.repairs, 0);
    }

    #[test]
    fn calls_within_a_function_return_to_it() {
        let mut guest = Guest::new();
        guest.enter(ENTRY);
        guest.call(20);
        // call 1f; 1: call 2f; 2: ret; ret
        for _ in 0..2 {
            guest.stack.call();
            guest.step(1);
        }
        guest.ret(20);
        guest.ret(20);
        guest.step(3);
        guest.ret(20);
        guest.step(1);
        let paths = guest.paths();
        assert!(paths.contains(&(vec![ENTRY, 20], 9)), "{paths:?}");
        assert!(paths.contains(&(vec![ENTRY], 3)), "{paths:?}");
        assert_eq!(guest.stack.repairs, 0);
    }

    #[test]
    fn tasks_keep_their_paths() {
        let mut guest = Guest::new();
        guest.enter(ENTRY);
        guest.call(20);
        guest.call(40);
        guest.stack.switch(1, 2, &guest.now.clone());
        guest.ret(40);
        guest.stack.user(&guest.now.clone());
        guest.step(9);
        guest.enter(ENTRY);
        guest.call(40);
        guest.stack.switch(2, 1, &guest.now.clone());
        guest.ret(40);
        guest.step(6);
        let paths = guest.paths();
        assert!(paths.contains(&(vec![ENTRY, 20], 8)), "{paths:?}");
    }
}
