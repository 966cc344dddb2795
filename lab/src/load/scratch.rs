//! The files that a unit of load works on, and its computation.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use sys::clock::process_cpu;

/// Bytes of the file that is copied, as in 1984.
const COPIED: usize = 60_000;
/// Lines of the text that is formatted and edited.
const LINES: usize = 3_200;
/// Functions of the program that is compiled.
const FUNCTIONS: usize = 16;
/// Numbers among which primes are looked for, again and again: a millisecond.
const NUMBERS: usize = 400_000;
/// For how much CPU time that is done.
const COMPUTED: Duration = Duration::from_millis(120);

/// Fills the directory of a unit.
///
/// # Errors
/// A full or read-only disk.
pub fn fill(directory: &Path) -> io::Result<()> {
    let mut source = String::from("#include <stddef.h>\n");
    for number in 0..FUNCTIONS {
        let _ = writeln!(
            source,
            "int f{number}(const int *v, size_t n) {{ int s = {number}; for (size_t i = 0; i < n; i++) {{ \
             if (v[i] % {} == 0) s += v[i] * {number}; else s ^= v[i] << 1; }} return s; }}",
            number + 2
        );
    }
    let mut text = String::new();
    for line in 0..LINES {
        let _ = writeln!(text, "Line {line}: what one process sends to another passes through many hands before it is read.");
        if line % 10 == 9 {
            text.push('\n');
        }
    }
    let edits = "1,$s/hands/layers/g\n1,$s/layers/hands/g\n";
    let files: [(&str, &[u8]); 5] = [
        ("job.c", source.as_bytes()),
        ("text", text.as_bytes()),
        ("edit.script", &[edits.as_bytes(), b"w\nq\n"].concat()),
        ("edit.sed", b"s/hands/layers/g\ns/layers/hands/g\n"),
        ("data", &[b'x'; COPIED]),
    ];
    files.into_iter().try_for_each(|(name, content)| fs::write(directory.join(name), content))
}

/// Primes up to [`NUMBERS`], for [`COMPUTED`].
pub fn sieve() {
    let end = process_cpu() + COMPUTED.into();
    let mut prime = vec![true; NUMBERS];
    while process_cpu() < end {
        prime.fill(true);
        let mut number = 2;
        while number * number < NUMBERS {
            if prime[number] {
                prime.iter_mut().skip(number * number).step_by(number).for_each(|multiple| *multiple = false);
            }
            number += 1;
        }
        black_box(prime.iter().filter(|prime| **prime).count());
    }
}
