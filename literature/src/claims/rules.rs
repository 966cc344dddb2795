//! The kinds of rule that a row of the claims can name. Each takes operands and curves, and
//! says whether they show it.

use stats::cost::LEAST_NOISE;
use stats::cost::design::Point;
use stats::knee::{NOTCH, notch_depth};

use super::evidence::{Curve, Evidence, Figure, Pick};
use super::operands::Operands;
use crate::power;
use crate::shape::Side;
use crate::steps;

/// The outcome of a rule on curves.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// They show it, or its opposite; `None`: neither.
    pub holds: Option<bool>,
    /// The figures in words.
    pub found: String,
    /// The figures.
    pub values: Vec<f64>,
}

/// Name of the rule that rules on nothing: today's number next to the paper's.
pub const NEXT_TO: &str = "next-to";

/// A kind of rule.
#[derive(Debug)]
pub struct Kind {
    /// Its name in the rows.
    pub name: &'static str,
    /// Operands that it cannot do without.
    pub needs: &'static [&'static str],
    /// `None` where the curves lack what it takes.
    rule: fn(&Operands, &Evidence) -> Option<Outcome>,
    words: fn(&Operands) -> String,
}

/// All kinds.
pub const KINDS: &[Kind] = &[
    Kind { name: "none", needs: &[], rule: |_, _| None, words: |_| "no table of the paper could decide it".to_owned() },
    Kind { name: "near", needs: &["of", "near"], rule: near, words: |of| format!("{} {}", of.each(), of.bounds_words(of.unit())) },
    Kind { name: "between", needs: &["of"], rule: between, words: |of| format!("{} {}", of.each(), of.bounds_words(of.unit())) },
    Kind { name: NEXT_TO, needs: &["of"], rule: next_to, words: |_| "number next to number".to_owned() },
    Kind {
        name: "allows",
        needs: &["of"],
        rule: allows,
        words: |of| format!("its rounding allows {}", of.text("value").unwrap_or("a sum of frames")),
    },
    Kind { name: "spread", needs: &["of"], rule: spread, words: |of| format!("largest over smallest {}", of.bounds_words("")) },
    Kind { name: "rises", needs: &["of"], rule: rises, words: |_| "every step is a rise".to_owned() },
    Kind {
        name: "peaks",
        needs: &["of", "at"],
        rule: peaks,
        words: |of| {
            let rise = if of.text("to") == Some("any") { "" } else { "rises at every step to it, and " };
            format!("{rise}beyond {} it is lower by more than {} %", of.text("at").unwrap_or_default(), of.number("percent").unwrap_or(0.0))
        },
    },
    Kind {
        name: "crosses",
        needs: &["of", "over", "near", "factor"],
        rule: crosses,
        words: |of| {
            format!(
                "they cross, with more than 5 % between them on either side, within {} times of {}",
                of.text("factor").unwrap_or_default(),
                of.text("near").unwrap_or_default()
            )
        },
    },
    Kind {
        name: "step",
        needs: &["of", "at"],
        rule: step,
        words: |of| {
            format!(
                "a {} step at {}: more than {:.0} % off the slope of the sizes before",
                of.text("to").unwrap_or("dearer"),
                of.text("at").unwrap_or_default(),
                steps::LEAST_STEP * 100.0
            )
        },
    },
    Kind {
        name: "notch",
        needs: &["of", "at"],
        rule: notch,
        words: |of| {
            format!("at {} lower than both neighbours by {:.0} % or more, as in runs", of.text("at").unwrap_or_default(), NOTCH * 100.0)
        },
    },
    Kind {
        name: "saturates",
        needs: &["of", "percent"],
        rule: saturates,
        words: |of| format!("the upper half of the places adds no more than {} %", of.text("percent").unwrap_or_default()),
    },
    Kind { name: "equal-best", needs: &["of"], rule: equal_best, words: |_| "each curve is best where both ends are equal".to_owned() },
    Kind {
        name: "power-law",
        needs: &["of", "at"],
        rule: power_law,
        words: |of| {
            format!(
                "within {:.0} % of a power law to {} at least, and leaves it later",
                power::WITHIN * 100.0,
                of.text("at").unwrap_or_default()
            )
        },
    },
    Kind {
        name: "line",
        needs: &["of", "r2"],
        rule: line,
        words: |of| format!("a line explains at least {} of the variance", of.text("r2").unwrap_or_default()),
    },
    Kind {
        name: "varying",
        needs: &["of"],
        rule: varying,
        words: |of| {
            let which =
                of.text("near").map_or_else(|| "a smaller share than of the others has".to_owned(), |count| format!("{count} rows have"));
            format!("{which} a largest figure more than {VARIES} times the smallest")
        },
    },
    Kind {
        name: "movers",
        needs: &["of", "between", "names"],
        rule: movers,
        words: |of| format!("as a set, those that differ most between {} B", of.text("between").unwrap_or_default().replace(',', " and ")),
    },
    Kind {
        name: "dearest",
        needs: &["of", "names"],
        rule: dearest,
        words: |of| {
            let names = || of.text("names").unwrap_or_default();
            match of.text("each") {
                None => "as a set, the dearest".to_owned(),
                Some("most") => format!("{} is the dearest at most sizes", names()),
                Some(_) => format!("{} is the dearest at every size", names()),
            }
        },
    },
    Kind {
        name: "outweighs",
        needs: &["of", "names", "others"],
        rule: outweighs,
        words: |of| {
            format!(
                "{} cost more than {} at every size",
                of.text("names").unwrap_or_default().replace(',', " + "),
                of.text("others").unwrap_or_default().replace(',', " + ")
            )
        },
    },
    Kind {
        name: "concentrated",
        needs: &["of", "over", "count"],
        rule: concentrated,
        words: |of| format!("the {} dearest have a smaller share", of.text("count").unwrap_or_default()),
    },
    Kind {
        name: "excess",
        needs: &["of", "over", "near", "within"],
        rule: excess,
        words: |of| {
            format!("the ratio of sums {}; the rows are not all of the kernel, so a larger one decides nothing", of.bounds_words(""))
        },
    },
];

