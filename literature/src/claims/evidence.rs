//! Curves that claims are ruled by, and the terms that pick figures out of them.

use serde::Serialize;

/// A figure with the ends that rounding or an interval leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figure {
    /// The figure.
    pub value: f64,
    /// The lower end; the value itself where there is none.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Figure {
    /// A figure without ends.
    pub const fn exact(value: f64) -> Self {
        Self { value, low: value, high: value }
    }

    /// A figure that lies between two ends.
    pub const fn within(value: f64, [low, high]: [f64; 2]) -> Self {
        Self { value, low, high }
    }

    /// Both ends are known: a figure without an interval shows nothing.
    pub const fn is_known(&self) -> bool {
        self.low.is_finite() && self.high.is_finite()
    }

    /// The figure and its ends, times a number.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { value: self.value * factor, low: self.low * factor, high: self.high * factor }
    }

    pub(super) fn over(self, base: Self) -> Self {
        Self { value: self.value / base.value, low: self.low / base.high, high: self.high / base.low }
    }

    fn less(self, base: Self) -> Self {
        Self { value: self.value - base.value, low: self.low - base.high, high: self.high - base.low }
    }
}

/// Figures of one quantity over another: a series of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The quantity, a row of [`QUANTITIES`].
    pub quantity: &'static str,
    /// Its name in a sentence.
    pub name: String,
    /// The pair of hosts, the machine or the table within which curves are divided by each other.
    pub group: String,
    /// Words that a term picks it by.
    pub labels: Vec<String>,
    /// Places, rising, and figures.
    pub points: Vec<(f64, Figure)>,
    /// It is of a table that a user gave.
    pub given: bool,
}

/// Quantities: name in the rows, unit behind a figure, words in a rule.
pub const QUANTITIES: &[(&str, &str, &str)] = &[
    ("time", " ms", "time of a message"),
    ("latency", " ms", "time of one byte under load"),
    ("round-trip", " ms", "round trip"),
    ("rate", " bit/s", "throughput"),
    ("load-rate", " bit/s", "throughput of one byte under load"),
    ("wire-rate", " bit/s", "throughput with frames"),
    ("seconds", " s", "seconds of a routine"),
    ("sum", " s", "seconds of all rows"),
    ("calls", "", "calls of a message"),
    ("messages", "", "messages of a test"),
    ("spread", "", "spread of the rate"),
    ("total", " ms", "time of a test by its messages"),
    ("slope", " ms", "time that a message adds to a test"),
    ("left", "", "share of throughput left under load"),
    ("trips-left", "", "share of round trips a second left under load"),
    ("sent-left", "", "share of the sending rate left under load"),
    ("lost", "", "share lost"),
    ("eight-over-two", "", "throughput with 8 KB over that with 2 KB"),
    ("task", " KB/s", "rate from task to task"),
    ("limit", " KB/s", "limit of the frames"),
    ("wire", " Mbit/s", "rate on the wire"),
    ("wire-at-limit", " Mbit/s", "wire rate of 1,104 KB/s"),
    ("wire-factor", "", "wire bytes a byte"),
    ("frame-factor", "", "wire bytes a byte of the frames"),
    ("clock-share", "", "share of the clock's tick in a transfer"),
    ("by-receiver", " KB/s", "rate of each sender's buffer over the receiver's"),
    ("kind", " ns", "time of a kind of work"),
    ("layer-ns", " ns", "time of a layer"),
    ("share", "", "share of a kind of work"),
    ("cost-with-checksum", " ns", "CPU with the checksum in software"),
    ("cost-without-checksum", " ns", "CPU without it"),
    ("mix", "", "share of a kind of work in a mix"),
    ("cpu-rate", " Mbit/s", "rate that processing alone sustains"),
    ("acknowledgement", "", "share of the acknowledgement"),
    ("memory", " MB/s", "memory traffic at that rate"),
    ("memory-accesses", " M/s", "accesses to memory at that rate"),
    ("moved-per-byte", " B a byte", "bytes that reads and writes move a byte of payload"),
    ("accesses-per-byte", "", "reads and writes a byte of payload"),
    ("memory-at-85", " MB/s", "memory traffic at 85 Mbit/s"),
    ("layer-share", "", "share of a layer"),
    ("ratio", "", "messages over those of sockets"),
    ("ratio-sent", "", "sent messages over those of sockets"),
    ("byte-ratio", "", "slope over that of sockets"),
    ("message-ratio", "", "intercept over that of sockets"),
    ("messages-per-s", " /s", "messages a second"),
    ("departure", "", "largest size over the power law of the small ones"),
    ("wakeups", "", "wake-ups a message"),
    ("placed-ratio", "", "messages over those of sockets, ends placed on CPUs"),
    ("by-sndbuf", "", "messages a second over those with the smallest send buffer"),
    ("lost-by-priority", "", "share lost over priorities"),
];

