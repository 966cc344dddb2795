//! A plan as a person wrote it.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::FleetPlan;
use super::cells::{Levels, Override, tests};
use super::error::PlanError;
use crate::agent_address::{OnLoss, host_side};
use crate::cell::{Factor, Level, LevelError};
use crate::host_place::HostPlace;
use crate::link::{LinkKind, Offload};
use crate::plan::receipt::RawReceipt;
use crate::quantity::{Bytes, Nanos, parse_share};
use crate::schedule::Roles;
use crate::suggestion;
use crate::traffic::Test;

/// The text of a plan, read but not yet understood.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct RawPlan {
    /// Name of the study.
    pub name: String,
    /// One line for a person.
    #[serde(default)]
    pub title: Option<String>,
    /// The published study that it repeats, by name.
    #[serde(default)]
    pub reference: Option<String>,
    /// Description of what the study varies, measures and shows, in a few sentences.
    #[serde(rename = "about", default)]
    pub description: Option<String>,
    /// Seed of the random order; drawn when absent.
    #[serde(default)]
    pub seed: Option<u64>,
    /// Times of a trial.
    #[serde(default)]
    pub trial: RawTrial,
    /// Numbers of blocks.
    #[serde(default)]
    pub blocks: RawBlocks,
    /// The link.
    #[serde(default)]
    pub link: RawLink,
    /// Hosts that are other machines.
    #[serde(default)]
    pub hosts: BTreeMap<String, HostPlace>,
    /// The fleet whose pairs are measured. Not written in plans.
    #[serde(skip)]
    pub fleet: Option<FleetPlan>,
    /// Conduct when an agent vanishes.
    #[serde(default)]
    pub on_loss: Option<OnLoss>,
    /// The port that listeners are bound to.
    #[serde(default)]
    pub data_port: Option<u16>,
    /// Time between two reports of progress of the ends. Not written in plans.
    #[serde(skip)]
    pub progress: Option<Nanos>,
    /// The CPUs that the ends on a host are bound to. Not written in plans.
    #[serde(skip)]
    pub cpus: BTreeMap<String, Vec<u32>>,
    /// Hosts that send. Not written in plans.
    #[serde(skip)]
    pub roles: Roles,
    /// The breakdown of each cell's time, if one is asked for.
    #[serde(default)]
    pub receipt: Option<RawReceipt>,
    /// Arms, as `NAME: SETTING=VALUE, ...`, the baseline first.
    #[serde(default)]
    pub arms: Vec<String>,
    /// True where settings outside the hosts that nettoll makes may be changed. Not
    /// written in plans: it is the user's word, and holds for one run.
    #[serde(skip)]
    pub host_wide: bool,
    /// Tables of cells; each crosses its levels. [`RawPlan::parse`] reads them.
    #[serde(skip)]
    pub cells: Vec<Levels>,
    /// Those that are measured in arms, where no flag names a factor that `cells` vary: few, for a verdict in seconds.
    #[serde(skip)]
    pub arm_cells: Vec<Levels>,
}

/// The tables of cells as TOML has them.
#[derive(Deserialize)]
struct WrittenCells {
    #[serde(default)]
    cells: Vec<BTreeMap<String, toml::Value>>,
    #[serde(default)]
    arm_cells: Vec<BTreeMap<String, toml::Value>>,
}

/// `[trial]`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct RawTrial {
    /// Measured time.
    pub length: Option<Nanos>,
    /// Measured messages, instead of a time.
    pub messages: Option<u64>,
    /// Measured bytes of payload, instead of a time: whole messages, as many as
    /// hold them.
    pub bytes: Option<Bytes>,
    /// Least measured time of a trial of a number of messages or bytes: it sends more
    /// until it lasts so long.
    pub least: Option<Nanos>,
    /// Time before the measured part.
    pub warmup: Option<Nanos>,
    /// Time for all trials together; the length shrinks to fit.
    pub budget: Option<Nanos>,
}

