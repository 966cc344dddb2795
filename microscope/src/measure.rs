//! Measures a kernel: symbols, one boot a set-up, and a receipt for each region.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use attribution::Rules;
use attribution::exact::{AbsentScenario, Accesses, Counts, ExactRows, Lines, Measured, Provenance, Region, spread};
use model::sorting::Gather;

use crate::boot::{Boot, Booted, COMMAND_LINE, GuestSize, ICOUNT_SHIFT};
use crate::cache::Cache;
use crate::cpio::Archive;
use crate::duration;
use crate::embedded::{self, hash};
use crate::emulator::{Emulator, Interface};
use crate::error::Failed;
use crate::guest_log::{GuestLog, StepFailure};
use crate::kallsyms::Functions;
use crate::kernel::Kernel;
use crate::modules;
use crate::output::{self, Counted};
use crate::program::{self, Program};
use crate::scenario::{CALIBRATION, Scenario, Session, sessions};

/// What to measure.
#[derive(Debug, Clone)]
pub struct Request {
    /// The kernel.
    pub kernel: Kernel,
    /// Scenarios, in the order in which they run.
    pub scenarios: Vec<Scenario>,
    /// Sizes of messages, in bytes.
    pub sizes: Vec<u64>,
    /// Messages of a region.
    pub messages: u32,
    /// Seed of the guest's random numbers.
    pub seed: u64,
    /// Model of the processor.
    pub cpu: String,
    /// Words behind the command line.
    pub append: String,
    /// How to count.
    pub counting: Counting,
}

/// How to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counting {
    /// Count cache lines.
    pub lines: bool,
    /// Loads and stores.
    pub accesses: Accesses,
    /// Instructions by callbacks: a second way of counting.
    pub executions_by_callback: bool,
}

impl Default for Counting {
    fn default() -> Self {
        Self { lines: true, accesses: Accesses::Inline, executions_by_callback: false }
    }
}

/// The guest of every measurement.
const SIZE: GuestSize = GuestSize::one(512);
/// The largest table of symbols that is read from the cache.
const LARGEST: u64 = 64 << 20;

/// Counts of one calibration message: instructions, reads and writes, as
/// `microscope/probe/src/marker.rs` executes them.
const CALIBRATED: [u64; 3] = [165, 124, 74];

/// Measures a kernel.
///
/// # Errors
/// A guest that does not come to its end, or counts that do not agree with each other.
pub fn measure(cache: &Cache, emulator: &Emulator, asked: &Request) -> Result<Measured, Failed> {
    if embedded::PROBE.is_empty() {
        return Err(Failed::NoProbe);
    }
    let rules = Rules::builtin()?;
    let mut counting = asked.counting;
    // Its filter of loads and stores is known to be wrong.
    if emulator.interface == Interface::Old {
        counting.accesses = Accesses::Callback;
    }
    let bench = Bench { cache, emulator, asked };
    let mut measured = Measured::default();
    for session in sessions(&asked.scenarios, &asked.sizes) {
        let modules = match modules::gather(&asked.kernel, &session.modules) {
            Ok(modules) => modules,
            Err(answer) => {
                let absent = |(name, _): &(String, String)| AbsentScenario { name: name.clone(), answer: answer.clone() };
                measured.absent.extend(session.regions.iter().map(absent));
                continue;
            }
        };
        let session = Session { modules: modules.iter().map(|module| module.name.clone()).collect(), ..session };
        let run = bench.run(&session, &modules, counting)?;
        // A filter that is wrong shows here, whatever its QEMU calls itself.
        let run = match run.calibration() {
            Some(found) if is_filter_wrong(found, counting.accesses) => {
                counting.accesses = Accesses::Callback;
                bench.run(&session, &modules, counting)?
            }
            _ => run,
        };
        run.check()?;
        measured.provenance = bench.provenance(&run, counting);
        run.collect(&session, &rules, counting, &mut measured)?;
    }
    Ok(measured)
}

/// Returns whether counts of the calibration may be wrong for their filter of loads and stores: callbacks
/// have none.
fn is_filter_wrong(found: [u64; 3], accesses: Accesses) -> bool {
    found != CALIBRATED && accesses == Accesses::Inline
}

/// What all boots of a kernel share.
struct Bench<'b> {
    cache: &'b Cache,
    emulator: &'b Emulator,
    asked: &'b Request,
}

/// A boot with its counts.
struct Run {
    log: GuestLog,
    interface: u32,
    regions: BTreeMap<String, Counted>,
}

