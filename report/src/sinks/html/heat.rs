//! A heat map drawn as SVG, without a script.

use maud::{Markup, html};

use crate::document::{HeatMap, Square, Step};

/// Least and most pixels of a square, pixels that all together fill, and margins that the names stand in.
const SIDES: [usize; 2] = [34, 64];
const FILLED: usize = 220;
const LEFT: usize = 62;
const TOP: usize = 46;
/// Further margins of details: the room of one, and of its unit below the map.
const DETAIL: usize = 66;
const LINE: usize = 16;
/// Lines of details that stand in turn where one has no room for all.
const MOST_LINES: usize = 2;
/// Room of a letter of an axis's title, and of a detail.
const LETTER: usize = 7;

/// The picture.
pub fn map(map: &HeatMap) -> Markup {
    let (columns, rows) = (map.columns.len(), map.rows.len());
    let side = (FILLED / columns.max(rows).max(1)).clamp(SIDES[0], SIDES[1]);
    // Details that have no room next to each other stand in lines in turn, and those beyond are left out.
    let longest = |steps: &[Step]| steps.iter().map(|step| step.detail.chars().count()).max().unwrap_or(0);
    let every = (longest(&map.columns) * LETTER + 2).div_ceil(side).max(1);
    let lines = every.min(MOST_LINES);
    let has_details = longest(&map.rows) + longest(&map.columns) > 0;
    let [left, top, foot] = if has_details { [LEFT + DETAIL, TOP + LINE * lines, LINE + 4] } else { [LEFT, TOP, 4] };
    let [line, foremost] = if has_details { [top - LINE * lines - 8, top - LINE * (lines - 1) - 8] } else { [top - 8; 2] };
    // Titles of axes have room in maps of few squares as well.
    let [across, up] = [map.across, map.up].map(|title| title.chars().count() * LETTER / 2 + 4);
    let (width, height) = ((left + columns * side + 4).max(2 * across), (top + rows * side + foot).max(2 * up));
    let middle = (left + columns * side / 2).clamp(across, width - across);
    let centre = (top + rows * side / 2).clamp(up, height - up);
    // Rows rise upwards, as on any axis.
    let y = |row: usize| top + (rows - 1 - row) * side;
    let [names, details] = [left - 8, (left - 2).saturating_sub(DETAIL)];
    html! {
        div .scroll role="region" tabindex="0" aria-label="Heat map" {
            svg .heat viewBox={ "0 0 " (width) " " (height) } width=(width) role="img" aria-label=(map.label) {
                text x=(middle) y="16" text-anchor="middle" .axis { (map.across) }
                text x="16" y=(centre) text-anchor="middle" .axis transform={ "rotate(-90 16 " (centre) ")" } { (map.up) }
                @if has_details {
                    @for (unit, x, y) in [(0, names, line), (1, names, foremost), (0, names, height - 5), (1, details, height - 5)] {
                        text x=(x) y=(y) text-anchor="end" .axis { (map.units[unit]) }
                    }
                }
                @for (place, level) in map.columns.iter().enumerate() {
                    @let x = left + place * side + side / 2;
                    (name([x, line], "middle", level))
                    @if place % every < lines { (detail([x, foremost + LINE * (place % every)], "middle", level)) }
                }
                @for (place, level) in map.rows.iter().enumerate() {
                    @let y = y(place) + side / 2 + 5;
                    (name([names, y], "end", level))
                    (detail([details, y], "end", level))
                }
                @for one in &map.squares { (square(one, map.darkest, side, [left + one.column * side, y(one.row)])) }
                // A frame lies over its neighbours.
                @for one in map.squares.iter().filter(|one| one.framed) {
                    rect x=(left + one.column * side) y=(y(one.row)) width=(side) height=(side) rx="3" .framed {}
                }
            }
        }
    }
}

fn name([x, y]: [usize; 2], anchor: &str, level: &Step) -> Markup {
    html! { text x=(x) y=(y) text-anchor=(anchor) { (level.name) title { (level.hint) } } }
}

fn detail([x, y]: [usize; 2], anchor: &str, level: &Step) -> Markup {
    html! { @if !level.detail.is_empty() { text x=(x) y=(y) text-anchor=(anchor) .detail { (level.detail) } } }
}

fn square(one: &Square, darkest: f64, side: usize, [x, y]: [usize; 2]) -> Markup {
    let (share, shade) = (one.share.clamp(0.0, 1.0), (one.share / darkest).clamp(0.0, 1.0));
    let ink = if shade > 0.55 { "#ffffff" } else { "#10202e" };
    html! {
        g {
            rect x=(x + 1) y=(y + 1) width=(side - 2) height=(side - 2) rx="3" fill=(colour(shade)) .notch[one.marked] {}
            text x=(x + side / 2) y=(y + side / 2 + 5) text-anchor="middle" fill=(ink) .in { (format!("{:.0}", share * 100.0)) @if one.marked { "*" } }
            title { (one.hint) }
        }
    }
}

/// From nearly white to dark blue: lightness falls all the way, so that it is
/// read without colour, too.
fn colour(share: f64) -> String {
    const STEPS: [[f64; 3]; 4] = [[240.0, 246.0, 251.0], [158.0, 202.0, 225.0], [49.0, 130.0, 189.0], [8.0, 48.0, 107.0]];
    let at = share * (STEPS.len() - 1) as f64;
    let step = (at.floor() as usize).min(STEPS.len() - 2);
    let mixed = |part: usize| STEPS[step][part] + (STEPS[step + 1][part] - STEPS[step][part]) * (at - step as f64);
    format!("#{:02x}{:02x}{:02x}", mixed(0) as u8, mixed(1) as u8, mixed(2) as u8)
}

#[cfg(test)]
mod tests {
    use super::colour;

    #[test]
    fn more_is_darker() {
        assert_eq!([colour(0.0), colour(1.0)], ["#f0f6fb", "#08306b"]);
        let lightness = |share: f64| {
            let text = colour(share);
            (0..3).map(|part| u32::from_str_radix(&text[1 + 2 * part..3 + 2 * part], 16).unwrap()).sum::<u32>()
        };
        assert!((0..100).all(|step| lightness(f64::from(step) / 100.0) >= lightness(f64::from(step + 1) / 100.0)));
    }
}
