//! What the probe says: lines of the debug port, with whole files between `begin` and
//! `end`.

use std::collections::BTreeMap;
use std::{fmt, io};

/// The log of one boot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuestLog {
    /// Names of regions, in the order in which they began.
    pub regions: Vec<String>,
    /// Files of the guest, by path.
    pub files: BTreeMap<String, String>,
    /// The symbol table; empty where it was not asked for.
    pub symbols: String,
    /// Steps that failed.
    pub failures: Vec<StepFailure>,
    /// Programs that ended: the exit code, or 128 more than a signal's number, and the name.
    pub exits: Vec<(u32, String)>,
    /// True where the probe came to its end.
    pub done: bool,
}

/// A step of the plan that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepFailure {
    /// Errno.
    pub number: u16,
    /// The step as the plan has it: a verb, then words such as `name=udp-112`.
    pub step: String,
}

impl StepFailure {
    /// The verb.
    pub fn verb(&self) -> &str {
        self.step.split(' ').next().unwrap_or_default()
    }

    /// Returns whether the step has this name.
    pub fn is_of(&self, name: &str) -> bool {
        self.step.split(' ').any(|word| word.strip_prefix("name=") == Some(name))
    }

    /// The system's answer.
    pub fn answer(&self) -> io::Error {
        io::Error::from_raw_os_error(i32::from(self.number))
    }
}

impl fmt::Display for StepFailure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "the guest answered to '{}': {}", self.step, self.answer())
    }
}

/// Reads a log. What is no line of the probe's is passed over: a guest may say anything.
pub fn parse(text: &str) -> GuestLog {
    let mut log = GuestLog::default();
    let mut inside: Option<(String, String)> = None;
    for line in text.lines() {
        if let Some((name, content)) = &mut inside {
            // The last line of a file may lack its end.
            let (rest, ends) = match line.strip_suffix("end file").or_else(|| line.strip_suffix("end symbols")) {
                Some(rest) => (rest, true),
                None => (line, false),
            };
            if !ends || !rest.is_empty() {
                content.push_str(rest);
                content.push('\n');
            }
            if ends {
                let (name, content) = (std::mem::take(name), std::mem::take(content));
                inside = None;
                match name.strip_prefix("symbols ") {
                    Some(_) => log.symbols = content,
                    None => drop(log.files.insert(name.trim_start_matches("file ").to_owned(), content)),
                }
            }
            continue;
        }
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "begin" => inside = Some((rest.to_owned(), String::new())),
            "region" => log.regions.push(rest.to_owned()),
            "failed" => {
                let (number, step) = rest.split_once(' ').unwrap_or((rest, ""));
                log.failures.push(StepFailure { number: number.parse().unwrap_or(0), step: step.to_owned() });
            }
            "exit" => {
                // A code that cannot be read is none of success.
                let (code, name) = rest.split_once(' ').unwrap_or((rest, ""));
                log.exits.push((code.parse().unwrap_or(u32::MAX), name.to_owned()));
            }
            "done" => log.done = true,
            _ => {}
        }
    }
    log
}

#[cfg(test)]
mod tests {
    use super::{StepFailure, parse};

    #[test]
    fn lines_and_files_are_told_apart() {
        let log = parse(
            "begin file /proc/version\nLinux version 6.1\nend file\nbegin file /sys/kernel/security/lsm\nlockdown,bpfend file\n\
             begin symbols /proc/kallsyms\nffff T a\nend symbols\nnoise\nexit 3 doctor\nregion udp-112\nfailed 2 module /m/x.ko\ndone\n",
        );
        assert_eq!(log.files["/proc/version"], "Linux version 6.1\n");
        assert_eq!(log.files["/sys/kernel/security/lsm"], "lockdown,bpf\n");
        assert_eq!((log.symbols.as_str(), log.regions.len(), log.done), ("ffff T a\n", 1, true));
        assert_eq!(log.failures, [StepFailure { number: 2, step: "module /m/x.ko".to_owned() }]);
        assert_eq!(log.exits, [(3, "doctor".to_owned())]);
        assert!(!parse("begin file x\nregion y\n").done);
    }
}
