//! Summary of a trial: both ends next to each other.

use model::end::{EndReport, TcpInfo};
use model::trial::Measured;
use model::{Protocol, Role, TrialRecord};

use analysis::result::Metric;
use analysis::single::{Single, single};

use super::summary_parts::{doubts, flows, is_paced, options, per_second, schedule, stamped, times};
use super::{Row, TrialFacts, brief};
use crate::number::{self, NOTHING};
use crate::sinks::terminal::table::Column;
use crate::sinks::terminal::{Page, Style};
use crate::studies::checks as balance;
use crate::words::{plural, writer};

/// The summary of a trial; ends with a newline.
pub fn summary(setting: &TrialFacts, record: &TrialRecord, style: Style) -> String {
    if style.verbose { full(setting, record, style) } else { in_brief(setting, record, style) }
}

fn in_brief(setting: &TrialFacts, record: &TrialRecord, style: Style) -> String {
    let mut page = Page::new(style);
    match (record.measured(), single(record)) {
        (Some(measured), Some(figures)) => {
            brief::ends(&mut page, measured, &figures);
            brief::further(&mut page, record, measured, &figures);
            missing(&mut page, record);
        }
        _ => page.warning("Nothing was measured."),
    }
    brief::doubts(&mut page, setting, record);
    if record.measured().is_some() {
        brief::close(&mut page);
    }
    page.finish()
}

fn full(setting: &TrialFacts, record: &TrialRecord, style: Style) -> String {
    let mut page = Page::new(style);
    match (record.measured(), single(record)) {
        (Some(measured), Some(figures)) => {
            ends(&mut page, setting, measured, &figures);
            flows(&mut page, measured, &figures);
            times(&mut page, record, &figures);
            schedule(&mut page, record, measured, &figures);
            stamped(&mut page, measured, &figures);
            options(&mut page, measured);
            if let Some(datagrams) = analysis::conservation::balance(measured, &record.cell) {
                page.gap();
                page.text(&balance::datagrams(&datagrams));
            }
            missing(&mut page, record);
        }
        _ => page.warning("Nothing was measured."),
    }
    doubts(&mut page, setting, record);
    if record.measured().is_some() {
        page.gap();
        page.faint("These are figures of a single trial: one trial has no interval, so what differs from another may be chance. For figures with intervals:", 0);
        setting.study().iter().for_each(|line| page.faint(line, 2));
    }
    page.finish()
}

/// Figures of a trial that was interrupted: its intervals added up.
pub fn partial(rows: &[Row], style: Style) -> String {
    let mut page = Page::new(style);
    page.gap();
    let Some(last) = rows.last() else {
        page.warning("Interrupted before the first interval was over.");
        return page.finish();
    };
    page.warning("Interrupted: the ends gave no report of the whole, these are the intervals above added up.");
    for (name, role) in [("sent", Role::Sender), ("received", Role::Receiver)] {
        let of = |row: &Row| if role == Role::Sender { row.sender } else { row.receiver };
        let counts = || rows.iter().filter_map(of).map(|progress| progress.counts);
        let bytes = counts().map(|counts| counts.bytes).sum::<u64>() as f64;
        let messages = plural(counts().map(|counts| counts.messages).sum(), "message");
        let (amount, rate) = (number::bytes(bytes), number::bits(bytes * 8.0 / last.end));
        page.plain(&format!("{name:<9} {amount} in {:.2} s, {rate} · {messages}", last.end), 0, 10);
    }
    page.finish()
}