/// `[blocks]`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct RawBlocks {
    /// No fewer.
    pub least: Option<u32>,
    /// No more.
    pub most: Option<u32>,
    /// Wanted half-width as a share of the median.
    #[serde(deserialize_with = "share", default)]
    pub precision: Option<f64>,
    /// Confidence level.
    #[serde(deserialize_with = "share", default)]
    pub confidence: Option<f64>,
}

/// Reads a share: a number, or text such as `5%`.
fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(f64),
        Text(String),
    }
    match Written::deserialize(deserializer)? {
        Written::Number(share) => Ok(Some(share)),
        Written::Text(text) => parse_share(&text).map(Some).map_err(D::Error::custom),
    }
}

/// `[link]`.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct RawLink {
    /// Kind of link.
    pub kind: Option<LinkKind>,
    /// Largest IP packet.
    pub mtu: Option<u32>,
    /// Features on or off.
    #[serde(default)]
    pub offloads: BTreeMap<Offload, bool>,
}

/// The keys of each table, for naming a wrong one.
const KEYS: [(&str, &str); 6] = [
    ("", "name title about reference seed trial blocks link hosts on_loss data_port receipt arms cells arm_cells"),
    ("trial", "length messages bytes least warmup budget"),
    ("blocks", "least most precision confidence"),
    ("link", "kind mtu offloads"),
    ("hosts", "a b"),
    ("receipt", "period samples"),
];

impl RawPlan {
    /// Reads the text of a plan.
    ///
    /// # Errors
    /// Text that is not TOML, a value of the wrong kind, and a key or factor that
    /// does not exist, named with the nearest right one.
    pub fn parse(text: &str) -> Result<Self, PlanError> {
        let table: toml::Table = text.parse().map_err(PlanError::syntax)?;
        for (name, keys) in KEYS {
            let found = if name.is_empty() { Some(&table) } else { table.get(name).and_then(toml::Value::as_table) };
            let keys: Vec<&str> = keys.split(' ').collect();
            let known = |key: &&String| name == "hosts" && host_side(key).is_some();
            for key in found.into_iter().flat_map(toml::Table::keys).filter(|key| !known(key)) {
                check_key(key, name, &keys)?;
            }
        }
        let factors: Vec<&str> = Factor::ALL.iter().map(|factor| factor.name()).collect();
        let offloads: Vec<&str> = Offload::ALL.iter().map(|offload| offload.name()).collect();
        for key in table.get("link").and_then(|link| link.get("offloads")?.as_table()).into_iter().flat_map(toml::Table::keys) {
            check_key(key, "link.offloads", &offloads)?;
        }
        let raw: Self = toml::from_str(text).map_err(PlanError::syntax)?;
        let mut written: WrittenCells = toml::from_str(text).map_err(PlanError::syntax)?;
        let tables = [("cells", &mut written.cells), ("arm_cells", &mut written.arm_cells)];
        for (name, tables) in tables {
            tables.iter_mut().for_each(flatten);
            for key in tables.iter().flat_map(BTreeMap::keys) {
                check_key(key, name, &factors)?;
            }
        }
        let of_tables = |tables: &[BTreeMap<String, toml::Value>]| tables.iter().map(levels).collect::<Result<_, _>>();
        Ok(Self { cells: of_tables(&written.cells)?, arm_cells: of_tables(&written.arm_cells)?, ..raw })
    }

    /// The tables of cells that are measured.
    pub(super) fn tables(&self, overrides: &[Override]) -> &[Levels] {
        if self.few_for_arms(overrides).is_some() { &self.arm_cells } else { &self.cells }
    }

    /// The factors whose levels bring back all cells, where arms have few of them; `None` where all are measured.
    pub fn few_for_arms(&self, overrides: &[Override]) -> Option<BTreeSet<Factor>> {
        let varied = |table: &Levels| table.iter().filter(|(_, levels)| levels.len() > 1).map(|(factor, _)| *factor).collect::<Vec<_>>();
        let varied: BTreeSet<Factor> = self.cells.iter().flat_map(varied).filter(|factor| *factor != Factor::Test).collect();
        let are_few = !self.arms.is_empty() && !self.arm_cells.is_empty();
        let known: BTreeSet<Test> = self.arm_cells.iter().flat_map(tests).collect();
        let asks_more = |(factor, levels): &Override| {
            varied.contains(factor) || levels.iter().any(|level| matches!(level, Level::Test(test) if !known.contains(test)))
        };
        (are_few && !overrides.iter().any(asks_more)).then_some(varied)
    }