impl Kind {
    /// The kind of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// Rules; `None` where the curves lack what it takes.
    pub fn rule(&self, operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
        (self.rule)(operands, evidence)
    }

    /// The rule in words: what is looked at, and what it has to show.
    pub fn words(&self, operands: &Operands) -> String {
        let subject = operands.subject();
        let shows = (self.words)(operands);
        if subject.is_empty() { shows } else { format!("{subject}: {}", shows.trim()) }
    }
}

/// Most entries that a sentence lists.
const LISTED: usize = 10;

/// A figure in four digits.
pub fn figure(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let digits = (3 - value.abs().max(1e-12).log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), ""), |(whole, rest)| (whole, rest));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if rest.is_empty() { format!("{sign}{grouped}") } else { format!("{sign}{grouped}.{rest}") }
}

fn place(at: f64) -> String {
    format!(" at {}", figure(at))
}

/// Names with their figures; the least and the most where there are too many.
fn listed(picks: &[&Pick], unit: &str) -> String {
    let alike = |pick: &Pick| picks.iter().any(|other| other.name == pick.name && other.at == pick.at && other.group != pick.group);
    let one = |pick: &Pick| {
        let group = if alike(pick) { format!(" ({})", pick.group) } else { String::new() };
        format!("{}{group}{} {}", pick.name, pick.at.map_or_else(String::new, place), measured(pick.figure, unit))
    };
    if picks.len() <= LISTED {
        return picks.iter().map(|pick| one(pick)).collect::<Vec<_>>().join(", ");
    }
    let by = |a: &&&Pick, b: &&&Pick| a.figure.value.total_cmp(&b.figure.value);
    let ends = picks.iter().min_by(by).zip(picks.iter().max_by(by));
    ends.map_or_else(String::new, |(least, most)| format!("from {} to {}", one(least), one(most)))
}

/// A figure with its unit: figures of today are too small or too large for those of the papers.
fn measured(of: Figure, unit: &str) -> String {
    let (unit, factor) = match unit {
        " ms" if 0.0 < of.value && of.value < 0.1 => (" µs", 1e3),
        " bit/s" if of.value >= 1e7 => (" Mbit/s", 1e-6),
        own => (own, 1.0),
    };
    format!("{}{unit}", ended(of.scaled(factor)))
}

fn ended(of: Figure) -> String {
    if !of.is_known() {
        return format!("{} (no interval)", figure(of.value));
    }
    if of.low == of.high { figure(of.value) } else { format!("{} ({} to {})", figure(of.value), figure(of.low), figure(of.high)) }
}

