//! The answer of two sides: who costs how much more or less, at which sizes, and what is open.
//!
//! The first figure is the gate's first metric, the CPU time of both ends unless the user says otherwise.
//! One end alone is named where its verdict differs from the sum's.

use model::Bytes;

use super::next::{self, Next, WANTED, blocks_for};
use super::notation::{self, amount, change, list, plural, signed, sizes, span, unit, verb, with_span};
use super::places::Places;
use super::{Answer, Direction, Ending, Grade, Part};
use crate::metric::Metric;
use crate::studies::Analysis;
use crate::verdict::{CellVerdict, Conclusion, Design, FalseAlarm, MetricComparison, SideComparison, Verdict};

/// Cells that are named one by one; more are counted.
const MOST_NAMED: usize = 2;

/// From the reach of an interval to the smallest true difference that such a study shows in four of five: the
/// quantiles of 97.5 and 80 % of a normal over that of 97.5 %.
const SHOWN: f64 = (1.96 + 0.84) / 1.96;

/// One cell of one metric.
#[derive(Debug, Clone, Copy)]
pub(super) struct CellChange {
    place: usize,
    pub direction: Direction,
    pub change: f64,
    pub interval: Option<[f64; 2]>,
    /// Blocks, and those that are missing, where they are too few for any verdict.
    missing: Option<[usize; 2]>,
    smallest: f64,
}

impl CellChange {
    pub fn new(place: usize, judged: &CellVerdict, threshold: f64) -> Self {
        let interval = judged.ratio.and_then(|ratio| ratio.interval).map(|ends| [ends.low - 1.0, ends.high - 1.0]);
        let direction = match judged.verdict {
            Verdict::Better => Direction::Better,
            Verdict::Worse => Direction::Worse,
            Verdict::Equivalent => Direction::Same,
            Verdict::Mixed | Verdict::Inconclusive { .. } | Verdict::NotEnoughBlocks { .. } => Direction::Open,
        };
        let missing = if let Verdict::NotEnoughBlocks { blocks, missing } = judged.verdict { Some([blocks, missing]) } else { None };
        let smallest = match (judged.verdict, interval) {
            (Verdict::Inconclusive { smallest }, _) => smallest.abs(),
            (_, Some(ends)) => (reach(ends) * SHOWN).exp_m1().max(threshold),
            (_, None) => f64::INFINITY,
        };
        Self { place, direction, change: judged.ratio.map_or(f64::NAN, |ratio| ratio.value - 1.0), interval, missing, smallest }
    }

    const fn is_settled(&self) -> bool {
        !matches!(self.direction, Direction::Open)
    }

    const fn is_shown(&self) -> bool {
        matches!(self.direction, Direction::Better | Direction::Worse)
    }

    /// `open (−28 to +15)`.
    fn open(&self) -> String {
        self.interval.map_or_else(|| "open".to_owned(), |ends| format!("open ({})", span(ends)))
    }
}

/// Half of what an interval of a change reaches over, as a logarithm.
fn reach([low, high]: [f64; 2]) -> f64 {
    ((1.0 + high).ln() - (1.0 + low).ln()) / 2.0
}

/// Two sides that were compared, to be put into words.
pub(super) struct Pair<'a> {
    /// Baseline and candidate.
    pub names: [&'a str; 2],
    /// What was found.
    pub compared: &'a SideComparison,
    /// The cells.
    pub places: &'a Places,
    /// Places of cells that both sides run alike.
    pub alike: &'a [usize],
    /// Both sides set the same.
    pub is_self_test: bool,
    /// Times are not to be used.
    pub times_invalid: bool,
}

