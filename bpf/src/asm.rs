//! An assembler for BPF: enough to count, to take times and to look through memory.
//!
//! Encoding as in the kernel's `Documentation/bpf/standardization/instruction-set.rst`.

/// A register. `R0` holds results, `R1` to `R5` arguments (a call destroys them),
/// `R6` to `R9` last, `R10` points behind the 512 bytes of stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Reg {
    /// Result.
    R0,
    /// First argument; at the start, the program's context.
    R1,
    /// Second argument.
    R2,
    /// Third argument.
    R3,
    /// Fourth argument.
    R4,
    /// Fifth argument.
    R5,
    /// Kept over calls.
    R6,
    /// Kept over calls.
    R7,
    /// Kept over calls.
    R8,
    /// Kept over calls.
    R9,
    /// The end of the stack; cannot be written.
    R10,
}

/// A function of the kernel's, by its number in `include/uapi/linux/bpf.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Helper {
    /// `bpf_map_lookup_elem(map, key)`: the value's address or 0.
    Lookup = 1,
    /// `bpf_map_update_elem(map, key, value, flags)`.
    Update = 2,
    /// `bpf_ktime_get_ns()`: `CLOCK_MONOTONIC`.
    Time = 5,
    /// `bpf_get_smp_processor_id()`.
    Cpu = 8,
    /// `bpf_get_current_pid_tgid()`: thread below, process above, in ids of the first namespace.
    CurrentTask = 14,
    /// `bpf_get_current_comm(buffer, size)`: the name of the current thread.
    CurrentName = 16,
    /// `bpf_get_socket_cookie(socket)`: a number that no other socket has had or will have.
    SocketCookie = 46,
    /// `bpf_redirect_map(map, place, action where there is none)`: what to do with a frame.
    RedirectByMap = 51,
    /// `bpf_get_current_cgroup_id()`: that of the second version's hierarchy.
    CurrentCgroup = 80,
    /// `bpf_map_push_elem(map, value, flags)`.
    Push = 87,
    /// `bpf_probe_read_user(to, size, from)`: 0, or an errno where the memory is not there.
    ReadUser = 112,
    /// `bpf_probe_read_kernel(to, size, from)`: 0, or an errno where the memory is not there; `to` is then zeros.
    ReadKernel = 113,
    /// `bpf_get_ns_current_pid_tgid(device, inode, buffer, size)`.
    CurrentTaskInNamespace = 120,
    /// `bpf_seq_write(sequence, data, size)`: hands data to the reader of an iterator.
    Write = 127,
    /// `bpf_ringbuf_output(ring, data, size, flags)`: 0, or an errno where there is no room.
    Output = 130,
    /// `bpf_get_current_task_btf()`: the task's description, whose fields may be read.
    CurrentTaskTyped = 158,
    /// `bpf_task_pt_regs(task)`: the registers that it entered the kernel with.
    TaskRegisters = 175,
}

/// A place to jump to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

/// Condition of a jump; numbers compare as 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// The register is the number.
    Equal(Reg, i32),
    /// It is not.
    Differs(Reg, i32),
    /// It is at most the number, with signs.
    AtMost(Reg, i32),
    /// It is at least the number, with signs.
    AtLeast(Reg, i32),
    /// The register is below the number, without signs.
    Below(Reg, i32),
    /// The first register is above the second, without signs.
    Above(Reg, Reg),
    /// The two registers are the same.
    Same(Reg, Reg),
    /// A bit of the number is set in the register.
    AnyBit(Reg, i32),
    /// Always.
    Always,
}

/// A program in the making.
#[derive(Debug, Default)]
pub struct Assembler {
    code: Vec<[u8; 8]>,
    /// Place of each label.
    labels: Vec<Option<usize>>,
    /// Jumps that want their distance: where they stand, and where they go.
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    fn push(&mut self, operation: u8, to: Reg, from: Reg, offset: i16, number: i32) {
        let [low, high] = offset.to_ne_bytes();
        let [a, b, c, d] = number.to_ne_bytes();
        let registers = if cfg!(target_endian = "little") { (from as u8) << 4 | to as u8 } else { (to as u8) << 4 | from as u8 };
        self.code.push([operation, registers, low, high, a, b, c, d]);
    }

    /// `to = number`.
    pub fn set(&mut self, to: Reg, number: i32) {
        self.push(0xb7, to, Reg::R0, 0, number);
    }

    /// `to = number`, of 64 bits.
    pub fn set_long(&mut self, to: Reg, number: u64) {
        self.push(0x18, to, Reg::R0, 0, number as u32 as i32);
        self.push(0, Reg::R0, Reg::R0, 0, (number >> 32) as i32);
    }

    /// `to = ` the map that the descriptor stands for.
    pub fn set_map(&mut self, to: Reg, descriptor: i32) {
        const MAP: Reg = Reg::R1;
        self.push(0x18, to, MAP, 0, descriptor);
        self.push(0, Reg::R0, Reg::R0, 0, 0);
    }

