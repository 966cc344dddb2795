//! Texts that a person writes: plans, sweeps, quantities, addresses, files of
//! rules and of sizes.

use std::collections::HashSet;
use std::str::FromStr;

use analysis::advice::{self, Observed};
use attribution::{Classifier, Layer, Rules, SizeDistribution};
use literature::read::{csv, iperf3, netperf};
use literature::{Foreign, of_foreign, of_table};
use model::plan::{ApprovedPlan, HostAddress, HostPlace, Plan, RawPlan, resolve};
use model::program_workload::ProgramWorkload;
use model::size::parse_sweep;
use model::{BitRate, Bytes, Nanos, OfferedRate};

use crate::says_something;

/// The text of a plan: it is refused, or it means something that keeps the
/// invariants of [`Plan`] and comes back from its file.
pub fn plan(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(raw) = RawPlan::parse(text).inspect_err(says_something) else { return };
    let Ok(plan) = resolve(&raw, &[], 7).map(ApprovedPlan::into_plan).inspect_err(says_something) else { return };
    assert!(!plan.cells.is_empty());
    assert_eq!(plan.cells.iter().collect::<HashSet<_>>().len(), plan.cells.len(), "a cell twice");
    assert!(plan.cells.iter().all(|cell| cell.size.get() >= 1 && cell.read_size.get() >= 1), "a size of 0");
    assert!(plan.blocks.least <= plan.blocks.most);
    let stored: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    assert_eq!((stored.cells, stored.end, stored.link), (plan.cells, plan.end, plan.link));
}

/// A sweep of sizes: it ends, whatever it says.
pub fn sweep(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(sizes) = parse_sweep(text).inspect_err(says_something) {
        assert!((1..=2_000).contains(&sizes.len()));
    }
}

/// Quantities: what is printed can be read again.
pub fn quantity(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(size) = parsed::<Bytes>(text) {
        assert_eq!(size.to_string().parse(), Ok(size));
    }
    if let Some(time) = parsed::<Nanos>(text) {
        let again: Result<Nanos, _> = time.to_string().parse();
        // Four figures are printed; and beyond 2^63 ns only whole ones are read.
        assert!(time.get() > 1 << 62 || again.is_ok_and(|again| again.get().abs_diff(time.get()) <= time.get() / 1_000), "{time}");
    }
    if let Some(rate) = parsed::<BitRate>(text) {
        assert!(rate.to_string().ends_with("bit/s"));
    }
}

/// Where a host is and what a sender offers: what was understood comes back
/// from how it is stored, and no name becomes an option of a command.
pub fn host(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(place) = parsed::<HostPlace>(text) {
        assert_eq!(place.to_string().parse().as_ref(), Ok(&place));
        if let Some(words) = place.command().filter(|_| !text.starts_with("cmd:")).map(|host| host.transport.words(None)) {
            let own = ["-T", "-a", "-x", "-o", "-p", "--", "-u", "--overlap", "-N1", "-n1", "-w", "-i", "-n", "-c"];
            assert!(words.iter().all(|word| !word.starts_with('-') || own.contains(&word.as_str())), "{words:?}");
        }
    }
    if let Some(host) = parsed::<HostAddress>(text) {
        assert_eq!(host.to_string().parse(), Ok(host));
    }
    if let Some(rate) = parsed::<OfferedRate>(text) {
        assert!(!rate.to_string().starts_with("0/"), "it never sends");
        assert_eq!(serde_json::from_str::<OfferedRate>(&serde_json::to_string(&rate).unwrap()).unwrap(), rate);
    }
}

fn parsed<T: FromStr<Err: std::error::Error>>(text: &str) -> Option<T> {
    text.parse().inspect_err(says_something).ok()
}

/// A rule file; a first line `a < b` is a chain to classify by it as well. It is
/// refused, or no pattern of it matches everything.
pub fn rules(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (chain, text) = text.split_once('\n').filter(|(first, _)| first.contains('<')).unwrap_or(("udp_sendmsg < ip_send_skb", text));
    let chain: Vec<&str> = chain.split('<').map(str::trim).collect();
    let Ok(rules) = Rules::parse(text).inspect_err(says_something) else { return };
    let mut classifier = Classifier::new(&rules);
    classifier.classify(&chain, false);
    for name in ["_", "__", "q"] {
        // Only a rule that spells such a name out may take it.
        let spelt = || text.split(|c: char| c.is_whitespace() || c == '#').any(|word| word == name);
        assert!(classifier.classify(&[name], false).layer == Layer::Other || spelt(), "{name}");
    }
}

/// A file of sizes, or of a program's work: it is refused, or two readings are the same.
pub fn sizes(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(work) = ProgramWorkload::parse(text) {
        assert_eq!(ProgramWorkload::parse(&work.text().unwrap()).as_ref(), Ok(&work));
        assert!(work.replays().iter().all(|(_, replay)| replay.request > 0 && replay.connections > 0));
        let _ = advice::all(&Observed::of_workload(&work));
    }
    if let Ok(sizes) = SizeDistribution::parse(text).inspect_err(says_something) {
        assert_eq!(SizeDistribution::parse(text), Ok(sizes));
    }
}

/// A table, or what another tool wrote: it is refused, or every rate is above 0
/// and the analysis of it can be written.
pub fn reference(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(table) = csv::parse(text).inspect_err(says_something) {
        let mut analysis = of_table("x", &table, 0);
        analysis.compare(&Foreign::of_table("y", &table), 0);
        assert!(analysis.series.iter().flat_map(|series| &series.sizes).all(|size| size.messages_per_s > 0.0 && size.message_bytes > 0));
        assert!(serde_json::to_string(&analysis).is_ok());
    }
    let results = iperf3::parse(text).inspect_err(says_something);
    for results in [results, netperf::parse(text).inspect_err(says_something)].into_iter().flatten() {
        assert!(results.iter().all(|found| found.point.messages_per_s > 0.0 && found.point.messages_per_s.is_finite()));
        assert!(serde_json::to_string(&of_foreign(&Foreign::of_peer("z", results), 0)).is_ok());
    }
}
