//! A whole in parts as one bar, each part with its name above it and its figure below; on a narrow screen as bars
//! below each other.

use maud::{Markup, html};

use super::frame;
use super::layout::{BOLD, LETTER, Shape, long};
use super::marks::short;
use crate::document::charts::{Breakdown, Share};

/// Height of a bar, of the texts above and below the one of a wide screen, and of a row of a narrow one.
const BAR: f64 = 44.0;
const TEXT: f64 = 18.0;
const ROW: f64 = 26.0;
/// Distance of a text from what it belongs to.
const APART: f64 = 8.0;

/// The drawings of a page: for a wide screen and for a narrow one.
pub fn drawings(all: &Breakdown) -> Markup {
    html! { (one_bar(all)) (rows(all)) }
}

fn drawing(all: &Breakdown, shape: Shape, height: f64, content: &Markup) -> Markup {
    let width = shape.width();
    let (alone, above) = frame::alone(&all.title, width);
    html! {
        svg .chart.breakdown .(shape.name()) viewBox={ "0 0 " (short(width)) " " (short(height)) } role="img" aria-label=(all.alt)
            data-alone={ "0 -" (short(above)) " " (short(width)) " " (short(height + above)) } {
            title { (all.title) }
            g .s data-series="0" { (content) }
            (alone)
        }
    }
}

fn bar(part: &Share, [x, y, width, height]: [f64; 4]) -> Markup {
    let hint = format!("{}\n{}\n{}", part.name, part.figure, part.share);
    html! {
        rect .mark.part .{ @match part.colour { Some(place) => { "a" (place) }, None => "rest" } }
            x=(short(x)) y=(short(y)) width=(short(width.max(0.5))) height=(short(height)) { title { (hint) } }
    }
}

/// One bar, whose texts stand in as many rows as keep them apart. From the right: a line to a text in a higher row then
/// has every text of a lower row to its right.
fn one_bar(all: &Breakdown) -> Markup {
    let width = Shape::Wide.width();
    let whole: f64 = all.parts.iter().map(|part| part.amount).sum();
    let mut placed = Vec::new();
    let (mut x, mut free) = (width, Vec::<f64>::new());
    for part in all.parts.iter().rev() {
        let wide = part.amount / whole.max(f64::MIN_POSITIVE) * width;
        x = (x - wide).max(0.0);
        let room = (long(&part.name, BOLD) + LETTER + long(&part.share, LETTER)).max(long(&part.figure, LETTER)) + APART;
        // Without room to its right a text ends where its part does.
        let at = if x + room - APART <= width { x } else { (x + wide - room + APART).max(0.0) };
        let row = free.iter().position(|start| at + room <= *start).unwrap_or(free.len());
        if row == free.len() {
            free.push(0.0);
        }
        free[row] = at;
        placed.push((part, x, wide, at, row));
    }
    placed.reverse();
    let above = TEXT * free.len() as f64 + 2.0;
    let height = 2.0 * above + BAR;
    let content = html! {
        @for (part, x, wide, _, row) in &placed {
            @let [name, figure] = [above - 6.0 - TEXT * *row as f64, above + BAR + 14.0 + TEXT * *row as f64];
            @if *row > 0 { path .lead d={ "M" (short(x + 1.0)) " " (short(name + 3.0)) "V" (short(above)) "m0 " (short(BAR)) "V" (short(figure - 11.0)) } {} }
            (bar(part, [*x, above, wide - 1.5, BAR]))
        }
        @for (part, x, wide, at, row) in &placed {
            @let [name, figure] = [above - 6.0 - TEXT * *row as f64, above + BAR + 14.0 + TEXT * *row as f64];
            @let (class, at) = if at < x { (Some("ty"), x + wide) } else { (None, *at) };
            text class=[class] x=(short(at)) y=(short(name)) { tspan .strong { (part.name) } " " (part.share) }
            text class=[class] x=(short(at)) y=(short(figure)) { (part.figure) }
        }
    };
    drawing(all, Shape::Wide, height, &content)
}

/// A row a part.
fn rows(all: &Breakdown) -> Markup {
    let width = Shape::Narrow.width();
    let longest = |of: &dyn Fn(&Share) -> f64| all.parts.iter().map(of).fold(0.0, f64::max);
    let names = longest(&|part| long(&part.name, BOLD)) + APART;
    let figures = longest(&|part| long(&part.figure, LETTER)) + APART;
    let shares = longest(&|part| long(&part.share, LETTER)) + APART;
    let room = (width - names - figures - shares).max(20.0);
    let most = longest(&|part| part.amount).max(f64::MIN_POSITIVE);
    let content = html! {
        @for (row, part) in all.parts.iter().enumerate() {
            @let y = ROW * row as f64;
            text .strong x="0" y=(short(y + 17.0)) { (part.name) }
            (bar(part, [names, y + 4.0, part.amount / most * room, ROW - 8.0]))
            text .ty x=(short(width - shares)) y=(short(y + 17.0)) { (part.figure) }
            text .ty x=(short(width)) y=(short(y + 17.0)) { (part.share) }
        }
    };
    drawing(all, Shape::Narrow, ROW * all.parts.len() as f64 + 4.0, &content)
}

#[cfg(test)]
mod tests {
    use super::drawings;
    use crate::document::charts::{Breakdown, Share};

    #[test]
    fn texts_of_small_parts_stand_in_rows_of_their_own() {
        let part = |name: &str, amount: f64| {
            let (name, share) = (name.to_owned(), format!("{amount} %"));
            Share { name, amount, figure: format!("{amount} µs"), share, colour: (amount > 1.0).then_some(2) }
        };
        let parts = vec![part("own code", 80.0), part("<b>netfilter</b>", 2.0), part("driver", 1.0), part("billed", 17.0)];
        let all = Breakdown { id: "b".into(), title: "One request".into(), caption: String::new(), alt: String::new(), parts };
        let text = drawings(&all).into_string();
        assert!(text.contains("class=\"lead\"") && text.contains("rest") && !text.contains("<b>") && !text.contains("NaN"), "{text}");
        assert_eq!(text.matches("class=\"mark part").count(), 8);
    }
}
