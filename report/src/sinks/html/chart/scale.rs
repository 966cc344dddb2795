//! Axes as numbers: the place of a value, and the ticks that are drawn.

use crate::document::figure::Ticks;

/// Figures that a linear axis of a panel so high has room for.
const TICK_ROOM: f64 = 30.0;

/// A map from values to places from 0, the axis' start, to 1, its end.
#[derive(Debug, Clone)]
pub enum Scale {
    /// Equal distances are equal differences.
    Linear(f64, f64),
    /// Equal distances are equal ratios; both ends are positive.
    Log(f64, f64),
    /// One place for each of so many names.
    Names(usize),
}

/// A tick: the place on its axis, and its text.
pub type Tick = (f64, String);

impl Scale {
    /// The place of a value, of a name its number; `None` of what has no place.
    pub fn place(&self, value: f64) -> Option<f64> {
        let place = match self {
            Self::Linear(from, to) => (value - from) / (to - from),
            Self::Log(from, to) => (value / from).ln() / (to / from).ln(),
            Self::Names(count) => (value + 0.5) / (*count).max(1) as f64,
        };
        Some(place).filter(|place| place.is_finite())
    }

    /// A logarithmic axis with room at both ends.
    pub fn log(least: f64, most: f64, room: f64) -> Self {
        let (least, most) = if least > 0.0 && most.is_finite() { (least, most.max(least)) } else { (1.0, 1.0) };
        Self::Log(least / room, most * room)
    }

    /// A linear axis with a share of its length as room at both ends, or at its upper end
    /// where it starts at zero.
    pub fn linear(least: f64, most: f64, zero: bool) -> Self {
        let (least, most) = if least <= most && most.is_finite() { (least, most) } else { (0.0, 1.0) };
        let (least, most) = if zero { (least.min(0.0), most.max(0.0)) } else { (least, most) };
        let length = if most > least { most - least } else { most.abs().max(1e-12) };
        let low = if zero && least >= 0.0 { 0.0 } else { least - 0.06 * length };
        Self::Linear(low, low.max(most) + 0.06 * length)
    }

    /// The same with such a share of its length more at both ends.
    pub fn widened(self, share: f64) -> Self {
        match self {
            Self::Linear(from, to) => Self::Linear(from - share * (to - from), to + share * (to - from)),
            Self::Log(from, to) => Self::Log(from / (to / from).powf(share), to * (to / from).powf(share)),
            names @ Self::Names(_) => names,
        }
    }

    /// Those ticks that lie on the axis.
    pub fn known(&self, ticks: &Ticks) -> Vec<Tick> {
        let all = ticks.at.iter().zip(&ticks.text).filter_map(|(at, text)| Some((self.place(*at)?, text.clone())));
        all.filter(|(place, _)| (-1e-9..=1.0 + 1e-9).contains(place)).collect()
    }

    /// Round numbers of a linear axis `length` long, in one unit with its SI prefix.
    pub fn round(&self, length: f64, unit: &str) -> Vec<Tick> {
        let Self::Linear(from, to) = *self else { return Vec::new() };
        let rough = (to - from) / (length / TICK_ROOM).max(3.0);
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|step| *step >= rough).unwrap_or(rough);
        let (first, last) = ((from / step).ceil() as i64, (to / step + 1e-9).floor() as i64);
        // Not more than an axis has room for, whatever its ends are.
        let at = (first..=last.min(first.saturating_add(40))).map(|place| place as f64 * step);
        let most = from.abs().max(to.abs());
        at.filter_map(|value| Some((self.place(value)?, label(value, step, most, unit)))).collect()
    }
}

/// A number of an axis: `1.5 µs`, `20 %`, `300 k`.
fn label(value: f64, step: f64, most: f64, unit: &str) -> String {
    const PREFIXES: [(f64, &str); 8] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n")];
    if value == 0.0 {
        return if unit == "%" { "0 %".to_owned() } else { "0".to_owned() };
    }
    let (factor, prefix) = match unit {
        "%" => (0.01, ""),
        _ => PREFIXES.into_iter().find(|(factor, _)| most >= *factor * 0.999).unwrap_or((1e-9, "n")),
    };
    let decimals = (-(step / factor * 1.000_001).log10().floor()).clamp(0.0, 6.0) as usize;
    format!("{:.decimals$} {prefix}{unit}", value / factor).trim_end().to_owned()
}