/// The outcome of many, by how many of them have to be shown.
fn counted(shown: &[Option<bool>], each: Option<&str>) -> Option<bool> {
    let count = |what: Option<bool>| shown.iter().filter(|one| **one == what).count();
    let (yes, no) = (count(Some(true)), count(Some(false)));
    let least = match each {
        None => shown.len(),
        Some("most") => shown.len() / 2 + 1,
        Some("any") => 1,
        Some(count) => count.parse().unwrap_or(shown.len()),
    };
    match (yes >= least, shown.len() - no < least) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

fn ruled(operands: &Operands, picks: &[Pick], shows: impl Fn(Figure) -> Option<bool>) -> Option<Outcome> {
    if picks.is_empty() {
        return None;
    }
    // What has no interval shows nothing.
    let shown: Vec<Option<bool>> = picks.iter().map(|pick| if pick.figure.is_known() { shows(pick.figure) } else { None }).collect();
    let holds = counted(&shown, operands.text("each"));
    let found = if picks.len() <= LISTED {
        listed(&picks.iter().collect::<Vec<_>>(), operands.unit())
    } else {
        // Where it fails: those that refute it.
        let (wanted, side) = if holds == Some(false) { (Some(false), "outside") } else { (Some(true), "inside") };
        let those: Vec<&Pick> = picks.iter().zip(&shown).filter(|(_, one)| **one == wanted).map(|(pick, _)| pick).collect();
        let count = those.len();
        let named = if side == "outside" { those } else { picks.iter().collect() };
        format!("{count} of {} figures {side}: {}", picks.len(), listed(&named, operands.unit()))
    };
    Some(Outcome { holds, found, values: picks.iter().map(|pick| pick.figure.value).collect() })
}

/// A shape of curves without intervals shows nothing.
fn of_known(holds: Option<bool>, curves: &[Curve]) -> Option<bool> {
    holds.filter(|_| curves.iter().all(|curve| curve.points.iter().all(|(_, figure)| figure.is_known())))
}

/// The whole interval lies inside the bounds, or outside; else neither.
fn inside(of: Figure, [low, high]: [f64; 2]) -> Option<bool> {
    match (of.low >= low && of.high <= high, of.high < low || of.low > high) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        _ => None,
    }
}

fn near(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let [low, high] = operands.bounds();
    ruled(operands, &operands.picks(evidence), |of| Some(of.high >= low && of.low <= high))
}

fn between(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let bounds = operands.bounds();
    ruled(operands, &operands.picks(evidence), |of| inside(of, bounds))
}

/// Today's figures next to that of the paper, and how many times the one is the other.
fn next_to(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let (picks, unit) = (operands.picks(evidence), operands.unit());
    // A range of the paper, or its one number.
    let mut then: Vec<f64> = ["near", "low", "high"].iter().filter_map(|name| operands.number(name)).collect();
    then.dedup();
    let [low, high] = [*then.first()?, *then.last()?];
    let words = then.iter().map(|one| measured(Figure::exact(*one), unit)).collect::<Vec<_>>().join(" to ");
    let one = |pick: &Pick| {
        let of = pick.figure.value;
        let ratio = match () {
            () if of > high => format!("today is {} times then", figure_of_ratio(of / high)),
            () if of < low => format!("then is {} times today", figure_of_ratio(low / of)),
            () if low < high => "today lies within it".to_owned(),
            () => "the two are equal".to_owned(),
        };
        let at = pick.at.map_or_else(String::new, place);
        format!("{}{at} {}; then {words}, {ratio}", pick.name, measured(pick.figure, unit))
    };
    let found = picks.iter().map(one).collect::<Vec<_>>().join("; ");
    (!picks.is_empty()).then(|| Outcome { holds: None, found, values: picks.iter().map(|pick| pick.figure.value).collect() })
}

/// A ratio in three digits.
fn figure_of_ratio(ratio: f64) -> String {
    let digits = (2 - ratio.abs().max(1e-12).log10().floor() as i32).clamp(0, 3) as usize;
    let rounded = format!("{ratio:.digits$}");
    rounded.parse().map_or(rounded, figure)
}

