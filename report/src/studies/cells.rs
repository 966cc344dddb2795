//! Every cell's figures: tables of each series, and what their heads mean.

use analysis::result::{Analysis, CellResult, Latency, Metric, Unit};
use model::{Cell as Conditions, Pacing};

use crate::document::{Block, Cell, Column, Head, Kind, Rows, Section, Shown, Table};
use crate::number;
use crate::series::{Group, OTHER_TIMES, Times, counts_wakeups, has, limit, lost_any, metric, missing_any, percentile};
use crate::words::{self, capital, writer};

/// Note on cells in which both ends send.
const BOTH_WAYS: &str = "goodput back to the sender; nothing says which way an end's CPU time went, so CPU per message is left out";

/// Note on cells whose datagrams are stamped.
const STAMPS: &str = "how much longer than the shortest of its trial a datagram took: it needs no common clock";

/// Note on cells whose sender spins.
const SPINS: &str = "a sender that spins until a message's time has come has no CPU per message: the time is the waiting's";

/// Note on percentiles that answers decide which never came.
const MISSING: &str = "at least: requests never sent or never answered count as longer than all round trips of their trial";

/// Tells if the sender of a cell spins.
fn spins(cell: &Conditions) -> bool {
    cell.rate.is_some() && cell.pacing == Pacing::Spin
}

/// Tables of every series; those of `variants`, which other sections sum up, are folded.
/// Where a receipt has answered already, a terminal prints them only with `-v`.
pub fn section(groups: &[Group], variants: &[Group], coefficients: Option<Block>, has_receipt: bool) -> Section {
    let lead = "Medians of the trials; ± reaches to the farther end of the interval. “Every figure” has both ends and n.";
    let mut page = vec![Block::Lead(lead.into()), Block::Save];
    page.extend(groups.is_empty().then(|| Block::Aside("Nothing was measured.".into())));
    let mut blocks = vec![Block::Page(page)];
    blocks.extend(coefficients);
    blocks.push(Block::Brief(match has_receipt {
        true => vec![Block::Gap, Block::Aside("Rates, elapsed times and round trips: -v.".into())],
        false => brief(groups),
    }));
    blocks.push(Block::Full(groups.iter().map(series).collect()));
    if !variants.is_empty() {
        let count = words::series(variants.len() as u64);
        let more = format!("{count} more are summed up above; every figure of them is in the HTML report, the CSV and the JSON.");
        blocks.extend(Block::details(format!("The {count} that are summed up above"), variants.iter().map(series)));
        blocks.push(Block::Terminal(vec![Block::Gap, Block::Aside(more.into())]));
    }
    Section { rank: 3, ..Section::new("tables", "Tables", blocks) }
}

fn series(group: &Group) -> Block {
    let main = main_table(group)
        .labelled(format!("{}: the main figures", group.name), format!("{}: the main figures by message size", group.name));
    let every = every(group).labelled(format!("{}: every figure", group.name), format!("{}: every figure by message size", group.name));
    let mut page = vec![main.into()];
    page.extend(note(group).map(|text| Block::Aside(text.into())));
    page.push(Block::Details(format!("Every figure of {}", group.name), vec![every.styled("every").into()]));
    let terminal = terminal_tables(group).into_iter().map(Block::Table).collect();
    Block::piece(group.name.as_str(), [Block::Page(page), Block::Terminal(terminal)])
}

/// Tables of a terminal that is asked for the answer alone: one a stream, one of all
/// round trips.
fn brief(groups: &[Group]) -> Vec<Block> {
    let (streams, round_trips): (Vec<&Group>, Vec<&Group>) = groups.iter().partition(|group| group.test.is_stream());
    let mut blocks: Vec<Block> = streams.into_iter().map(|group| Block::Compact(group.name.clone(), narrow(group))).collect();
    blocks.extend((!round_trips.is_empty()).then(|| Block::Compact("round trips".to_owned(), all_round_trips(&round_trips))));
    blocks
}

/// A stream's table without what a cost model is made of.
fn narrow(group: &Group) -> Table {
    let mut table = stream(group);
    table.columns.retain(|column| column.head.rank.is_none_or(|rank| rank > 5) && !is_of(column, Metric::ReceiverWakeupsPerMessage));
    table
}

fn is_of(column: &Column, metric: Metric) -> bool {
    column.head.terminal.as_ref().is_some_and(|lines| *lines == metric.column())
}

