//! Receipts as blocks of a document: all but the tables of series, of whose columns
//! a terminal chooses those that fit.

use analysis::result::receipt::{ReceiptStudy, WorkloadReceipt};
use model::order::Order;

use super::{chart, figure, rules, words};
use crate::document::{Alert, Block, Cell, Finding, Head, Rows, Span, Text, Tone};
use crate::number;
use crate::words::{capital, plural};

/// Key to the tables of series in a page.
const PAGE_LEGEND: &str = "ns of this end's CPU per message; ± to the farther end of the interval at 95 %; share of its CPU time. ↑ ↓ ~: shown \
                           by a test to rise, fall or vary with the size. A line to the left of a size: a boundary lies between. “Most \
                           messages/s”: what this end's processing alone would allow on one CPU, and without its work on acknowledgements \
                           (ack). “Billed before it ran”: CPU time that the clock gives an end for a wake-up, before it has a CPU.";

/// The same in a terminal.
const LEGEND: [(&str, &str); 5] = [
    ("ns", "CPU time of this end per message, ± to the farther end at 95 %, share of its CPU time"),
    ("↑ ↓ ~", "shown by a test to rise, fall or vary with the size; │ a boundary lies to the left"),
    ("most", "messages/s that this end's processing alone would allow on one CPU; below, without its work on acknowledgements"),
    ("billed", "CPU time that the clock gives an end for a wake-up, before it has a CPU: no CPU ran it"),
    ("…irq", "work that ran in a softirq or hard interrupt says so; the rest ran in the process"),
];

/// Returns what stands before the series: sources, receipts that do not add up, figures, legend.
pub fn before(study: &ReceiptStudy) -> Vec<Block> {
    let (sources, observer, rules) = (capital(&words::sources(study)), words::observer(study), words::rules(study));
    let mut blocks = vec![Block::Page(vec![Block::Lead(format!("{sources}. {observer} {rules}").into())])];
    blocks.extend(words::red(study).map(|text| {
        let reds = words::reds(study);
        let reason = |red: &words::Red| red.doubts.iter().map(|doubt| format!("{}: {doubt}", red.label)).collect::<Vec<_>>();
        let remedies = words::red_remedies(study).into_iter().map(capital).collect();
        Block::Alert(Alert { text, reasons: reds.iter().flat_map(reason).collect(), remedies })
    }));
    let (tone, sums) = words::sums(study);
    blocks.extend((tone == Tone::Bad).then_some(Block::Conclusion(tone, sums)));
    let sources = format!("{sources}. {observer}");
    blocks.push(Block::Terminal(vec![Block::Paragraph(sources.into()), Block::Paragraph(rules.into())]));
    blocks.extend(Block::figures(chart::all(study)));
    if !study.series.is_empty() {
        blocks.push(Block::Key(PAGE_LEGEND));
        blocks.push(Block::Terminal(vec![Block::terms("", LEGEND)]));
    }
    blocks
}

/// Returns what stands behind the series: workloads, checksums, doubts, absences, rules.
pub fn after(study: &ReceiptStudy) -> Vec<Block> {
    let mut blocks: Vec<Block> = workloads(study).into_iter().collect();
    if !study.checksums.is_empty() {
        let heading = || Block::Heading("What computing checksums costs".into());
        let costs = |end: &str| study.checksums.iter().map(|cost| format!("{}{end}", words::checksums(cost)).into()).collect();
        blocks.push(Block::Page(vec![heading(), Block::Sentences(costs("."))]));
        blocks.push(Block::Terminal(vec![heading(), Block::Sentences(costs(""))]));
    }
    blocks.extend(doubts(study));
    blocks.extend(absences(study));
    let decided = rules::table(study);
    if decided.rows() > 0 {
        blocks.extend(Block::details("What each rule decided", [decided.into()]));
    }
    blocks
}