/// Curves of all tables of a paper.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// The curves.
    pub curves: Vec<Curve>,
}

/// A figure that a term picks.
#[derive(Debug, Clone, PartialEq)]
pub struct Pick {
    /// Name of its curve.
    pub name: String,
    /// Group of its curve.
    pub group: String,
    /// Its place; `None` of a curve's extreme or median.
    pub at: Option<f64>,
    /// The figure.
    pub figure: Figure,
}

/// Places of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Range {
    All,
    At(f64),
    Below(f64),
    UpTo(f64),
    From(f64),
}

impl Range {
    fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse().ok();
        Some(match text {
            "" | "all" => Self::All,
            _ if text.starts_with("<=") => Self::UpTo(number(&text[2..])?),
            _ if text.starts_with(">=") => Self::From(number(&text[2..])?),
            _ if text.starts_with('<') => Self::Below(number(&text[1..])?),
            _ => Self::At(number(text)?),
        })
    }

    fn holds(self, at: f64) -> bool {
        match self {
            Self::All => true,
            Self::At(place) => at == place,
            Self::Below(end) => at < end,
            Self::UpTo(end) => at <= end,
            Self::From(start) => at >= start,
        }
    }
}

/// What becomes of the places in the range.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fold {
    Each,
    Most,
    Median,
    Last,
}

/// A choice of curves and places: `ratio,streams-tpi,1|2,!cut@median<1024`.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    quantity: String,
    /// Each has to be met by one of its alternatives, or with `!` by none.
    labels: Vec<(bool, Vec<String>)>,
    range: Range,
    fold: Fold,
}

