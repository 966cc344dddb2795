//! One state of a program against another.

use analysis::attached::{self, Change};
use attribution::{Difference, Verdict};

use crate::document::{Block, Document, Masthead, Rows, Section, Tone};
use crate::interval;
use crate::number::{change as signed_share, percent, time};
use crate::studies::receipt::figure;

/// Tables and conclusion.
pub fn blocks(change: &Change) -> Vec<Block> {
    let cpu = &change.layers.cpu;
    let [before, after] = cpu.ns;
    let least = percent(change.threshold);
    let (tone, word) = match change.verdict {
        attached::Verdict::Worse => (Tone::Bad, format!("costs more, by more than {least}")),
        attached::Verdict::Better => (Tone::Good, format!("costs less, by more than {least}")),
        attached::Verdict::Equivalent => (Tone::Good, format!("equivalent, to within {least}")),
        attached::Verdict::Inconclusive => (Tone::Open, format!("neither a difference beyond {least} nor that there is none is shown")),
    };
    let mut blocks = vec![Block::Conclusion(
        tone,
        format!(
            "A request takes {} in {} and {} in {} ({}): {word}.",
            time(before),
            change.names[0],
            time(after),
            change.names[1],
            signed_share((after - before) / before)
        ),
    )];
    if let Some([low, high]) = change.share().filter(|_| change.ratio.is_none()) {
        blocks.push(Block::Paragraph(
            format!("Interval of the difference: {} to {}, at 95 %.", signed_share(low), signed_share(high)).into(),
        ));
    }
    if let Some(ratio) = &change.ratio {
        blocks.push(Block::Paragraph(
            format!("Paired by block: {:.3} times the first ({}).", ratio.value, interval::range(ratio, |value| format!("{value:.3}")))
                .into(),
        ));
    }
    if change.red.contains(&true) {
        blocks.push(Block::Conclusion(Tone::Bad, "A receipt does not add up: do not use the rows.".to_owned()));
    }
    let verdict = |row: &Difference<attribution::Layer>| match row.verdict {
        Verdict::Costlier => "more",
        Verdict::Cheaper => "less",
        Verdict::NotShown => "",
    };
    let table = Rows::of(&change.layers.rows)
        .words("layer", |row| row.key.to_string())
        .figures("before", |row| figure::ns(row.ns[0]))
        .figures("after", |row| figure::ns(row.ns[1]))
        .figures("difference, ns", |row| format!("{} ({})", figure::ns(row.difference.value), figure::range(&row.difference, figure::ns)))
        .words("", verdict)
        .table()
        .labelled("Layers", "CPU time of a request by layer, in both");
    blocks.push(table.into());
    blocks
}

/// The comparison.
pub fn document(change: &Change) -> Document {
    let heading = format!("{} against {}", change.names[1], change.names[0]);
    Document::of(Masthead::of("compare", heading, []), [Section::new("change", "CPU time of a request", blocks(change))])
}