impl Bench<'_> {
    fn command_line(&self) -> String {
        format!("{COMMAND_LINE} {}", self.asked.append).trim_end().to_owned()
    }

    fn boot(&self, plan: &str, session: &Session, modules: &[modules::Module], plugin: Option<String>) -> Result<Booted, Failed> {
        let mut archive = Archive::default();
        ["dev", "proc", "sys", "m", "o"].iter().for_each(|folder| archive.directory(folder));
        archive.device("dev/console", 5, 1);
        archive.program("init", embedded::PROBE);
        archive.file("plan", plan.as_bytes());
        modules.iter().for_each(|module| archive.file(&format!("m/{}.ko", module.name), &module.content));
        if let Some(program) = &session.program {
            archive.program("program", &program.bytes);
        }
        let command_line = self.command_line();
        let counts = plugin.is_some();
        let boot = Boot {
            emulator: self.emulator,
            image: &self.asked.kernel.image,
            initramfs: archive.finish(),
            command_line: &command_line,
            cpu: &self.asked.cpu,
            size: SIZE,
            seed: self.asked.seed,
            plugin,
            devices: &[],
        };
        let begun = Instant::now();
        let booted = boot.run(self.cache)?;
        let counted = if counts { session.regions.len() as u64 * u64::from(self.asked.messages) } else { 0 };
        // Counts are worth more than the time that they took: a full disk is said where they are stored.
        let _ = duration::note(self.cache, counted, begun.elapsed());
        Ok(booted)
    }

    /// The file of functions for the plugin, and the functions: from the cache, or from a boot that
    /// does nothing else.
    fn functions(&self, session: &Session, modules: &[modules::Module]) -> Result<(PathBuf, Functions), Failed> {
        let key = [
            self.asked.kernel.hash.as_str(),
            &self.command_line(),
            &session.modules.join(" "),
            &hash(embedded::PROBE),
            &self.asked.cpu,
            &self.asked.seed.to_string(),
        ]
        .join("\n");
        let name = hash(key.as_bytes());
        let path = self.cache.folder("symbols")?.join(&name);
        if let Ok(text) = sys::file::read_text(&path, LARGEST)
            && let Ok(functions) = Functions::of_plugin(&text)
        {
            self.cache.used("symbols", &name);
            return Ok((path, functions));
        }
        let booted = self.boot(&session.plan_for_symbols(), session, modules, None)?;
        let functions = Functions::parse(&booted.log.symbols)?;
        if functions.is_empty() {
            return Err(Failed::NoSymbols);
        }
        self.cache.write(&path, functions.for_plugin().as_bytes())?;
        Ok((path, functions))
    }

    fn run(&self, session: &Session, modules: &[modules::Module], counting: Counting) -> Result<Run, Failed> {
        let (symbols, functions) = self.functions(session, modules)?;
        let plugin = self.emulator.plugin();
        let tool = self.cache.folder("tools")?.join(hash(&plugin)).join("scope.so");
        if !tool.is_file() {
            self.cache.write(&tool, &plugin)?;
        }
        let mut options = format!("{},symbols={}", tool.display(), symbols.display());
        for (on, word) in [
            (counting.lines, ",lines=on"),
            (counting.accesses == Accesses::Callback, ",accesses=callback"),
            (counting.executions_by_callback, ",executions=callback"),
        ] {
            options += if on { word } else { "" };
        }
        let booted = self.boot(&session.plan(self.asked.messages), session, modules, Some(options))?;
        let output = output::parse(&booted.counted, &functions)?;
        if !booted.log.files.get("/proc/modules").is_none_or(|modules| functions.fits(modules)) {
            return Err(Failed::Miscounted("modules lie elsewhere than in the boot that gave the symbols".to_owned()));
        }
        if let Some(program) = &session.program {
            well_behaved(program, &booted.log, &output.regions)?;
        }
        if output.regions.len() != booted.log.regions.len() {
            let why = format!("the guest began {} regions and {} were counted", booted.log.regions.len(), output.regions.len());
            return Err(Failed::Miscounted(why));
        }
        let regions = booted.log.regions.iter().cloned().zip(output.regions).collect();
        Ok(Run { log: booted.log, interface: output.interface, regions })
    }

    fn provenance(&self, run: &Run, counting: Counting) -> Provenance {
        let fact = |path: &str| run.log.files.get(path).map_or_else(String::new, |text| text.trim().to_owned());
        Provenance {
            emulator: self.emulator.version.clone(),
            interface: run.interface,
            kernel: self.asked.kernel.name.clone(),
            package: self.asked.kernel.package.clone(),
            version: fact("/proc/version"),
            cpu: self.asked.cpu.clone(),
            icount_shift: ICOUNT_SHIFT,
            seed: self.asked.seed,
            command_line: self.command_line(),
            security_modules: fact("/sys/kernel/security/lsm"),
            kernel_hash: self.asked.kernel.hash.clone(),
            probe_hash: hash(embedded::PROBE),
            plugin_hash: hash(&self.emulator.plugin()),
            accesses: counting.accesses,
        }
    }
}

