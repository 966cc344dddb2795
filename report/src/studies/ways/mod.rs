//! Ways of sending, side by side.

mod charts;

pub use charts::pictures;

/// Signs in the names of ways, in a clause behind a mark; empty where there are none.
pub fn signs(series: &WaySeries, mark: &str) -> String {
    let batch = series.ways.iter().any(|way| way.batch > 1).then_some("×: messages a call");
    let receive = series.ways.iter().any(|way| way.receive.is_some()).then_some("A → B: sent by A, received by B");
    let all: Vec<&str> = batch.into_iter().chain(receive).collect();
    match (all.is_empty(), mark) {
        (true, _) => String::new(),
        (false, ". ") => format!(" {}.", all.join("; ")),
        _ => format!("{mark}{}", all.join("; ")),
    }
}

/// The shares of the CPU times of a series that were billed before the ends ran, as the last sentence of a text.
pub fn billed(series: &WaySeries, analysis: &Analysis) -> String {
    let cells = analysis.cells.iter().filter(|found| found.cell.without_way().series().to_string() == series.series);
    let words = billed_words(cells.filter_map(CellResult::billed_share), "the CPU time");
    words.map_or_else(String::new, |words| format!(" {words}"))
}

use std::collections::BTreeSet;

use analysis::result::ways::{Change, Cheapest, Crossing, Way, WayDoubt, WayLine, WaySeries};
use analysis::result::{Analysis, CellResult, WayStudy};
use model::Bytes;
use model::plan::Unfit;
use model::sorting::Gather;

use crate::document::{Part, Section, Table, Tone};
use crate::interval;
use crate::number;
use crate::series::billed_words;
use crate::studies::verdict::shape;
use crate::words::{list, plural};

/// Makes the section of a study of ways.
pub fn section(study: &WayStudy) -> Section {
    Section::study(
        "ways",
        "Ways of sending",
        "CPU time that a message costs both ends together. Two ways cross where they cost the same; the interval of a crossing is from whole \
         blocks drawn again."
            .to_owned(),
        Vec::new(),
        study.series.iter().map(|series| part(series).into()),
    )
}

fn part(series: &WaySeries) -> Part {
    let base = series.ways[0].name();
    let costs = table(series, "CPU of both ends a message", |way, size| interval::narrow(way.cost_ns[size].as_ref(), number::time));
    let shares = |title: String| table(series, &format!("{title}; {SAME} not shown to differ"), share);
    // Ratios of rounds that the ways share are known better than costs.
    let [first, second] = match series.woven {
        true => [shares(format!("CPU of both ends a message, as a share of what {base} costs")), costs],
        false => [costs, shares(format!("As a share of what {base} costs"))],
    };
    let mut part = Part {
        heading: series.series.clone(),
        conclusion: Some((Tone::Good, conclusion(series))),
        tables: vec![first],
        notes: how(series),
        more: vec![second],
        ..Part::default()
    };
    part.more.extend(lines(series));
    part.more.push(table(series, "Times that the receiver is woken a message", |way, size| {
        interval::narrow(way.wakeups[size].as_ref(), |wakeups| number::significant(wakeups, 2))
    }));
    if series.ways.iter().any(|way| way.batch > 1) {
        let title = "Wait of the first message of a batch for the last, messages coming as fast as they were carried";
        part.more.push(table(series, title, |way, size| interval::narrow(way.batch_fills_ns[size].as_ref(), number::time)));
    }
    // Two ways that plain sending beats are no choice.
    let (of_base, others): (Vec<_>, Vec<_>) = series.crossings.iter().partition(|crossing| crossing.ways[0] == 0);
    part.notes.extend(of_base.into_iter().map(|crossing| sentence(series, crossing)));
    let crosses = |crossing: &&Crossing| !crossing.changes.is_empty();
    part.notes.extend(others.into_iter().filter(crosses).map(|crossing| sentence(series, crossing)));
    part
}

/// Marks a share that is not shown to differ from the base.
const SAME: &str = "≈";

/// The share of the base that a way costs.
fn share(way: &Way, size: usize) -> String {
    let found = way.of_base[size].as_ref();
    if let Some(base) = found.filter(|found| found.interval.is_some_and(|ends| ends.low == ends.high)) {
        return number::tight(&number::percent(base.value));
    }
    let same = found.and_then(|found| found.interval).is_some_and(|ends| ends.low <= 1.0 && 1.0 <= ends.high);
    format!("{}{}", interval::share(found), if same { SAME } else { "" })
}

