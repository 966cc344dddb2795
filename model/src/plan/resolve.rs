//! From what was written to what it means.

use super::approval::check_hosts;
use super::cells::{Override, resolve_cells};
use super::describe;
use super::error::PlanError;
use super::raw::{RawBlocks, RawPlan, RawTrial};
use super::receipt::RawReceipt;
use super::{ApprovedPlan, Blocks, FleetPlan, Plan, PlanEnd};
use crate::arm::Arm;
use crate::cell::{Cell, Level};
use crate::link::{Link, LinkKind};
use crate::quantity::Nanos;
use crate::schedule::{LOOKS, Roles};
use crate::traffic::Family;

/// Time of a trial beyond its measured time and warm-up, for estimates.
pub const TRIAL_OVERHEAD: Nanos = Nanos::from_millis(35);
/// Further time of a trial under a host load: its units are started and ended.
pub const LOAD_OVERHEAD: Nanos = Nanos::from_millis(60);

/// Characters that a plan has to say what it is about.
const LONGEST_DESCRIPTION: usize = 1_000;

/// Length of a trial of a plan that has none.
const USUAL_LENGTH: Nanos = Nanos::from_millis(150);

/// No trial is shortened below this: clock edges and a scheduler's slice would
/// show in it.
const SHORTEST: Nanos = Nanos::from_millis(20);

/// Fills in the defaults, crosses the levels and checks every limit.
///
/// `overrides` replace the levels of single factors in every table of cells;
/// `seed` is used when the plan has none. A raw plan holds what the user wrote, in flags or in a
/// file that the command line names, so its plan is approved.
///
/// # Errors
/// A fault that makes the plan impossible; see [`PlanError`].
pub fn resolve(raw: &RawPlan, overrides: &[Override], seed: u64) -> Result<ApprovedPlan, PlanError> {
    check_name("name", &raw.name)?;
    raw.reference.iter().try_for_each(|name| check_name("reference", name))?;
    let blocks = resolve_blocks(&raw.blocks)?;
    let arms = Arm::parse_all(&raw.arms)?;
    let arms_send = arms.iter().flat_map(|arm| &arm.settings).any(|setting| matches!(setting.level(), Some(Level::Api(_))));
    let cells = resolve_cells(raw.tables(overrides), overrides, arms_send)?;
    let warmup = raw.trial.warmup.unwrap_or(Nanos::from_millis(30));
    let end = resolve_end(&raw.trial, warmup, blocks.most, cells.len())?;
    check_mtu(raw.link.mtu, &cells)?;
    let mut plan = Plan {
        name: raw.name.clone(),
        title: String::new(),
        reference: raw.reference.clone(),
        description: String::new(),
        end,
        least: raw.trial.least.unwrap_or_default(),
        warmup,
        blocks,
        link: resolve_link(raw)?,
        hosts: raw.hosts.clone(),
        fleet: raw.fleet.clone(),
        on_loss: raw.on_loss.unwrap_or_default(),
        data_port: raw.data_port,
        progress: raw.progress,
        cpus: raw.cpus.clone(),
        seed: raw.seed.unwrap_or(seed),
        roles: raw.roles,
        receipt: raw.receipt.map(RawReceipt::resolve).transpose()?,
        arms,
        woven: false,
        host_wide: raw.host_wide,
        cells,
    };
    if plan.many_side().is_some() {
        // Which side has several hosts does not change.
        plan.roles = Roles::Fixed { swapped: false };
    }
    check_hosts(&plan)?;
    plan.title = raw.title.as_deref().map_or_else(|| Ok(raw.name.clone()), |title| describe::fill("title", title, &plan))?;
    let description = resolve_description(raw.description.as_deref().unwrap_or_default())?;
    plan.description = resolve_description(&describe::fill("about", &description, &plan)?)?;
    Ok(ApprovedPlan::written(plan))
}

/// A length that the time for all trials cut short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shortened {
    /// Length that the plan has.
    pub from: Nanos,
    /// Length that fits.
    pub to: Nanos,
    /// Time for all trials together, of each arm.
    pub budget: Nanos,
}

