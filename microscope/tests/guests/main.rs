//! Guests that are booted: `make test-guests`.
//!
//! A kernel and an emulator are taken from the cache or fetched into it; where neither can
//! be had, each claim is skipped, named and counted.

// Clippy knows a test only by the usual harness.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

mod cards;
mod own;
mod table;
mod tool;

use std::process::ExitCode;
use std::sync::OnceLock;

use attribution::exact::{Accesses, Measured};
use microscope::cache::Cache;
use microscope::emulator::Emulator;
use microscope::kernel::Kernel;
use microscope::{Counting, Failed, Request, measure, scenario};
use testkit::claims::{self, Skip};

testkit::claims!(
    two_runs_are_identical,
    small_datagrams_take_one_course,
    nearly_every_instruction_has_a_layer_and_a_kind,
    no_call_path_was_mended,
    bytes_cost_what_the_size_law_says,
    callbacks_count_what_inline_code_counts,
    a_kernel_that_panics_is_told_with_its_console,
    a_scenario_without_its_module_is_absent,
    more_processors_than_one_are_refused,
);

/// The kernel whose series is measured: of Debian's stable release.
const KERNEL: &str = "6.12";

fn main() -> ExitCode {
    claims::test_in_turn(&[("", ALL), ("own", own::ALL), ("tool", tool::ALL), ("cards", cards::ALL)])
}

/// What every claim boots with.
struct Lab {
    cache: Cache,
    emulator: Emulator,
    kernel: Kernel,
}

fn lab() -> Result<&'static Lab, Skip> {
    static LAB: OnceLock<Result<Lab, String>> = OnceLock::new();
    let open = || -> Result<Lab, Failed> {
        let cache = Cache::open(None)?;
        let emulator = Emulator::find(&cache, false)?;
        let kernel = Kernel::find(&cache, KERNEL, None, false)?;
        println!("{}, {}", emulator.version, kernel.package);
        Ok(Lab { cache, emulator, kernel })
    };
    LAB.get_or_init(|| open().map_err(|why| why.to_string())).as_ref().map_err(|why| Skip(why.clone()))
}

fn asked(lab: &Lab, names: &[&str], sizes: &[u64]) -> Request {
    Request {
        kernel: lab.kernel.clone(),
        scenarios: scenario::named(&scenario::builtin().unwrap(), names.iter().copied()).unwrap(),
        sizes: sizes.to_vec(),
        messages: 100,
        seed: 1,
        cpu: "max".to_owned(),
        append: String::new(),
        counting: Counting::default(),
    }
}

fn measured(lab: &Lab, asked: &Request) -> Measured {
    measure(&lab.cache, &lab.emulator, asked).unwrap_or_else(|why| panic!("{why}"))
}

/// Everything that the claims look at, measured twice at the same time.
fn twice() -> Result<&'static [Measured; 2], Skip> {
    static TWICE: OnceLock<[Measured; 2]> = OnceLock::new();
    let lab = lab()?;
    Ok(TWICE.get_or_init(|| {
        let asked = asked(lab, &["getppid", "udp", "tcp", "netem-udp-echo"], &[112, 8192]);
        std::thread::scope(|scope| [0, 1].map(|_| scope.spawn(|| measured(lab, &asked))).map(|run| run.join().unwrap()))
    }))
}

fn two_runs_are_identical() -> Result<(), Skip> {
    let [first, second] = twice()?;
    assert_eq!(first.regions.len(), 7);
    assert!(first.absent.is_empty(), "{:?}", first.absent);
    // Call trees, spreads and cache lines included.
    let differ: Vec<&str> =
        first.regions.iter().zip(&second.regions).filter(|(a, b)| a != b).map(|(region, _)| region.name.as_str()).collect();
    assert!(first == second, "{differ:?}");
    Ok(())
}

fn small_datagrams_take_one_course() -> Result<(), Skip> {
    let region = twice()?[0].region("udp-112").unwrap();
    assert!(region.share() >= 0.9, "{}", region.share());
    Ok(())
}