/// A line of the table of both ends.
struct Line(&'static str, String, String);

fn ends(page: &mut Page, setting: &TrialFacts, measured: &Measured, figures: &Single) {
    let (sender, receiver) = (&measured.sender, &measured.receiver);
    let both = |name, write: &dyn Fn(&EndReport) -> String| Line(name, write(sender), write(receiver));
    let figure = |metric: Metric| figures.metrics.get(&metric).map_or(NOTHING.to_owned(), |value| writer(metric)(*value));
    let rate =
        |end: &EndReport, amount: u64, write: &dyn Fn(f64) -> String| per_second(end, figures, amount).map_or(NOTHING.to_owned(), write);
    let bits = |bytes: f64| number::bits(bytes * 8.0);
    let pair = |name, here: Metric, there: Metric| Line(name, figure(here), figure(there));
    let mut lines = vec![
        Line("where", setting.place(Role::Sender).to_owned(), setting.place(Role::Receiver).to_owned()),
        both("measured", &|end| end.window.length().to_string()),
        both("payload", &|end| number::bytes(end.counts.bytes as f64)),
        both("payload/s", &|end| rate(end, end.counts.in_window().bytes, &bits)),
    ];
    if sender.back.is_some() || receiver.back.is_some() {
        lines.push(both("payload/s back", &|end| {
            end.back.map_or(NOTHING.to_owned(), |back| rate(end, back.counts.in_window().bytes, &bits))
        }));
    }
    lines.extend([
        both("messages", &|end| number::whole(end.counts.messages)),
        both("messages/s", &|end| rate(end, end.counts.in_window().messages, &number::count)),
        pair("CPU/message", Metric::SenderCpuPerMessageNs, Metric::ReceiverCpuPerMessageNs),
        pair("CPU/KiB", Metric::SenderCpuPerKibNs, Metric::ReceiverCpuPerKibNs),
        pair("CPU busy", Metric::SenderBusyShare, Metric::ReceiverBusyShare),
        pair("waited for a CPU", Metric::SenderRunDelayShare, Metric::ReceiverRunDelayShare),
        both("switches", &|end| number::whole(end.switches.voluntary.saturating_add(end.switches.involuntary))),
    ]);
    if sender.tcp.is_some() || receiver.tcp.is_some() {
        lines.extend(tcp_lines(sender, receiver));
    }
    let column = |pick: fn(&Line) -> String| lines.iter().map(pick).collect();
    page.table(vec![
        Column::words(9, ["", ""], column(|line| line.0.to_owned())),
        Column::figures(9, ["", "sender"], column(|line| line.1.clone())),
        Column::figures(9, ["", "receiver"], column(|line| line.2.clone())),
    ]);
    page.faint("The receiver's payload/s is the goodput. CPU is process, interrupt and kernel-thread time of an end (service demand).", 0);
}

/// TCP's own account: segments of the measured part, the rest at its end, and
/// of several flows of the first.
fn tcp_lines(sender: &EndReport, receiver: &EndReport) -> [Line; 3] {
    let both = |name, write: &dyn Fn(&EndReport, TcpInfo) -> String| {
        let one = |end: &EndReport| end.tcp.map_or(NOTHING.to_owned(), |tcp| write(end, tcp));
        Line(name, one(sender), one(receiver))
    };
    let rtt = if sender.flows.len().max(receiver.flows.len()) > 1 { "rtt (TCP's, flow 1)" } else { "rtt (TCP's)" };
    [
        both("segments resent", &|end, tcp| number::whole(u64::from(tcp.resent_since(end.tcp_at_start)))),
        both(rtt, &|_, tcp| number::time(f64::from(tcp.rtt) * 1e3)),
        both("segment size", &|_, tcp| format!("{} B", tcp.snd_mss.max(tcp.rcv_mss))),
    ]
}

/// Reasons of the cell for a figure of the table to be missing.
fn missing(page: &mut Page, record: &TrialRecord) {
    let cell = &record.cell;
    if cell.bidirectional {
        page.gap();
        page.text("Both ends sent: nothing says which way an end's CPU time went, so there is no CPU per message.");
    } else if is_paced(cell) && cell.pacing == model::Pacing::Spin {
        page.gap();
        page.text("The sender spun until the time of each message had come: its CPU time is the waiting's, so it has no CPU per message.");
    }
    if cell.protocol() == Protocol::Udp && record.measured().is_some_and(|measured| !measured.isolated) {
        page.text("The hosts' counters hold other people's datagrams too.");
    }
}
