//! One figure of a fleet: judged on a logarithmic scale, told as shares.

use std::collections::{BTreeMap, BTreeSet};

use model::Cell;
use model::sorting::{Gather, Order};
use stats::fleet::{self, Design, Effect, Effort, FleetEstimate, judge};
use stats::median;

use super::Measured;
use super::result::{Change, Fault, FleetFigure, FleetHostResult, HostChange, LinkChange, Named, RackChange, Square};
use crate::metric::{Direction, Metric};

/// Pairs of a figure that are kept beyond those that fall out.
const MOST_LINKS: usize = 20;

/// Reach of an interval, on a logarithmic scale, beyond which there is none: ten times.
const WIDEST: f64 = std::f64::consts::LN_10;

/// The figures of a fleet's cell: of a stream how much arrives and what a message costs either
/// end, of requests their time.
pub fn metrics(cell: &Cell) -> &'static [Metric] {
    match cell.test.is_stream() {
        true => &[Metric::GoodputBitPerS, Metric::SenderCpuPerMessageNs, Metric::ReceiverCpuPerMessageNs],
        false => &[Metric::RoundTripP50Ns],
    }
}

/// What is asked of a figure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    pub hosts: &'a [FleetHostResult],
    /// Share of fleets without a fault in which this figure may name something.
    pub level: f64,
    /// Least change that is named.
    pub least: f64,
    /// Seed of the simulated limits.
    pub seed: u64,
}

/// A scale on which more is worse, and effects add up.
#[derive(Debug, Clone, Copy)]
struct Scale {
    /// The metric is better when it is higher.
    higher: bool,
}

impl Scale {
    fn value(self, figure: f64) -> f64 {
        if self.higher { -figure.ln() } else { figure.ln() }
    }

    fn figure(self, value: f64) -> f64 {
        if self.higher { (-value).exp() } else { value.exp() }
    }

    /// The value of a change of the figure for the worse by a share.
    fn worse(self, share: f64) -> f64 {
        if self.higher { -(1.0 - share).ln() } else { (1.0 + share).ln() }
    }

    fn change(self, effect: &Effect) -> Change {
        let change = |value: f64| self.figure(value) - 1.0;
        let [low, high] = effect.interval.map(change);
        let interval = Some([low.min(high), low.max(high)]).filter(|_| effect.interval[1] - effect.value < WIDEST);
        Change { change: change(effect.value), interval, n: effect.n, falls_out: effect.falls_out }
    }
}

/// Judges a figure.
pub(super) fn figure(question: &Question, cell: Cell, metric: Metric, trials: &[Measured]) -> FleetFigure {
    let scale = Scale { higher: metric.better() == Some(Direction::HigherIsBetter) };
    let judged = judge_by(question, scale, question.hosts.len(), trials.iter().map(|one| (one.ends, one.value)));
    let mut figure = FleetFigure {
        label: cell.to_string(),
        cell,
        metric,
        middle: median::median(&trials.iter().map(|one| one.value).collect::<Vec<_>>()).unwrap_or(f64::NAN),
        noise: 0.0,
        spread: None,
        told_apart: false,
        hosts: Vec::new(),
        links: Vec::new(),
        matrix: matrix(trials),
        racks: racks(question, scale, trials),
    };
    if let Some(judged) = judged {
        figure.middle = scale.figure(judged.middle);
        (figure.noise, figure.spread, figure.told_apart) = (judged.noise, judged.spread, judged.told_apart);
        figure.hosts = hosts(&judged, scale);
        figure.links = links(&judged, scale);
    }
    figure
}

fn judge_by(question: &Question, scale: Scale, hosts: usize, trials: impl Iterator<Item = ([usize; 2], f64)>) -> Option<FleetEstimate> {
    let (ends, values): (Vec<(usize, usize)>, Vec<f64>) =
        trials.map(|([sender, receiver], figure)| ((sender, receiver), scale.value(figure))).unzip();
    let least = scale.worse(question.least);
    let asked = fleet::Question { level: question.level, least, effort: Effort::usual(question.seed) };
    judge(&Design::new(hosts, ends)?, &values, &asked)
}

fn hosts(judged: &FleetEstimate, scale: Scale) -> Vec<HostChange> {
    let mut worst: Vec<_> = judged.hosts.iter().collect();
    worst.order_by(|a, b| b.both.value.total_cmp(&a.both.value));
    let of = |effect: &Effect| scale.change(effect);
    let change = |host: &fleet::HostEffect| HostChange {
        host: host.host,
        both: of(&host.both),
        sender: of(&host.sender),
        receiver: of(&host.receiver),
        asymmetry: of(&host.difference),
    };
    worst.into_iter().map(change).collect()
}

/// Pairs and directions that fall out, and the worst of the others.
fn links(judged: &FleetEstimate, scale: Scale) -> Vec<LinkChange> {
    let out: BTreeSet<[usize; 2]> = judged.links.iter().filter(|link| link.effect.falls_out).map(|link| link.hosts).into_set();
    let both = judged.links.iter().map(|link| (link.effect, link.hosts, false));
    // Of a pair that falls out in both directions neither is told apart.
    let alone = judged.directions.iter().filter(|one| one.effect.falls_out && !out.contains(&sorted([one.sender, one.receiver])));
    let mut all: Vec<_> = both.chain(alone.map(|one| (one.effect, [one.sender, one.receiver], true))).collect();
    all.order_by(|a, b| (b.0.falls_out, b.0.value).partial_cmp(&(a.0.falls_out, a.0.value)).unwrap_or(std::cmp::Ordering::Equal));
    let out = all.iter().filter(|one| one.0.falls_out).count();
    all.truncate(out.max(MOST_LINKS));
    all.into_iter().map(|(effect, hosts, one_way)| LinkChange { hosts, one_way, change: scale.change(&effect) }).collect()
}