impl Shortened {
    /// Compares what was written with what was resolved from it; `None` where a trial is as
    /// long as written.
    pub fn of(raw: &RawPlan, plan: &Plan) -> Option<Self> {
        let (from, budget) = (raw.trial.length.unwrap_or(USUAL_LENGTH), raw.trial.budget?);
        match plan.end {
            PlanEnd::Length(to) if to < from => Some(Self { from, to, budget }),
            _ => None,
        }
    }
}

/// Checks in a plan that was read back what [`resolve`] checks in one that a user
/// wrote, as far as analysis and reports depend on it.
///
/// # Errors
/// The first value that no plan has.
pub fn check_stored(plan: &Plan) -> Result<(), PlanError> {
    check_name("name", &plan.name)?;
    plan.reference.iter().try_for_each(|name| check_name("reference", name))?;
    resolve_description(&plan.description)?;
    check_blocks(&plan.blocks)?;
    check_end(plan.end, plan.warmup)?;
    plan.fleet.iter().try_for_each(FleetPlan::check)?;
    if plan.arms.len() == 1 {
        return Err(crate::arm::ArmError::Number(1).into());
    }
    if let (true, Some(why)) = (plan.woven, super::unfit(plan)) {
        return Err(PlanError::Unfit(why));
    }
    Ok(())
}

fn check_name(key: &'static str, name: &str) -> Result<(), PlanError> {
    let safe = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    match safe && (1..=64).contains(&name.len()) {
        true => Ok(()),
        false => Err(value(key, name, "use 1 to 64 letters, digits, '-' and '_': it becomes part of a directory's name")),
    }
}

/// The words of it, a space between any two: the file may break its lines anywhere.
fn resolve_description(text: &str) -> Result<String, PlanError> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.chars().count() <= LONGEST_DESCRIPTION && !words.contains(char::is_control) {
        true => Ok(words),
        false => Err(value("about", "...", "a few sentences of plain text, 1,000 characters at most")),
    }
}

fn check_mtu(mtu: Option<u32>, cells: &[Cell]) -> Result<(), PlanError> {
    match mtu {
        Some(mtu) if !(68..=65_535).contains(&mtu) => Err(value("link.mtu", mtu, "an IP packet has 68 to 65535 bytes")),
        Some(mtu) if mtu < 1_280 && cells.iter().any(|cell| cell.family == Family::V6) => {
            Err(value("link.mtu", mtu, "IPv6 needs at least 1280"))
        }
        _ => Ok(()),
    }
}

/// The link: between machines it is what is there.
fn resolve_link(raw: &RawPlan) -> Result<Link, PlanError> {
    let (link, between_machines) = (&raw.link, !raw.hosts.is_empty() || raw.fleet.is_some());
    let kind = link.kind.unwrap_or(if between_machines { LinkKind::Network } else { LinkKind::Veth });
    match (kind, between_machines) {
        (LinkKind::Network, false) => Err(value("link.kind", kind, "name at least one host: --host b=ADDRESS")),
        (kind, true) if kind != LinkKind::Network => Err(value("link.kind", kind, "hosts that are named are joined by the network")),
        (LinkKind::Network, true) if link.mtu.is_some() || !link.offloads.is_empty() => {
            Err(value("link", kind, "nothing of the network between machines is changed: leave out the MTU and the offloads"))
        }
        _ => Ok(Link { kind, mtu: link.mtu, offloads: link.offloads.clone() }),
    }
}

fn value(key: &'static str, value: impl ToString, reason: &'static str) -> PlanError {
    PlanError::Value { key, value: value.to_string(), reason }
}

fn resolve_blocks(raw: &RawBlocks) -> Result<Blocks, PlanError> {
    let least = raw.least.unwrap_or(LOOKS[0]);
    let most = raw.most.unwrap_or(least.max(30));
    let blocks = Blocks { least, most, interval: raw.precision.unwrap_or(0.05), confidence: raw.confidence.unwrap_or(0.95) };
    check_blocks(&blocks)?;
    Ok(blocks)
}

fn check_blocks(&Blocks { least, most, interval, confidence }: &Blocks) -> Result<(), PlanError> {
    if least == 0 {
        return Err(value("blocks.least", least, "a study has at least one block"));
    }
    if most < least || most > 100_000 {
        return Err(value("blocks.most", most, "it must be at least blocks.least and at most 100000"));
    }
    if !(interval > 0.0 && interval < 1.0) {
        return Err(value("blocks.precision", interval, "a share of the median lies between 0 and 1, such as 0.05 or 5%"));
    }
    if !(0.5..=0.999).contains(&confidence) {
        return Err(value("blocks.confidence", confidence, "it must lie between 0.5 and 0.999, such as 0.95"));
    }
    Ok(())
}

