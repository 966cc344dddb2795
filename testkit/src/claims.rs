//! Test programs of claims that a machine may not allow. The usual harness
//! would count a claim that could not be tested as one that passed.

use std::panic;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Completion, Trial};
use model::Refusal;

/// The user nobody, on every Linux.
pub const NOBODY: u32 = 65_534;

/// Reason for which a claim cannot be tested here.
#[derive(Debug)]
pub struct Skip(pub String);

impl From<Refusal> for Skip {
    fn from(answer: Refusal) -> Self {
        Self(answer.to_string())
    }
}

/// A claim; one that fails panics.
pub type Claim = fn() -> Result<(), Skip>;

/// How often a claim is tried. Claims here measure, on machines that others use too: a
/// hypervisor that takes the CPU for 100 ms fails one attempt, a defect fails all. The
/// test script lists each claim that held only when it was repeated.
const ATTEMPTS: u32 = 3;

/// The claims of a module, each under its name.
pub type Claims = &'static [(&'static str, Claim)];

/// Defines `ALL`, the [`Claims`] of a module, from the names of its functions.
#[macro_export]
macro_rules! claims {
    ($($claim:ident),+ $(,)?) => {
        pub const ALL: $crate::claims::Claims = &[$((stringify!($claim), $claim)),+];
    };
}

/// Tests the claims of modules as the command line asks, and prints `SKIPPED:
/// name: reason` for each that this machine does not allow, and `TOOK: seconds s name` of each that ran. A module without a
/// name adds nothing to the names of its claims.
pub fn test(modules: &[(&str, Claims)]) -> ExitCode {
    test_with(Arguments::from_args(), modules)
}

/// As [`test`], one claim after the other: claims that measure must not disturb
/// each other.
pub fn test_in_turn(modules: &[(&str, Claims)]) -> ExitCode {
    test_with(Arguments { test_threads: Some(1), ..Arguments::from_args() }, modules)
}

fn test_with(arguments: Arguments, modules: &[(&str, Claims)]) -> ExitCode {
    let claims = modules.iter().flat_map(|(module, claims)| claims.iter().map(move |claim| (*module, *claim)));
    let times: Arc<Mutex<Vec<String>>> = Arc::default();
    let trials = claims.map(|(module, (name, claim))| {
        let name = if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") };
        let times = Arc::clone(&times);
        Trial::ignorable_test(name.clone(), move || {
            let begun = Instant::now();
            let answer = attempt(&name, claim);
            let took = format!("TOOK: {:6.1} s {name}", begun.elapsed().as_secs_f64());
            times.lock().unwrap_or_else(PoisonError::into_inner).push(took);
            match answer {
                Ok(()) => Ok(Completion::Completed),
                Err(Skip(reason)) => {
                    println!("SKIPPED: {name}: {reason}");
                    Ok(Completion::ignored_with(reason))
                }
            }
        })
    });
    let trials = trials.collect();
    let ended = libtest_mimic::run(&arguments, trials);
    // Not before: one claim's line may end where another's result belongs. The test script lists
    // the slowest.
    times.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|took| println!("{took}"));
    ended.exit_code()
}

/// Tries a claim up to [`ATTEMPTS`] times, and prints `REPEATED: name` after each attempt
/// that is not the last and fails.
fn attempt(name: &str, claim: Claim) -> Result<(), Skip> {
    for _ in 1..ATTEMPTS {
        if let Ok(answer) = panic::catch_unwind(claim) {
            return answer;
        }
        println!("REPEATED: {name}");
    }
    claim()
}

/// Refuses a claim to all but root, who alone may become another user.
///
/// # Errors
/// For everybody but root.
pub fn need_root() -> Result<(), Skip> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    match uid.split_whitespace().nth(1) {
        Some("0") => Ok(()),
        _ => Err(Skip("only root can set this up".to_owned())),
    }
}

/// Refuses a claim where one of these programs is missing.
///
/// # Errors
/// Names the first that is missing.
pub fn need_programs(names: &[&str]) -> Result<(), Skip> {
    for name in names {
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&path).any(|directory| directory.join(name).is_file()) {
            return Err(Skip(format!("there is no `{name}` here")));
        }
    }
    Ok(())
}

/// Tells whether a shell command succeeds; its output is not shown.
pub fn succeeds(script: &str) -> bool {
    let status = Command::new("sh").args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Waits until `claim` is true, and returns how long that took.
///
/// # Panics
/// After `limit`.
#[track_caller]
pub fn within(limit: Duration, what: &str, mut claim: impl FnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while !claim() {
        assert!(begun.elapsed() < limit, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
    begun.elapsed()
}