/// How ratios of woven ways are measured, and which ways are measured in turn.
fn how(series: &WaySeries) -> Vec<String> {
    if !series.woven {
        return Vec::new();
    }
    let instances = series.ways.iter().skip(1).flat_map(|way| &way.of_base).flatten().map(|found| found.n).max().unwrap_or_default();
    let base = series.ways[0].name();
    let mut notes = vec![format!(
        "Shares are of rounds in which up to seven ways and {base} take turns of milliseconds, in {}.",
        plural(instances as u64, "instance")
    )];
    let reasons: BTreeSet<Unfit> = series.ways.iter().filter_map(|way| way.in_turn).into_set();
    for why in reasons {
        let ways: Vec<String> = series.ways.iter().filter(|way| way.in_turn == Some(why)).map(Way::name).collect();
        notes.push(format!("In turn, next to a trial of {base}: {}, because {why}.", list(&ways)));
    }
    notes.extend(doubts(series));
    notes
}

/// Doubts that a note names.
const MOST_DOUBTS: usize = 3;

/// The surest doubts about shares; `None` without any.
fn doubts(series: &WaySeries) -> Option<String> {
    let words = |doubt: &WayDoubt| {
        let size = number::whole(series.sizes[doubt.size].get());
        format!("{} at {size} B {}", series.ways[doubt.way].name(), shape(&doubt.shape))
    };
    let named: Vec<String> = series.doubts.iter().take(MOST_DOUBTS).map(words).collect();
    let more = match series.doubts.len().saturating_sub(MOST_DOUBTS) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    (!named.is_empty()).then(|| format!("In doubt: {}{more}. More instances (--blocks) narrow such shares.", named.join("; ")))
}

fn conclusion(series: &WaySeries) -> String {
    format!("Cheapest: {}.", cheapest(series))
}

/// The cheapest way, size by size, neighbours of one kind together: `at 1 to 64 B gso ×32`.
pub fn cheapest(series: &WaySeries) -> String {
    let mut spans: Vec<(usize, usize, &Cheapest)> = Vec::new();
    for (size, cheapest) in series.cheapest.iter().enumerate() {
        let Some(cheapest) = cheapest else { continue };
        match spans.last_mut() {
            Some((_, last, of)) if *of == cheapest => *last = size,
            _ => spans.push((size, size, cheapest)),
        }
    }
    let bytes = |place: usize| number::whole(series.sizes[place].get());
    let words = |(first, last, cheapest): &(usize, usize, &Cheapest)| {
        let at = if first == last { format!("{} B", bytes(*first)) } else { format!("{} to {} B", bytes(*first), bytes(*last)) };
        let way = &series.ways[cheapest.way];
        let saved = (*first..=*last).filter_map(|size| Some(way.of_base[size]?.value)).fold(f64::INFINITY, f64::min);
        let share = if cheapest.way > 0 && saved.is_finite() {
            format!(" (from {} of what {} costs)", number::percent(saved), series.ways[0].name())
        } else {
            String::new()
        };
        let ties: Vec<String> = cheapest.ties.iter().map(|tie| series.ways[*tie].name()).collect();
        let ties = if ties.is_empty() { String::new() } else { format!(", not shown apart from {}", list(&ties)) };
        format!("at {at} {}{share}{ties}", way.name())
    };
    spans.iter().map(words).collect::<Vec<_>>().join("; ")
}

fn table(series: &WaySeries, title: &str, cell: impl Fn(&Way, usize) -> String) -> Table {
    let heads =
        std::iter::once("way".to_owned()).chain(series.sizes.iter().map(|size| format!("{} B", number::whole(size.get())))).collect();
    let mark =
        |place: usize, size: usize| if series.cheapest[size].as_ref().is_some_and(|cheapest| cheapest.way == place) { " ◂" } else { "" };
    let row = |(place, way): (usize, &Way)| {
        let cells = (0..series.sizes.len()).map(|size| format!("{}{}", cell(way, size), mark(place, size)));
        std::iter::once(way.name()).chain(cells).collect()
    };
    Table::of_figures(format!("{title}; ◂ the cheapest of a size"), heads, series.ways.iter().enumerate().map(row).collect())
}