fn nearly_every_instruction_has_a_layer_and_a_kind() -> Result<(), Skip> {
    // Virtual time brings clocks and idling up, of which rules name less.
    for region in twice()?[0].regions.iter().filter(|region| !region.name.starts_with("netem")) {
        let [layer, category] = region.rows.undecided();
        assert!(layer <= 0.02 && category <= 0.02, "{}: {layer} {category}", region.name);
    }
    Ok(())
}

fn no_call_path_was_mended() -> Result<(), Skip> {
    for name in ["getppid", "udp-112", "udp-8192"] {
        assert_eq!(twice()?[0].region(name).unwrap().repairs, 0, "{name}");
    }
    Ok(())
}

fn bytes_cost_what_the_size_law_says() -> Result<(), Skip> {
    let total = |name: &str| twice().map(|both| both[0].region(name).unwrap().total);
    let [small, large] = [total("tcp-112")?, total("tcp-8192")?];
    let bytes = (8192 - 112) as f64;
    let per_byte = |of: fn(&attribution::exact::Counts) -> u64| (of(&large) - of(&small)) as f64 / bytes;
    let (reads, writes) = (per_byte(|counts| counts.reads), per_byte(|counts| counts.writes));
    println!("tcp, a byte more: {reads:.4} reads, {writes:.4} writes");
    assert!((reads - 2.0).abs() <= 0.02 && (writes - 2.0).abs() <= 0.02, "{reads} {writes}");
    let instructions = large.instructions as f64 / small.instructions as f64;
    assert!((instructions - 1.0).abs() <= 0.01, "{instructions}");
    let reads = (total("udp-8192")?.reads - total("udp-112")?.reads) as f64 / bytes;
    assert!((reads - 2.0).abs() <= 0.06, "{reads}");
    Ok(())
}

fn callbacks_count_what_inline_code_counts() -> Result<(), Skip> {
    let lab = lab()?;
    let inline = twice()?[0].region("udp-112").unwrap();
    let counting = Counting { lines: false, accesses: Accesses::Callback, executions_by_callback: true };
    let other = measured(lab, &Request { counting, ..asked(lab, &["udp"], &[112]) });
    let other = other.region("udp-112").unwrap();
    let differ: Vec<_> = inline.rows.functions.iter().filter(|row| !other.rows.functions.contains(row)).collect();
    assert!(differ.is_empty() && inline.total == other.total, "{differ:?}");
    println!("{} functions counted alike in both ways", inline.rows.functions.len());
    Ok(())
}

fn a_kernel_that_panics_is_told_with_its_console() -> Result<(), Skip> {
    let lab = lab()?;
    let asked = Request { append: "rdinit=/none root=/dev/none".to_owned(), ..asked(lab, &["getppid"], &[1]) };
    let why = measure(&lab.cache, &lab.emulator, &asked).unwrap_err();
    assert!(matches!(&why, Failed::Guest { what, tail } if what == "panicked" && tail.contains("Kernel panic")), "{why}");
    Ok(())
}

fn a_scenario_without_its_module_is_absent() -> Result<(), Skip> {
    let lab = lab()?;
    let mut asked = asked(lab, &["getppid", "veth-udp"], &[112]);
    asked.kernel.modules = None;
    let found = measured(lab, &asked);
    assert_eq!((found.regions.len(), found.absent.len()), (1, 1));
    assert!(found.absent[0].answer.contains("--modules"), "{:?}", found.absent);
    Ok(())
}

fn more_processors_than_one_are_refused() -> Result<(), Skip> {
    let lab = lab()?;
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("scope.so");
    std::fs::write(&plugin, lab.emulator.plugin()).unwrap();
    let mut command = lab.emulator.command();
    command.args(["-machine", "q35,accel=tcg", "-smp", "2", "-nodefaults", "-display", "none", "-plugin"]).arg(&plugin);
    let output = command.stdin(std::process::Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("the guest has 2 processors; give it one"), "{}: {said}", output.status);
    Ok(())
}
