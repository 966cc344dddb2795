//! The processor's counters by layer, where it has any.

use std::collections::BTreeMap;

use model::profile::SampleSource;
use serde::Serialize;

use crate::attributes::{Attributes, Layer};
use crate::passes::TimePass;

/// Instructions, as [`HardwareCounts::names`] calls them.
const INSTRUCTIONS: &str = "instructions";

/// The counters of one layer, all passes together.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LayerCounters {
    /// Cycles: samples × period.
    pub cycles: f64,
    /// Each counter by name: what it moved by between samples, of which the
    /// later one fell into this layer.
    pub counted: BTreeMap<String, f64>,
    /// Instructions per cycle; `None` where instructions were not counted.
    pub ipc: Option<f64>,
}

/// The counters of each layer; empty where samples were not spaced by cycles or
/// a pass has no counters. `attributes` are those of each pass's stacks.
///
/// What happened between two samples is booked on the later one. Over many
/// samples that is right on average where layers follow each other at random
/// (statistical attribution, as `perf stat` and `perf record` of a group have
/// it); work shorter than the period borrows from its neighbours.
pub fn per_layer(passes: &[TimePass], attributes: &[Vec<Attributes>]) -> BTreeMap<Layer, LayerCounters> {
    let mut booked = Booked::default();
    for (pass, attributes) in passes.iter().zip(attributes) {
        let Some(counters) = pass.counters.as_ref().filter(|_| pass.profile.source == SampleSource::Cycles) else {
            return BTreeMap::new();
        };
        for ((stack, attributes), moved) in pass.profile.stacks.iter().zip(attributes).zip(&counters.of_stacks) {
            booked.add(attributes.layer, stack.count as f64 * pass.profile.period as f64, &counters.names, moved);
        }
    }
    booked.finish()
}

/// Counts of the processor's counters, layer by layer.
#[derive(Debug, Default)]
pub struct Booked(BTreeMap<Layer, LayerCounters>);

impl Booked {
    /// Books what counters moved by in the samples of one chain, `cycles` apart
    /// from each other in sum.
    pub fn add(&mut self, layer: Layer, cycles: f64, names: &[String], moved: &[u64]) {
        let layer = self.0.entry(layer).or_default();
        layer.cycles += cycles;
        for (name, moved) in names.iter().zip(moved) {
            match layer.counted.get_mut(name) {
                Some(known) => *known += *moved as f64,
                None => drop(layer.counted.insert(name.clone(), *moved as f64)),
            }
        }
    }

    /// The layers with their instructions per cycle.
    pub fn finish(mut self) -> BTreeMap<Layer, LayerCounters> {
        for layer in self.0.values_mut() {
            layer.ipc = layer.counted.get(INSTRUCTIONS).filter(|_| layer.cycles > 0.0).map(|instructions| instructions / layer.cycles);
        }
        self.0
    }
}
