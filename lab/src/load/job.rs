//! A unit of load: an endless cycle of jobs, and what does each on this host.

use std::env;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use super::{say, scratch, taken};

/// One job of the cycle.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    /// Its name.
    pub name: &'static str,
    /// Programs that do it, the one of 1984 first, with their arguments.
    choices: &'static [(&'static str, &'static [&'static str])],
    /// The program is given this file of the unit's directory as its input.
    input: Option<&'static str>,
}

/// The cycle: a C compilation, a computation, text formatting, an editor's
/// session, copying 60,000 bytes, asking for processes and users. The paper names
/// these and not their sizes; they are chosen so that a cycle takes a third of a
/// second on today's machines and needs few processes. A scheduler lets each new
/// process begin without the debt of those before it (on Linux 6.18 worth 1 ms of
/// CPU time): units that start many have more than their share of the CPU. A host that has no program
/// for a job computes in its place.
pub const JOBS: [Job; 6] = [
    Job {
        name: "compile",
        choices: &[
            ("cc", &["-O1", "-S", "-o", "job.s", "job.c"]),
            ("gcc", &["-O1", "-S", "-o", "job.s", "job.c"]),
            ("clang", &["-O1", "-S", "-o", "job.s", "job.c"]),
            ("tcc", &["-c", "-o", "job.o", "job.c"]),
            (
                "awk",
                &["{ n = split($0, w, /[^A-Za-z0-9_]+/); for (i = 1; i <= n; i++) c[w[i]]++ } END { for (k in c) s += c[k] }", "job.c"],
            ),
        ],
        input: None,
    },
    Job { name: "compute", choices: &[], input: None },
    Job {
        name: "format",
        choices: &[
            ("troff", &["-Tascii", "text"]),
            ("nroff", &["text"]),
            ("fmt", &["-w", "60", "text"]),
            ("fold", &["-s", "-w", "60", "text"]),
        ],
        input: None,
    },
    Job {
        name: "edit",
        choices: &[("ed", &["-s", "text"]), ("ex", &["-s", "text"]), ("sed", &["-f", "edit.sed", "text"])],
        input: Some("edit.script"),
    },
    Job { name: "copy", choices: &[("cp", &["data", "copy"])], input: None },
    Job { name: "ask", choices: &[("ps", &["-ef"]), ("sh", &["-c", "cat /proc/[0-9]*/stat"])], input: None },
];

/// A job and what does it here.
#[derive(Debug, Clone)]
pub struct Chosen {
    job: Job,
    program: Option<(PathBuf, &'static [&'static str])>,
    first: bool,
}

impl Chosen {
    /// The first program of each job's list that is in one of `places`.
    pub fn for_job(job: Job, places: &[PathBuf]) -> Self {
        let find = |name: &str| places.iter().map(|place| place.join(name)).find(|path| is_program(path));
        let found = job.choices.iter().enumerate().find_map(|(at, (name, args))| Some((at, find(name)?, *args)));
        let first = job.choices.is_empty() || matches!(found, Some((0, ..)));
        Self { job, program: found.map(|(_, path, args)| (path, args)), first }
    }

    /// Returns what does it in place of its first choice; `None` where that is there.
    pub fn replacement(&self) -> Option<(&'static str, String)> {
        let by = || match &self.program {
            Some((path, _)) => path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            None => "built in".to_owned(),
        };
        (!self.first).then(|| (self.job.name, by()))
    }

    /// Does it once, in `directory`. What the program answers is nobody's
    /// business: the load is the work.
    ///
    /// # Errors
    /// When it could not be started.
    pub fn run(&self, directory: &Path) -> io::Result<()> {
        let Some((program, args)) = &self.program else {
            scratch::sieve();
            return Ok(());
        };
        let input = match self.job.input {
            Some(name) => Stdio::from(fs::File::open(directory.join(name))?),
            None => Stdio::null(),
        };
        let mut child =
            Command::new(program).args(*args).current_dir(directory).stdin(input).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        child.wait().map(drop)
    }
}

/// Returns where programs are looked for.
pub fn places() -> Vec<PathBuf> {
    env::var_os("PATH").map_or_else(|| vec!["/usr/bin".into(), "/bin".into()], |path| env::split_paths(&path).collect())
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// Runs jobs in `directory`, whose files it makes, until it is killed. Says
/// `ready` with the CPU time that took and its id, waits for a byte, and says after
/// each job what the ended ones took. It begins anywhere in the cycle, so that short trials see all of it.
///
/// # Errors
/// A job that cannot be started, or files that cannot be made.
pub fn run(directory: &Path) -> io::Result<()> {
    scratch::fill(directory)?;
    let places = places();
    let jobs: Vec<Chosen> = JOBS.into_iter().map(|job| Chosen::for_job(job, &places)).collect();
    // Its id where `/proc` is of another pid namespace.
    let id = fs::read_link("/proc/self").ok().and_then(|path| path.to_str()?.parse::<u32>().ok()).unwrap_or(0);
    say(&format!("ready {} {id}", sys::clock::process_cpu().get()))?;
    if io::stdin().lock().read(&mut [0])? == 0 {
        // The load is ended before it began.
        return Ok(());
    }
    let mut first = [0];
    getrandom::fill(&mut first).map_err(io::Error::other)?;
    for job in jobs.iter().cycle().skip(usize::from(first[0]) % jobs.len()) {
        job.run(directory)?;
        say(&taken::say_ended()?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Chosen, JOBS, places};
    use crate::load::scratch;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_missing_program_is_replaced_by_the_next_and_said() {
        let place = tempfile::tempdir().unwrap();
        let gcc = place.path().join("gcc");
        std::fs::write(&gcc, "#!/bin/sh\n").unwrap();
        let places = [place.path().to_owned()];
        assert_eq!(Chosen::for_job(JOBS[0], &places).replacement(), Some(("compile", "built in".to_owned())), "not executable");
        std::fs::set_permissions(&gcc, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(Chosen::for_job(JOBS[0], &places).replacement(), Some(("compile", "gcc".to_owned())));
        let cc = place.path().join("cc");
        std::fs::copy(&gcc, &cc).unwrap();
        assert_eq!(Chosen::for_job(JOBS[0], &places).replacement(), None);
        assert_eq!(Chosen::for_job(JOBS[1], &places).replacement(), None, "a computation has always been built in");
    }

    #[test]
    fn every_job_can_be_done() {
        let directory = tempfile::tempdir().unwrap();
        scratch::fill(directory.path()).unwrap();
        for job in JOBS {
            Chosen::for_job(job, &places()).run(directory.path()).unwrap_or_else(|error| panic!("{}: {error}", job.name));
        }
        assert_eq!(std::fs::metadata(directory.path().join("copy")).unwrap().len(), 60_000);
    }
}
