//! The run itself: what it measured, why it ended, how well it is known, on what.

use std::collections::BTreeMap;

use analysis::result::{Analysis, CellResult, Estimate, Finding, FitOutcome, Method, Metric, Roles};
use model::host::HostFacts;
use model::plan::{Plan, PlanEnd};

use super::headline;
use crate::document::{Block, Cell, Head, Kind, Link, Masthead, Section, Table};
use crate::series::{Group, metric};
use crate::words::{capital, list, plural};
use crate::{clock, interval, number};

use super::trust;

/// Makes the head of the report.
pub fn masthead(analysis: &Analysis) -> Masthead {
    let run = &analysis.run;
    let host = analysis.hosts.first().map(host);
    let link = link(&run.plan);
    let kernel = analysis.hosts.first().map_or(String::new(), |facts| format!(" · Linux {}", facts.kernel));
    let source = host.iter().fold(link.clone(), |text, host| format!("{text} · {host}"));
    Masthead {
        brand: run.plan.name.clone(),
        heading: run.plan.title.clone(),
        trust: Some(trust::trust(analysis)),
        disturbed: disturbed(analysis),
        red: analysis.receipt().and_then(crate::studies::receipt::red),
        about: run.plan.description.clone(),
        started: clock::utc(run.started_ms),
        source,
        lines: [format!("{} · {}{kernel}", run.id, links(&run.plan)), link].into_iter().chain(host).collect(),
    }
}

/// The first chart and its figures, how the run ended.
pub fn summary(analysis: &Analysis, groups: &[Group]) -> Section {
    let (ended, precision) = (ended(analysis), precision(analysis));
    let mut page = headline::blocks(analysis, groups);
    page.push(Block::Lead(format!("{ended} {precision}").into()));
    let mut terminal = vec![Block::Gap, Block::Paragraph(ended.into()), Block::Paragraph(precision.into())];
    let methods = methods(analysis);
    terminal.extend((!methods.is_empty()).then(|| Block::Paragraph(format!("Intervals: {}.", methods.join("; ")).into())));
    let terminal = Block::Full(vec![Block::Terminal(terminal)]);
    let section = Section::new("summary", "In short", [Block::Page(page), terminal]);
    Section { link: Link::Short("Summary", None), rank: 8, ..section }
}

/// Makes the section of the set-up: the plan, then facts of the hosts, folded.
pub fn setup(analysis: &Analysis) -> Section {
    let mut blocks = vec![Block::Heading("Plan".into()), Block::terms("facts", plan(analysis))];
    if !analysis.hosts.is_empty() {
        blocks.push(Block::Heading("Hosts".into()));
        for (title, rows) in facts(&analysis.hosts).into_iter().filter(|(_, rows)| !rows.is_empty()) {
            blocks.push(Block::Details(title.to_owned(), vec![hosts(title, &analysis.hosts, rows).into()]));
        }
    }
    Section::new("setup", "Setup", [Block::Page(blocks)])
}

/// Facts by host; what all hosts share is said once.
fn hosts(title: &str, hosts: &[HostFacts], rows: Vec<Row>) -> Table {
    let heads = [Head::page("Fact")].into_iter().chain(hosts.iter().map(|host| Head::page(format!("Host {}", host.name)))).collect();
    let fact = |value: &str| if value.is_empty() { number::NOTHING.to_owned() } else { value.to_owned() };
    let differ = |values: &[String]| values.windows(2).any(|pair| pair[0] != pair[1]);
    let row_styles = rows.iter().map(|(_, values)| if differ(values) { "differ" } else { "" }).collect();
    let row = |(name, values): Row| -> Vec<Cell> {
        let cell = |(place, value): (usize, &String)| match (differ(&values), place) {
            (true, _) => fact(value).into(),
            (false, 0) => Cell::Wide(values.len(), fact(value).into()),
            (false, _) => Cell::Covered,
        };
        std::iter::once(name.into()).chain(values.iter().enumerate().map(cell)).collect()
    };
    let table = Table::of_rows(heads, rows.into_iter().map(row).collect(), Kind::Figures);
    Table { row_styles, ..table }.labelled(title, format!("{title}, by host")).styled("host")
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
    asked.sort();
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
        None => "could not be told",
    };
    let row = |name: &str, of: &dyn Fn(&HostFacts) -> String| (name.to_owned(), hosts.iter().map(of).collect());
    vec![
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
    ]
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

