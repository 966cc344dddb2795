//! The heat map: a cell for each pair of buffers, drawn as SVG without a script.

use analysis::result::buffers::{BufferCell, BufferMap};
use maud::{Markup, html};

use super::words;
use crate::interval::range;
use crate::number;

/// Pixels of a cell, and of the margins that the names stand in.
const SIDE: usize = 44;
const LEFT: usize = 62;
const TOP: usize = 46;

/// The picture.
pub fn map(map: &BufferMap) -> Markup {
    let (columns, rows) = (map.receivers.len(), map.senders.len());
    let (width, height) = (LEFT + columns * SIDE + 4, TOP + rows * SIDE + 4);
    let label =
        format!("{}: goodput by the sender's and the receiver's buffer. The figures are in the table of every pair.", words::title(map));
    html! {
        div .scroll role="region" tabindex="0" aria-label="Heat map" {
            svg .heat viewBox={ "0 0 " (width) " " (height) } width=(width) role="img" aria-label=(label) {
                text x=(LEFT + columns * SIDE / 2) y="16" text-anchor="middle" .axis { "receiver's buffer, packets" }
                text x="16" y=(TOP + rows * SIDE / 2) text-anchor="middle" .axis transform={ "rotate(-90 16 " (TOP + rows * SIDE / 2) ")" } { "sender's buffer, packets" }
                @for (place, level) in map.receivers.iter().enumerate() {
                    text x=(LEFT + place * SIDE + SIDE / 2) y=(TOP - 8) text-anchor="middle" { (words::name(level)) title { "asked " (words::asked(level)) } }
                }
                @for (place, level) in map.senders.iter().enumerate() {
                    text x=(LEFT - 8) y=(TOP + row(rows, place) * SIDE + SIDE / 2 + 5) text-anchor="end" { (words::name(level)) title { "asked " (words::asked(level)) } }
                }
                @for (place, cell) in map.cells.iter().enumerate() { (square(map, place, cell, rows)) }
            }
        }
    }
}

/// Buffers rise upwards, as on any axis.
const fn row(rows: usize, sender: usize) -> usize {
    rows - 1 - sender
}

fn square(map: &BufferMap, place: usize, cell: &BufferCell, rows: usize) -> Markup {
    let share = words::share(map, cell).clamp(0.0, 1.0);
    let (x, y) = (LEFT + cell.receiver * SIDE, TOP + row(rows, cell.sender) * SIDE);
    let notch = map.notches.iter().any(|notch| notch.cell == place);
    let to_use = map.knee.is_some_and(|knee| map.diagonal[knee.buffer] == place);
    let (sender, receiver) = (&map.senders[cell.sender], &map.receivers[cell.receiver]);
    html! {
        g {
            rect x=(x + 1) y=(y + 1) width=(SIDE - 2) height=(SIDE - 2) rx="3" fill=(colour(share)) .to-use[to_use] .notch[notch] {}
            text x=(x + SIDE / 2) y=(y + SIDE / 2 + 5) text-anchor="middle" fill=(if share > 0.55 { "#ffffff" } else { "#10202e" }) .in { (format!("{:.0}", share * 100.0)) @if notch { "*" } }
            title {
                "asked " (words::asked(sender)) " and " (words::asked(receiver)) ": " (number::bits(cell.goodput_bit_per_s.value)) " ("
                (range(&cell.goodput_bit_per_s, number::bits)) "), " (number::percent(share)) " " (words::share_of(map))
                @if cell.in_flight.is_some() { ", " (words::packets(cell.in_flight)) " packets seen" }
                @if notch { "; a notch" }
                @if to_use { "; the buffer to use" }
            }
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
