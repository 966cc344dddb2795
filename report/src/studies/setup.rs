//! The set-up of a run: its plan and the hosts it ran on.

use std::collections::BTreeMap;

use analysis::result::Analysis;
use model::host::HostFacts;
use model::plan::{Plan, PlanEnd, ReceiptPlan};
use model::sorting::Order;
use model::wakeups::WakeupCost;

use super::run::{link, with_settings};
use crate::document::{Block, Cell, Kind, RowKind, Section, Table};
use crate::words::{list, plural};
use crate::{clock, number};

/// Most hosts whose facts stand side by side.
const MOST_HOSTS: usize = 8;

/// Makes the section of the set-up: the plan, then facts of the hosts, folded.
pub fn section(analysis: &Analysis) -> Section {
    let mut blocks = vec![Block::Heading("Plan".into()), Block::facts(plan(analysis))];
    let shown = &analysis.hosts[..analysis.hosts.len().min(MOST_HOSTS)];
    if !shown.is_empty() {
        blocks.push(Block::Heading("Hosts".into()));
        if shown.len() < analysis.hosts.len() {
            let more = format!("The first {} of {}; the facts of all are in the run's hosts/.", shown.len(), analysis.hosts.len());
            blocks.push(Block::Paragraph(more.into()));
        }
        for (title, rows) in facts(shown).into_iter().filter(|(_, rows)| !rows.is_empty()) {
            blocks.extend(Block::everything(title, [hosts(title, shown, rows).into()]));
        }
    }
    let host = analysis.hosts.first().map_or_else(String::new, |facts| format!(" on {}", super::run::host(facts)));
    let finding = format!("{} over {}{host}", plural(analysis.trials, "trial"), link(&analysis.run.plan));
    Section::new("setup", "Setup", Block::everything("The plan, and the hosts' facts", blocks)).folded(finding)
}

/// Facts by host; what all hosts share is said once.
fn hosts(title: &str, hosts: &[HostFacts], rows: Vec<Row>) -> Table {
    let heads = std::iter::once("Fact".to_owned()).chain(hosts.iter().map(|host| format!("Host {}", host.name))).collect();
    let fact = |value: &str| if value.is_empty() { number::NOTHING.to_owned() } else { value.to_owned() };
    let differ = |values: &[String]| values.windows(2).any(|pair| pair[0] != pair[1]);
    let row_kinds = rows.iter().map(|(_, values)| if differ(values) { RowKind::Differs } else { RowKind::Plain }).collect();
    let row = |(name, values): Row| -> Vec<Cell> {
        let cell = |(place, value): (usize, &String)| match (differ(&values), place) {
            (true, _) => fact(value).into(),
            (false, 0) => Cell::Wide(values.len(), fact(value).into()),
            (false, _) => Cell::Covered,
        };
        std::iter::once(name.into()).chain(values.iter().enumerate().map(cell)).collect()
    };
    let table = Table::of_rows(heads, rows.into_iter().map(row).collect(), Kind::Figures);
    Table { row_kinds, ..table }.labelled(title, format!("{title}, by host")).styled("host")
}

fn plan(analysis: &Analysis) -> Vec<(&'static str, String)> {
    let (run, plan) = (&analysis.run, &analysis.run.plan);
    let blocks = plan.blocks;
    let limits = if blocks.least == blocks.most { blocks.most.to_string() } else { format!("{} to {}", blocks.least, blocks.most) };
    let about = Some(("About", plan.description.clone())).filter(|(_, text)| !text.is_empty());
    let facts = vec![
        ("Run", run.id.clone()),
        ("Study", plan.name.clone()),
        ("Started", clock::utc(run.started_ms)),
        ("Status", run.status.describe()),
        ("Link", link(plan)),
        ("Congestion control", congestion(analysis)),
        ("Trial", trial(plan)),
        ("Blocks", format!("{} done, {limits} planned", analysis.blocks)),
        ("Interval wanted", format!("±{} at {}", number::percent(blocks.interval), number::percent(blocks.confidence))),
        ("Seed", plan.seed.to_string()),
        ("nettoll", run.tool.clone()),
    ];
    facts.into_iter().chain(about).collect()
}

/// As the cells ask, else as the hosts have it.
fn congestion(analysis: &Analysis) -> String {
    let mut asked: Vec<String> = analysis.run.plan.cells.iter().filter_map(|cell| cell.cc.clone()).collect();
    asked.order();
    asked.dedup();
    if !asked.is_empty() {
        return list(&asked);
    }
    let default = analysis.hosts.iter().find_map(|host| host.sysctls.get("net.ipv4.tcp_congestion_control"));
    default.map_or(number::NOTHING.to_owned(), |name| format!("{name} (the host's default)"))
}

/// A fact and its value on each host.
type Row = (String, Vec<String>);