fn resolve_end(raw: &RawTrial, warmup: Nanos, blocks: u32, cells: usize) -> Result<PlanEnd, PlanError> {
    let given = [("trial.length", raw.length.is_some()), ("trial.messages", raw.messages.is_some()), ("trial.bytes", raw.bytes.is_some())];
    if let Some((key, _)) = given.iter().filter(|(_, given)| *given).nth(1) {
        return Err(value(key, "given as well", "a trial ends by length, by messages or by bytes: give one of them"));
    }
    let end = match (raw.messages, raw.bytes) {
        (Some(messages), _) => PlanEnd::Messages(messages),
        (_, Some(bytes)) => PlanEnd::Bytes(bytes),
        (None, None) => PlanEnd::Length(raw.length.unwrap_or(USUAL_LENGTH)),
    };
    check_end(end, warmup)?;
    if let (Some(least), true) = (raw.least, raw.length.is_some() || raw.least.is_some_and(|least| least > LONGEST_LEAST)) {
        return Err(value("trial.least", least, "it is of trials that end by messages or bytes, and at most 1 minute"));
    }
    Ok(match end {
        PlanEnd::Length(length) => PlanEnd::Length(shrink(length, raw.budget, warmup, u64::from(blocks) * cells as u64)),
        end => end,
    })
}

/// The longest least time of a trial by count.
const LONGEST_LEAST: Nanos = Nanos::from_millis(60_000);

fn check_end(end: PlanEnd, warmup: Nanos) -> Result<(), PlanError> {
    if warmup > PlanEnd::LONGEST {
        return Err(value("trial.warmup", warmup, "at most 24 hours"));
    }
    match end {
        PlanEnd::Messages(0) => Err(value("trial.messages", 0, "at least one message")),
        PlanEnd::Bytes(bytes) if bytes.get() == 0 => Err(value("trial.bytes", 0, "at least one byte")),
        PlanEnd::Length(length) if length.get() == 0 || length > PlanEnd::LONGEST => {
            Err(value("trial.length", length, "more than 0 and at most 24 hours"))
        }
        _ => Ok(()),
    }
}

/// The length that lets all trials of an arm fit the budget: further arms take further time,
/// for shorter trials would compare less well.
fn shrink(length: Nanos, budget: Option<Nanos>, warmup: Nanos, trials: u64) -> Nanos {
    let Some(budget) = budget else { return length };
    let share = Nanos::new(budget.get() / trials.max(1));
    length.min(share.since(warmup + TRIAL_OVERHEAD).max(SHORTEST))
}

#[cfg(test)]
mod tests {
    use super::{ApprovedPlan, Override, PlanError, RawPlan, resolve};
    use crate::plan::{Factor, PRESETS, Plan, PlanEnd, preset};
    use crate::quantity::{Bytes, Nanos};
    use crate::traffic::Test;
    use proptest::prelude::proptest;

    fn plan_with(text: &str, overrides: &[Override]) -> Result<Plan, PlanError> {
        resolve(&RawPlan::parse(text)?, overrides, 1).map(ApprovedPlan::into_plan)
    }

    fn plan(text: &str) -> Result<Plan, PlanError> {
        plan_with(text, &[])
    }

    fn complaint(text: &str) -> String {
        plan(text).unwrap_err().to_string()
    }

    const HEAD: &str = "name = \"x\"\n[[cells]]\ntest = \"UDP_STREAM\"\n";

    #[test]
    fn presets_resolve() {
        for (name, text) in PRESETS {
            let plan = plan(text).unwrap();
            assert_eq!(plan.name, *name);
            let sentences: Vec<usize> = plan.description.split(". ").map(|one| one.split_whitespace().count()).collect();
            assert!([3, 4].contains(&sentences.len()), "{name} has three or four sentences: {}", plan.description);
            assert!(sentences.iter().all(|words| *words <= 40), "{name} has a sentence that one reads twice: {sentences:?}");
            let page = include_str!("../../../docs/studies.md").split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(page.contains(&plan.description), "docs/studies.md does not tell {name} as its plan does");
        }
    }