/// Sees that a program counted its messages, in one region after that of the calibration.
fn well_behaved(program: &Program, log: &GuestLog, counted: &[Counted]) -> Result<(), Failed> {
    if let Some(failure) = log.failures.iter().find(|failure| failure.verb() == "program") {
        return Err(Failed::Program(format!("{} was not started in the guest: {}", program.path, failure.answer())));
    }
    let ended = log.exits.first().map(|(code, name)| (*code, log.files.get(&format!("/o/{name}")).map_or("", String::as_str)));
    let own = counted.get(1..).unwrap_or_default();
    let messages = own.first().map_or(0, |region| region.messages.len());
    program::misbehaved(&program.path, own.len(), messages, ended).map_or(Ok(()), |why| Err(Failed::Program(why)))
}

/// The messages of a region that took its usual course.
fn usual(counted: &Counted) -> impl Iterator<Item = &output::Message> {
    counted.messages.iter().filter(|message| message.course == counted.usual)
}

impl Run {
    /// Instructions, reads and writes of a calibration message.
    fn calibration(&self) -> Option<[u64; 3]> {
        let total = usual(self.regions.get(CALIBRATION)?).next()?.total;
        Some([total.instructions, total.reads, total.writes])
    }

    /// Holds the counts of the calibration and of both attributions against each other.
    fn check(&self) -> Result<(), Failed> {
        let found = self.calibration().ok_or_else(|| Failed::Miscounted("the guest did not run its calibration".to_owned()))?;
        // The old form enters a repeated instruction once more.
        if found != CALIBRATED {
            let [i, r, w] = found;
            let [wi, wr, ww] = CALIBRATED;
            let why = format!("a message of {wi} instructions, {wr} reads and {ww} writes was counted as {i}, {r} and {w}");
            return Err(Failed::Miscounted(why));
        }
        for (name, counted) in &self.regions {
            let Some(message) = usual(counted).next() else { continue };
            let functions: Counts = counted.functions.iter().map(|(_, counts)| *counts).sum();
            let (total, tree) = (message.total, counted.tree.total());
            if functions != total || tree != total {
                let sums = [total, functions, tree].map(|counts| counts.instructions);
                let why = format!("{name}: {} instructions in all, {} by function, {} by path", sums[0], sums[1], sums[2]);
                return Err(Failed::Miscounted(why));
            }
        }
        Ok(())
    }

    /// Receipts of the session's regions, and what could not be run.
    fn collect(mut self, session: &Session, rules: &Rules, counting: Counting, to: &mut Measured) -> Result<(), Failed> {
        for (name, words) in &session.regions {
            let concerns =
                |failure: &&StepFailure| failure.verb() == "module" || failure.is_of(name) || session.setup.contains(&failure.step);
            let failure = self.log.failures.iter().find(concerns).map(StepFailure::to_string);
            match (self.regions.remove(name), failure) {
                (Some(counted), None) if !counted.messages.is_empty() => to.regions.push(region(name, counted, rules, counting)),
                (_, Some(answer)) => to.absent.push(AbsentScenario { name: name.clone(), answer }),
                _ => return Err(Failed::Miscounted(format!("region {name} ({words}) was not counted"))),
            }
        }
        Ok(())
    }
}

fn region(name: &str, counted: Counted, rules: &Rules, counting: Counting) -> Region {
    let of_all = |count: fn(&output::Message) -> u64| spread(counted.messages.iter().map(count));
    let of_usual = |place: usize| spread(usual(&counted).map(|message| message.lines[place]));
    let lines = counting.lines.then(|| Lines { code: of_usual(0), read: of_usual(1), written: of_usual(2) });
    let courses: std::collections::BTreeSet<u64> = counted.messages.iter().map(|message| message.course).into_set();
    Region {
        name: name.to_owned(),
        messages: counted.messages.len() as u64,
        usual: usual(&counted).count() as u64,
        courses: courses.len() as u64,
        total: counted.tree.total(),
        instructions: of_all(|message| message.total.instructions),
        reads: of_all(|message| message.total.reads),
        writes: of_all(|message| message.total.writes),
        rows: ExactRows::of(&counted.tree, rules),
        lines,
        repairs: counted.repairs,
        tree: counted.tree,
    }
}

#[cfg(test)]
mod tests {
    use super::{Accesses, CALIBRATED, is_filter_wrong};

    #[test]
    fn a_filter_that_takes_stores_for_loads_is_found() {
        let [instructions, loads, stores] = CALIBRATED;
        // As QEMU 7.2 has it: stores where loads were asked for, and both where stores were.
        let wrong = [instructions, stores, loads + stores];
        assert!(is_filter_wrong(wrong, Accesses::Inline));
        assert!(!is_filter_wrong(CALIBRATED, Accesses::Inline));
        // There is no other way left: then the counts are refused.
        assert!(!is_filter_wrong(wrong, Accesses::Callback));
    }
}