/// A row for each cell of request/response: rate, round trips, and CPU of both ends.
fn all_round_trips(groups: &[&Group]) -> Table {
    let cells: Vec<(&str, &CellResult)> =
        groups.iter().flat_map(|group| group.cells.iter().map(|cell| (group.name.as_str(), *cell))).collect();
    let rows = Rows::of(&cells)
        .words(Head::terminal(9, ["", ""]), |(name, _)| *name)
        .tight(true)
        .figures(Head::terminal(9, ["", "size"]), |(_, cell)| cell.cell.size.get().to_string());
    let percentiles = PERCENTILES.iter().zip([9, 4, 8, 3]);
    let rows = percentiles.fold(rows, |rows, ((head, percent), rank)| {
        rows.column(Head::terminal(rank, ["", *head]), Kind::Estimates(Shown::Margin, Shown::Margin), |(_, cell)| {
            Cell::percentile(percentile(cell.latency.as_ref(), *percent))
        })
    });
    let columns = [(5, ["", "trans/s"], Metric::MessagesPerS)].into_iter().chain(
        [("sender", Metric::SenderCpuPerMessageNs), ("receiver", Metric::ReceiverCpuPerMessageNs)]
            .map(|(end, name)| (7, ["CPU/trans.", end], name)),
    );
    columns
        .fold(rows, |rows, (rank, head, name)| {
            rows.column(Head::terminal(rank, head), Kind::Estimates(Shown::Margin, Shown::Margin), move |(_, cell)| {
                Cell::estimate(metric(cell, name), writer(name))
            })
        })
        .table()
}

fn rows<'a>(group: &Group<'a>) -> Rows<'a, CellResult> {
    Rows::of(group.cells.iter().copied())
}

/// A column of a page: its head and its metric.
type PageColumn = (&'static str, Metric);

/// A metric under its own head.
const fn page(name: Metric) -> PageColumn {
    (name.head(), name)
}

/// Columns of cells on a wire, with a rate, and with stamps.
const PACED_AND_STAMPED: [PageColumn; 5] = [
    page(Metric::LimitBitPerS),
    page(Metric::LimitShare),
    page(Metric::OfferedMessagesPerS),
    page(Metric::BehindShare),
    page(Metric::JitterNs),
];

const PERCENTILES: [(&str, f64); 4] = [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)];

fn main_table(group: &Group) -> Table {
    let stream = group.test.is_stream();
    let size = rows(group).words(Head::page("Size, B"), |cell| number::whole(cell.cell.size.get()));
    let both_ways = has(group, Metric::BackGoodputBitPerS);
    let known = |columns: &[PageColumn]| columns.iter().copied().filter(|(_, name)| has(group, *name)).collect::<Vec<_>>();
    let mut columns = Vec::new();
    if stream {
        columns.push(page(Metric::MessagesPerS));
        columns.extend(lost_any(group).then_some(page(Metric::SentMessagesPerS)));
        columns.extend([page(Metric::GoodputBitPerS), page(Metric::TimePerMessageNs)]);
        columns.extend(match both_ways {
            true => vec![page(Metric::BackGoodputBitPerS)],
            false => vec![page(Metric::SenderCpuPerMessageNs), page(Metric::ReceiverCpuPerMessageNs)],
        });
    } else {
        columns.push(("Sender CPU/transaction", Metric::SenderCpuPerMessageNs));
        columns.push(("Receiver CPU/transaction", Metric::ReceiverCpuPerMessageNs));
    }
    columns.extend(known(&PACED_AND_STAMPED));
    columns.extend((stream && counts_wakeups(group)).then_some(page(Metric::ReceiverWakeupsPerMessage)));
    columns.extend(known(&[page(Metric::LossShare)]));
    // The page has room for so many; all are among "every figure".
    if stream && columns.len() < 7 {
        columns.extend(known(&[page(Metric::FramesPerMessage)]));
    }
    if stream {
        let rows = columns.into_iter().fold(size, page_column);
        return rows.figures(Head::page("Limit"), |cell| capital(limit(cell.limit))).table();
    }
    let rows = page_column(size, ("Transactions/s", Metric::MessagesPerS));
    let rows = PERCENTILES.iter().fold(rows, |rows, (head, percent)| {
        let kind = Kind::Estimates(Shown::Margin, Shown::Margin);
        rows.column(Head::page(*head), kind, |cell| Cell::percentile(percentile(cell.latency.as_ref(), *percent)))
    });
    columns.into_iter().fold(rows, page_column).table()
}

