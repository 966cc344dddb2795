// SPDX-License-Identifier: GPL-2.0-or-later
//! The few instructions of x86-64 that change where a call path goes, and markers.

/// The marker instruction up to its number: `nopl 0x5eb100NN(%rax)`, which
/// `microscope/probe/src/marker.rs` executes.
const MARKER: [u8; 3] = [0x0f, 0x1f, 0x80];
const MAGIC: [u8; 3] = [0x00, 0xb1, 0x5e];

/// What is to be known of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A marker with its number.
    Marker(u8),
    /// A call, of whatever form.
    Call,
    /// A return to the caller.
    Return,
    /// A return from an interrupt or to user code.
    Leave,
    /// A string instruction with a repeat prefix.
    Repeated,
    /// `mov disp(%rsi),%rsp`: the way in which the kernel takes over the stack of the next
    /// task; it counts as one only within `__switch_to_asm`.
    TakeStack,
    /// `mov %rsp,disp(%rdi)`: the way in which it leaves the stack of the task before.
    LeaveStack,
    /// Any other.
    Plain,
}

/// Decodes one instruction from its bytes, as many as it has.
pub fn decode(bytes: &[u8]) -> Kind {
    if let [a, b, c, number, x, y, z] = bytes
        && [*a, *b, *c] == MARKER
        && [*x, *y, *z] == MAGIC
    {
        return Kind::Marker(*number);
    }
    match bytes {
        [0x48, 0x8b, 0xa6, ..] => return Kind::TakeStack,
        [0x48, 0x89, 0xa7, ..] => return Kind::LeaveStack,
        _ => {}
    }
    let (mut rest, mut repeat) = (bytes, false);
    // Legacy prefixes in any order, then at most one REX.
    while let [first @ (0xf2 | 0xf3 | 0x66 | 0x67 | 0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65), more @ ..] = rest {
        repeat |= matches!(first, 0xf2 | 0xf3);
        rest = more;
    }
    if let [0x40..=0x4f, more @ ..] = rest {
        rest = more;
    }
    match rest {
        [0xe8 | 0x9a, ..] => Kind::Call,
        [0xff, modrm, ..] if matches!(modrm >> 3 & 7, 2 | 3) => Kind::Call,
        [0xc3 | 0xc2, ..] => Kind::Return,
        // iret, sysret, sysexit.
        [0xcf, ..] | [0x0f, 0x07 | 0x35, ..] => Kind::Leave,
        [0xa4..=0xa7 | 0xaa..=0xaf | 0x6c..=0x6f, ..] if repeat => Kind::Repeated,
        _ => Kind::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, decode};

    #[test]
    fn instructions_are_told_apart() {
        let all: [(&[u8], Kind); 16] = [
            (&[0x0f, 0x1f, 0x80, 0x03, 0x00, 0xb1, 0x5e], Kind::Marker(3)),
            (&[0x0f, 0x1f, 0x80, 0x03, 0x00, 0x00, 0x00], Kind::Plain),
            (&[0xe8, 1, 2, 3, 4], Kind::Call),
            (&[0xff, 0xd0], Kind::Call),
            (&[0x41, 0xff, 0xd3], Kind::Call),
            (&[0xff, 0xe0], Kind::Plain),
            (&[0xff, 0x14, 0xc5, 0, 0, 0, 0], Kind::Call),
            (&[0xc3], Kind::Return),
            (&[0xf3, 0xc3], Kind::Return),
            (&[0x48, 0xcf], Kind::Leave),
            (&[0x48, 0x0f, 0x07], Kind::Leave),
            (&[0xf3, 0xa4], Kind::Repeated),
            (&[0xf3, 0x48, 0xab], Kind::Repeated),
            (&[0xa4], Kind::Plain),
            (&[0x48, 0x8b, 0xa6, 1, 2, 0, 0], Kind::TakeStack),
            (&[0x48, 0x89, 0xa7, 1, 2, 0, 0], Kind::LeaveStack),
        ];
        for (bytes, kind) in all {
            assert_eq!(decode(bytes), kind, "{bytes:x?}");
        }
        assert_eq!(decode(&[]), Kind::Plain);
        // pause is a prefix without a string instruction.
        assert_eq!(decode(&[0xf3, 0x90]), Kind::Plain);
    }
}