fn allows(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let readings: Vec<(String, f64)> = match (operands.number("value"), operands.term("any")) {
        (Some(value), _) => vec![(String::new(), value)],
        (None, Some(any)) => any.picks(evidence, false).into_iter().map(|pick| (pick.name, pick.figure.value)).collect(),
        (None, None) => Vec::new(),
    };
    let mut outcome =
        ruled(operands, &operands.picks(evidence), |of| Some(readings.iter().any(|(_, value)| (of.low..=of.high).contains(value))))?;
    let named = readings.iter().filter(|(name, _)| !name.is_empty()).map(|(name, value)| format!("{name} {value:.4}"));
    let named: Vec<String> = named.collect();
    if !named.is_empty() {
        outcome.found = format!("{}; {}", outcome.found, named.join(", "));
    }
    Some(outcome)
}

fn spread(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let picks = operands.picks(evidence);
    let by = |a: &&Pick, b: &&Pick| a.figure.value.total_cmp(&b.figure.value);
    let (least, most) = picks.iter().min_by(by).zip(picks.iter().max_by(by)).filter(|_| picks.len() > 1)?;
    let ratio = Figure {
        value: most.figure.value / least.figure.value,
        low: most.figure.low / least.figure.high,
        high: most.figure.high / least.figure.low,
    };
    let over = if least.figure.value == 0.0 { "the smallest is 0".to_owned() } else { format!("largest over smallest {}", ended(ratio)) };
    let found = format!("{}: {over}", listed(&picks.iter().collect::<Vec<_>>(), operands.unit()));
    let known = picks.iter().all(|pick| pick.figure.is_known());
    Some(Outcome { holds: inside(ratio, operands.bounds()).filter(|_| known), found, values: vec![ratio.value] })
}

/// One outcome for each curve, and all together.
fn by_curve(operands: &Operands, evidence: &Evidence, rule: impl Fn(&Curve) -> Option<(Option<bool>, String, f64)>) -> Option<Outcome> {
    let one = |curve: &Curve| {
        let (holds, found, value) = rule(curve)?;
        Some((curve.name.clone(), (of_known(holds, std::slice::from_ref(curve)), found, value)))
    };
    let all: Vec<_> = operands.curves(evidence).iter().filter_map(one).collect();
    let shown: Vec<Option<bool>> = all.iter().map(|(_, one)| one.0).collect();
    let found = all.iter().map(|(name, (_, found, _))| format!("{name} {found}")).collect::<Vec<_>>().join(", ");
    (!all.is_empty()).then(|| Outcome {
        holds: counted(&shown, operands.text("each")),
        found,
        values: all.iter().map(|(_, one)| one.2).collect(),
    })
}

/// A rise or a fall from one figure to the next; `None` where their ends overlap.
fn rise(from: Figure, to: Figure) -> Option<bool> {
    if to.low > from.high { Some(true) } else { (to.high <= from.low).then_some(false) }
}

fn rises(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    by_curve(operands, evidence, |curve| {
        let steps: Vec<Option<bool>> = curve.points.windows(2).map(|pair| rise(pair[0].1, pair[1].1)).collect();
        let (first, last) = (curve.points.first()?, curve.points.last()?);
        let gains = curve.points.windows(2).map(|pair| figure(pair[1].1.value - pair[0].1.value)).collect::<Vec<_>>().join(", ");
        let found = format!("from {} to {}, by {gains}", figure(first.1.value), figure(last.1.value));
        (!steps.is_empty()).then(|| (counted(&steps, None), found, last.1.value / first.1.value))
    })
}

fn peaks(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let (at, percent) = (operands.number("at")?, operands.number("percent").unwrap_or(0.0));
    let must_rise = operands.text("to") != Some("any");
    by_curve(operands, evidence, |curve| {
        let here = curve.points.iter().position(|point| point.0 == at)?;
        let top = curve.points[here].1;
        let next = curve.points.get(here + 1)?;
        let steps: Vec<Option<bool>> = curve.points[..=here].windows(2).map(|pair| rise(pair[0].1, pair[1].1)).collect();
        let rising = if must_rise { counted(&steps, None) } else { Some(true) };
        let others = || curve.points.iter().enumerate().filter(|(place, _)| *place != here).map(|(_, point)| point.1);
        let highest = match others().all(|other| other.high <= top.high) {
            true => Some(true),
            false => others().any(|other| other.low > top.high).then_some(false),
        };
        let change = next.1.value / top.value - 1.0;
        let least = 1.0 - percent / 100.0;
        let falls = inside(next.1.over(top), [f64::NEG_INFINITY, least]);
        let before = if rising == Some(true) { "" } else { "does not rise at every step before, " };
        let found = format!("{before}{:+.0} % from {} to {}", change * 100.0, figure(at), figure(next.0));
        Some((counted(&[rising, highest, falls], None), found, change))
    })
}

