//! The tables of a fleet.

use analysis::result::fleet::{Change, FleetFigure, FleetResult, HostChange, LinkChange, Named, RackChange};

use super::words;
use crate::document::{Level, Rows, Table};
use crate::number;
use crate::words::writer;

/// Hosts of a table that does not show all: the worst.
pub const SHOWN: usize = 12;

/// What falls out that is named at once.
const AT_A_GLANCE: usize = 5;

/// What falls out.
pub fn named(fleet: &FleetResult) -> Table {
    let what = |named: &Named| words::fault(named.fault);
    let levels = (0..fleet.named.len()).map(|row| if row < AT_A_GLANCE { Level::Answer } else { Level::Usual }).collect();
    let table = Rows::of(&fleet.named)
        .words(("Who", 20, ["", "who"]), words::who)
        .words(("As", 19, ["", "as"]), what)
        .words(("Figure", 18, ["", "figure"]), |named| words::figure(&fleet.figures[named.figure]))
        .figures(("Change", 17, ["", "change"]), |named| number::change(named.change.change))
        .figures(("95 % interval", 15, ["95 %", "interval"]), |named| interval(&named.change))
        .figures(("Trials", 10, ["", "trials"]), |named| number::whole(named.change.n as u64))
        .table()
        .labelled("Outliers", "Outliers, and by how much");
    Table { row_levels: levels, ..table }
}

/// The hosts, the worst first.
pub fn hosts(fleet: &FleetResult, figure: &FleetFigure, all: bool) -> Table {
    let most = if all { figure.hosts.len() } else { SHOWN };
    let name = |host: &HostChange| fleet.hosts[host.host].name.clone();
    let racks = fleet.hosts.iter().any(|host| host.rack.is_some());
    Rows::of(figure.hosts.iter().take(most))
        .words(("Host", 20, ["", "host"]), name)
        .figures(("No.", 6, ["", "no."]), |host| (host.host + 1).to_string())
        .column_if(racks, ("Rack", 8, ["", "rack"]), crate::document::Kind::Words, |host| {
            fleet.hosts[host.host].rack.clone().unwrap_or_default()
        })
        .figures(("Both roles", 17, ["both", "roles"]), |host| change(&host.both))
        .figures(("95 % interval", 9, ["95 %", "interval"]), |host| interval(&host.both))
        .figures(("As sender", 15, ["as", "sender"]), |host| change(&host.sender))
        .figures(("As receiver", 14, ["as", "receiver"]), |host| change(&host.receiver))
        .figures(("Trials", 7, ["", "trials"]), |host| number::whole(host.both.n as u64))
        .table()
        .titled("Hosts against the median host, the worst first; * is an outlier")
}

/// Pairs against what their hosts' changes add up to.
pub fn links(fleet: &FleetResult, figure: &FleetFigure) -> Table {
    let who = |link: &LinkChange| {
        let [a, b] = link.hosts.map(|host| fleet.hosts[host].name.as_str());
        if link.one_way { format!("{a} -> {b}") } else { format!("{a} <-> {b}") }
    };
    Rows::of(&figure.links)
        .words(("Pair", 20, ["", "pair"]), who)
        .figures(("Change", 17, ["", "change"]), |link| change(&link.change))
        .figures(("95 % interval", 9, ["95 %", "interval"]), |link| interval(&link.change))
        .figures(("Trials", 7, ["", "trials"]), |link| number::whole(link.change.n as u64))
        .table()
        .titled("Pairs against what their hosts say, the worst first; * is an outlier")
}

/// Racks by the trials between them.
pub fn racks(figure: &FleetFigure) -> Table {
    let write = writer(figure.metric);
    Rows::of(&figure.racks)
        .words(("Rack", 20, ["", "rack"]), |rack: &RackChange| rack.rack.clone())
        .figures(("Hosts", 8, ["", "hosts"]), |rack| rack.hosts.to_string())
        .figures(("Within", 15, ["", "within"]), |rack| rack.within.map(write))
        .figures(("With others", 17, ["with", "others"]), |rack| rack.between.as_ref().map(change))
        .figures(("95 % interval", 9, ["95 %", "interval"]), |rack| rack.between.as_ref().map(interval))
        .table()
        .titled("Racks: between their own hosts, and with other racks against the median rack")
}

fn change(change: &Change) -> String {
    format!("{}{}", number::change(change.change), if change.falls_out { " *" } else { "" })
}

fn interval(change: &Change) -> String {
    change.interval.map_or_else(|| number::NOTHING.to_owned(), |ends| ends.map(number::change).join(" to "))
}