    #[test]
    fn hosts_of_one_end_take_the_place_of_those_of_the_other() {
        let raw = RawPlan::parse(preset("incast").unwrap()).unwrap();
        let with = |factor: Factor, words: &[&str]| {
            let plan = resolve(&raw, &[(factor, factor.parse(words).unwrap())], 1).unwrap().into_plan();
            plan.cells.iter().map(|cell| (cell.test, cell.flows, cell.conditions.senders, cell.conditions.receivers)).collect::<Vec<_>>()
        };
        assert_eq!(with(Factor::Senders, &["16"]), [(Test::TcpStream, 16, 16, 1), (Test::UdpStream, 16, 16, 1)]);
        assert_eq!(with(Factor::Receivers, &["4"]), [(Test::TcpStream, 4, 1, 4), (Test::UdpStream, 4, 1, 4)]);
        assert!(with(Factor::Flows, &["40"]).iter().all(|(_, flows, ..)| *flows == 40));
    }

    #[test]
    fn what_a_plan_is_about_is_words_alone() {
        let about = |text: &str| {
            plan(&format!("name = \"x\"\nabout = {text:?}\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = 1")).map(|plan| plan.description)
        };
        assert_eq!(about(" One.\n  Two. ").unwrap(), "One. Two.");
        assert!(about(&"long ".repeat(250)).unwrap_err().to_string().contains("1,000 characters"));
        assert!(about("\u{1b}[31mred").is_err());
    }

    #[test]
    fn quick_fits_its_minute() {
        let plan = plan(preset("quick").unwrap()).unwrap();
        assert_eq!(plan.cells.len(), 21);
        assert_eq!(plan.blocks.most, 9);
        let trials = plan.cells.len() as u64 * 9;
        let PlanEnd::Length(length) = plan.end else { panic!("quick ends by time") };
        let all = trials * (plan.warmup + length + super::TRIAL_OVERHEAD).get();
        assert!(all <= 46_000_000_000, "{all} ns");
    }

    #[test]
    fn levels_cross_and_repeat_cells_once() {
        let text = format!("{HEAD}size = [1, \"64..256:x2\", 64]\nfamily = [\"ipv4\", \"ipv6\"]");
        let plan = plan(&text).unwrap();
        let sizes: Vec<u64> = plan.cells.iter().map(|cell| cell.size.get()).collect();
        assert_eq!(sizes, [1, 64, 128, 256, 1, 64, 128, 256]);
        assert!(plan.cells.iter().all(|cell| cell.read_size == cell.size));
    }

    #[test]
    fn a_flag_replaces_the_levels_of_its_factor_alone() {
        let sizes: Override = (Factor::Size, Factor::Size.parse(&["8..16:x2"]).unwrap());
        let plan = plan_with(&format!("{HEAD}size = 1\nfamily = \"ipv6\""), &[sizes]).unwrap();
        assert_eq!(plan.cells.iter().map(|cell| cell.size.get()).collect::<Vec<_>>(), [8, 16]);
        assert!(plan.cells.iter().all(|cell| cell.family == crate::Family::V6));
    }

    #[test]
    fn a_test_asked_for_keeps_the_levels_of_its_own_table() {
        let only = |test: &str| plan_with(preset("quick").unwrap(), &[(Factor::Test, Factor::Test.parse(&[test]).unwrap())]).unwrap().cells;
        assert!(only("TCP_STREAM").iter().all(|cell| cell.test == Test::TcpStream && cell.nodelay));
        assert_eq!(only("UDP_STREAM").len(), 10);
        let maerts = only("TCP_MAERTS");
        assert_eq!((maerts.len(), maerts[0].test, maerts[0].nodelay), (9, Test::TcpMaerts, true));
        assert_eq!(only("UDP_RR").len(), 1);
    }

