//! `nettoll microscope --run RUN`: the messages of a run with receipts are counted, and
//! its time stands next to what was counted.

use std::collections::BTreeSet;
use std::path::PathBuf;

use analysis::result::Analysis;
use analysis::verdict::Gate;
use attribution::exact::Timed;
use microscope::cache::Cache;
use microscope::scenario::{self, Scenario};
use model::sorting::Gather;
use report::microscope::Detail;

use super::Lab;
use crate::args::MicroscopeArgs;
use crate::exit::{Exit, Failure};
use crate::{exact, output};

/// Counts the messages of a run, keeps the counts there, and prints both next to each other.
///
/// # Errors
/// A run without receipts, or whose messages are no scenario's; what the microscope says.
pub fn run(cache: &Cache, args: &MicroscopeArgs) -> Result<Exit, Failure> {
    let messages = Messages::of(args)?;
    let place = args.html.place("microscope.html")?;
    let (scenarios, sizes, words) = messages.wanted(args)?;
    let lab = Lab::with(cache, args, scenarios, sizes)?;
    let [kernel] = &lab.kernels(&words)?[..] else { return Err(Failure::misuse("--run takes one kernel: that of the run")) };
    let measured = lab.measure(&[lab.asked(kernel.clone(), args.seed)])?;
    let timed: Vec<Timed> = measured.iter().flat_map(|one| analysis::exact::side_by_side(&messages.analysis, one)).collect();
    exact::write(&messages.path, None, &measured)?;
    let document = report::microscope::document(&measured, &timed, Detail { tree: args.tree });
    output::page(place.as_deref(), || output::html(&document))?;
    output::result(args.json.then(|| report::microscope::json(&measured, &timed)), || document, args.verbose)?;
    let page = crate::report::write(&messages.path, None, &Gate::default())?;
    if !args.json {
        output::report_at(&place.unwrap_or(page))?;
    }
    Ok(Exit::Done)
}

/// A run with receipts.
pub struct Messages {
    path: PathBuf,
    analysis: Analysis,
}

/// Scenarios, sizes and the words for a kernel.
type Wanted = (Vec<Scenario>, Vec<u64>, Vec<String>);

impl Messages {
    /// Reads the run that is asked for.
    ///
    /// # Errors
    /// A run that cannot be read.
    pub fn of(args: &MicroscopeArgs) -> Result<Self, Failure> {
        let path = args.runs.find(args.run.as_deref().unwrap_or("latest".as_ref()))?;
        let analysis = crate::report::analyse(&path)?;
        Ok(Self { path, analysis })
    }

    /// The scenarios and sizes of its messages; those that are none's are named.
    ///
    /// # Errors
    /// It has no receipts, or no message that is a scenario's.
    pub fn wanted(&self, args: &MicroscopeArgs) -> Result<Wanted, Failure> {
        let wanted = analysis::exact::wanted(&self.analysis);
        if wanted.is_empty() {
            return Err(Failure::misuse(format!("{} has no receipts: `nettoll study receipt` makes a run that has", self.path.display())));
        }
        for (label, found) in &wanted {
            if let Err(why) = found {
                output::note(&format!("{label} is not counted: {why}"));
            }
        }
        let found: Vec<_> = wanted.iter().filter_map(|(_, found)| found.as_ref().ok()).collect();
        let names: BTreeSet<&str> = found.iter().map(|one| one.scenario).into_set();
        let sizes: BTreeSet<u64> = found.iter().map(|one| one.size).into_set();
        if names.is_empty() {
            return Err(Failure::misuse(format!("no message of {} is a scenario of the microscope", self.path.display())));
        }
        let words = if args.kernel.is_empty() { vec![self.series()?] } else { args.kernels() };
        Ok((scenario::named(&scenario::builtin()?, names)?, sizes.into_iter().collect(), words))
    }

    /// The series of the kernel that it was measured on, such as `6.12`.
    fn series(&self) -> Result<String, Failure> {
        let release = self.analysis.hosts.first().map_or("", |host| host.kernel.as_str());
        let numbers: Vec<&str> = release.split(['.', '-']).take(2).filter(|part| part.parse::<u32>().is_ok()).collect();
        match numbers[..] {
            [major, minor] => Ok(format!("{major}.{minor}")),
            _ => Err(Failure::misuse(format!("the run does not say its kernel ('{release}'): give --kernel"))),
        }
    }
}
