//! Names of a program's own code whose symbols lie in another file.

use std::fs::{self, OpenOptions};
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use model::Nanos;
use model::attach::OwnCode;
use profile::own_code::{BOUNDS, Names};
use profile::sampler::{Sampler, Settings, Target, Tasks};
use testkit::claims::need_programs;

use crate::Skip;
use crate::child::serve;
use crate::observed::Observed;

pub fn child(milliseconds: u64) {
    serve(move || turn(Instant::now() + Duration::from_millis(milliseconds)));
}

#[inline(never)]
fn turn(end: Instant) -> u64 {
    let mut turns = 0;
    while Instant::now() < end {
        (0..100_000_u64).for_each(|number| turns = black_box(turns ^ number));
    }
    turns
}

fn objcopy(arguments: &[&str], from: &Path, to: &Path) {
    let done = Command::new("objcopy").args(arguments).arg(from).arg(to).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Samples a program that spins, and names its code.
fn observe(program: &Path) -> Result<OwnCode, Skip> {
    let mut observed = Observed::start_program(program, "spin:300")?;
    let mut sampler = Sampler::open(&Settings::new(Target::Process(observed.pid()), Nanos::from_millis(5_000)))?;
    sampler.start()?;
    let report = observed.work();
    let recording = sampler.finish()?;
    // The process still lives: its list of mappings is read now.
    let (found, left_out) = Names::new(BOUNDS, &AtomicBool::new(false)).of_samples(&[recording], Tasks::All, report.window);
    drop(observed);
    assert_eq!(left_out, None);
    Ok(found)
}

/// As `strip` and `objcopy --add-gnu-debuglink` leave them; a file that is not the one of the link has no say.
pub fn by_a_debug_link() -> Result<(), Skip> {
    need_programs(&["objcopy"])?;
    let place = std::env::temp_dir().join(format!("nettoll-link-{}", std::process::id()));
    let (program, symbols) = (place.join("program"), place.join(".debug/program.debug"));
    fs::create_dir_all(place.join(".debug")).unwrap();
    let this = std::env::current_exe().unwrap();
    objcopy(&["--only-keep-debug"], &this, &symbols);
    let link = format!("--add-gnu-debuglink={}", symbols.display());
    objcopy(&["--strip-all", "--remove-section=.note.gnu.build-id", &link], &this, &program);
    let own = observe(&program);
    OpenOptions::new().append(true).open(&symbols).unwrap().write_all(b"more").unwrap();
    let other = observe(&program);
    fs::remove_dir_all(&place).unwrap();
    let (own, other) = (own?, other?);
    let turns = |code: &OwnCode| code.functions.iter().any(|(name, _)| name.contains("naming::turn"));
    let named = |code: &OwnCode| code.functions.iter().map(|(_, count)| count).sum::<u64>();
    assert!(turns(&own) && named(&own) > 10 * own.unnamed, "{own:?}");
    // Those of the C library are still there.
    assert!(!turns(&other) && other.unnamed > 10 * named(&other), "{other:?}");
    Ok(())
}
