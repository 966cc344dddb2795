//! Names of functions as their authors write them: without what compilers put around the names of
//! Rust and of C++.

use std::fmt::{self, Write};

use cpp_demangle::{BorrowedSymbol, DemangleOptions, ParseOptions};

/// Depth to which a foreign name may nest.
const DEPTH: u32 = 64;

/// A name that is written up to a length: one of a few bytes may stand for megabytes.
struct Bounded {
    name: String,
    longest: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let room = self.longest.saturating_sub(self.name.len());
        let end = (0..=room.min(part.len())).rev().find(|end| part.is_char_boundary(*end)).unwrap_or(0);
        self.name.push_str(&part[..end]);
        // What is written after that is not asked for any more.
        if end < part.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// A name by the conventions of Rust (both of them) and of C++ (Itanium's), without the hash of the
/// one and the parameters of the other; any other name as it is. At most `longest` bytes.
pub fn readable(name: &str, longest: usize) -> String {
    let mut to = Bounded { name: String::new(), longest };
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        let _ = write!(to, "{rust:#}");
    } else if name.starts_with("_Z") {
        cpp(name, &mut to);
    }
    if to.name.is_empty() {
        let _ = to.write_str(name);
    }
    to.name
}

fn cpp(name: &str, to: &mut Bounded) {
    let parse = ParseOptions::default().recursion_limit(DEPTH);
    let show = DemangleOptions::new().no_params().no_return_type().recursion_limit(DEPTH);
    // What follows the symbol is the compiler's (`.cold`, `.isra.0`): pieces of one function.
    if let Ok((symbol, _)) = BorrowedSymbol::with_tail_and_options(name.as_bytes(), &parse) {
        let shown = symbol.structured_demangle(to, &show);
        if shown.is_err() && to.name.len() < to.longest {
            // Half a name would be another one.
            to.name.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::readable;
    use proptest::prelude::{any, prop, proptest};

    #[test]
    fn names_of_rust_and_of_cpp_are_read() {
        let cases = [
            ("_ZN4tool6attach5serve17h0123456789abcdefE", "tool::attach::serve"),
            ("_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE.llvm.42", "core::fmt::Formatter::write_str"),
            ("_RNvCskwGfYPst2Cb_3foo3bar", "foo::bar"),
            ("_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back"),
            ("_ZN3web6Server5replyERKSsi", "web::Server::reply"),
            ("_ZL7helpersi.cold", "helpers"),
            ("_ZN3web6Server5replyEi.isra.0", "web::Server::reply"),
            ("main.handle", "main.handle"),
            ("__libc_start_main", "__libc_start_main"),
            ("_Znonsense", "_Znonsense"),
        ];
        for (written, read) in cases {
            assert_eq!(readable(written, 200), read, "{written}");
        }
    }

    #[test]
    fn a_name_is_cut() {
        assert_eq!(readable("_ZN4tool6attach5serve17h0123456789abcdefE", 9), "tool::att");
        assert_eq!(readable("äöü", 3), "ä");
    }

    proptest! {
        #[test]
        fn no_name_makes_it_panic_or_grow(bytes in prop::collection::vec(any::<u8>(), 0..200), start in 0..3_usize) {
            let name = format!("{}{}", ["_Z", "_R", ""][start], String::from_utf8_lossy(&bytes));
            assert!(readable(&name, 100).len() <= 100);
        }
    }
}