/// Makes the guide to a page: words and methods.
pub fn guide(analysis: &Analysis) -> Section {
    let mut terms = vec![
        ("Message", "What a process hands to one send call; its size is in bytes of payload."),
        (
            "Goodput",
            "Payload that the receiver got, per second: headers and whatever was lost do not count. The receiver's figure is the result.",
        ),
        (
            "Time per message",
            "1 / (messages per second): the time that goes by between two messages of a stream, not the time one takes to arrive.",
        ),
        ("Service demand", "CPU time an end spends on one message: its process, its interrupts, and kernel threads that work for it."),
        ("Block", "One pass over all cells in a fresh random order. Half of the blocks exchange the hosts' roles."),
        (
            "±",
            "From the median to the farther end of its interval, as a share of the median. Two figures whose intervals overlap may be equal.",
        ),
        (
            "Limit",
            "The end whose CPU was busy all the time; “waiting” if neither was, “no CPU” if an end was ready but waited for one that something else had, “–” if it cannot be told.",
        ),
        (
            "r²",
            "The share of the variance between sizes that the line explains. A high one does not make a line true: look at the residuals.",
        ),
    ];
    if analysis.irq_pooled {
        let pooled = "This kernel shows it in ticks of 10 ms, too coarse for one trial: it is added up over the trials of a cell and shared out among their messages. Intervals of CPU per message are widened by what the ticks may be wrong by.";
        terms.insert(terms.len() - 1, ("Interrupt time", pooled));
    }
    let mut blocks = vec![Block::terms("guide", terms)];
    let methods = methods(analysis);
    if !methods.is_empty() {
        blocks.push(Block::Heading("How the intervals were found".into()));
        blocks.extend(Block::sentences(methods.iter().map(|method| format!("{}.", capital(method)))));
    }
    Section::new("guide", "How to read it", [Block::Page(blocks)])
}

/// The number of blocks, cells and trials, and why the run ended.
pub fn ended(analysis: &Analysis) -> String {
    format!(
        "{} of {}, {} measured, {} failed. {}.",
        plural(u64::from(analysis.blocks), "block"),
        plural(analysis.cells.len() as u64, "cell"),
        plural(analysis.trials, "trial"),
        number::whole(analysis.failed),
        capital(&analysis.run.status.describe()),
    )
}

/// Warning that comes first when the machine disturbed half of the trials
/// or more: in how many, how, and what that does to the figures.
pub fn disturbed(analysis: &Analysis) -> Option<String> {
    let found = analysis.disturbed;
    if found.trials == 0 || found.trials * 2 < analysis.trials {
        return None;
    }
    let text = format!("Disturbed: {}; rates and elapsed times are this machine's, not the stack's.", trust::disturbance(analysis));
    let cpu = if found.throttled * 4 >= found.trials { "" } else { " CPU per message is less affected." };
    Some(text + cpu)
}

/// Number of cells known as well as was asked for, and the one known worst.
pub fn precision(analysis: &Analysis) -> String {
    let wanted = analysis.run.plan.blocks.interval;
    let time = |cell: &CellResult| metric(cell, Metric::TimePerMessageNs).copied();
    let known: Vec<_> =
        analysis.cells.iter().filter_map(|cell| time(cell).and_then(|found| Some((found.half_width()?, found, &cell.label)))).collect();
    if known.is_empty() {
        return "Nothing was measured often enough for an interval.".to_owned();
    }
    let met = known.iter().filter(|(width, ..)| *width <= wanted).count();
    let mut text = format!(
        "The time per message is known within ±{} or better, as asked, in {met} of {}.",
        number::percent(wanted),
        plural(analysis.cells.len() as u64, "cell")
    );
    if let Some((_, found, label)) = known.iter().max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(width, ..)| *width > wanted) {
        text += &format!(" The widest interval is {}, of {label}.", interval::plus_minus(found));
    }
    let without = analysis.cells.len() - known.len();
    if without > 0 {
        text += &format!(" {} without an interval: too few trials.", capital(&plural(without as u64, "cell")));
    }
    text
}

