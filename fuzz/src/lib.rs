//! What is fuzzed: every reader of bytes that come from outside. Each function
//! takes any bytes, and panics when a promise is broken.

mod guest;
mod kernel;
mod stored;
mod text;
mod trust;
mod wire;

pub use guest::{counted, exact, guest, kallsyms, scenarios};
pub use kernel::{netlink, perf, proc, symbols, types};
pub use stored::{analysis, attached, document, latency, resume, run, trials};
pub use text::{host, plan, quantity, reference, rules, sizes, sweep};
pub use trust::{credentials, journal, policy};
pub use wire::{control, cookie, endpoint, frames, greeting, marks, reach, stamps, understood};

/// A function that takes any bytes.
pub type Target = fn(&[u8]);

/// Every target under the name of its seeds.
pub const TARGETS: &[(&str, Target)] = &[
    ("plan", plan),
    ("sweep", sweep),
    ("quantity", quantity),
    ("host", host),
    ("rules", rules),
    ("sizes", sizes),
    ("reference", reference),
    ("frames", frames),
    ("control", control),
    ("greeting", greeting),
    ("cookie", cookie),
    ("run", run),
    ("trials", trials),
    ("analysis", analysis),
    ("latency", latency),
    ("proc", proc),
    ("netlink", netlink),
    ("perf", perf),
    ("symbols", symbols),
    ("types", types),
    ("policy", policy),
    ("journal", journal),
    ("document", document),
    ("credentials", credentials),
    ("resume", resume),
    ("marks", marks),
    ("stamps", stamps),
    ("reach", reach),
    ("kallsyms", kallsyms),
    ("counted", counted),
    ("guest", guest),
    ("scenarios", scenarios),
    ("exact", exact),
    ("attached", attached),
    ("endpoint", endpoint),
];

fn says_something(error: &impl std::error::Error) {
    assert!(!error.to_string().trim().is_empty(), "{error:?}");
}
