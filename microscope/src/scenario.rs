//! Scenarios: what the guest is set up with, and what a message of it is. They are
//! data: `scenarios.toml` has those that come with nettoll, a file of the user's may
//! have more.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::Failed;
use crate::program::Program;

/// A scenario.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name: lower-case letters, digits and hyphens.
    pub name: String,
    /// What it is, for people.
    pub title: String,
    /// Modules of the kernel that it needs, in the order in which they are loaded.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Steps of the probe before the first message, next to loopback.
    #[serde(default)]
    pub setup: Vec<String>,
    /// What the probe sends: words such as `kind=udp family=6`.
    pub run: String,
    /// True where a message has a size.
    #[serde(default = "yes")]
    pub sized: bool,
    /// The user's program that is run in place of the probe's messages.
    #[serde(skip)]
    pub program: Option<Program>,
}

impl Scenario {
    /// The scenario of a program of the user's.
    pub fn of_program(program: Program) -> Self {
        Self {
            name: program.name(),
            title: format!("what {} does between its markers", program.path),
            modules: Vec::new(),
            setup: Vec::new(),
            run: PROGRAM.to_owned(),
            sized: false,
            program: Some(program),
        }
    }
}

/// The path of the user's program in a guest.
const PROGRAM: &str = "/program";

const fn yes() -> bool {
    true
}

/// A file of scenarios.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    scenario: Vec<Scenario>,
}

/// Sizes of messages where none are asked for, in bytes: those of the studies that the
/// figures are compared with (1, 112, 1460 and 8192), and 1024.
pub const SIZES: [u64; 5] = [1, 112, 1024, 1460, 8192];

/// Scenarios where none are asked for.
pub const USUAL: [&str; 3] = ["getppid", "udp", "tcp"];

/// The longest message that the probe sends.
pub const MOST_BYTES: u64 = 1 << 16;

/// The scenarios that come with nettoll.
///
/// # Errors
/// None: a test reads the same file.
pub fn builtin() -> Result<Vec<Scenario>, Failed> {
    parse(include_str!("../scenarios.toml"))
}

/// Reads a file of scenarios.
///
/// # Errors
/// What is no such file, or a word that the probe would take for another step.
pub fn parse(text: &str) -> Result<Vec<Scenario>, Failed> {
    let file: File = toml::from_str(text).map_err(|error| Failed::Scenario(format!("the scenarios cannot be read: {error}")))?;
    for scenario in &file.scenario {
        let sound = !scenario.name.is_empty()
            && scenario.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if !sound {
            return Err(Failed::Scenario(format!(
                "'{}' is no name of a scenario: use lower-case letters, digits and hyphens",
                scenario.name
            )));
        }
        let words = scenario.setup.iter().chain(&scenario.modules).chain([&scenario.run]);
        if let Some(word) = words.into_iter().find(|word| word.is_empty() || word.chars().any(char::is_control)) {
            return Err(Failed::Scenario(format!("scenario '{}': '{}' is no step; write one line", scenario.name, word.escape_debug())));
        }
    }
    Ok(file.scenario)
}

/// The scenarios of these names.
///
/// # Errors
/// A name that none has.
pub fn named<'a>(all: &[Scenario], names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Scenario>, Failed> {
    let find = |name: &'a str| {
        all.iter().find(|scenario| scenario.name == name).cloned().ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|scenario| scenario.name.as_str()).collect();
            let hint = model::suggestion(name, known.iter().copied());
            Failed::Scenario(format!("there is no scenario '{name}'{hint} There are: {}", known.join(", ")))
        })
    };
    names.into_iter().map(find).collect()
}

/// What one boot of a guest runs: scenarios that want the same set-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Modules to load.
    pub modules: Vec<String>,
    /// Steps of the set-up.
    pub setup: Vec<String>,
    /// Name and words of each region, in order.
    pub regions: Vec<(String, String)>,
    /// The program of its only region; `None` where the probe sends messages.
    pub program: Option<Program>,
}