    /// `to = from`.
    pub fn copy(&mut self, to: Reg, from: Reg) {
        self.push(0xbf, to, from, 0, 0);
    }

    /// `to += number`.
    pub fn add(&mut self, to: Reg, number: i32) {
        self.push(0x07, to, Reg::R0, 0, number);
    }

    /// `to += from`.
    pub fn add_register(&mut self, to: Reg, from: Reg) {
        self.push(0x0f, to, from, 0, 0);
    }

    /// `to -= from`.
    pub fn subtract_register(&mut self, to: Reg, from: Reg) {
        self.push(0x1f, to, from, 0, 0);
    }

    /// `to &= number`, which the processor extends by its sign.
    pub fn and(&mut self, to: Reg, number: i32) {
        self.push(0x57, to, Reg::R0, 0, number);
    }

    /// `to <<= bits`.
    pub fn shift_left(&mut self, to: Reg, bits: i32) {
        self.push(0x67, to, Reg::R0, 0, bits);
    }

    /// `to >>= bits`, filled with zeros.
    pub fn shift_right(&mut self, to: Reg, bits: i32) {
        self.push(0x77, to, Reg::R0, 0, bits);
    }

    /// `to >>= bits`, filled with its sign.
    pub fn shift_right_signed(&mut self, to: Reg, bits: i32) {
        self.push(0xc7, to, Reg::R0, 0, bits);
    }

    /// `to |= from`.
    pub fn or(&mut self, to: Reg, from: Reg) {
        self.push(0x4f, to, from, 0, 0);
    }

    /// `to = *(u32 *)(from + offset)`.
    pub fn load_word(&mut self, to: Reg, from: Reg, offset: i16) {
        self.push(0x61, to, from, offset, 0);
    }

    /// `to = *(u16 *)(from + offset)`.
    pub fn load_half(&mut self, to: Reg, from: Reg, offset: i16) {
        self.push(0x69, to, from, offset, 0);
    }

    /// `to = *(u8 *)(from + offset)`.
    pub fn load_byte(&mut self, to: Reg, from: Reg, offset: i16) {
        self.push(0x71, to, from, offset, 0);
    }

    /// `to = *(u64 *)(from + offset)`.
    pub fn load(&mut self, to: Reg, from: Reg, offset: i16) {
        self.push(0x79, to, from, offset, 0);
    }

    /// `*(u64 *)(to + offset) = from`.
    pub fn store(&mut self, to: Reg, offset: i16, from: Reg) {
        self.push(0x7b, to, from, offset, 0);
    }

    /// `*(u64 *)(to + offset) = number`.
    pub fn store_number(&mut self, to: Reg, offset: i16, number: i32) {
        self.push(0x7a, to, Reg::R0, offset, number);
    }

    /// `*(u64 *)(to + offset) += from`, in one piece.
    pub fn add_in_memory(&mut self, to: Reg, offset: i16, from: Reg) {
        self.push(0xdb, to, from, offset, 0);
    }

    /// Calls a function of the kernel's.
    pub fn call(&mut self, helper: Helper) {
        self.push(0x85, Reg::R0, Reg::R0, 0, helper as i32);
    }

    /// A label that has no place yet.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Puts the label here.
    pub fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// Jumps to the label if the test holds: forwards, or back to one that has its place. A way back needs an end that the
    /// verifier can find ([`Self::repeat`]).
    pub fn jump(&mut self, test: Test, label: Label) {
        self.jumps.push((self.code.len(), label));
        match test {
            Test::Equal(register, number) => self.push(0x15, register, Reg::R0, 0, number),
            Test::Differs(register, number) => self.push(0x55, register, Reg::R0, 0, number),
            Test::AtMost(register, number) => self.push(0xd5, register, Reg::R0, 0, number),
            Test::AtLeast(register, number) => self.push(0x75, register, Reg::R0, 0, number),
            Test::Below(register, number) => self.push(0xa5, register, Reg::R0, 0, number),
            Test::Above(one, other) => self.push(0x2d, one, other, 0, 0),
            Test::Same(one, other) => self.push(0x1d, one, other, 0, 0),
            Test::AnyBit(register, number) => self.push(0x45, register, Reg::R0, 0, number),
            Test::Always => self.push(0x05, Reg::R0, Reg::R0, 0, 0),
        }
    }

    /// Repeats `body` with `counter` at 0, `step` and so on, below `end`; `body` gets the label that goes on with the
    /// next. The counter is the body's to read alone, so it is one of `R6` to `R9` where the body calls. The kernel's
    /// verifier goes through every turn (Linux 5.3), of a million instructions in all.
    pub fn repeat(&mut self, counter: Reg, end: i32, step: i32, body: impl FnOnce(&mut Self, Label)) {
        let (again, next) = (self.label(), self.label());
        self.set(counter, 0);
        self.place(again);
        body(self, next);
        self.place(next);
        self.add(counter, step);
        self.jump(Test::Below(counter, end), again);
    }