fn page_column<'a>(rows: Rows<'a, CellResult>, (head, name): PageColumn) -> Rows<'a, CellResult> {
    let kind = Kind::Estimates(Shown::Margin, Shown::Margin);
    rows.column(Head::page(head), kind, move |cell| Cell::estimate(metric(cell, name), writer(name)))
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
    let round_trips: Times = ("round trip", |cell| cell.latency.as_ref());
    for (place, (name, of)) in [round_trips].into_iter().chain(OTHER_TIMES).enumerate() {
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
    let sizes = group.cells.iter().map(|cell| Head::page(number::whole(cell.cell.size.get())));
    let heads = std::iter::once(Head::page("Size, B")).chain(sizes).collect();
    Table::of_rows(heads, rows, Kind::Estimates(Shown::All, Shown::All))
}

/// A column of a terminal: its rank, its head, its metric, and how much of it.
type TerminalColumn = (u8, [&'static str; 2], Metric, Shown);

/// A metric under its own head.
const fn own(rank: u8, name: Metric, shown: Shown) -> TerminalColumn {
    (rank, name.column(), name, shown)
}

/// One table for a stream, round trips and costs for request/response, then what else was measured.
fn terminal_tables(group: &Group) -> Vec<Table> {
    let mut tables = match group.test.is_stream() {
        true => vec![stream(group)],
        false => vec![times(group, ("round trip", |cell| cell.latency.as_ref()), true), costs(group)],
    };
    let others = OTHER_TIMES.into_iter().filter(|(_, of)| group.cells.iter().any(|cell| of(cell).is_some()));
    tables.extend(others.map(|kind| times(group, kind, false)));
    // What was offered and what of it was sent, where a rate was asked for.
    tables.extend(has(group, Metric::OfferedMessagesPerS).then(|| {
        let columns = [
            own(9, Metric::OfferedMessagesPerS, Shown::Value),
            own(9, Metric::SentMessagesPerS, Shown::Margin),
            own(9, Metric::BehindShare, Shown::Value),
        ];
        with(sizes(group), columns).table()
    }));
    // What stamped datagrams tell of their way.
    tables.extend(has(group, Metric::JitterNs).then(|| {
        let columns = [
            own(9, Metric::JitterNs, Shown::Margin),
            own(9, Metric::ReorderedShare, Shown::Value),
            own(9, Metric::LeastWayNs, Shown::Margin),
            own(9, Metric::ClockErrorNs, Shown::Value),
        ];
        with(sizes(group), columns).table()
    }));
    tables
}

fn sizes<'a>(group: &Group<'a>) -> Rows<'a, CellResult> {
    rows(group).tight(true).figures(Head::terminal(9, ["", "size"]), |cell| cell.cell.size.get().to_string())
}

fn with<'a>(rows: Rows<'a, CellResult>, columns: impl IntoIterator<Item = TerminalColumn>) -> Rows<'a, CellResult> {
    columns.into_iter().fold(rows, |rows, (rank, head, name, shown)| {
        // A head that says bit/s says the unit.
        let write = if name.unit() == Unit::BitsPerSecond { number::count } else { writer(name) };
        rows.column(Head::terminal(rank, head), Kind::Estimates(shown, shown), move |cell| Cell::estimate(metric(cell, name), write))
    })
}

/// Percentiles of a kind of times; `led` by the rate of transactions.
fn times(group: &Group, (name, of): Times, led: bool) -> Table {
    let rate = (9, ["transactions", "/s"], Metric::MessagesPerS, Shown::Margin);
    let rows = with(sizes(group), led.then_some(rate));
    let percentiles = PERCENTILES.iter().zip([9, 8, 9, 6]);
    let rows = percentiles.fold(rows, |rows, ((head, percent), rank)| {
        rows.column(Head::terminal(rank, [name, *head]), Kind::Estimates(Shown::Margin, Shown::Margin), |cell| {
            Cell::percentile(percentile(of(cell), *percent))
        })
    });
    rows.table()
}

