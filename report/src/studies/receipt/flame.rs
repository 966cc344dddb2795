//! Flame graphs of receipts: the profiles of a run, and what a page holds of them.

use std::collections::BTreeMap;

use analysis::result::receipt::{ReceiptStudy, SeriesReceipt};
use attribution::{Classifier, Layer, Rules};
use model::Bytes;

use super::chains::{Tree, pruned};
use crate::document::flame::{Bar, Choice, Column, Flame, LEAST_DRAWN};
use crate::{json, number};

/// All flame graphs of a page together take no more bytes than this, drawings and data.
pub const MOST_BYTES: usize = 1 << 20;
/// Functions of a smaller share of the samples of every profile are left out; of a graph that is
/// too large then, those below twice as much, and so on.
const LEAST_SHARE: f64 = 0.001;
/// Beyond this nothing is left to see.
const MOST_SHARE: f64 = 0.25;
/// Functions of a smaller share of a profile are not kept: a difference still knows those that are
/// large enough in another profile.
const KEPT_SHARE: f64 = LEAST_SHARE / 10.0;
/// Name of the chain of a sample in user code.
const USER: &str = "[user]";

/// Stacks of a run, cut down to what flame graphs can show of them.
#[derive(Debug, Default)]
pub struct Flames {
    folded: BTreeMap<String, String>,
    rules: Option<Rules>,
}

/// One profile of a graph.
pub struct Profile<'f> {
    /// Its name.
    pub name: String,
    /// Its chains, folded.
    folded: &'f str,
    /// CPU time of the end that samples show, ns per message.
    sampled_ns: f64,
    /// Standard error of the end's CPU time, as a share of it; 0 where it is not known.
    error: f64,
}

impl Flames {
    /// Colours functions by other rules than those that come with nettoll.
    #[must_use]
    pub fn with_rules(self, rules: Option<Rules>) -> Self {
        Self { rules, ..self }
    }

    /// Takes the stacks of one file of `stacks/`, by its name. Chains that no
    /// graph could show are dropped at once.
    pub fn push(&mut self, file: &str, folded: &str) {
        self.folded.insert(file.to_owned(), pruned(folded, KEPT_SHARE));
    }

    /// The profile of one size of a series; `None` where there is none.
    pub(crate) fn profile(&self, study: &ReceiptStudy, series: &SeriesReceipt, size: Bytes) -> Option<Profile<'_>> {
        let column = series.columns.iter().find(|column| column.size == size)?;
        let file = format!("{}.{}.folded", study.cells.get(column.cell)?.file, series.role);
        let folded = self.folded.get(&file).filter(|text| !text.is_empty())?;
        let error = column.cpu.error.map_or(0.0, |error| error / column.cpu.value);
        Some(Profile { name: bytes(size), folded, sampled_ns: column.sampled_ns(), error })
    }

    /// The graph of one end of a series at every size that has a profile.
    pub(crate) fn graph(&self, id: String, study: &ReceiptStudy, series: &SeriesReceipt) -> Option<Flame> {
        let sizes = series.columns.iter().map(|column| column.size);
        let (sizes, profiles): (Vec<Bytes>, Vec<Profile>) =
            sizes.filter_map(|size| Some((size, self.profile(study, series, size)?))).unzip();
        let usual = series.usual(&sizes).and_then(|usual| sizes.iter().position(|size| *size == usual))?;
        let rivals: Vec<String> = if profiles.len() > 1 { profiles.iter().map(|one| one.name.clone()).collect() } else { Vec::new() };
        let choice = |(column, one): (usize, &Profile)| Choice { name: one.name.clone(), column, rivals: (0..rivals.len()).collect() };
        let choices = profiles.iter().enumerate().map(choice).collect();
        let graph = Flame { id, title: title(series), choices, rivals, first: (usual, None), ..flame(&profiles) };
        fitted(graph, &profiles, self.rules.as_ref(), self.room(profiles.len()))
    }

    /// The graph of an end in one run as a difference from another run, of every size with a profile in both.
    fn difference(&self, id: String, [theirs, ours]: [&Side; 2], series: &SeriesReceipt) -> Option<Flame> {
        let before = theirs.study.series.iter().find(|other| other.series == series.series && other.role == series.role)?;
        let both = |size: Bytes| Some((size, ours.profile(series, size)?, theirs.profile(before, size)?));
        let all: Vec<_> = series.columns.iter().filter_map(|column| both(column.size)).collect();
        let sizes: Vec<Bytes> = all.iter().map(|(size, ..)| *size).collect();
        let usual = series.usual(&sizes).and_then(|usual| sizes.iter().position(|size| *size == usual))?;
        let choice = |(column, size): (usize, &Bytes)| Choice { name: bytes(*size), column, rivals: vec![sizes.len() + column] };
        let choices = sizes.iter().enumerate().map(choice).collect();
        let (now, then): (Vec<Profile>, Vec<Profile>) = all.into_iter().map(|(_, now, then)| (now, then)).unzip();
        let profiles: Vec<Profile> = now.into_iter().chain(then).collect();
        let rivals = vec![theirs.name.to_owned()];
        let graph = Flame { id, title: title(series), choices, rivals, first: (usual, Some(0)), ..flame(&profiles) };
        fitted(graph, &profiles, self.rules.as_ref(), self.room(profiles.len()))
    }

    /// Room of a graph with so many profiles: all profiles of a page share it.
    fn room(&self, profiles: usize) -> usize {
        MOST_BYTES / self.folded.len().max(1) * profiles
    }
}