fn workloads(study: &ReceiptStudy) -> Option<Block> {
    let touching = |workload: &WorkloadReceipt| {
        let rows = workload.categories.rows.iter().filter(|row| row.key.touches_data());
        figure::share(rows.map(|row| row.share).sum())
    };
    let cpu = |workload: &WorkloadReceipt| {
        let cpu = &workload.categories.cpu;
        let margin = Span::Margin(figure::plus_minus(&cpu.ns));
        let bounds = Span::Small(format!("{} to {}", figure::ns(cpu.bounds[0]), figure::ns(cpu.bounds[1])));
        Text(vec![Span::Plain(format!("{} ", figure::ns(cpu.ns.value))), margin, bounds])
    };
    let narrow_cpu = |workload: &WorkloadReceipt| {
        let ns = workload.categories.cpu.ns;
        format!("{} {:5}", figure::ns(ns.value), figure::plus_minus(&ns))
    };
    let layers = |workload: &WorkloadReceipt| {
        let rows = workload.layers.rows.iter().take(3).map(|row| format!("{} {}", row.key, figure::share(row.share)));
        rows.collect::<Vec<_>>().join(", ")
    };
    let table = Rows::of(&study.workloads)
        .words(("Workload", 9, ["", "workload"]), |workload| Cell::Stack(vec![workload.workload.clone(), workload.title.clone()]))
        .figures(Head::page("Mean size, B"), |workload| number::significant(workload.mean_bytes, 3))
        .words(("Series and end", 9, ["", "series and end"]), |workload| format!("{}, {}", workload.series, workload.role))
        .figures(Head::page("CPU per message, ns"), cpu)
        .figures(Head::terminal(9, ["CPU/message", "ns"]), narrow_cpu)
        .figures(("Touches payload", 8, ["touches", "payload"]), touching)
        .words(Head::page("Costliest layers"), layers)
        .figures(Head::page("Between sizes"), |workload| figure::share(workload.categories.interpolated))
        .figures(("Beyond: messages", 7, ["beyond, of", "messages"]), |workload| figure::share(workload.categories.beyond))
        .figures(("bytes", 7, ["", "bytes"]), |workload| figure::share(workload.categories.beyond_bytes))
        .table()
        .labelled("Workloads", "Receipts weighted by workloads")
        .styled("every");
    let mut titles: Vec<String> = study.workloads.iter().map(|workload| format!("{} {}", workload.workload, workload.title)).collect();
    titles.order();
    titles.dedup();
    let page = "Between two measured sizes a row lies on a straight line; below the CPU time, where it would lie if it were anywhere between \
                its two values. Messages beyond the largest size are left out.";
    let terminal = format!("{}. Messages larger than the largest measured are beyond, and left out.", titles.join("; "));
    let notes = [Block::Page(vec![Block::Aside(page.into())]), Block::Terminal(vec![Block::Aside(terminal.into())])];
    (!study.workloads.is_empty()).then(|| Block::piece("Laid over published workloads", std::iter::once(table.into()).chain(notes)))
}

/// A heading in a page, a count of what follows in a terminal, then findings.
fn counted(heading: &str, count: String, page: Vec<Finding>, terminal: Vec<Finding>) -> Vec<Block> {
    if page.is_empty() {
        return Vec::new();
    }
    vec![
        Block::Page(vec![Block::Heading(heading.into()), Block::Findings(page)]),
        Block::Terminal(vec![Block::Gap, Block::Conclusion(Tone::Bad, count), Block::Findings(terminal)]),
    ]
}

fn doubts(study: &ReceiptStudy) -> Vec<Block> {
    let missing = words::missing(study).into_iter();
    let missing = missing.map(|text| Finding { text: format!("No receipt of {text}"), remedy: String::new(), concerns: String::new() });
    let doubts = words::doubts(study).into_iter().map(|doubt| Finding {
        text: format!("{}{}", if doubt.of.len() > 1 { "at worst " } else { "" }, doubt.text),
        remedy: capital(doubt.remedy),
        concerns: words::concerned(&doubt.of),
    });
    let all: Vec<Finding> = missing.chain(doubts).collect();
    counted("Doubts about receipts", format!("{} about receipts", plural(all.len() as u64, "doubt")), all.clone(), all)
}

fn absences(study: &ReceiptStudy) -> Vec<Block> {
    let page = study.absences.iter().map(|absence| Finding {
        text: format!("{}: {}", absence.unavailable.what, absence.unavailable.answer),
        remedy: capital(&absence.unavailable.remedy),
        concerns: format!("in {}", plural(absence.trials, "trial")),
    });
    // In a terminal a line less for each.
    let terminal = study.absences.iter().map(|absence| Finding {
        text: format!("{}: {} ({})", absence.unavailable.what, absence.unavailable.answer, plural(absence.trials, "trial")),
        remedy: capital(&absence.unavailable.remedy),
        concerns: String::new(),
    });
    let count = format!("{} unavailable", plural(study.absences.len() as u64, "source"));
    counted("Unavailable", count, page.collect(), terminal.collect())
}