/// Methods of the intervals, with the number of units and the coverage.
pub fn methods(analysis: &Analysis) -> Vec<String> {
    let mut seen: BTreeMap<&'static str, (usize, usize, f64, Method)> = BTreeMap::new();
    for estimate in estimates(analysis) {
        let Some(found) = estimate.interval else { continue };
        let entry = seen.entry(interval::method(found.method)).or_insert((estimate.n, estimate.n, found.confidence, found.method));
        *entry = (entry.0.min(estimate.n), entry.1.max(estimate.n), entry.2.min(found.confidence), found.method);
    }
    let asked = number::percent(analysis.run.plan.blocks.confidence);
    let one = |(name, (least, most, attained, method)): (&str, (usize, usize, f64, Method))| {
        let n = if least == most { least.to_string() } else { format!("{least} to {most}") };
        match method {
            // What it covers is not known beforehand: docs/statistics.md has simulations.
            Method::BlockBootstrap => format!("{name} (percentiles, cost models), n = {n}, nominal coverage {:.1} %", attained * 100.0),
            Method::OrderStatistics | Method::Randomisation | Method::Welch => {
                format!("{name}, n = {n}, coverage {:.1} % ({asked} asked)", attained * 100.0)
            }
        }
    };
    seen.into_iter().map(one).collect()
}

/// Cells that a finding concerns: `A; B; and 3 more cells`. Its text has the number of trials.
pub fn concerns(finding: &Finding) -> String {
    let more = finding.cell_count.saturating_sub(finding.cells.len());
    let mut cells = finding.cells.join("; ");
    if more > 0 {
        cells += &format!("; and {}", plural(more as u64, "more cell"));
    }
    if cells.is_empty() { "the whole run".to_owned() } else { cells }
}

/// The length of a trial, in words.
pub fn trial(plan: &Plan) -> String {
    let measured = match plan.end {
        PlanEnd::Length(length) => format!("{length} measured"),
        PlanEnd::Messages(count) => format!("{} measured", plural(count, "message")),
        PlanEnd::Bytes(bytes) => format!("{bytes} measured"),
    };
    format!("{measured} after {} of warm-up", plan.warmup)
}

/// The links and what was set on them.
pub fn link(plan: &Plan) -> String {
    let mut text = links(plan);
    if let Some(mtu) = plan.link.mtu {
        text += &format!(", MTU {}", number::whole(u64::from(mtu)));
    }
    for (offload, on) in &plan.link.offloads {
        text += &format!(", {offload} {}", if *on { "on" } else { "off" });
    }
    text
}

/// The links that trials cross.
pub fn links(plan: &Plan) -> String {
    plan.links().iter().map(|link| link.kind.to_string()).collect::<Vec<_>>().join(", ")
}

/// Kernel, processor and kind of machine of a host.
pub fn host(facts: &HostFacts) -> String {
    let mut parts = vec![format!("Linux {}", facts.kernel)];
    parts.extend(Some(facts.cpu_model.clone()).filter(|text| !text.is_empty()));
    parts.push(plural(u64::from(facts.cpus), "CPU"));
    parts.extend(Some(facts.virtualisation.clone()).filter(|text| !text.is_empty()));
    parts.join(" · ")
}

/// Every figure that may have an interval.
fn estimates(analysis: &Analysis) -> impl Iterator<Item = &Estimate> {
    let metrics = analysis.cells.iter().flat_map(|cell| cell.metrics.values());
    let percentiles = analysis.cells.iter().filter_map(|cell| cell.latency.as_ref()).flat_map(|found| &found.percentiles);
    let fits = analysis.models().iter().filter_map(|model| match &model.outcome {
        FitOutcome::Fitted(fit) => Some(fit),
        FitOutcome::NotALine { .. } => None,
    });
    let terms = fits.flat_map(|fit| &fit.pieces).flat_map(|piece| &piece.terms).map(|entry| &entry.estimate);
    let roles = analysis.roles().into_iter().filter_map(|roles| match roles {
        Roles::Tested(test) => Some(&test.ratio),
        Roles::TooFewBlocks { .. } => None,
    });
    metrics.chain(percentiles.map(|entry| &entry.estimate)).chain(terms).chain(roles)
}