/// Ticks of those that are at least their own length apart, the first kept; `widths` says how long
/// each text is, in shares of the axis.
pub fn apart(ticks: Vec<Tick>, width: impl Fn(&str) -> f64) -> Vec<Tick> {
    let mut kept: Vec<Tick> = Vec::new();
    for (place, text) in ticks {
        let room = kept.last().is_none_or(|(before, last)| place - before >= (width(last) + width(&text)) / 2.0);
        if room {
            kept.push((place, text));
        }
    }
    kept
}

/// The same with the last kept as well: those before it give way.
pub fn thinned(ticks: Vec<Tick>, width: impl Fn(&str) -> f64) -> Vec<Tick> {
    let mut kept = apart(ticks.clone(), &width);
    let Some(last) = ticks.into_iter().next_back().filter(|last| kept.last().is_some_and(|kept| kept.0 < last.0)) else { return kept };
    let touches = |tick: &Tick| last.0 - tick.0 < (width(&tick.1) + width(&last.1)) / 2.0;
    while kept.len() > 1 && kept.last().is_some_and(touches) {
        kept.pop();
    }
    if kept.last().is_none_or(|tick| !touches(tick)) {
        kept.push(last);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::{Scale, apart, thinned};
    use proptest::prelude::{any, prop_assert, proptest};

    fn texts(scale: &Scale, length: f64, unit: &str) -> Vec<String> {
        scale.round(length, unit).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round_and_say_one_unit() {
        assert_eq!(texts(&Scale::linear(0.0, 4.1e-6, true), 230.0, "s"), ["0", "1 µs", "2 µs", "3 µs", "4 µs"]);
        assert_eq!(texts(&Scale::linear(0.0, 1.7e-6, true), 230.0, "s"), ["0", "0.5 µs", "1.0 µs", "1.5 µs"]);
        assert_eq!(texts(&Scale::linear(0.0, 512_000.0, true), 260.0, ""), ["0", "100 k", "200 k", "300 k", "400 k", "500 k"]);
        assert_eq!(texts(&Scale::linear(-0.04, 0.05, false), 140.0, "%"), ["0 %", "5 %"]);
    }

    #[test]
    fn equal_ratios_are_equal_distances() {
        let scale = Scale::log(1.0, 16_384.0, 1.0);
        assert!((scale.place(128.0).unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(scale.place(0.0), None);
        assert_eq!(Scale::Names(4).place(1.0), Some(0.375));
    }

    #[test]
    fn texts_do_not_touch() {
        let ticks = [0.0, 0.01, 0.5, 0.52, 1.0].map(|place| (place, "16K".to_owned()));
        assert_eq!(apart(ticks.to_vec(), |_| 0.1).iter().map(|tick| tick.0).collect::<Vec<_>>(), [0.0, 0.5, 1.0]);
        let ticks = [0.0, 0.01, 0.5, 0.93, 1.0].map(|place| (place, "16K".to_owned()));
        let kept = |width: f64| thinned(ticks.to_vec(), |_| width).iter().map(|tick| tick.0).collect::<Vec<_>>();
        assert_eq!(kept(0.1), [0.0, 0.5, 1.0], "both ends stay");
        assert_eq!(kept(1.5), [0.0], "unless they touch");
    }

    proptest! {
        #[test]
        fn any_ends_make_an_axis(least in any::<f64>(), most in any::<f64>(), zero in any::<bool>()) {
            let scale = Scale::linear(least, most, zero);
            let ticks = scale.round(300.0, "s");
            prop_assert!(ticks.len() <= 41);
            prop_assert!(ticks.iter().all(|(place, _)| (-1e-6..=1.0 + 1e-6).contains(place)));
            if let Scale::Log(from, to) = Scale::log(least, most, 1.3) {
                prop_assert!(from > 0.0 && to > from || !from.is_normal() || !to.is_normal());
            }
        }
    }
}