fn facts(hosts: &[HostFacts]) -> [(&'static str, Vec<Row>); 5] {
    [
        ("Machine and kernel", machine(hosts)),
        ("Device of the link", merged(hosts, |host| host.device.clone())),
        (
            "Offloads",
            merged(hosts, |host| {
                host.offloads.iter().map(|(name, on)| (name.clone(), if *on { "on" } else { "off" }.to_owned())).collect()
            }),
        ),
        ("Network sysctls", merged(hosts, |host| host.sysctls.clone())),
        ("Interrupts of network devices", merged(hosts, |host| host.irqs.clone())),
    ]
}

fn machine(hosts: &[HostFacts]) -> Vec<Row> {
    let irq = |host: &HostFacts| match host.irq_time_subtracted {
        Some(true) => "taken out of process time",
        Some(false) => "left in process time",
        None => "unknown",
    };
    let row = |name: &str, of: &dyn Fn(&HostFacts) -> String| (name.to_owned(), hosts.iter().map(of).collect());
    let mut rows = vec![
        row("Set apart as", &|host| host.isolation.clone()),
        row("Kernel", &|host| host.kernel.clone()),
        row("Kernel build", &|host| host.kernel_build.clone()),
        row("Architecture", &|host| host.architecture.clone()),
        row("CPU", &|host| host.cpu_model.clone()),
        row("CPUs online", &|host| host.cpus.to_string()),
        row("CPUs of endpoints", &|host| list(&host.endpoint_cpus.iter().map(u32::to_string).collect::<Vec<_>>())),
        row("NUMA nodes", &|host| host.numa_nodes.to_string()),
        row("Memory", &|host| format!("{} GiB", number::significant(host.memory as f64 / f64::from(1 << 30), 3))),
        row("Virtualisation", &|host| host.virtualisation.clone()),
        row("Frequency governor", &|host| host.governor.clone()),
        row("Clock source", &|host| host.clocksource.clone()),
        row("Interrupt time", &|host| irq(host).to_owned()),
        row("Cost of the tool's own loop", &|host| number::time(host.loop_overhead_ns)),
        row("nettoll", &|host| host.tool.clone()),
    ];
    if hosts.iter().any(|host| host.wakeups.is_some()) {
        let cost = |cost: WakeupCost| match cost.steady() {
            Some(median) => number::time(median.get() as f64),
            None => "not steady".to_owned(),
        };
        let both = |host: &HostFacts| host.wakeups.map(|both| format!("{}, by a timer {}", cost(both.by_cpu), cost(both.by_timer)));
        rows.push(row("Billed for a wake-up by another CPU", &|host| both(host).unwrap_or_default()));
    }
    rows
}

/// One row for each key that any host has.
fn merged(hosts: &[HostFacts], of: impl Fn(&HostFacts) -> BTreeMap<String, String>) -> Vec<Row> {
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (place, host) in hosts.iter().enumerate() {
        for (key, value) in of(host) {
            rows.entry(key).or_insert_with(|| vec![String::new(); hosts.len()])[place] = value;
        }
    }
    rows.into_iter().collect()
}

/// The length of a trial, in words.
pub fn trial(plan: &Plan) -> String {
    if plan.woven {
        return "instances of slices".to_owned();
    }
    let measured = match plan.end {
        PlanEnd::Length(length) => format!("{length} measured"),
        PlanEnd::Messages(count) => format!("{} measured", plural(count, "message")),
        PlanEnd::Bytes(bytes) => format!("{bytes} measured"),
    };
    format!("{measured} after {} of warm-up", plan.warmup)
}

/// Settings of a plan that are not its cells', each with its name, in words that are the
/// same where the settings are.
pub fn settings(plan: &Plan) -> [(&'static str, String); 4] {
    let cpus = |(host, cpus): (&String, &Vec<u32>)| format!("{host}: {}", list(&cpus.iter().map(u32::to_string).collect::<Vec<_>>()));
    let period = |receipt: &ReceiptPlan| receipt.period.map_or_else(|| "chosen".to_owned(), |period| period.to_string());
    [
        ("the link", with_settings(plan.link.kind.to_string(), &plan.link)),
        ("the extent of a trial", trial(plan)),
        (
            "the CPUs asked for",
            if plan.cpus.is_empty() { "any".to_owned() } else { plan.cpus.iter().map(cpus).collect::<Vec<_>>().join("; ") },
        ),
        ("the distance of samples", plan.receipt.as_ref().map_or_else(|| "none".to_owned(), period)),
    ]
}

#[cfg(test)]
mod tests {
    use super::settings;
    use model::plan::{Plan, RawPlan, resolve};
    use std::collections::BTreeMap;

    #[test]
    fn settings_are_in_words() {
        let plan = |text: &str| {
            let text = format!("name = \"x\"\n{text}\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = 1");
            resolve(&RawPlan::parse(&text).unwrap(), &[], 0).unwrap().into_plan()
        };
        let words = |plan: &Plan| settings(plan).map(|(name, words)| format!("{name}: {words}"));
        let usual = words(&plan(""));
        assert_eq!(usual[0], "the link: veth");
        let of_link = "[trial]\nlength = \"1s\"\nwarmup = \"1ms\"\n[link]\nkind = \"veth\"\nmtu = 9000\n[link.offloads]\ngro = false";
        let cpus = BTreeMap::from([("a".to_owned(), vec![1, 2])]);
        let other = words(&Plan { cpus, ..plan(of_link) });
        let expected = [
            "the link: veth, MTU 9,000, gro off",
            "the extent of a trial: 1 s measured after 1 ms of warm-up",
            "the CPUs asked for: a: 1 and 2",
        ];
        assert_eq!(other[..3], expected);
        // What is printed of a type for its maker has braces and colons.
        assert!(usual.iter().chain(&other).all(|words| !words.contains(['{', '[', '('])), "{usual:?} {other:?}");
    }
}