/// What a message and a byte cost by each way, where that is a line; `None` where no other way than the base has one.
fn lines(series: &WaySeries) -> Option<Table> {
    let known: Vec<(&Way, &WayLine)> = series.ways.iter().filter_map(|way| Some((way, way.line.as_ref()?))).collect();
    let row = |(way, line): &(&Way, &WayLine)| {
        let share = |estimate| interval::share(Some(estimate));
        let time = |estimate| interval::narrow(Some(estimate), number::time);
        vec![way.name(), time(&line.message_ns), share(&line.message_of_base), time(&line.byte_ns), share(&line.byte_of_base)]
    };
    let base = series.ways[0].name();
    let heads = ["way".to_owned(), "a message".to_owned(), format!("of {base}"), "a byte".to_owned(), format!("of {base}")];
    (known.len() > 1).then(|| {
        let title = "As a line in the size: cost of a message, and of each byte";
        Table::of_figures(title.to_owned(), heads.into(), known.iter().map(row).collect())
    })
}

/// Which of two ways is the cheaper one at which sizes, in a sentence.
fn sentence(series: &WaySeries, crossing: &Crossing) -> String {
    let way = |place: usize| series.ways[place].name();
    let other = |place: usize| way(crossing.ways[usize::from(crossing.ways[0] == place)]);
    let [first, second] = crossing.ways.map(way);
    let told = crossing.sizes.iter().zip(&crossing.cheaper);
    // Of the sizes around a change its interval tells enough.
    let inside = |size: &Bytes| crossing.changes.iter().any(|change| change.between[0] < *size && *size < change.between[1]);
    let silent = told.clone().filter(|(size, cheaper)| cheaper.is_none() && !inside(size));
    let silent: Vec<String> = silent.map(|(size, _)| number::whole(size.get())).collect();
    let rest = if silent.is_empty() { String::new() } else { format!("; {} B show no difference{}", list(&silent), most(crossing)) };
    match (crossing.cheaper.iter().flatten().next(), crossing.changes.as_slice()) {
        (None, _) if crossing.sizes.is_empty() => format!("Blocks are too few to distinguish {first} and {second}."),
        (None, _) => format!("No size shows a difference between {first} and {second}{}.", most(crossing)),
        (Some(cheaper), []) => {
            let telling: Vec<Bytes> = told.filter(|(_, cheaper)| cheaper.is_some()).map(|(size, _)| *size).collect();
            format!("{} {} is cheaper than {}{rest}.", at(&telling, &series.sizes), way(*cheaper), other(*cheaper))
        }
        (_, [change]) => format!("Above {} {} is cheaper than {}{rest}.", place(change), way(change.above), other(change.above)),
        (_, changes) => {
            let steps: Vec<String> = changes.iter().map(|change| format!("{} above {}", way(change.above), place(change))).collect();
            format!("The cheaper one of {first} and {second} changes: {}{rest}.", list(&steps))
        }
    }
}

/// At some sizes out of all: as a range where none is left out in it.
fn at(sizes: &[Bytes], all: &[Bytes]) -> String {
    match sizes {
        [least, .., most] if all.iter().filter(|size| *least <= **size && **size <= *most).count() == sizes.len() => {
            format!("At every size from {} to {} B", number::whole(least.get()), number::whole(most.get()))
        }
        sizes => format!("At {} B", list(&sizes.iter().map(|size| number::whole(size.get())).collect::<Vec<_>>())),
    }
}

/// How much two ways may differ where sizes do not tell them apart.
fn most(crossing: &Crossing) -> String {
    crossing.at_most.map(|most| format!(" (either costs at most {} more)", number::percent(most))).unwrap_or_default()
}

/// Where a change lies: its size with the interval, or with the sizes that it lies between.
fn place(change: &Change) -> String {
    let at = bytes(change.size.value);
    match change.size.interval {
        Some(ends) => format!("{at} B ({} to {} B)", bytes(ends.low), bytes(ends.high)),
        None => {
            let [from, to] = change.between.map(|size| number::whole(size.get()));
            format!("{at} B (between {from} and {to} B, without an interval)")
        }
    }
}

fn bytes(size: f64) -> String {
    if size < 10.0 { number::significant(size, 2) } else { number::whole(size.round() as u64) }
}

#[cfg(test)]
mod tests {
    use super::{doubts, sentence, signs};
    use analysis::result::ways::{Change, Crossing, Way, WayDoubt, WaySeries};
    use analysis::result::{Estimate, Interval, Method};
    use analysis::verdict::Shape;
    use model::{Api, Bytes, Receive};

    fn way(api: Api) -> Way {
        Way {
            api,
            receive: None,
            batch: 1,
            cost_ns: Vec::new(),
            of_base: Vec::new(),
            wakeups: Vec::new(),
            batch_fills_ns: Vec::new(),
            line: None,
            in_turn: None,
        }
    }