/// The graph of one profile: folded chains, and the ns of a message that samples show, with the
/// standard error of its CPU time as a share.
pub fn one(id: String, title: String, folded: &str, sampled_ns: f64, error: f64) -> Option<Flame> {
    let folded = pruned(folded, KEPT_SHARE);
    let profiles = [Profile { name: String::new(), folded: &folded, sampled_ns, error }];
    let choices = vec![Choice { name: String::new(), column: 0, rivals: Vec::new() }];
    fitted(Flame { id, title, choices, ..flame(&profiles) }, &profiles, None, MOST_BYTES)
}

/// Call paths of one message, counted exactly with each seed of a side.
pub struct Counted {
    /// Name of the side.
    pub name: String,
    /// Instructions by path, folded, a text a seed.
    pub folded: Vec<String>,
}

/// The graph of exact counts. Choices and rivals name places of `sides`, all of which have
/// as many seeds; `room` is in bytes.
pub fn counted(graph: Flame, sides: &[Counted], room: usize) -> Option<Flame> {
    let seeds = sides.first()?.folded.len();
    let column = |side: usize| side * seeds;
    let whole = |folded: &str| folded.lines().filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum::<u64>();
    let folded = sides.iter().flat_map(|side| side.folded.iter().map(|folded| (side.name.clone(), folded.as_str())));
    let profiles: Vec<Profile> =
        folded.map(|(name, folded)| Profile { name, folded, sampled_ns: whole(folded) as f64, error: 0.0 }).collect();
    let choice = |one: Choice| Choice { column: column(one.column), rivals: one.rivals.into_iter().map(column).collect(), ..one };
    let choices = graph.choices.into_iter().map(choice).collect();
    let Flame { columns, layers, least_share, .. } = flame(&profiles);
    fitted(Flame { choices, columns, layers, least_share, seeds, ..graph }, &profiles, None, room)
}

/// A run with receipts, as far as its flame graphs are compared.
pub struct Side<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its receipts.
    pub study: &'a ReceiptStudy,
    /// Its profiles.
    pub flames: &'a Flames,
}

impl<'a> Side<'a> {
    /// The profile of one size of a series, with the name of the run.
    fn profile(&self, series: &SeriesReceipt, size: Bytes) -> Option<Profile<'a>> {
        let profile = self.flames.profile(self.study, series, size)?;
        Some(Profile { name: format!("{}, {}", profile.name, self.name), ..profile })
    }
}

/// Graphs of the second run as differences from the first, of every end that both have.
pub fn differences(sides: [&Side; 2]) -> Vec<Flame> {
    let series = sides[1].study.series.iter().enumerate();
    series.filter_map(|(place, series)| sides[1].flames.difference(format!("flame-{place}"), sides, series)).collect()
}

fn title(series: &SeriesReceipt) -> String {
    format!("Flame graph of {}, {}", series.series, series.role)
}

fn bytes(size: Bytes) -> String {
    format!("{} B", number::whole(size.get()))
}

/// A graph without bars.
fn flame(profiles: &[Profile]) -> Flame {
    Flame {
        columns: profiles.iter().map(|one| Column { name: one.name.clone(), ns: 0.0, error: one.error }).collect(),
        layers: Layer::ALL.iter().map(ToString::to_string).collect(),
        least_share: LEAST_SHARE,
        ..Flame::default()
    }
}