/// Groups scenarios by their set-up, each at every size.
pub fn sessions(scenarios: &[Scenario], sizes: &[u64]) -> Vec<Session> {
    let mut found: Vec<Session> = Vec::new();
    for scenario in scenarios {
        let alike = |one: &Session| {
            one.program.is_none() && scenario.program.is_none() && one.modules == scenario.modules && one.setup == scenario.setup
        };
        let place = found.iter().position(alike);
        let place = place.unwrap_or_else(|| {
            let (modules, setup) = (scenario.modules.clone(), scenario.setup.clone());
            found.push(Session { modules, setup, regions: Vec::new(), program: scenario.program.clone() });
            found.len() - 1
        });
        let regions = &mut found[place].regions;
        if scenario.sized {
            let of_size = |size: &u64| (format!("{}-{size}", scenario.name), format!("{} size={size}", scenario.run));
            regions.extend(sizes.iter().map(of_size));
        } else {
            regions.push((scenario.name.clone(), scenario.run.clone()));
        }
    }
    found
}

/// The name of the region whose counts are known beforehand.
pub const CALIBRATION: &str = "calibrate";

impl Session {
    /// The probe's plan: `messages` of each region.
    pub fn plan(&self, messages: u32) -> String {
        let mut lines = self.loaded();
        lines.push("up lo".to_owned());
        lines.extend(self.setup.iter().cloned());
        // A kernel does many things in its first minute; virtual time costs next to nothing.
        lines.push("settle s=60".to_owned());
        lines.push(CALIBRATION.to_owned());
        lines.extend(self.regions.iter().map(|(name, words)| match self.program {
            Some(_) => format!("program name={name} {words}"),
            None => format!("run name={name} n={messages} {words}"),
        }));
        lines.join("\n") + "\n"
    }

    /// The same modules, then the symbol table.
    pub fn plan_for_symbols(&self) -> String {
        let mut lines = self.loaded();
        lines.push("symbols".to_owned());
        lines.join("\n") + "\n"
    }

    /// The steps that every boot begins with: modules come to lie at the same addresses then.
    fn loaded(&self) -> Vec<String> {
        let modules = self.modules.iter().map(|module| format!("module /m/{module}.ko"));
        modules.chain(["facts".to_owned()]).collect()
    }
}

/// Titles by name.
pub fn titles(all: &[Scenario]) -> BTreeMap<&str, &str> {
    all.iter().map(|scenario| (scenario.name.as_str(), scenario.title.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use super::{SIZES, USUAL, builtin, named, parse, sessions};
    use proptest::prelude::{prop_assert, proptest};

    #[test]
    fn the_usual_scenarios_are_one_session() {
        let all = builtin().unwrap();
        let sessions = sessions(&named(&all, USUAL).unwrap(), &SIZES);
        assert_eq!((sessions.len(), sessions[0].regions.len()), (1, 11));
        let plan = sessions[0].plan(200);
        assert!(plan.contains("\nrun name=udp-112 n=200 kind=udp size=112\n"), "{plan}");
        assert!(plan.starts_with("facts\nup lo\nsettle s=60\ncalibrate\nrun name=getppid n=200 kind=getppid\n"), "{plan}");
    }

    #[test]
    fn names_are_checked() {
        let all = builtin().unwrap();
        let error = named(&all, ["udpp"]).unwrap_err().to_string();
        assert!(error.contains("did you mean 'udp'?") && error.contains("getppid"), "{error}");
        let refused = |text: &str| parse(text).unwrap_err().to_string();
        assert!(refused("[[scenario]]\nname = 'A b'\ntitle = ''\nrun = 'x'").contains("no name of a scenario"));
        assert!(refused("[[scenario]]\nname = 'a'\ntitle = ''\nrun = \"x\\nup lo\"").contains("is no step"));
        assert!(refused("scenario = 1").contains("cannot be read"));
        assert!(refused("[[scenario]]\nname = 'a'\ntitle = ''\nrun = 'x'\nwhat = 1").contains("what"));
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_read(text in "(\\[\\[scenario\\]\\]\n|(name|title|run) = '[a-z =]{0,5}'\n|\\PC{0,9}\n){0,9}") {
            if let Ok(all) = parse(&text) {
                for session in sessions(&all, &[1]) {
                    prop_assert!(session.plan(1).lines().count() == 4 + session.modules.len() + session.setup.len() + session.regions.len());
                }
            }
        }
    }
}