impl Pair<'_> {
    fn of(&self, metric: Metric) -> Option<&MetricComparison> {
        self.compared.metrics.iter().find(|one| one.metric == metric)
    }

    fn lead(&self) -> Option<&MetricComparison> {
        self.compared.metrics.first()
    }

    /// The cells of a metric that can have a verdict.
    fn seen(&self, metric: &MetricComparison) -> Vec<CellChange> {
        let (cells, overall) = (&metric.comparison.cells, &metric.comparison.overall);
        // One side's alone is nothing shown; neither side's is no cell of the metric.
        let mut of_one_side = overall.measured().saturating_sub(cells.iter().filter(|judged| judged.ratio.is_some()).count());
        let measured = cells.iter().enumerate().filter(|(_, judged)| {
            let lacks = judged.ratio.is_none() && of_one_side > 0;
            of_one_side -= usize::from(lacks);
            judged.ratio.is_some() || lacks
        });
        let measured = measured.filter(|(place, _)| !self.alike.contains(place));
        measured.map(|(place, judged)| CellChange::new(place, judged, metric.comparison.threshold)).collect()
    }

    /// Every verdict of the gate.
    fn gated(&self) -> Vec<CellChange> {
        self.compared.metrics.iter().filter(|metric| metric.gate).flat_map(|metric| self.seen(metric)).collect()
    }

    /// The answer, without a next step.
    pub fn answer(&self, question: String) -> Answer {
        let [baseline, candidate] = self.names;
        let Some(lead) = self.lead() else {
            let headline = format!("Open: {candidate} and {baseline} have no metric in common.");
            return Answer::new(question, headline, Grade::Open, "nothing can be compared");
        };
        let seen = self.seen(lead);
        let headline = self.headline(lead, &seen);
        let (grade, reason) = self.grade(lead);
        let parts = seen.iter().map(|one| self.part(lead.metric, one)).collect();
        let brief = self.brief(lead, &seen);
        Answer { parts, brief, exit: Some(self.ending()), ..Answer::new(question, headline, grade, reason) }
    }

    fn part(&self, metric: Metric, seen: &CellChange) -> Part {
        Part {
            against: Some(self.names[0].to_owned()),
            interval: seen.interval,
            direction: seen.direction,
            ..Part::figure(self.names[1], Some(metric), self.places.sizes.get(seen.place).copied(), seen.change)
        }
    }

    fn headline(&self, lead: &MetricComparison, seen: &[CellChange]) -> String {
        let [baseline, candidate] = self.names;
        if let Some([blocks, needed]) = self.too_early(seen) {
            let design = lead.comparison.design;
            let side = if design == Design::Runs { " on each side" } else { "" };
            return format!("Too early: {blocks} of {}{side}. {candidate} against {baseline}.", plural(needed as u64, unit(design)));
        }
        if self.is_self_test {
            return self.alike(lead, seen);
        }
        let of = |direction: Direction| -> Vec<&CellChange> { seen.iter().filter(|one| one.direction == direction).collect() };
        let (better, worse, same, open) = (of(Direction::Better), of(Direction::Worse), of(Direction::Same), of(Direction::Open));
        match (better.as_slice(), worse.as_slice()) {
            ([], []) if seen.is_empty() && !self.alike.is_empty() => {
                format!("Open: {candidate} sets nothing that {baseline} does not have: every case is alike.")
            }
            ([], []) if seen.is_empty() => format!("Open: {candidate} and {baseline} could not be compared."),
            ([], []) if open.is_empty() => self.same(lead, &same),
            ([], []) if self.is_shown_by_the_mean(lead) => {
                let mean = CellChange::new(0, &lead.comparison.overall.mean, lead.comparison.threshold);
                let at = format!(" in the mean of {}", plural(seen.len() as u64, self.places.word));
                format!(
                    "{candidate} {}{}; no {} by itself.",
                    self.verb(lead.metric),
                    self.against(lead.metric, &mean, &at),
                    self.places.word
                )
            }
            ([], []) => self.open(lead, &same, &open),
            (_, []) => self.one_way(lead, &better, &same, &open),
            ([], _) => self.one_way(lead, &worse, &same, &open),
            _ => {
                let clauses = [&worse, &better].map(|all| self.bare(lead.metric, all));
                let by = self.places.word;
                format!(
                    "Mixed by {by}: {candidate} {}{} and {}{}.",
                    self.verb(lead.metric),
                    clauses[0],
                    clauses[1].replacen(" CPU", "", 1),
                    self.rest(&same, &open)
                )
            }
        }
    }

    /// Returns whether the mean of several cells has a verdict that none of them has.
    const fn is_shown_by_the_mean(&self, lead: &MetricComparison) -> bool {
        lead.comparison.cells.len() > 1 && lead.comparison.overall.mean.verdict.is_shown()
    }

    /// Blocks and the blocks needed, where no cell has enough.
    fn too_early(&self, seen: &[CellChange]) -> Option<[usize; 2]> {
        let missing: Option<Vec<[usize; 2]>> = seen.iter().map(|one| one.missing).collect();
        let most = missing?.into_iter().max_by_key(|[blocks, _]| *blocks)?;
        Some([most[0], most[0] + most[1]])
    }

    fn verb(&self, metric: Metric) -> String {
        match metric {
            Metric::SenderCpuPerMessageNs => "costs the sender ",
            Metric::ReceiverCpuPerMessageNs => "costs the receiver ",
            Metric::CpuPerMessageNs => "costs ",
            Metric::RoundTripP50Ns | Metric::RoundTripP99Ns => "has ",
            _ => "takes ",
        }
        .to_owned()
    }

    /// `16 % less CPU`, `27 % longer`.
    fn amount(metric: Metric, share: f64) -> String {
        let (amount, less) = (amount(share), share < 0.0);
        match metric {
            Metric::RoundTripP50Ns | Metric::RoundTripP99Ns => {
                let percentile = if metric == Metric::RoundTripP50Ns { "median" } else { "p99" };
                format!("a {percentile} {amount} % {}", if less { "lower" } else { "higher" })
            }
            Metric::CpuPerMessageNs | Metric::SenderCpuPerMessageNs | Metric::ReceiverCpuPerMessageNs => {
                format!("{amount} % {} CPU", if less { "less" } else { "more" })
            }
            _ if less => format!("{amount} % less time"),
            _ => format!("{amount} % longer"),
        }
    }

    /// Without the baseline and the interval, at its size: `184 % more CPU at 64 B`; of several the largest.
    fn bare(&self, metric: Metric, all: &[&CellChange]) -> String {
        let Some(most) = all.iter().max_by(|a, b| a.change.ln_1p().abs().total_cmp(&b.change.ln_1p().abs())) else { return String::new() };
        let words = Self::amount(metric, most.change);
        match all.len() {
            1 => format!("{words} at {}", self.places.name(most.place)),
            more => format!("up to {words} at {more} {}s ({})", self.places.word, self.places.name(most.place)),
        }
    }

    /// All that is shown is better, or worse.
    fn one_way(&self, lead: &MetricComparison, shown: &[&CellChange], same: &[&CellChange], open: &[&CellChange]) -> String {
        let ([baseline, candidate], metric) = (self.names, lead.metric);
        let both = if metric == Metric::CpuPerMessageNs { ", both ends" } else { "" };
        let verb = self.verb(metric);
        if let ([one], 1) = (shown, self.places.cells.len()) {
            let time = if metric == Metric::CpuPerMessageNs { self.time(one) } else { String::new() };
            let (joined, behind) = time.strip_prefix(';').map_or((time.as_str(), String::new()), |rest| ("", format!(";{rest}")));
            let clause = self.against(metric, one, "");
            return format!("{candidate} {verb}{clause}{both}{joined}{}{behind}{}.", self.places.tail(), self.other_ends(lead, one));
        }
        let rest = self.rest(same, open);
        match shown {
            [one] => {
                let at = format!(" at {}", self.places.name(one.place));
                format!("{candidate} {verb}{}{both}{rest}.", self.against(metric, one, &at))
            }
            _ if same.is_empty() && open.is_empty() && lead.comparison.overall.mean.ratio.is_some() => {
                let mean = CellChange::new(0, &lead.comparison.overall.mean, lead.comparison.threshold);
                let better = shown.iter().all(|one| one.direction == Direction::Better);
                let (direction, word) = (if better { "better" } else { "worse" }, self.places.word);
                let clause = self.against(metric, &mean, " on average");
                format!("{candidate} {verb}{clause}{both}; {direction} at every {word}{}.", self.places.tail())
            }
            _ => format!("{candidate} {verb}{} than {baseline}{both}{rest}.", self.bare(metric, shown)),
        }
    }

    /// `16 % less CPU than send (14 to 19)`.
    fn against(&self, metric: Metric, one: &CellChange, at: &str) -> String {
        format!("{} than {}{at}{}", Self::amount(metric, one.change), self.names[0], sizes(one.interval))
    }

    /// What is left: `; 1,448 B open (−28 to +15)`.
    fn rest(&self, same: &[&CellChange], open: &[&CellChange]) -> String {
        let mut rest = String::new();
        let threshold = self.lead().map_or(0.0, |lead| lead.comparison.threshold);
        if !same.is_empty() {
            rest +=
                &format!("; {} the same within {} %", self.named(same, |one| self.places.name(one.place).to_owned()), amount(threshold));
        }
        if !open.is_empty() {
            rest += "; ";
            rest += &match open.len() > MOST_NAMED {
                true => format!("{} open", plural(open.len() as u64, self.places.word)),
                false => list(&open.iter().map(|one| format!("{} {}", self.places.name(one.place), one.open())).collect::<Vec<_>>()),
            };
        }
        rest
    }

    fn named(&self, all: &[&CellChange], name: impl Fn(&CellChange) -> String) -> String {
        match all.len() > MOST_NAMED {
            true => plural(all.len() as u64, self.places.word),
            false => list(&all.iter().map(|one| name(one)).collect::<Vec<_>>()),
        }
    }

    /// The time next to the CPU time of the only cell, of round trips the 99th percentile: ` and takes 27 % longer
    /// (14 to 46)`, or behind a semicolon that it is open.
    fn time(&self, one: &CellChange) -> String {
        let found = [Metric::RoundTripP99Ns, Metric::TimePerMessageNs].into_iter().find_map(|metric| self.of(metric));
        let Some(found) = found.filter(|_| !self.times_invalid) else { return String::new() };
        let name = if found.metric == Metric::RoundTripP99Ns { "p99" } else { "time" };
        let Some(time) = self.seen(found).into_iter().find(|seen| seen.place == one.place) else { return String::new() };
        if !time.is_shown() {
            return format!("; {name} {}", if time.is_settled() { "the same" } else { "open" });
        }
        let join = if time.direction == one.direction { " and" } else { " but" };
        format!(",{join} {}{}{}", self.verb(found.metric), Self::amount(found.metric, time.change), sizes(time.interval))
    }

    /// Ends whose verdict is not that of both together, of one cell: `; sender −12 % (−18 to −4)`.
    fn other_ends(&self, lead: &MetricComparison, one: &CellChange) -> String {
        if lead.metric != Metric::CpuPerMessageNs {
            return String::new();
        }
        let ends = self.ends(one.place);
        let other = ends.iter().filter(|(_, seen)| seen.is_shown() && seen.direction != one.direction);
        other.map(|(end, seen)| format!("; {end} {}", with_span(seen.change, seen.interval))).collect()
    }

    fn ends(&self, place: usize) -> Vec<(&'static str, CellChange)> {
        let ends = [("sender", Metric::SenderCpuPerMessageNs), ("receiver", Metric::ReceiverCpuPerMessageNs)];
        let of = |(end, metric)| Some((end, self.seen(self.of(metric)?).into_iter().find(|seen| seen.place == place)?));
        ends.into_iter().filter_map(of).collect()
    }

    fn same(&self, lead: &MetricComparison, same: &[&CellChange]) -> String {
        let [baseline, candidate] = self.names;
        let within = format!("{candidate} and {baseline} are the same within {} %", amount(lead.comparison.threshold));
        let [one] = same else { return format!("{within} at all {} {}s, {}.", same.len(), self.places.word, title(lead.metric)) };
        let time = self.of(Metric::TimePerMessageNs).filter(|_| lead.metric == Metric::CpuPerMessageNs && !self.times_invalid);
        let time = time.and_then(|time| self.seen(time).into_iter().find(|seen| seen.place == one.place));
        let time = time.map_or_else(String::new, |time| match time.is_settled() {
            true => format!(", time {}", with_span(time.change, time.interval)),
            false => format!(", time {}", time.open()),
        });
        format!("{within}: {} {}{time}{}.", plain(lead.metric), with_span(one.change, one.interval), self.other_ends(lead, one))
    }

    /// Nothing is shown of both ends.
    fn open(&self, lead: &MetricComparison, same: &[&CellChange], open: &[&CellChange]) -> String {
        let ([baseline, candidate], metric) = (self.names, lead.metric);
        let threshold = lead.comparison.threshold;
        let both = if metric == Metric::CpuPerMessageNs { "both ends" } else { title(metric) };
        // What one end shows that both together do not.
        if metric == Metric::CpuPerMessageNs {
            let ends = open.iter().map(|one| (*one, self.ends(one.place)));
            let shown = ends.map(|(one, ends)| (one, ends.into_iter().filter(|(_, seen)| seen.is_shown()).collect::<Vec<_>>()));
            let shown: Vec<(&CellChange, Vec<(&str, CellChange)>)> = shown.filter(|(_, ends)| !ends.is_empty()).collect();
            let excludes = |one: &CellChange| one.interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0);
            if let Some((one, ends)) = shown.iter().find(|(one, _)| !excludes(one)) {
                let others: Vec<&CellChange> = open.iter().filter(|other| other.place != one.place).copied().collect();
                let tail = if others.is_empty() { self.places.tail() } else { self.rest(&[], &others).replacen("; ", ", ", 1) };
                let at = self.places.name(one.place);
                return match ends.as_slice() {
                    [(end, seen)] => format!(
                        "{candidate} costs the {end} {} than {baseline} at {at}{}; both ends {}{tail}.",
                        Self::amount(metric, seen.change),
                        sizes(seen.interval),
                        one.open()
                    ),
                    all => {
                        let all: Vec<String> =
                            all.iter().map(|(end, seen)| format!("{end} {}", with_span(seen.change, seen.interval))).collect();
                        format!("{candidate} moves work: {}; both ends {}{tail}.", all.join(", "), one.open())
                    }
                };
            }
        }
        let [one] = open else {
            let each = |one: &&CellChange| {
                let ends = one.interval.map_or_else(|| "no interval".to_owned(), |ends| format!("{} %", span_signed(ends)));
                format!("{ends} at {}", self.places.name(one.place))
            };
            let shown: Vec<String> = open.iter().take(MOST_NAMED + 1).map(each).collect();
            let more = open.len().saturating_sub(shown.len());
            let more =
                if more > 0 { format!(" and {}", plural(more as u64, &format!("more {}", self.places.word))) } else { String::new() };
            return format!("Open: {both} {}{more}, {candidate} against {baseline}{}.", shown.join(", "), self.rest(same, &[]));
        };
        let Some([low, high]) = one.interval else {
            return format!("Open: no interval of {both}, {candidate} against {baseline}{}.", self.places.tail());
        };
        let at = if same.is_empty() { self.places.tail() } else { format!(" at {}{}", self.places.name(one.place), self.rest(same, &[])) };
        if low > 0.0 || high < 0.0 {
            let clause = self.against(metric, one, "");
            let ends = self.other_ends(lead, one);
            return format!("{candidate} {}{clause}, not shown beyond {} %{at}{ends}.", self.verb(metric), amount(threshold));
        }
        format!("Open: {both} {} %, {candidate} against {baseline}{at}.", span_signed([low, high]))
    }

    /// A machine against itself.
    fn alike(&self, lead: &MetricComparison, seen: &[CellChange]) -> String {
        let [baseline, candidate] = self.names;
        let smallest = |metric: Metric| {
            let seen = self.of(metric).map(|found| self.seen(found))?;
            seen.iter().map(|one| one.smallest).filter(|least| least.is_finite()).max_by(f64::total_cmp)
        };
        let blocks = seen.iter().filter_map(|one| lead.comparison.cells.get(one.place)?.ratio).map(|ratio| ratio.n).max().unwrap_or(0);
        let set = format!("{candidate} and {baseline} are set alike");
        match FalseAlarm::of(self.compared) {
            FalseAlarm::ByChance { .. } => format!("{set}, yet a difference is shown: one in 20 such runs has one by chance."),
            FalseAlarm::TooMany { differ, tested, .. } => {
                let verb = verb(differ as u64, "differs", "differ");
                format!("{set}, yet {differ} of {} {verb}: more than chance gives.", plural(tested as u64, self.places.word))
            }
            FalseAlarm::Untested | FalseAlarm::None => {
                let names = format!("{baseline} and {candidate} are set alike");
                let values = plural(blocks as u64, unit(lead.comparison.design));
                let Some(cpu) = smallest(lead.metric) else { return format!("{names}: {values} {} nothing.", find(blocks)) };
                let time = smallest(Metric::TimePerMessageNs).filter(|_| lead.metric != Metric::TimePerMessageNs);
                let time = time.map_or_else(String::new, |time| format!(", of {} % in time", amount(time)));
                format!(
                    "{names}: in 4 of 5 runs {values} here {} a difference of {} % or more in {}{time}.",
                    find(blocks),
                    amount(cpu),
                    plain(lead.metric)
                )
            }
        }
    }

    fn grade(&self, lead: &MetricComparison) -> (Grade, String) {
        let gated = self.gated();
        let settled = gated.iter().filter(|one| one.is_settled()).count();
        let single = lead.comparison.design == Design::Separate && self.compared.conclusion == Conclusion::Inconclusive;
        if single && settled == gated.len() && settled > 0 {
            return (Grade::Open, "one run on each side says nothing of other runs".to_owned());
        }
        let several = self.compared.metrics.iter().filter(|metric| metric.gate).count() > 1;
        let word = if several { "verdict" } else { self.places.word };
        let blocks = || gated.iter().filter_map(|one| one.missing).map(|[blocks, _]| blocks).max();
        match (settled, gated.len()) {
            (0, _) if self.is_shown_by_the_mean(lead) => (Grade::Rough, format!("the mean is settled, no {word} by itself")),
            (0, _) => (Grade::Open, self.why_open(lead, &gated, blocks())),
            (all, of) if all == of => (Grade::Settled, self.intervals(&gated, of)),
            (_, of) => (Grade::Rough, self.intervals(&gated, of)),
        }
    }

    /// Where the intervals of what is settled lie, which is the reason for the grade.
    fn intervals(&self, gated: &[CellChange], of: usize) -> String {
        let threshold = self.lead().map_or(0.0, |lead| lead.comparison.threshold);
        let settled: Vec<&CellChange> = gated.iter().filter(|one| one.is_settled()).collect();
        let (shown, same): (Vec<&CellChange>, Vec<&CellChange>) = settled.iter().copied().partition(|one| one.is_shown());
        let several = of > 1 && settled.len() != 1;
        let lie = |one: &str, all: &str| if several && settled.len() < of { all.to_owned() } else { one.to_owned() };
        let shown = (!shown.is_empty()).then(|| lie("excludes 0", "exclude 0"));
        let same = (!same.is_empty()).then(|| format!("{} within ±{} %", lie("lies", "lie"), amount(threshold)));
        let lie: Vec<String> = shown.into_iter().chain(same).collect();
        let subject = match (settled.len(), of) {
            (_, 1) => "the interval".to_owned(),
            (all, of) if all == of => "each interval".to_owned(),
            (some, of) => format!("{some} of {of} intervals"),
        };
        format!("{subject} of {} {}", self.gate(), lie.join(" or "))
    }

    /// The metrics that the exit code follows from.
    fn gate(&self) -> String {
        let names: Vec<String> =
            self.compared.metrics.iter().filter(|metric| metric.gate).map(|metric| title(metric.metric).to_owned()).collect();
        list(&names)
    }

    fn why_open(&self, lead: &MetricComparison, gated: &[CellChange], few: Option<usize>) -> String {
        let blocks = lead.comparison.cells.iter().filter_map(|judged| judged.ratio).map(|ratio| ratio.n).max().or(few).unwrap_or(0);
        let values = plural(blocks as u64, unit(lead.comparison.design));
        let missed = gated.iter().map(|one| one.smallest).filter(|least| least.is_finite()).fold(0.0, f64::max);
        if few.is_some() || missed <= 0.0 {
            return values;
        }
        let hold = gated.iter().filter_map(|one| one.interval).filter(|[low, high]| *low <= 0.0 && *high >= 0.0).count();
        let gate = self.gate();
        let why = match (hold, gated.len()) {
            (0, _) => format!("no difference shown beyond ±{} %", amount(lead.comparison.threshold)),
            (_, 1) => format!("the interval of {gate} holds 0"),
            (all, of) if all == of => format!("each interval of {gate} holds 0"),
            (some, of) => format!("{some} of {of} intervals of {gate} {} 0", verb(some as u64, "holds", "hold")),
        };
        format!("{why}; {values} {} a difference of {} % or more in 4 of 5 runs", find(blocks), amount(missed))
    }

    /// The exit code and the verdict that it follows from.
    fn ending(&self) -> Ending {
        let gate = self.compared.metrics.iter().filter(|metric| metric.gate);
        let at = |metric: &MetricComparison, wanted: Direction| {
            let seen = self.seen(metric);
            let found: Vec<&CellChange> = seen.iter().filter(|one| one.direction == wanted).collect();
            let whole = found.len() == seen.len() && found.len() > 1;
            let places = if whole {
                format!("every {}", self.places.word)
            } else {
                self.named(&found, |one| self.places.name(one.place).to_owned())
            };
            (!found.is_empty()).then(|| format!("at {places} ({})", title(metric.metric)))
        };
        let words = |wanted: Direction| gate.clone().filter_map(|metric| at(metric, wanted)).collect::<Vec<_>>().join(", ");
        let reason = match self.compared.conclusion {
            Conclusion::Done => format!("nothing worse or open by {}", self.gate()),
            Conclusion::Against => match words(Direction::Worse) {
                places if places.is_empty() => "worse in the mean".to_owned(),
                places => format!("worse {places}"),
            },
            Conclusion::Inconclusive => match words(Direction::Open) {
                places if !places.is_empty() => format!("open {places}"),
                _ if self.lead().is_some_and(|lead| lead.comparison.design == Design::Separate) => "one run on each side".to_owned(),
                _ => "nothing could be compared".to_owned(),
            },
        };
        Ending { code: self.compared.conclusion.exit_code(), reason }
    }

    /// A few words for a list of runs: `CPU +184 % … −27 %`.
    fn brief(&self, lead: &MetricComparison, seen: &[CellChange]) -> String {
        let shown: Vec<&CellChange> = seen.iter().filter(|one| one.is_shown()).collect();
        let name = plain(lead.metric);
        if let Some([blocks, needed]) = self.too_early(seen) {
            return format!("too early: {blocks} of {}", plural(needed as u64, unit(lead.comparison.design)));
        }
        if self.is_self_test {
            return "set alike".to_owned();
        }
        match (shown.as_slice(), seen) {
            ([], [one]) => one.interval.map_or_else(|| "no interval".to_owned(), |ends| format!("{name} {} %", span_signed(ends))),
            ([], _) if seen.iter().all(|one| one.direction == Direction::Same) && !seen.is_empty() => format!("{name} the same"),
            ([], _) => format!("{name} open"),
            ([one], _) => format!("{name} {}", change(one.change)),
            (many, _) => {
                let by = |least: bool| many.iter().map(|one| one.change).reduce(if least { f64::min } else { f64::max }).unwrap_or(0.0);
                format!("{name} {} … {}", change(by(false)), change(by(true)))
            }
        }
    }

    /// The next step where something is open: more blocks of the sizes that are.
    pub fn next(&self, analysis: &Analysis) -> Option<Next> {
        let gated = self.gated();
        let open: Vec<&CellChange> = gated.iter().filter(|one| !one.is_settled()).collect();
        if open.is_empty() {
            return None;
        }
        if let Some(missing) = open.iter().filter_map(|one| one.missing).map(|[_, missing]| missing).max() {
            return Some(next::again(analysis, "have enough blocks for an answer", &[], missing.max(1) as f64));
        }
        let reach = open.iter().filter_map(|one| one.interval).map(reach).fold(0.0, f64::max);
        let wanted = WANTED.ln_1p();
        // One that is narrow already is halved.
        let (wanted, words) =
            if reach > wanted { (wanted, format!("within {} %", amount(WANTED))) } else { (reach / 2.0, "half its interval".to_owned()) };
        let blocks = blocks_for(analysis.blocks, reach, wanted);
        let mut sizes: Vec<Bytes> = open.iter().filter_map(|one| self.places.sizes.get(one.place).copied()).collect();
        sizes.dedup();
        let all = self.places.cells.len() == open.len() || sizes.len() < open.len();
        let names = if all { "this".to_owned() } else { self.named(&open, |one| self.places.name(one.place).to_owned()) };
        let sizes = if all { Vec::new() } else { sizes };
        Some(next::again(analysis, &format!("settle {names} to {words}"), &sizes, blocks - f64::from(analysis.blocks)))
    }
}

/// Both ends of a change, each with its sign: `−26 to +76`.
fn span_signed([low, high]: [f64; 2]) -> String {
    format!("{} to {}", signed(low), signed(high))
}

/// The metric as a verdict names it.
fn title(metric: Metric) -> &'static str {
    match metric {
        Metric::CpuPerMessageNs => "CPU of both ends",
        _ => notation::title(metric),
    }
}

/// The verb of what values find.
const fn find(count: usize) -> &'static str {
    verb(count as u64, "finds", "find")
}

/// The metric in a word.
fn plain(metric: Metric) -> &'static str {
    if metric == Metric::CpuPerMessageNs { "CPU" } else { title(metric) }
}