/// Places at which two curves cross, the two being apart on either side.
fn crossings(of: &Curve, over: &Curve) -> Vec<f64> {
    let both: Vec<(f64, f64, f64)> = of.points.iter().filter_map(|(place, one)| Some((*place, one.value, at(over, *place)?))).collect();
    let side = |(_, one, other): &(f64, f64, f64)| Side::of(one / other);
    let apart: Vec<usize> = (0..both.len()).filter(|place| side(&both[*place]) != Side::Same).collect();
    let opposite = apart.windows(2).filter(|pair| side(&both[pair[0]]) != side(&both[pair[1]]));
    let meet = |pair: &[usize]| {
        both[pair[0]..=pair[1]].windows(2).find_map(|pair| {
            let [(from, a, b), (to, c, d)] = [pair[0], pair[1]];
            let (before, after) = (a - b, c - d);
            (before * after <= 0.0 && before != after).then(|| from + (to - from) * before / (before - after))
        })
    };
    opposite.filter_map(meet).collect()
}

fn crosses(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let (near, factor) = (operands.number("near")?, operands.number("factor")?);
    let others = operands.term("over")?.curves(evidence, false);
    by_curve(operands, evidence, |curve| {
        let other = others.iter().find(|other| other.group == curve.group)?;
        let places = crossings(curve, other);
        let first = places.first().copied().unwrap_or(f64::NAN);
        let words = places.iter().map(|place| figure(place.round())).collect::<Vec<_>>().join(" and ");
        let found =
            if places.is_empty() { format!("and {} do not cross", other.name) } else { format!("and {} cross at {words}", other.name) };
        Some((Some(places.iter().any(|place| (near / factor..=near * factor).contains(place))), found, first))
    })
}

fn step(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let (at, cheaper) = (operands.number("at")?, operands.text("to") == Some("cheaper"));
    by_curve(operands, evidence, |curve| {
        curve.points.iter().find(|point| point.0 == at)?;
        let point = |(place, one): &(f64, Figure)| Point { size: *place, time: one.value, frames: None, wakeups: None };
        let points: Vec<Point> = curve.points.iter().map(point).collect();
        let step = steps::find(&points, LEAST_NOISE).into_iter().find(|step| step.before as f64 == at);
        let found = step.map_or_else(|| "no step".to_owned(), |step| format!("{:+.0} %", step.departure * 100.0));
        Some((Some(step.is_some_and(|step| (step.departure < 0.0) == cheaper)), found, step.map_or(0.0, |step| step.departure)))
    })
}

fn notch(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let at = operands.number("at")?;
    by_curve(operands, evidence, |curve| {
        let here = curve.points.iter().position(|point| point.0 == at)?;
        let around = [curve.points.get(here.checked_sub(1)?)?, &curve.points[here], curve.points.get(here + 1)?];
        let depth = notch_depth(around.map(|point| point.1.value));
        let found = format!(
            "{} between {} and {}: {:+.0} % of the lower",
            figure(around[1].1.value),
            figure(around[0].1.value),
            figure(around[2].1.value),
            -depth * 100.0
        );
        Some((Some(depth >= NOTCH), found, depth))
    })
}

fn saturates(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let percent = operands.number("percent")?;
    by_curve(operands, evidence, |curve| {
        let half = curve.points.last()?.0 / 2.0;
        let best = |upper: bool| {
            let side = curve.points.iter().filter(|point| (point.0 > half) == upper).map(|point| point.1.value);
            side.reduce(f64::max)
        };
        let gain = (best(true)? / best(false)? - 1.0) * 100.0;
        Some((Some(gain <= percent), format!("gains {gain:+.0} % beyond {}", figure(half)), gain))
    })
}

fn equal_best(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    by_curve(operands, evidence, |curve| {
        let equal: f64 = curve.labels.iter().find_map(|label| label.parse().ok())?;
        let here = curve.points.iter().find(|point| point.0 == equal)?.1;
        let best = curve.points.iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
        let shown = if best.0 == equal { Some(true) } else { rise(here, best.1).filter(|rises| *rises).map(|_| false) };
        Some((shown, format!("is best at {}", figure(best.0)), best.0))
    })
}