    /// Reads `size` bytes of the kernel's memory at `from` + `offset`, which may be no memory at all, to the stack's place
    /// `to`: zeros where they cannot be read. Leaves 0 in `R0` where they can; destroys `R1` to `R5`.
    pub fn read_kernel(&mut self, to: i16, size: i32, from: Reg, offset: i16) {
        self.copy(Reg::R3, from);
        self.add(Reg::R3, i32::from(offset));
        self.stack_address(Reg::R1, i32::from(to));
        self.set(Reg::R2, size);
        self.call(Helper::ReadKernel);
    }

    /// Leaves in `R0` the address of the value that a map has for the key on the stack at `key`, or 0. Destroys `R1` to `R5`.
    pub fn lookup(&mut self, map: i32, key: i16) {
        self.set_map(Reg::R1, map);
        self.stack_address(Reg::R2, i32::from(key));
        self.call(Helper::Lookup);
    }

    /// Gives a map the value on the stack at `value` for the key there at `key`. Leaves 0 in `R0` where it has taken it;
    /// destroys `R1` to `R5`.
    pub fn update(&mut self, map: i32, key: i16, value: i16) {
        self.set_map(Reg::R1, map);
        self.stack_address(Reg::R2, i32::from(key));
        self.stack_address(Reg::R3, i32::from(value));
        self.set(Reg::R4, 0);
        self.call(Helper::Update);
    }

    /// Puts what is on the stack at `from` into a queue. Leaves 0 in `R0` where there was room; destroys `R1` to `R5`.
    pub fn enqueue(&mut self, queue: i32, from: i16) {
        self.set_map(Reg::R1, queue);
        self.stack_address(Reg::R2, i32::from(from));
        self.set(Reg::R3, 0);
        self.call(Helper::Push);
    }

    /// Clears all but the lowest bits of a register.
    pub fn keep_bits(&mut self, of: Reg, bits: i32) {
        self.shift_left(of, 64 - bits);
        self.shift_right(of, 64 - bits);
    }

    /// The address of the stack's place `offset`, for a call.
    pub fn stack_address(&mut self, to: Reg, offset: i32) {
        self.copy(to, Reg::R10);
        self.add(to, offset);
    }

    /// Ends the program here with the result 0.
    pub fn leave(&mut self) {
        self.set(Reg::R0, 0);
        self.exit();
    }

    /// Ends the program here with the result in `R0`.
    pub fn exit(&mut self) {
        self.push(0x95, Reg::R0, Reg::R0, 0, 0);
    }

    /// The program's code.
    ///
    /// # Panics
    /// When a label was never placed, or a jump goes further than 32,767
    /// instructions: both are mistakes in this crate, which its tests would show.
    pub fn finish(mut self) -> Vec<[u8; 8]> {
        for (from, label) in &self.jumps {
            let distance = self.labels[label.0].and_then(|to| i16::try_from(to as isize - *from as isize - 1).ok());
            let [low, high] = distance.expect("every label has a place within reach").to_ne_bytes();
            self.code[*from][2..4].copy_from_slice(&[low, high]);
        }
        self.code
    }
}

#[cfg(test)]
mod tests {
    use super::{Assembler, Helper, Reg, Test};

    #[test]
    #[cfg(target_endian = "little")]
    fn instructions_are_encoded_as_the_kernel_documents() {
        let mut asm = Assembler::default();
        let out = asm.label();
        asm.copy(Reg::R6, Reg::R1);
        asm.call(Helper::CurrentTask);
        asm.shift_right(Reg::R0, 32);
        asm.jump(Test::Differs(Reg::R0, 7), out);
        asm.store_number(Reg::R10, -8, 1);
        asm.place(out);
        asm.leave();
        let expected = [
            [0xbf, 0x16, 0, 0, 0, 0, 0, 0],
            [0x85, 0, 0, 0, 14, 0, 0, 0],
            [0x77, 0, 0, 0, 32, 0, 0, 0],
            [0x55, 0, 1, 0, 7, 0, 0, 0],
            [0x7a, 0x0a, 0xf8, 0xff, 1, 0, 0, 0],
            [0xb7, 0, 0, 0, 0, 0, 0, 0],
            [0x95, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(asm.finish(), expected);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn a_repetition_goes_back_as_long_as_its_counter_is_below_the_end() {
        let mut asm = Assembler::default();
        asm.repeat(Reg::R7, 16, 8, |asm, next| asm.jump(Test::AtLeast(Reg::R8, 0), next));
        let expected =
            [[0xb7, 7, 0, 0, 0, 0, 0, 0], [0x75, 8, 0, 0, 0, 0, 0, 0], [0x07, 7, 0, 0, 8, 0, 0, 0], [0xa5, 7, 0xfd, 0xff, 16, 0, 0, 0]];
        assert_eq!(asm.finish(), expected);
    }

    #[test]
    #[should_panic(expected = "every label has a place")]
    fn a_label_without_a_place_is_noticed() {
        let mut asm = Assembler::default();
        let nowhere = asm.label();
        asm.jump(Test::Always, nowhere);
        asm.finish();
    }
}
