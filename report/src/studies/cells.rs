//! Every cell's figures: tables of each series.

use analysis::result::{Analysis, CellResult, Latency, Metric, Unit};
use model::{Cell as Conditions, Pacing};

use crate::document::{Block, Cell, Cut, Head, Keeps, Kind, Level, Rows, Section, Shown, Table};
use crate::number;
use crate::series::{Group, OTHER_TIMES, Times, counts_wakeups, groups, has, limit, lost_any, metric, percentile, variants};
use crate::words::{self, capital, writer};

const PERCENTILES: [(&str, f64); 4] = [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)];

/// Series of streams whose tables a page shows at once.
const AT_ONCE: usize = 1;

/// The times that every request/response test has.
const ROUND_TRIPS: Times = ("round trip", |cell| cell.latency.as_ref());

/// Tells if the sender of a cell spins.
pub fn spins(cell: &Conditions) -> bool {
    cell.rate.is_some() && cell.pacing == Pacing::Spin
}

/// Tables of every series, which are the answer unless a receipt is; those of variants, which
/// other sections sum up, are folded.
pub fn section(analysis: &Analysis) -> Section {
    let (groups, variants) = (groups(analysis), variants(analysis));
    let has_receipt = analysis.receipt().is_some_and(|study| !study.series.is_empty());
    let mut blocks: Vec<Block> = groups.is_empty().then(|| Block::Aside("Nothing was measured.".into())).into_iter().collect();
    let (streams, others): (Vec<&Group>, Vec<&Group>) = groups.iter().partition(|group| group.test.is_stream());
    let names: Vec<String> = streams.iter().skip(AT_ONCE).map(|group| group.name.clone()).collect();
    let mut streams = streams.into_iter().map(|group| series(group, Some(stream(group))));
    blocks.extend(streams.by_ref().take(AT_ONCE));
    blocks.extend(Block::folded(format!("The same of {}", words::list(&names)), streams));
    let trips = (!others.is_empty()).then(|| Block::from(round_trips(&others))).into_iter();
    blocks.extend(Block::folded("Requests and responses", trips.chain(others.into_iter().map(|group| series(group, None)))));
    if !variants.is_empty() {
        let count = words::series(variants.len() as u64);
        let more = format!("{count} more are summed up above; every figure of them is in the HTML report, the CSV and the JSON.");
        blocks.push(Block::Aside(more.into()));
        let all = variants.iter().map(|group| series(group, group.test.is_stream().then(|| stream(group))));
        blocks.extend(Block::everything(format!("The {count} that are summed up above"), all));
    }
    let level = if has_receipt { Level::Usual } else { Level::Answer };
    Section::named("tables", "Tables", [Block::At(level, String::new(), blocks)])
}

/// The answer of a series, then what stands behind it.
fn series(group: &Group, answer: Option<Table>) -> Block {
    let kinds = (!group.test.is_stream()).then_some((ROUND_TRIPS, true)).into_iter().chain(OTHER_TIMES.map(|kind| (kind, false)));
    let mut usual: Vec<Block> = Vec::new();
    usual.extend(
        kinds.filter(|((_, of), _)| group.cells.iter().any(|cell| of(cell).is_some())).map(|(kind, led)| times(group, kind, led).into()),
    );
    // The table of all round trips has no room for what was lost.
    usual.extend((!group.test.is_stream() && lost_any(group)).then(|| costs(group).into()));
    // What was offered and what of it was sent, where a rate was asked for.
    let offered = [
        (9, Metric::OfferedMessagesPerS, Shown::Value),
        (9, Metric::SentMessagesPerS, Shown::Margin),
        (9, Metric::BehindShare, Shown::Value),
    ];
    usual.extend(has(group, Metric::OfferedMessagesPerS).then(|| offered.into_iter().fold(sizes(group), figure).table().into()));
    // What stamped datagrams tell of their way.
    let stamps = [
        (9, Metric::JitterNs, Shown::Margin),
        (9, Metric::ReorderedShare, Shown::Value),
        (9, Metric::LeastWayNs, Shown::Margin),
        (9, Metric::ClockErrorNs, Shown::Value),
    ];
    usual.extend(has(group, Metric::JitterNs).then(|| stamps.into_iter().fold(sizes(group), figure).table().into()));
    usual.extend(note(group).map(|text| Block::Aside(text.into())));
    let more = Block::everything(format!("Every figure of {}", group.name), [every(group).into()]);
    let usual = Block::behind(format!("More of {}", group.name), usual.into_iter().chain(more));
    Block::piece(&*group.name, answer.map(Block::from).into_iter().chain(usual))
}

/// Figures that a series leaves out, with the reason.
fn note(group: &Group) -> Option<&'static str> {
    if has(group, Metric::BackGoodputBitPerS) {
        Some("Both ends sent: nothing says which way an end's CPU time went, so CPU per message is left out.")
    } else if group.cells.iter().any(|cell| spins(&cell.cell)) {
        Some("A sender that spins until a message's time has come has no CPU per message: the time is the waiting's.")
    } else {
        None
    }
}