fn power_law(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let at = operands.number("at")?;
    by_curve(operands, evidence, |curve| {
        let goodputs: Vec<(u64, f64)> = curve.points.iter().map(|(size, rate)| (*size as u64, rate.value * size * 8.0)).collect();
        let law = power::law(&goodputs)?;
        let holds = law.to as f64 >= at && law.bends_at.is_some();
        Some((Some(holds), format!("size^{:.3} to {}", law.exponent, figure(law.to as f64)), law.exponent))
    })
}

fn line(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let least = operands.number("r2")?;
    by_curve(operands, evidence, |curve| {
        let points: Vec<(f64, f64)> = curve.points.iter().map(|(at, one)| (*at, one.value)).collect();
        let (slope, start) = power::least_squares(&points).filter(|_| points.len() > 2)?;
        let mean = points.iter().map(|point| point.1).sum::<f64>() / points.len() as f64;
        let left: f64 = points.iter().map(|(x, y)| (y - start - slope * x).powi(2)).sum();
        let all: f64 = points.iter().map(|(_, y)| (y - mean).powi(2)).sum();
        let r2 = if all > 0.0 { 1.0 - left / all } else { 1.0 };
        Some((Some(r2 >= least), format!("r² {r2:.3}"), r2))
    })
}

/// A row whose largest figure is more than this times its smallest varies.
const VARIES: f64 = 1.5;

/// Rows that vary, and all.
fn vary(curves: &[Curve]) -> [usize; 2] {
    let ends = |curve: &Curve| {
        let values = || curve.points.iter().map(|point| point.1.value);
        (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max))
    };
    [curves.iter().map(ends).filter(|(least, most)| *most > least * VARIES).count(), curves.len()]
}

fn varying(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let curves = operands.curves(evidence);
    let [count, all] = vary(&curves);
    if all == 0 {
        return None;
    }
    let mut found = format!("{count} of {all} rows vary");
    let holds = match operands.term("over") {
        None => operands.number("near")? == count as f64 && operands.number("of-rows").is_none_or(|rows| rows == all as f64),
        Some(over) => {
            let [others, of] = vary(&over.curves(evidence, false));
            found = format!("{found}, of the others {others} of {of}");
            (count * of) < others * all
        }
    };
    Some(Outcome { holds: of_known(Some(holds), &curves), found, values: vec![count as f64, all as f64] })
}

/// The first names, by falling figures, with these.
fn ranked(curves: &[Curve], of: impl Fn(&Curve) -> Option<f64>) -> Vec<(String, f64)> {
    let mut all: Vec<(String, f64)> = curves.iter().filter_map(|curve| Some((curve.name.clone(), of(curve)?))).collect();
    all.sort_unstable_by(|a, b| b.1.total_cmp(&a.1));
    all
}

/// As a set, the names are the first.
fn are_first(ranked: &[(String, f64)], names: &[&str], unit: &str) -> Option<Outcome> {
    let first = ranked.get(..names.len())?;
    let found = first.iter().map(|(name, value)| format!("{name} {}{unit}", figure(*value))).collect::<Vec<_>>().join(", ");
    let holds = names.iter().all(|name| first.iter().any(|(first, _)| first == name));
    Some(Outcome { holds: Some(holds), found, values: first.iter().map(|one| one.1).collect() })
}

fn figure_at(curve: &Curve, place: f64) -> Option<Figure> {
    curve.points.iter().find(|point| point.0 == place).map(|point| point.1)
}

fn at(curve: &Curve, place: f64) -> Option<f64> {
    figure_at(curve, place).map(|figure| figure.value)
}

fn movers(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let ends: Vec<f64> = operands.names("between").iter().filter_map(|end| end.parse().ok()).collect();
    let [from, to] = ends[..] else { return None };
    let curves = operands.curves(evidence);
    let moved = ranked(&curves, |curve| Some((at(curve, from)? - at(curve, to)?).abs()));
    let first = are_first(&moved, &operands.names("names"), operands.unit())?;
    Some(Outcome { holds: of_known(first.holds, &curves), ..first })
}