impl Term {
    /// Reads a term; `None` where it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (which, at) = text.split_once('@').unwrap_or((text, ""));
        let mut words = which.split(',').map(str::trim);
        let quantity = words.next().filter(|word| !word.is_empty())?.to_owned();
        let label = |word: &str| {
            let (keeps, word) = word.strip_prefix('!').map_or((true, word), |word| (false, word));
            (keeps, word.split('|').map(|one| one.trim().to_lowercase()).collect())
        };
        let folds = [("max", Fold::Most), ("median", Fold::Median), ("last", Fold::Last)];
        let folded = folds.into_iter().find_map(|(name, fold)| Some((fold, at.strip_prefix(name)?)));
        let (fold, range) = folded.unwrap_or((Fold::Each, at));
        Some(Self { quantity, labels: words.map(label).collect(), range: Range::parse(range)?, fold })
    }

    /// Unit of its figures.
    pub fn unit(&self) -> &'static str {
        QUANTITIES.iter().find(|(name, ..)| *name == self.quantity).map_or("", |(_, unit, _)| unit)
    }

    /// True where its quantity is one of [`QUANTITIES`].
    pub fn is_known(&self) -> bool {
        QUANTITIES.iter().any(|(name, ..)| *name == self.quantity)
    }

    /// The choice in words: `throughput, tcp, at 1460`.
    pub fn words(&self) -> String {
        let quantity = QUANTITIES.iter().find(|(name, ..)| *name == self.quantity).map_or(self.quantity.as_str(), |(_, _, words)| words);
        let label = |(keeps, words): &(bool, Vec<String>)| format!("{}{}", if *keeps { "" } else { "not " }, words.join(" or "));
        let range = match self.range {
            Range::All => String::new(),
            Range::At(at) => format!("at {at}"),
            Range::Below(end) => format!("below {end}"),
            Range::UpTo(end) => format!("up to {end}"),
            Range::From(start) => format!("from {start}"),
        };
        let fold = match self.fold {
            Fold::Each => "",
            Fold::Most => "the most",
            Fold::Median => "the median",
            Fold::Last => "the last",
        };
        let parts = std::iter::once(quantity.to_owned()).chain(self.labels.iter().map(label)).chain([fold.to_owned(), range]);
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }

    fn meets(&self, curve: &Curve) -> bool {
        let has = |word: &String| curve.labels.iter().any(|label| label.to_lowercase() == *word);
        curve.quantity == self.quantity && self.labels.iter().all(|(keeps, words)| words.iter().any(has) == *keeps)
    }

    /// The curves that it picks, cut to its range; those without a place in it are left out.
    pub fn curves(&self, evidence: &Evidence, given: bool) -> Vec<Curve> {
        let cut = |curve: &Curve| {
            let points = curve.points.iter().copied().filter(|(at, _)| self.range.holds(*at)).collect();
            Curve { points, ..curve.clone() }
        };
        let picked = evidence.curves.iter().filter(|curve| (!given || curve.given) && self.meets(curve)).map(cut);
        picked.filter(|curve| !curve.points.is_empty()).collect()
    }

    /// The figures that it picks.
    pub fn picks(&self, evidence: &Evidence, given: bool) -> Vec<Pick> {
        self.curves(evidence, given).iter().flat_map(|curve| self.fold(curve)).collect()
    }

    fn fold(&self, curve: &Curve) -> Vec<Pick> {
        let pick = |at: Option<f64>, figure: Figure| Pick { name: curve.name.clone(), group: curve.group.clone(), at, figure };
        let most = || curve.points.iter().map(|point| point.1).max_by(|a, b| a.value.total_cmp(&b.value));
        let middle = |of: fn(&Figure) -> f64| stats::median::median(&curve.points.iter().map(|(_, figure)| of(figure)).collect::<Vec<_>>());
        let median = || Some(Figure { value: middle(|one| one.value)?, low: middle(|one| one.low)?, high: middle(|one| one.high)? });
        match self.fold {
            // A figure that depends on no place stands at 0.
            Fold::Each if matches!(self.range, Range::At(_)) || matches!(curve.points[..], [(0.0, _)]) => {
                curve.points.iter().map(|(_, figure)| pick(None, *figure)).collect()
            }
            Fold::Each => curve.points.iter().map(|(at, figure)| pick(Some(*at), *figure)).collect(),
            Fold::Most => most().map(|figure| pick(None, figure)).into_iter().collect(),
            Fold::Median => median().map(|figure| pick(None, figure)).into_iter().collect(),
            Fold::Last => curve.points.last().map(|(_, figure)| pick(None, *figure)).into_iter().collect(),
        }
    }
}

/// How a figure is set against its base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// Divided by it.
    Over,
    /// Less it.
    Less,
}

/// Each figure against its base: at the same place, and within the same group where that has one.
pub fn against(of: &[Pick], bases: &[Pick], way: Against) -> Vec<Pick> {
    let one = |pick: &Pick| -> Vec<Pick> {
        let near: Vec<&Pick> = bases.iter().filter(|base| base.at == pick.at || base.at.is_none()).collect();
        // The same curve at another place, its namesake elsewhere, another curve of its group.
        let kin: [fn(&Pick, &Pick) -> bool; 4] =
            [|a, b| a.name == b.name && a.group == b.group, |a, b| a.name == b.name, |a, b| a.group == b.group, |_, _| true];
        let of_kin = |kin: fn(&Pick, &Pick) -> bool| near.iter().copied().filter(|base| kin(pick, base)).collect::<Vec<_>>();
        let bases = kin.into_iter().map(of_kin).find(|all| !all.is_empty()).unwrap_or_default();
        let figure = |base: &Pick| match way {
            Against::Over => pick.figure.over(base.figure),
            Against::Less => pick.figure.less(base.figure),
        };
        bases.into_iter().map(|base| Pick { figure: figure(base), ..pick.clone() }).collect()
    };
    of.iter().flat_map(one).filter(|pick| pick.figure.value.is_finite()).collect()
}

/// The same figures, times a number.
pub fn scaled(picks: &[Pick], factor: f64) -> Vec<Pick> {
    picks.iter().map(|pick| Pick { figure: pick.figure.scaled(factor), ..pick.clone() }).collect()
}