fn sizes<'a>(group: &Group<'a>) -> Rows<'a, CellResult> {
    Rows::of(group.cells.iter().copied()).tight(true).figures(("Size, B", 9, ["", "size"]), |cell| cell.cell.size.get().to_string())
}

/// A column: its rank, its metric, and how much of it.
type Figure = (u8, Metric, Shown);

fn figure<'a>(rows: Rows<'a, CellResult>, (rank, name, shown): Figure) -> Rows<'a, CellResult> {
    // A head that says bit/s says the unit.
    let (unit, write) =
        if name.unit() == Unit::BitsPerSecond { (", bit/s", number::count as fn(f64) -> String) } else { ("", writer(name)) };
    let head = Head { line: format!("{}{unit}", name.head()), short: name.column().map(str::to_owned), rank: Some(rank) };
    rows.column(head, Kind::Estimates(shown), move |cell| Cell::estimate(metric(cell, name), write))
}

/// Percentiles of a kind of times; `led` by the rate of transactions.
fn times(group: &Group, (name, of): Times, led: bool) -> Table {
    let percentiles = PERCENTILES.iter().zip([9, 8, 9, 6]);
    let rows = sizes(group).column_if(led, ("Transactions/s", 9, ["transactions", "/s"]), Kind::Estimates(Shown::Margin), |cell| {
        Cell::estimate(metric(cell, Metric::MessagesPerS), number::count)
    });
    let rows = percentiles.fold(rows, |rows, ((head, percent), rank)| {
        let line = format!("{} {head}", capital(name));
        rows.column((line.as_str(), rank, [name, *head]), Kind::Estimates(Shown::Margin), |cell| {
            Cell::percentile(percentile(of(cell), *percent))
        })
    });
    rows.table()
}

fn stream(group: &Group) -> Table {
    let known = |rank: u8, name: Metric, shown: Shown| has(group, name).then_some((rank, name, shown));
    // Of both ways there is no CPU per message; a column of dashes says nothing.
    let has_cpu = has(group, Metric::ReceiverCpuPerMessageNs) || !has(group, Metric::BackGoodputBitPerS);
    let cpu = |name: Metric| has_cpu.then_some((9, name, Shown::Margin));
    let columns = [
        Some((9, Metric::MessagesPerS, Shown::Margin)),
        // The receiver's figure is the result; where they differ, the sender's stands next to it.
        lost_any(group).then_some((8, Metric::SentMessagesPerS, Shown::Value)),
        Some((8, Metric::GoodputBitPerS, Shown::Value)),
        known(9, Metric::BackGoodputBitPerS, Shown::Value),
        known(9, Metric::LimitShare, Shown::Value),
        Some((7, Metric::TimePerMessageNs, Shown::Value)),
        cpu(Metric::SenderCpuPerMessageNs),
        cpu(Metric::ReceiverCpuPerMessageNs),
        known(8, Metric::LossShare, Shown::Value),
    ];
    let rows = columns.into_iter().flatten().fold(sizes(group), figure);
    let rows = rows.tight(false).words(("Limit", 6, ["", "limit"]), |cell| limit(cell.limit)).tight(true).level(Level::Usual);
    let usual = [
        known(7, Metric::CpuPerMessageNs, Shown::Margin),
        // A figure that a cost model is made of has to be seen.
        known(if counts_wakeups(group) { 8 } else { 5 }, Metric::ReceiverWakeupsPerMessage, Shown::Margin),
        known(4, Metric::SenderBilledPerMessageNs, Shown::Margin),
        known(4, Metric::ReceiverBilledPerMessageNs, Shown::Margin),
        known(4, Metric::FramesPerMessage, Shown::Margin),
        known(3, Metric::HostCpuPerMessageNs, Shown::Margin),
        known(2, Metric::Retransmits, Shown::Margin),
    ];
    let label = format!("{}: figures by message size", group.name);
    usual.into_iter().flatten().fold(rows, figure).table().labelled(&*label, &*label)
}

/// What a transaction costs beyond its time.
fn costs(group: &Group) -> Table {
    let known = |(rank, name, shown): Figure| has(group, name).then_some((rank, name, shown));
    let first = [
        (9, Metric::SenderCpuPerMessageNs, Shown::Margin),
        (9, Metric::ReceiverCpuPerMessageNs, Shown::Margin),
        (9, Metric::LossShare, Shown::Value),
    ];
    let rows = first.into_iter().filter_map(known).fold(sizes(group), figure);
    let rows = rows.tight(false).words(("Limit", 8, ["", "limit"]), |cell| limit(cell.limit)).tight(true);
    let more = [
        (8, Metric::CpuPerMessageNs, Shown::Margin),
        (7, Metric::ReceiverWakeupsPerMessage, Shown::Margin),
        (6, Metric::SenderBilledPerMessageNs, Shown::Margin),
        (6, Metric::ReceiverBilledPerMessageNs, Shown::Margin),
        (5, Metric::FramesPerMessage, Shown::Margin),
        (4, Metric::Retransmits, Shown::Margin),
    ];
    more.into_iter().filter_map(known).fold(rows, figure).table()
}