/// The graph with as many bars as its room in bytes allows; `None` of one that has nothing to show.
fn fitted(mut flame: Flame, profiles: &[Profile], rules: Option<&Rules>, room: usize) -> Option<Flame> {
    let tree = Tree::of(&profiles.iter().map(|one| one.folded).collect::<Vec<_>>());
    let own = rules.is_none().then(Rules::builtin).and_then(Result::ok);
    let mut classifier = rules.or(own.as_ref()).map(Classifier::new);
    while flame.least_share <= MOST_SHARE {
        flame.bars.clear();
        tree.walk(flame.least_share, |node, path| {
            let name = if path.is_empty() { "all" } else { node.name };
            let chain: Vec<&str> = path.iter().rev().copied().collect();
            let layer = classifier.as_mut().map_or(Layer::Other, |known| known.classify(&chain, name == USER).layer);
            let layer = Layer::ALL.iter().position(|one| *one == layer).unwrap_or(Layer::ALL.len() - 1);
            flame.bars.push(Bar { name: name.to_owned(), layer, depth: path.len(), samples: node.samples.clone() });
        });
        let whole = &flame.bars.first()?.samples;
        for ((column, all), one) in flame.columns.iter_mut().zip(whole).zip(profiles) {
            column.ns = one.sampled_ns / (*all).max(1) as f64;
        }
        if flame.bars.len() < 2 {
            return None;
        }
        if bytes_of(&flame) <= room {
            return Some(flame);
        }
        flame.least_share *= 2.0;
    }
    None
}

/// Bytes that a page takes for a graph at most: the data, and the drawing of each bar with its name
/// in it where it is wide.
fn bytes_of(flame: &Flame) -> usize {
    const DRAWN: usize = 140;
    const LABELLED: usize = 50;
    let column = flame.choices.get(flame.first.0).map_or(0, |choice| choice.column);
    let samples = |bar: &Bar| bar.samples.get(column).copied().unwrap_or(0) as f64;
    let whole = flame.bars.first().map_or(1.0, samples);
    let drawing = |bar: &Bar| match samples(bar) / whole {
        share if share >= 1.0 / 32.0 => DRAWN + LABELLED + 2 * bar.name.len(),
        share if share >= LEAST_DRAWN => DRAWN + bar.name.len(),
        _ => 0,
    };
    json::compact(flame).len() + flame.bars.iter().map(drawing).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::{Profile, fitted, flame};
    use crate::document::flame::Choice;
    use crate::json;
    use crate::sinks::html::chart::flame::svg;
    use attribution::Layer;
    use proptest::prelude::{prop_assert, proptest};

    fn made(folded: &[&str], room: usize) -> Option<super::Flame> {
        let profiles: Vec<Profile> =
            folded.iter().map(|folded| Profile { name: "1 B".into(), folded, sampled_ns: 300.0, error: 0.0 }).collect();
        let choices = vec![Choice { name: String::new(), column: 0, rivals: vec![] }];
        fitted(super::Flame { choices, ..flame(&profiles) }, &profiles, None, room)
    }

    #[test]
    fn a_function_has_the_colour_of_its_layer_and_its_time() {
        let flame = made(&["[user] 50\ndo_syscall_64;__sys_sendto;udp_sendmsg;ip_make_skb 100\n"], 1 << 20).unwrap();
        let layer = |name: &str| Layer::ALL[flame.bars.iter().find(|bar| bar.name == name).unwrap().layer];
        assert_eq!([layer("[user]"), layer("udp_sendmsg"), layer("ip_make_skb")], [Layer::User, Layer::Udp, Layer::Ip]);
        assert_eq!((flame.bars[0].samples[0], flame.columns[0].ns), (150, 2.0));
    }

    #[test]
    fn a_large_graph_keeps_within_its_room() {
        let folded: String = (0..4_000).map(|place| format!("root;outer_{};inner_{place} {}\n", place % 40, 10 + place % 7)).collect();
        let flame = made(&[&folded], 8 << 10).unwrap();
        assert!(flame.bars.len() > 20 && json::compact(&flame).len() + svg(&flame).0.len() <= 8 << 10);
        assert!(json::compact(&flame).len() + svg(&flame).0.len() <= super::bytes_of(&flame));
        assert!(made(&[&folded], 10).is_none() && made(&["", "x"], 1 << 20).is_none());
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "([a-z;]{0,12} [0-9]{0,3}\n|\\PC{0,20}\n|<script>;b 9\n){0,20}") {
            let drawn = made(&[&text, "a 1\n"], 1 << 16).map_or(String::new(), |flame| svg(&flame).into_string() + &json::for_script(&json::compact(&flame)));
            prop_assert!(!drawn.contains("<script") && !drawn.contains("NaN"));
        }
    }
}
