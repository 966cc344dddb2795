//! Sentences about exact counts.

use attribution::exact::{Accesses, Measured, Region};

use crate::document::Block;
use crate::number::{percent, signed, whole};

/// The heading of a report.
pub fn heading(measured: &[Measured]) -> String {
    let kernels: Vec<&str> = measured.iter().map(|one| one.provenance.kernel.as_str()).collect();
    format!("Exact counts of one message: kernel {}", kernels.join(", "))
}

/// The line below it.
pub fn source(measured: &[Measured]) -> String {
    measured.first().map_or_else(String::new, |one| {
        let from = &one.provenance;
        format!("{} · processor model {} · seed {} · the same on every run", from.emulator, from.cpu, from.seed)
    })
}

/// Regions by their scenario, in order.
pub fn by_scenario(measured: &Measured) -> Vec<(&str, Vec<&Region>)> {
    let mut found: Vec<(&str, Vec<&Region>)> = Vec::new();
    for region in &measured.regions {
        let (scenario, _) = region.scenario();
        match found.iter_mut().find(|(name, _)| *name == scenario) {
            Some((_, regions)) => regions.push(region),
            None => found.push((scenario, vec![region])),
        }
    }
    found
}

/// Bytes of the message that stands for a scenario, as in the studies of 1993 and 1997.
pub const STANDING: u64 = 112;

/// The region of a scenario that stands for it: of [`STANDING`] bytes, else the first.
pub fn standing<'r>(regions: &[&'r Region]) -> Option<&'r Region> {
    regions.iter().find(|region| region.scenario().1 == Some(STANDING)).or(regions.first()).copied()
}

/// What the matrix does not say: the function that changed most, and what could not be run.
pub fn answers(measured: &[Measured]) -> Vec<Block> {
    let changed = if let [before, after] = measured { changed(before, after) } else { None };
    let absent = measured.iter().flat_map(|one| {
        let kernel = &one.provenance.kernel;
        one.absent.iter().map(move |absent| format!("{} is absent on kernel {kernel}: {}.", absent.name, absent.answer))
    });
    Block::sentences(changed).into_iter().chain(Block::warnings(absent.collect())).collect()
}

/// The function that changed most of the message that stands for the first scenario; `None` of one kernel's seeds.
fn changed(before: &Measured, after: &Measured) -> Option<String> {
    let region = by_scenario(after).into_iter().find_map(|(_, regions)| standing(&regions))?;
    let then = before.region(&region.name).filter(|_| before.provenance.kernel != after.provenance.kernel)?;
    let of = |region: &Region, name: &str| {
        let found = region.rows.functions.iter().find(|function| function.name == name);
        found.map_or(0, |function| function.counts.instructions as i64)
    };
    let names = region.rows.functions.iter().chain(&then.rows.functions).map(|function| function.name.as_str());
    let (name, by) = names.map(|name| (name, of(region, name) - of(then, name))).max_by_key(|(_, by)| by.unsigned_abs())?;
    let sign = if by > 0 { "+" } else { "" };
    (by != 0).then(|| format!("Largest change of {}: {name} {sign}{} instructions.", region.name, signed(by)))
}

/// What each message executes on one kernel, and how many take exactly this course.
pub fn courses(measured: &[Measured]) -> Option<Block> {
    let [one] = measured else { return None };
    let sentence = |region: &Region| {
        let total = &region.total;
        let usual = percent(region.share());
        format!(
            "{}: {} instructions, {} data reads, {} data writes, {} calls; {usual} of messages take exactly this course.",
            region.name,
            whole(total.instructions),
            whole(total.reads),
            whole(total.writes),
            whole(total.calls)
        )
    };
    Block::sentences(by_scenario(one).into_iter().filter_map(|(_, regions)| standing(&regions)).map(sentence))
}

/// The message that stands for each scenario, on each kernel.
pub fn headline(measured: &[Measured]) -> String {
    let of_kernel = |one: &Measured| {
        let standing = by_scenario(one).into_iter().filter_map(|(_, regions)| standing(&regions));
        let counts: Vec<String> = standing.map(|region| format!("{} {}", region.name, whole(region.total.instructions))).collect();
        format!("kernel {}: {}", one.provenance.kernel, counts.join(", "))
    };
    let all: Vec<String> = measured.iter().map(of_kernel).collect();
    format!("{} (instructions)", all.join("; "))
}

/// Everything that moves the figures.
pub fn origin(one: &Measured) -> Vec<Block> {
    let from = &one.provenance;
    let accesses = match from.accesses {
        Accesses::Inline => "in the code that QEMU makes",
        Accesses::Callback => "by callbacks, since this QEMU's filter of loads and stores is wrong",
    };
    let package = if from.package.is_empty() { "a file of the user's".to_owned() } else { from.package.clone() };
    let facts = [
        ("kernel", from.version.clone()),
        ("package", package),
        ("emulator", format!("{}, plugin interface {}", from.emulator, from.interface)),
        ("processor model", from.cpu.clone()),
        ("virtual time", format!("icount shift={}, seed {}", from.icount_shift, from.seed)),
        ("command line", from.command_line.clone()),
        ("security modules", from.security_modules.clone()),
        ("reads and writes", format!("counted {accesses}")),
        ("SHA-256", format!("kernel {}, probe {}, plugin {}", short(&from.kernel_hash), short(&from.probe_hash), short(&from.plugin_hash))),
    ];
    let undecided =
        one.regions.iter().map(|region| region.rows.undecided()).fold([0.0_f64; 2], |most, one| [most[0].max(one[0]), most[1].max(one[1])]);
    let facts = Block::facts(facts);
    let told = format!(
        "Without a layer: at most {} of the instructions of a message; without a kind of work: {}.",
        percent(undecided[0]),
        percent(undecided[1])
    );
    vec![facts, Block::Aside(told.into())]
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}