fn dearest(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let (curves, names) = (operands.curves(evidence), operands.names("names"));
    let sum = |curve: &Curve| Some(curve.points.iter().map(|point| point.1.value).sum());
    if operands.text("each").is_none() {
        let first = are_first(&ranked(&curves, sum), &names, operands.unit())?;
        return Some(Outcome { holds: of_known(first.holds, &curves), ..first });
    }
    let mut places: Vec<f64> = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0)).collect();
    places.sort_unstable_by(f64::total_cmp);
    places.dedup();
    let (mut shown, mut found) = (Vec::new(), Vec::new());
    for at in places {
        let mut here: Vec<(&str, Figure)> = curves.iter().filter_map(|curve| Some((curve.name.as_str(), figure_at(curve, at)?))).collect();
        here.sort_unstable_by(|a, b| b.1.value.total_cmp(&a.1.value).then_with(|| a.0.cmp(b.0)));
        let (ours, others): (Vec<_>, Vec<_>) = here.iter().copied().partition(|(name, _)| names.contains(name));
        let Some(own) = ours.first().map(|one| one.1) else { continue };
        let known = here.iter().all(|(_, figure)| figure.is_known());
        let dearest = !others.is_empty() && others.iter().all(|(_, other)| other.high < own.low);
        let beaten = others.iter().any(|(_, other)| other.low > own.high);
        shown.push((known && (dearest || beaten)).then_some(dearest));
        let two = here.first().into_iter().chain(if names.contains(&here[0].0) { here.get(1) } else { ours.first() });
        let words = two.map(|(name, of)| format!("{name} {}", measured(*of, operands.unit()))).collect::<Vec<_>>().join(", ");
        found.push(format!("{}: {words}", figure(at)));
    }
    (!shown.is_empty()).then(|| Outcome { holds: counted(&shown, operands.text("each")), found: found.join("; "), values: Vec::new() })
}

fn outweighs(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let curves = operands.curves(evidence);
    let places: Vec<f64> = curves.first()?.points.iter().map(|point| point.0).collect();
    let sum = |names: &[&str], place: f64| -> f64 {
        curves.iter().filter(|curve| names.is_empty() || names.contains(&curve.name.as_str())).filter_map(|curve| at(curve, place)).sum()
    };
    let (names, others) = (operands.names("names"), operands.names("others"));
    let shares: Vec<(f64, f64, f64)> =
        places.iter().map(|place| (*place, sum(&names, *place) / sum(&[], *place), sum(&others, *place) / sum(&[], *place))).collect();
    let found = shares.iter().map(|(place, one, other)| format!("{}: {:.0} and {:.0} %", figure(*place), one * 100.0, other * 100.0));
    let holds = of_known(Some(shares.iter().all(|(_, one, other)| one > other)), &curves);
    Some(Outcome { holds, found: found.collect::<Vec<_>>().join(", "), values: shares.iter().map(|share| share.1).collect() })
}

/// Share of the first `count` in the sum of all, with the ends that those of the rows leave open.
fn share_of_first(curves: &[Curve], count: usize) -> Option<Figure> {
    let sum = |curve: &Curve, of: fn(&Figure) -> f64| curve.points.iter().map(|point| of(&point.1)).sum::<f64>();
    let mut rows: Vec<[f64; 3]> =
        curves.iter().map(|curve| [sum(curve, |of| of.value), sum(curve, |of| of.low), sum(curve, |of| of.high)]).collect();
    rows.sort_unstable_by(|a, b| b[0].total_cmp(&a[0]));
    if rows.len() <= count || rows[0][0] <= 0.0 {
        return None;
    }
    let part = |rows: &[[f64; 3]], which: usize| rows.iter().map(|row| row[which]).sum::<f64>();
    let share = |first: usize, rest: usize| {
        let first = part(&rows[..count], first);
        first / (first + part(&rows[count..], rest))
    };
    Some(Figure::within(share(0, 0), [share(1, 2), share(2, 1)]))
}

fn concentrated(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let count = operands.number("count")? as usize;
    let one = share_of_first(&operands.curves(evidence), count)?;
    let other = share_of_first(&operands.term("over")?.curves(evidence, false), count)?;
    let shares = [one, other].map(|share| ended(share.scaled(100.0)));
    let holds = if one.is_known() && other.is_known() { rise(one, other) } else { None };
    Some(Outcome { holds, found: format!("{} % against {} %", shares[0], shares[1]), values: vec![one.value, other.value] })
}

fn excess(operands: &Operands, evidence: &Evidence) -> Option<Outcome> {
    let picks = operands.picks(evidence);
    let ratio = picks.first()?.figure.value;
    let [low, high] = operands.bounds();
    let holds = match ratio {
        _ if ratio > high => None,
        _ => Some(ratio >= low),
    };
    Some(Outcome { holds, found: format!("the rows give {:+.0} %", (ratio - 1.0) * 100.0), values: vec![ratio] })
}