    #[test]
    fn arms_have_few_cells_unless_a_factor_that_varies_is_named() {
        const FIRST_LOOK: u64 = 8;
        let with = |name: &str, overrides: &[(Factor, &str)]| {
            let raw = RawPlan { arms: vec!["a".to_owned(), "b: sndbuf=64K".to_owned()], ..RawPlan::parse(preset(name).unwrap()).unwrap() };
            let overrides: Vec<Override> = overrides.iter().map(|(factor, words)| (*factor, factor.parse(&[words]).unwrap())).collect();
            (raw.few_for_arms(&overrides).is_some(), resolve(&raw, &overrides, 1).unwrap())
        };
        for name in ["size", "quick", "latency"] {
            let (few, plan) = with(name, &[]);
            let first = plan.weave([8, 48]).unwrap().instances_time().get() * FIRST_LOOK;
            assert!(few && first <= 10_000_000_000, "{name}: {first} ns to the first look");
        }
        let cells = |overrides: &[(Factor, &str)]| {
            let (few, plan) = with("size", overrides);
            (few, plan.cells.len())
        };
        assert_eq!([cells(&[]), cells(&[(Factor::Test, "UDP_STREAM"), (Factor::Cc, "reno")])], [(true, 2), (true, 1)]);
        assert_eq!(cells(&[(Factor::Size, "64,1448,16K")]), (false, 6));
        assert_eq!(plan(preset("size").unwrap()).unwrap().cells.len(), 18);
        // A test that the few cells lack has the cells of the plan.
        let (few, named) = with("quick", &[(Factor::Test, "TCP_RR")]);
        assert!(!few && named.cells.iter().all(|cell| cell.test == Test::TcpRr && cell.nodelay), "{:?}", named.cells);
    }

    #[test]
    fn tcp_settings_do_not_multiply_udp_cells() {
        let plan = plan(&format!("{HEAD}size = 1\nnodelay = [true, false]\ncc = [\"reno\", \"cubic\"]")).unwrap();
        assert_eq!(plan.cells.len(), 1);
    }

    /// `--receive recv` with an arm whose program would receive as well.
    #[test]
    fn a_way_of_receiving_that_was_asked_for_holds_in_every_arm() {
        let receive: Override = (Factor::Receive, Factor::Receive.parse(&["recv"]).unwrap());
        let text = "name = \"x\"\narms = [\"a: api=send\", \"b: api=exec:./ep\", \"c: api=exec:./ep, receive=gro\"]\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = 64";
        for (overrides, own) in [(&[receive][..], crate::Receive::Recv), (&[], "exec:./ep".parse().unwrap())] {
            let plan = plan_with(text, overrides).unwrap();
            let receives = |arm: usize| plan.cell_in(&plan.cells[0], arm).unwrap().receive();
            assert_eq!([0, 1, 2].map(receives), [crate::Receive::Recv, own, crate::Receive::Gro]);
        }
    }

    #[test]
    fn trials_shrink_to_the_budget_but_not_to_nothing() {
        let with_budget = |budget: &str| {
            let text = format!("{HEAD}size = 1\n[trial]\nlength = \"1s\"\nbudget = \"{budget}\"\n[blocks]\nleast = 10\nmost = 10");
            plan(&text).unwrap().end
        };
        assert_eq!(with_budget("1h"), PlanEnd::Length(Nanos::from_millis(1_000)));
        assert_eq!(with_budget("2s"), PlanEnd::Length(Nanos::from_millis(135)));
        assert_eq!(with_budget("1ms"), PlanEnd::Length(Nanos::from_millis(20)));
    }

    #[test]
    fn arms_take_time_of_their_own_and_a_shorter_trial_is_told() {
        let shortened = |more: &str, overrides: &[Override]| {
            let raw = RawPlan::parse(&preset("quick").unwrap().replacen("name =", &format!("{more}\nname ="), 1)).unwrap();
            let plan = resolve(&raw, overrides, 1).unwrap();
            super::Shortened::of(&raw, &plan).map(|shortened| (shortened.from, shortened.to, plan.end))
        };
        assert_eq!(shortened("", &[]), None);
        assert_eq!(shortened("arms = [\"base\", \"bbr: cc=bbr\"]", &[]), None);
        let families: Override = (Factor::Family, Factor::Family.parse(&["ipv4", "ipv6"]).unwrap());
        let length = Nanos::from_millis(54).get();
        let (from, to, end) = shortened("", &[families]).unwrap();
        assert_eq!((from, end), (Nanos::from_millis(150), PlanEnd::Length(to)));
        assert!(to.get().abs_diff(length) < 1_000_000, "{to}");
    }