    #[test]
    fn signs_in_names_are_explained_where_they_occur() {
        let series = |ways: Vec<Way>| WaySeries {
            series: "UDP_STREAM".to_owned(),
            woven: true,
            sizes: Vec::new(),
            ways,
            cheapest: Vec::new(),
            crossings: Vec::new(),
            doubts: Vec::new(),
        };
        assert_eq!(signs(&series(vec![way(Api::Send)]), "; "), "");
        let received = Way { receive: Some(Receive::Recv), batch: 32, ..way(Api::Gso) };
        let said = "×: messages a call; A → B: sent by A, received by B";
        assert_eq!(signs(&series(vec![received.clone()]), "; "), format!("; {said}"));
        assert_eq!(signs(&series(vec![received]), ". "), format!(" {said}."));
    }

    #[test]
    fn the_surest_doubts_are_named() {
        let doubt = |size| WayDoubt { way: 1, size, shape: Shape::InstancesDiffer { ratio: 3.21 }, p: 0.001 };
        let mut series = WaySeries {
            series: "UDP_STREAM".to_owned(),
            woven: true,
            sizes: [1, 64, 256, 4_096].map(Bytes::new).to_vec(),
            ways: vec![way(Api::Send), way(Api::Sendmsg)],
            cheapest: Vec::new(),
            crossings: Vec::new(),
            doubts: Vec::new(),
        };
        assert_eq!(doubts(&series), None);
        series.doubts = (0..4).map(doubt).collect();
        let words = doubts(&series).unwrap();
        let first = "In doubt: sendmsg at 1 B differs between instances 3.2 times as much as rounds let expect; sendmsg at 64 B ";
        assert!(words.starts_with(first) && words.contains("; and 1 more. More instances"), "{words}");
    }

    #[test]
    fn what_is_shown_of_a_pair_is_what_is_said() {
        let series = WaySeries {
            series: "UDP_STREAM".to_owned(),
            woven: false,
            sizes: [1, 64, 4_096].map(Bytes::new).to_vec(),
            ways: vec![way(Api::Send), way(Api::Sendmsg)],
            cheapest: Vec::new(),
            crossings: Vec::new(),
            doubts: Vec::new(),
        };
        let change = |at: f64, above, ends: Option<(f64, f64)>| {
            let interval = ends.map(|(low, high)| Interval { low, high, confidence: 0.95, method: Method::BlockBootstrap });
            Change { size: Estimate { value: at, interval, n: 12 }, between: [1, 4_096].map(Bytes::new), above }
        };
        let said = |cheaper: &[Option<usize>], at_most, changes: Vec<Change>| {
            let sizes = series.sizes[..cheaper.len()].to_vec();
            sentence(&series, &Crossing { ways: [0, 1], sizes, cheaper: cheaper.to_vec(), at_most, changes })
        };
        for (sentence, wanted) in [
            (
                said(&[None; 3], Some(0.04), Vec::new()),
                "No size shows a difference between send and sendmsg (either costs at most 4.0 % more).",
            ),
            (said(&[], None, Vec::new()), "Blocks are too few to distinguish send and sendmsg."),
            (said(&[Some(1); 3], None, Vec::new()), "At every size from 1 to 4,096 B sendmsg is cheaper than send."),
            (
                said(&[Some(1), None, Some(1)], Some(0.2), Vec::new()),
                "At 1 and 4,096 B sendmsg is cheaper than send; 64 B show no difference (either costs at most 20 % more).",
            ),
            (
                said(&[Some(1), None, Some(0)], None, vec![change(300.0, 0, Some((200.0, 400.0)))]),
                "Above 300 B (200 to 400 B) send is cheaper than sendmsg.",
            ),
            (
                said(&[Some(1), None, Some(0)], None, vec![change(300.0, 0, None)]),
                "Above 300 B (between 1 and 4,096 B, without an interval) send is cheaper than sendmsg.",
            ),
            (
                said(&[Some(1), Some(0), None], Some(0.2), vec![Change { between: [1, 64].map(Bytes::new), ..change(8.0, 0, None) }]),
                "Above 8.0 B (between 1 and 64 B, without an interval) send is cheaper than sendmsg; 4,096 B show no difference \
                 (either costs at most 20 % more).",
            ),
            (
                said(&[Some(1), Some(0), Some(1)], None, vec![change(8.0, 0, Some((7.0, 9.0))), change(100.0, 1, Some((90.0, 110.0)))]),
                "The cheaper one of send and sendmsg changes: send above 8.0 B (7.0 to 9.0 B) and sendmsg above 100 B (90 to 110 B).",
            ),
        ] {
            assert_eq!(sentence, wanted);
        }
    }
}