/// A row for each cell of request/response: rate, round trips, and CPU of both ends.
fn round_trips(groups: &[&Group]) -> Table {
    let cells: Vec<(&str, &CellResult)> =
        groups.iter().flat_map(|group| group.cells.iter().map(|cell| (group.name.as_str(), *cell))).collect();
    let rows = Rows::of(&cells)
        .words(("Test", 9, ["", ""]), |(name, _)| *name)
        .tight(true)
        .figures(("Size, B", 9, ["", "size"]), |(_, cell)| cell.cell.size.get().to_string());
    let percentiles = PERCENTILES.iter().zip([9, 4, 8, 3]);
    let rows = percentiles.fold(rows, |rows, ((head, percent), rank)| {
        rows.column((*head, rank, ["", *head]), Kind::Estimates(Shown::Margin), |(_, cell)| {
            Cell::percentile(percentile(cell.latency.as_ref(), *percent))
        })
    });
    let figures = [
        ("Transactions/s", 5, ["", "trans/s"], Metric::MessagesPerS),
        ("Sender CPU/transaction", 7, ["CPU/trans.", "sender"], Metric::SenderCpuPerMessageNs),
        ("Receiver CPU/transaction", 7, ["CPU/trans.", "receiver"], Metric::ReceiverCpuPerMessageNs),
        ("Sender billed/transaction", 2, ["billed", "sender"], Metric::SenderBilledPerMessageNs),
        ("Receiver billed/transaction", 2, ["billed", "receiver"], Metric::ReceiverBilledPerMessageNs),
        ("Wake-ups/transaction", 1, ["wake-ups", "/trans."], Metric::ReceiverWakeupsPerMessage),
        ("Lost", 2, ["", "lost"], Metric::LossShare),
    ];
    let known = figures.into_iter().filter(|(.., name)| groups.iter().any(|group| has(group, *name)));
    let rows = known.fold(rows, |rows, (line, rank, short, name)| {
        rows.column((line, rank, short), Kind::Estimates(Shown::Margin), move |(_, cell)| Cell::estimate(metric(cell, name), writer(name)))
    });
    let mut table = rows.words(("Limit", 0, ["", "limit"]), |(_, cell)| limit(cell.limit)).table().titled("round trips");
    table.columns[0].cut = Some(Cut { least: 16, keeps: Keeps::Start });
    table
}

/// Metrics down, sizes across.
fn every(group: &Group) -> Table {
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut row = |name: String, cell: &dyn Fn(&CellResult) -> Cell| {
        rows.push(std::iter::once(name.into()).chain(group.cells.iter().map(|one| cell(one))).collect());
    };
    row("Trials".to_owned(), &|cell| cell.trials.to_string().into());
    for name in Metric::ALL {
        if group.cells.iter().any(|cell| cell.metrics.contains_key(name)) {
            row(name.title().to_owned(), &|cell| Cell::estimate(metric(cell, *name), writer(*name)));
        }
    }
    for (place, (name, of)) in [ROUND_TRIPS].into_iter().chain(OTHER_TIMES).enumerate() {
        if group.cells.iter().all(|cell| of(cell).is_none()) {
            continue;
        }
        for (head, percent) in PERCENTILES {
            row(format!("{} {head}, merged", capital(name)), &|cell| Cell::percentile(percentile(of(cell), percent)));
        }
        let known = |cell: &CellResult, write: &dyn Fn(&Latency) -> Vec<String>| Cell::Stack(of(cell).map(write).unwrap_or_default());
        row("Shortest and longest".to_owned(), &|cell| {
            known(cell, &|latency| vec![number::time(latency.min_ns as f64), number::time(latency.max_ns as f64)])
        });
        let count = if place == 0 { "Transactions" } else { "Number of them" };
        row(count.to_owned(), &|cell| known(cell, &|latency| vec![number::whole(latency.transactions)]));
        if group.cells.iter().any(|cell| of(cell).is_some_and(|latency| latency.missing > 0)) {
            row("Missing, longer than these".to_owned(), &|cell| known(cell, &|latency| vec![number::whole(latency.missing)]));
        }
    }
    let sizes = group.cells.iter().map(|cell| number::whole(cell.cell.size.get()));
    let heads = std::iter::once("Size, B".to_owned()).chain(sizes).collect();
    Table::of_rows(heads, rows, Kind::Estimates(Shown::All)).styled("every")
}