fn stream(group: &Group) -> Table {
    let back = has(group, Metric::BackGoodputBitPerS);
    let mut columns: Vec<TerminalColumn> = vec![own(9, Metric::MessagesPerS, Shown::Margin)];
    // The receiver's figure is the result; where they differ, the sender's stands next to it.
    columns.extend(lost_any(group).then_some(own(8, Metric::SentMessagesPerS, Shown::Value)));
    columns.push(own(8, Metric::GoodputBitPerS, Shown::Value));
    columns.extend(back.then_some(own(9, Metric::BackGoodputBitPerS, Shown::Value)));
    let limited = has(group, Metric::LimitShare);
    columns.extend(limited.then_some(own(9, Metric::LimitShare, Shown::Value)));
    columns.push(own(7, Metric::TimePerMessageNs, Shown::Value));
    // Of both ways there is no CPU per message; a column of dashes says nothing.
    if has(group, Metric::ReceiverCpuPerMessageNs) || !back {
        columns.extend(cpu("CPU/message"));
    }
    columns.extend(loss(group, "loss"));
    limits_and_extras(group, with(sizes(group), columns))
}

fn costs(group: &Group) -> Table {
    limits_and_extras(group, with(sizes(group), cpu("CPU/transaction").into_iter().chain(loss(group, "lost"))))
}

fn cpu(head: &'static str) -> [TerminalColumn; 2] {
    let column = |end, name| (9, [head, end], name, Shown::Margin);
    [column("sender", Metric::SenderCpuPerMessageNs), column("receiver", Metric::ReceiverCpuPerMessageNs)]
}

/// Column of losses, where something can be lost.
fn loss(group: &Group, head: &'static str) -> Option<TerminalColumn> {
    has(group, Metric::LossShare).then_some((8, ["", head], Metric::LossShare, Shown::Value))
}

/// The limit, then what a wide terminal has room for.
fn limits_and_extras(group: &Group, rows: Rows<'_, CellResult>) -> Table {
    let rows = rows.tight(false).words(Head::terminal(6, ["", "limit"]), |cell| limit(cell.limit)).tight(true);
    let extras = [
        // A figure that a cost model is made of has to be seen.
        own(if counts_wakeups(group) { 8 } else { 5 }, Metric::ReceiverWakeupsPerMessage, Shown::Margin),
        own(4, Metric::FramesPerMessage, Shown::Margin),
        own(3, Metric::HostCpuPerMessageNs, Shown::Margin),
        own(2, Metric::Retransmits, Shown::Margin),
    ];
    with(rows, extras.into_iter().filter(|(_, _, name, _)| has(group, *name))).table()
}

/// Meanings of the heads in a terminal; `None` without tables.
pub fn legend(analysis: &Analysis, groups: &[Group]) -> Option<Section> {
    if groups.is_empty() {
        return None;
    }
    let asked = number::percent(analysis.run.plan.blocks.confidence);
    let reach = format!("farther end of the {asked} interval; ±? where trials are too few for one");
    let any = |name: Metric| groups.iter().any(|group| has(group, name));
    let streams = groups.iter().any(|group| group.test.is_stream());
    let spins = groups.iter().flat_map(|group| &group.cells).any(|cell| spins(&cell.cell));
    let all = [
        (true, "±", reach.as_str()),
        (streams, "bit/s", "goodput at the receiver, with the ± of messages/s"),
        (streams, "time", "elapsed per message: 1 / (messages/s); its interval is in the HTML report and the CSV"),
        (streams, "limit", "whose CPU was busy all the time; waiting: neither; no CPU: an end waited for one"),
        (any(Metric::LossShare), "loss", "median of the trials; its interval is in the HTML report and the CSV"),
        (groups.iter().any(lost_any), "sent", "messages/s at the sender, where anything was lost"),
        (
            any(Metric::LimitShare),
            "of link's limit",
            "goodput as a share of what the link's rate leaves room for, with the frames and acknowledgements that were counted",
        ),
        (
            any(Metric::OfferedMessagesPerS),
            "rate",
            "as limit: what was offered was sent; round trips count from the intended time of a request, uncorrected from the actual one",
        ),
        (any(Metric::BackGoodputBitPerS), "back", BOTH_WAYS),
        (any(Metric::JitterNs), "beyond", STAMPS),
        (spins, "–", SPINS),
        (analysis.irq_pooled, "CPU", "with interrupt time, which comes in ticks and is pooled over the trials of a cell"),
        (groups.iter().any(|group| !group.test.is_stream()), "p50…", "round trips of all trials merged, with intervals over blocks"),
        (groups.iter().any(missing_any), "≥", MISSING),
    ];
    let known = all.into_iter().filter(|(there, ..)| *there).map(|(_, key, meaning)| (key, meaning.to_owned()));
    Some(Section {
        rank: 4,
        blocks: vec![Block::Full(vec![Block::Terminal(vec![Block::Gap, Block::terms("", known)])])],
        ..Section::default()
    })
}
