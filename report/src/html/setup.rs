//! What was run, and where: the plan and the hosts.

use std::collections::BTreeMap;

use analysis::result::Analysis;
use maud::{Markup, html};
use model::host::HostFacts;

use super::{part, scrolling};
use crate::words::{list, run};
use crate::{clock, number};

/// The section: plan, then facts of the hosts, folded.
pub fn section(analysis: &Analysis) -> Markup {
    let content = html! {
        h3 { "Plan" }
        dl .facts { @for (name, value) in plan(analysis) { div { dt { (name) } dd { (value) } } } }
        @if !analysis.hosts.is_empty() {
            h3 { "Hosts" }
            @for (title, rows) in facts(&analysis.hosts) {
                @if !rows.is_empty() {
                    details { summary { (title) } (scrolling(title, &table(title, &analysis.hosts, &rows))) }
                }
            }
        }
    };
    part("setup", "Setup", &content)
}

fn plan(analysis: &Analysis) -> Vec<(&'static str, String)> {
    let (run, plan) = (&analysis.run, &analysis.run.plan);
    let blocks = plan.blocks;
    let limits = if blocks.least == blocks.most { blocks.most.to_string() } else { format!("{} to {}", blocks.least, blocks.most) };
    vec![
        ("Run", run.id.clone()),
        ("Study", plan.name.clone()),
        ("Started", clock::utc(run.started_ms)),
        ("Status", run.status.describe()),
        ("Link", run::link(plan)),
        ("Congestion control", congestion(analysis)),
        ("Trial", run::trial(plan)),
        ("Blocks", format!("{} done, {limits} planned", analysis.blocks)),
        ("Interval wanted", format!("±{} at {}", number::percent(blocks.interval), number::percent(blocks.confidence))),
        ("Seed", plan.seed.to_string()),
        ("nettoll", run.tool.clone()),
    ]
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

fn fact(value: &str) -> &str {
    if value.is_empty() { number::NOTHING } else { value }
}

fn table(title: &str, hosts: &[HostFacts], rows: &[Row]) -> Markup {
    html! {
        table .host {
            caption .hidden { (title) ", by host" }
            thead { tr { th scope="col" { "Fact" } @for host in hosts { th scope="col" { "Host " (host.name) } } } }
            tbody {
                @for (name, values) in rows {
                    @let differ = values.windows(2).any(|pair| pair[0] != pair[1]);
                    tr .differ[differ] {
                        th scope="row" { (name) }
                        @if differ { @for value in values { td { (fact(value)) } } }
                        // What all hosts share is said once.
                        @else if let Some(value) = values.first() { td colspan=(values.len()) { (fact(value)) } }
                    }
                }
            }
        }
    }
}