fn sorted([a, b]: [usize; 2]) -> [usize; 2] {
    [a.min(b), a.max(b)]
}

fn matrix(trials: &[Measured]) -> Vec<Square> {
    let mut squares: BTreeMap<[usize; 2], Vec<f64>> = BTreeMap::new();
    trials.iter().for_each(|one| squares.entry(one.ends).or_default().push(one.value));
    let square = |([sender, receiver], values): ([usize; 2], Vec<f64>)| Square {
        sender,
        receiver,
        value: median::median(&values).unwrap_or(f64::NAN),
        n: values.len(),
    };
    squares.into_iter().map(square).collect()
}

/// Racks, where they were named: as hosts are, by the trials between them.
fn racks(question: &Question, scale: Scale, trials: &[Measured]) -> Vec<RackChange> {
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    question.hosts.iter().filter_map(|host| host.rack.as_deref()).for_each(|rack| *sizes.entry(rack).or_default() += 1);
    let names: Vec<&str> = sizes.keys().copied().collect();
    let rack_of = |host: usize| names.binary_search(&question.hosts[host].rack.as_deref()?).ok();
    let of_racks = || trials.iter().filter_map(|one| Some(([rack_of(one.ends[0])?, rack_of(one.ends[1])?], one.value)));
    let between = of_racks().filter(|([sender, receiver], _)| sender != receiver);
    let judged = judge_by(question, scale, names.len(), between);
    let effect = |rack: usize| judged.as_ref()?.hosts.iter().find(|host| host.host == rack).map(|host| scale.change(&host.both));
    let within = |rack: usize| {
        let own: Vec<f64> = of_racks().filter(|(racks, _)| *racks == [rack, rack]).map(|(_, value)| value).collect();
        median::median(&own)
    };
    let mut racks: Vec<RackChange> = (0..names.len())
        .map(|rack| RackChange { rack: names[rack].to_owned(), hosts: sizes[names[rack]], within: within(rack), between: effect(rack) })
        .collect();
    let size = |rack: &RackChange| rack.between.map_or(f64::NEG_INFINITY, |change| scale.value(1.0 + change.change));
    racks.order_by(|a, b| size(b).total_cmp(&size(a)));
    racks
}

/// Outliers in any figure, the largest change first.
pub(super) fn named(hosts: &[FleetHostResult], figures: &[FleetFigure]) -> Vec<Named> {
    let name = |host: usize| hosts[host].name.clone();
    let mut named = Vec::new();
    for (place, figure) in figures.iter().enumerate() {
        let mut add = |fault, who, change| named.push(Named { fault, who, figure: place, change });
        for host in &figure.hosts {
            if let Some((fault, change)) = of_host(host) {
                add(fault, vec![name(host.host)], change);
            }
        }
        for link in figure.links.iter().filter(|link| link.change.falls_out) {
            add(if link.one_way { Fault::Direction } else { Fault::Link }, link.hosts.map(name).to_vec(), link.change);
        }
        // Where some of its hosts fall out and others do not, they are what is wrong with a rack.
        let is_its_hosts = |rack: &str| {
            let own = || figure.hosts.iter().filter(|host| hosts[host.host].rack.as_deref() == Some(rack));
            let out = own().filter(|host| of_host(host).is_some()).count();
            out > 0 && out < own().count()
        };
        for rack in figure.racks.iter().filter(|rack| !is_its_hosts(&rack.rack)) {
            if let Some(change) = rack.between.filter(|change| change.falls_out) {
                add(Fault::Rack, vec![rack.rack.clone()], change);
            }
        }
    }
    named.order_by(|a, b| b.change.change.ln_1p().abs().total_cmp(&a.change.change.ln_1p().abs()));
    named
}

/// The one word for a host that falls out: both roles, unless one is clearly worse.
fn of_host(host: &HostChange) -> Option<(Fault, Change)> {
    let (both, sender, receiver) = (host.both, host.sender, host.receiver);
    let worse = |change: Change| change.change.ln_1p().abs();
    match () {
        () if !(both.falls_out || sender.falls_out || receiver.falls_out) => {
            host.asymmetry.falls_out.then_some((Fault::Asymmetry, host.asymmetry))
        }
        () if sender.falls_out && receiver.falls_out && !host.asymmetry.falls_out => Some((Fault::Host, both)),
        () if both.falls_out && !host.asymmetry.falls_out => Some((Fault::Host, both)),
        () if sender.falls_out && (!receiver.falls_out || worse(sender) >= worse(receiver)) => Some((Fault::Sender, sender)),
        () if receiver.falls_out => Some((Fault::Receiver, receiver)),
        () => Some((Fault::Host, both)),
    }
}

impl FleetFigure {
    /// Pairs that were measured in both directions.
    pub(super) fn pairs(&self) -> usize {
        let ways: BTreeSet<[usize; 2]> = self.matrix.iter().map(|square| [square.sender, square.receiver]).into_set();
        ways.iter().filter(|[sender, receiver]| sender < receiver && ways.contains(&[*receiver, *sender])).count()
    }
}
