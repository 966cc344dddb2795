//! The threads whose events a program looks at.

use sys::process::own_id_namespace;

use super::asm::{Assembler, Helper, Label, Reg, Test};

/// The threads of a process that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Every thread of the process.
    Process(u32),
    /// Every thread but the main one: of an endpoint, those with traffic.
    Workers(u32),
}

/// The threads whose events a program looks at, in the ids that this process sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filter {
    who: Who,
    /// Device and inode of this process's namespace of ids, unless it is the first.
    namespace: Option<(u64, u64)>,
}

impl Filter {
    /// The events of `who`. In a container ids differ from the kernel's own; the
    /// kernel then translates.
    pub fn new(who: Who) -> Self {
        Self { who, namespace: own_id_namespace() }
    }

    /// Returns whether ids differ from the kernel's own here, as in a container.
    pub const fn translates(self) -> bool {
        self.namespace.is_some()
    }

    /// Leaves the current task in `R7`, thread below and process above; jumps to
    /// `others` if this namespace has no id for it. Uses 8 bytes of stack at -8 and destroys
    /// `R0` to `R5`.
    pub fn emit_current(self, asm: &mut Assembler, others: Label) {
        match self.namespace {
            None => {
                asm.call(Helper::CurrentTask);
                asm.copy(Reg::R7, Reg::R0);
            }
            Some((device, inode)) => {
                asm.store_number(Reg::R10, -8, 0);
                asm.set_long(Reg::R1, device);
                asm.set_long(Reg::R2, inode);
                asm.stack_address(Reg::R3, -8);
                asm.set(Reg::R4, 8);
                asm.call(Helper::CurrentTaskInNamespace);
                asm.jump(Test::Differs(Reg::R0, 0), others);
                asm.load(Reg::R7, Reg::R10, -8);
            }
        }
    }

    /// Leaves the current task in `R7`, thread below and process above, and
    /// jumps to `others` if it is none of those looked at. Uses 8 bytes of stack
    /// at -8 and destroys `R0` to `R5`.
    pub fn emit(self, asm: &mut Assembler, others: Label) {
        self.emit_current(asm, others);
        let (Who::Process(pid) | Who::Workers(pid)) = self.who;
        asm.copy(Reg::R0, Reg::R7);
        asm.shift_right(Reg::R0, 32);
        // Ids are below 2^22 (`PID_MAX_LIMIT`).
        asm.jump(Test::Differs(Reg::R0, pid as i32), others);
        if let Who::Workers(_) = self.who {
            asm.copy(Reg::R1, Reg::R7);
            asm.shift_left(Reg::R1, 32);
            asm.shift_right(Reg::R1, 32);
            asm.jump(Test::Same(Reg::R0, Reg::R1), others);
        }
    }
}