    #[test]
    fn wrong_words_are_named_with_the_nearest_right_one() {
        assert!(complaint("name = \"x\"\nsead = 1").contains("unknown key 'sead' at the top of the plan; did you mean 'seed'?"));
        assert!(complaint(&format!("{HEAD}sise = 1")).contains("unknown key 'sise' in [cells]; did you mean 'size'?"));
        assert!(complaint(&format!("{HEAD}size = 1\n[blocks]\nleest = 1")).contains("did you mean 'least'?"));
        assert!(complaint(&format!("{HEAD}size = 1\n[link.offloads]\ngrow = false")).contains("did you mean 'gro'?"));
        assert!(complaint("name = \"x\"\n[[cells]]\ntest = \"TCP_STRAM\"\nsize = 1").contains("did you mean 'TCP_STREAM'?"));
    }

    #[test]
    fn impossible_values_are_refused_with_their_limit() {
        assert!(complaint(&format!("{HEAD}size = 0")).contains("0 bytes is not a size"));
        assert!(complaint(&format!("{HEAD}size = -1")).contains("negative"));
        assert!(complaint(&format!("{HEAD}size = \"99999999999G\"")).contains("too large"));
        assert!(complaint(&format!("{HEAD}size = 65508")).contains("at most 65507"));
        assert!(complaint(&format!("{HEAD}size = []")).contains("no levels"));
        assert!(complaint(&format!("{HEAD}size = 1.5")).contains("whole number"));
        assert!(complaint(&format!("{HEAD}size = 1\n[trial]\nlength = \"1s\"\nleast = \"50ms\"")).contains("by messages or bytes"));
        assert!(complaint(&format!("{HEAD}size = 1\n[trial]\nmessages = 1\nleast = \"2min\"")).contains("1 minute"));
        assert!(complaint(&format!("{HEAD}size = 1\n[trial]\nmessages = 0")).contains("at least one"));
        assert!(complaint(&format!("{HEAD}size = 1\n[trial]\nmessages = 1\nlength = 1")).contains("one of them"));
        assert!(complaint(&format!("{HEAD}size = 1\n[trial]\nlength = -1")).contains("a time such as"));
        assert!(complaint(&format!("{HEAD}size = 1\n[blocks]\nleast = 9\nmost = 3")).contains("blocks.most"));
        assert!(complaint(&format!("{HEAD}size = 1\n[link]\nmtu = 67")).contains("68 to 65535"));
        assert!(complaint("name = \"a/b\"").contains("name"));
        assert!(matches!(plan("name = \"x\""), Err(PlanError::NoCells)));
        let table = "[[cells]]\ntest = \"TCP_STREAM\"\nsize = \"1..300:+1\"\nflows = [1, 2]\nsndbuf = \"1K..100K:+1K\"\n";
        assert_eq!(plan(&format!("name = \"x\"\n{table}")).unwrap().cells.len(), 60_000);
        assert!(matches!(plan(&format!("name = \"x\"\n{table}{table}")), Err(PlanError::TooManyCells(_))));
        assert!(complaint("name = ").contains("cannot be read"));
    }

    #[test]
    fn a_link_is_refused_that_contradicts_itself_or_the_hosts() {
        let with = |link: &str| complaint(&format!("{HEAD}size = 1\n{link}"));
        assert!(with("[link]\nkind = \"ethernet 0\"").contains("a wire of rate 0 carries nothing"));
        assert!(with("[link]\nkind = \"ethernet 10M\"\n[link.offloads]\ntso = true").contains("charges each frame"));
        assert!(with("[link]\nkind = \"relay 10M\"\n[hosts]\nb = \"192.0.2.1\"").contains("joined by the network"));
        assert!(with("[link]\nkind = \"network\"").contains("name at least one host"));
        assert!(plan(&format!("{HEAD}size = 1\n[link]\nkind = \"ethernet 10M\"\n[link.offloads]\ntso = false")).is_ok());
    }

    #[test]
    fn a_datagram_may_be_as_large_as_its_family_allows() {
        let v6 = plan(&format!("{HEAD}size = 65527\nfamily = \"ipv6\"")).unwrap();
        assert_eq!(v6.cells[0].size, Bytes::new(65_527));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[a-z0-9=\"\\[\\]\n .,:-]{0,200}") {
            let _ = plan(&text);
        }
    }
}