    /// Has every cell cross this link, whatever links the tables of cells name. The
    /// plan's settings of a link that can be made mean nothing to one that is there already.
    pub fn force_link(&mut self, kind: LinkKind) {
        if !kind.is_made() {
            self.link = RawLink::default();
        }
        self.link.kind = Some(kind);
        self.cells.iter_mut().chain(&mut self.arm_cells).for_each(|table| _ = table.remove(&Factor::Link));
    }
}

/// The levels of one table of cells: `size = [1, "16K"]` is 1 and 16,384 bytes.
fn levels(table: &BTreeMap<String, toml::Value>) -> Result<Levels, LevelError> {
    let one = |(key, written): (&String, &toml::Value)| {
        let factor: Factor = key.parse().ok()?;
        let items = written.as_array().map_or(std::slice::from_ref(written), Vec::as_slice);
        let words: Result<Vec<String>, LevelError> = items.iter().map(|item| word(factor, item)).collect();
        Some(words.and_then(|words| factor.parse(&words)).map(|levels| (factor, levels)))
    };
    table.iter().filter_map(one).collect()
}

fn word(factor: Factor, item: &toml::Value) -> Result<String, LevelError> {
    match item {
        toml::Value::String(word) => Ok(word.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Boolean(choice) => Ok(choice.to_string()),
        other => Err(LevelError { factor, reason: format!("{other} is neither a word, a whole number, true nor false") }),
    }
}

/// `offload.tx = ...` is a table within the table to TOML, and one key here.
fn flatten(cells: &mut BTreeMap<String, toml::Value>) {
    const OUTER: &str = "offload";
    match cells.remove(OUTER) {
        Some(toml::Value::Table(inner)) => cells.extend(inner.into_iter().map(|(key, value)| (format!("{OUTER}.{key}"), value))),
        Some(other) => _ = cells.insert(OUTER.to_owned(), other),
        None => {}
    }
}

fn check_key(key: &str, table: &str, keys: &[&str]) -> Result<(), PlanError> {
    if keys.contains(&key) {
        return Ok(());
    }
    Err(PlanError::UnknownKey {
        key: key.to_owned(),
        place: if table.is_empty() { "at the top of the plan".to_owned() } else { format!("in [{table}]") },
        hint: suggestion(key, keys.iter().copied()),
        all: keys.join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::KEYS;

    #[test]
    fn the_formats_page_has_every_key() {
        let page = include_str!("../../../docs/format.md");
        let rows: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("| ")?.split('|').next()).collect();
        let tables: Vec<&str> = KEYS.iter().map(|(name, _)| *name).chain(["cells", "arm_cells"]).collect();
        for (table, keys) in KEYS {
            for key in keys.split(' ').filter(|key| !(table.is_empty() && tables.contains(key))) {
                let key = if table.is_empty() { (*key).to_owned() } else { format!("{table}.{key}") };
                assert!(rows.iter().any(|cell| cell.contains(&format!("`{key}`"))), "docs/format.md has no row for the key {key}");
            }
        }
        // Nor has it a key that a plan cannot have.
        let table = page.split("| key | default | meaning and limits |").nth(1).unwrap().split("\n\n").next().unwrap();
        for key in table.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next()).flat_map(|keys| keys.split("`, `")) {
            let (table, key) = key.trim_end_matches('`').split_once('.').unwrap_or(("", key.trim_end_matches('`')));
            let known = KEYS.iter().any(|(name, keys)| *name == table && keys.split(' ').any(|known| known == key));
            assert!(known, "docs/format.md has a row for {key} of [{table}], which a plan cannot have");
        }
    }
}
