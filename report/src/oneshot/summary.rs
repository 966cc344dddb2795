//! Summary of a trial: both ends next to each other.

use model::end::{EndReport, TcpInfo};
use model::trial::Measured;
use model::{Protocol, Role, TrialRecord};

use analysis::result::Metric;
use analysis::single::{self, TrialFigures, single};

use super::summary_parts::{doubts, flows, is_paced, lateness, options, per_second, stamped, times};
use super::{Row, TrialFacts, brief};
use crate::document::{Block, Document, Rows, Tone};
use crate::number::{self, NOTHING};
use crate::series::shows_billed;
use crate::words::{plural, writer};

/// The summary of a trial.
pub fn summary(setting: &TrialFacts, record: &TrialRecord) -> Document {
    let (mut blocks, mut grade) = (Vec::new(), None);
    match (record.measured(), single(record)) {
        (Some(measured), Some(figures)) => {
            blocks.push(Block::facts(brief::facts(record, measured, &figures)));
            blocks.extend(missing(record).into_iter().map(|text| Block::Aside(text.into())));
            let answer = single::answer(record, &figures);
            let mut usual = vec![Block::Paragraph(answer.headline.clone().into())];
            usual.extend(ends(setting, measured, &figures));
            grade = Some(format!("{} -V: more figures, and a study with intervals.", answer.grade_line()));
            usual.extend(flows(measured, &figures));
            usual.extend(times(record, &figures));
            usual.extend(lateness(record, &figures));
            usual.extend(stamped(measured, &figures));
            usual.extend(options(measured));
            blocks.push(Block::usual(usual));
        }
        _ => blocks.push(Block::Conclusion(Tone::Bad, "Nothing was measured.".to_owned())),
    }
    blocks.extend(doubts(setting, record));
    if let Some(grade) = grade {
        blocks.push(Block::Aside(grade.into()));
        blocks.push(Block::usual(setting.study().into_iter().map(|line| Block::Aside(line.into()))));
    }
    Document::plain("", blocks)
}

/// Figures of a trial that was interrupted: its intervals added up.
pub fn partial(rows: &[Row]) -> Document {
    let warning = |text: &str| Block::Conclusion(Tone::Bad, text.to_owned());
    let Some(last) = rows.last() else {
        let blocks = [warning("Interrupted before the first interval was over.")];
        return Document::plain("", blocks);
    };
    let sum = |(name, role): (&'static str, Role)| {
        let of = |row: &Row| if role == Role::Sender { row.sender } else { row.receiver };
        let counts = || rows.iter().filter_map(of).map(|progress| progress.counts);
        let bytes = counts().map(|counts| counts.bytes).sum::<u64>() as f64;
        let messages = plural(counts().map(|counts| counts.messages).sum(), "message");
        let (amount, rate) = (number::bytes(bytes), number::bits(bytes * 8.0 / last.end));
        (name, format!("{amount} in {:.2} s, {rate} · {messages}", last.end))
    };
    let blocks = [
        warning("Interrupted: the ends gave no report of the whole, these are the intervals above added up."),
        Block::facts([("sent", Role::Sender), ("received", Role::Receiver)].map(sum)),
    ];
    Document::plain("", blocks)
}

/// A line of the table of both ends.
struct Line(&'static str, String, String);

fn ends(setting: &TrialFacts, measured: &Measured, figures: &TrialFigures) -> [Block; 2] {
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
        Line("  both ends, delivered", figure(Metric::CpuPerMessageNs), String::new()),
    ]);
    // Of ends that sleep: a share that is worth a line.
    let value = |metric: Metric| figures.metrics.get(&metric).copied();
    let is_shown = |part: Metric| value(part).zip(part.billed_of().and_then(value)).is_some_and(|(part, cpu)| shows_billed(part / cpu));
    let parts = [Metric::SenderBilledPerMessageNs, Metric::ReceiverBilledPerMessageNs];
    lines.extend(parts.into_iter().any(is_shown).then(|| pair("  billed before it ran", parts[0], parts[1])));
    lines.extend([
        pair("CPU/KiB", Metric::SenderCpuPerKibNs, Metric::ReceiverCpuPerKibNs),
        pair("CPU busy", Metric::SenderBusyShare, Metric::ReceiverBusyShare),
        pair("waited for a CPU", Metric::SenderRunDelayShare, Metric::ReceiverRunDelayShare),
        both("switches", &|end| number::whole(end.switches.voluntary.saturating_add(end.switches.involuntary))),
    ]);
    if sender.tcp.is_some() || receiver.tcp.is_some() {
        lines.extend(tcp_lines(sender, receiver));
    }
    let table = Rows::of(&lines)
        .words("", |line| line.0)
        .figures("sender", |line| line.1.as_str())
        .figures("receiver", |line| line.2.as_str())
        .table();
    let legend = "The receiver's payload/s is the goodput. CPU is process, interrupt and kernel-thread time of an end (service demand).";
    [table.into(), Block::Aside(legend.into())]
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
fn missing(record: &TrialRecord) -> Vec<&'static str> {
    let cell = &record.cell;
    let mut all = Vec::new();
    if cell.bidirectional {
        all.push("Both ends sent: nothing says which way an end's CPU time went, so there is no CPU per message.");
    } else if is_paced(cell) && cell.pacing == model::Pacing::Spin {
        all.push("The sender spun until the time of each message had come: its CPU time is the waiting's, so it has no CPU per message.");
    }
    if cell.protocol() == Protocol::Udp && record.measured().is_some_and(|measured| !measured.isolated) {
        all.push("The hosts' counters hold other people's datagrams too.");
    }
    all
}
