//! What the processor's counters say of each layer, where it has any.

use std::collections::BTreeMap;

use model::profile::{HardwareCounts, Profile, SampleSource};
use serde::Serialize;

use super::attributes::{Attributes, Layer};
use super::passes::TimePass;

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
    let mut layers: BTreeMap<Layer, LayerCounters> = BTreeMap::new();
    for (pass, attributes) in passes.iter().zip(attributes) {
        let Some(counters) = pass.counters.as_ref().filter(|_| pass.profile.source == SampleSource::Cycles) else {
            return BTreeMap::new();
        };
        add(&mut layers, &pass.profile, counters, attributes);
    }
    for layer in layers.values_mut() {
        layer.ipc = layer.counted.get(INSTRUCTIONS).filter(|_| layer.cycles > 0.0).map(|instructions| instructions / layer.cycles);
    }
    layers
}

fn add(layers: &mut BTreeMap<Layer, LayerCounters>, profile: &Profile, counters: &HardwareCounts, attributes: &[Attributes]) {
    for ((stack, attributes), moved) in profile.stacks.iter().zip(attributes).zip(&counters.of_stacks) {
        let layer = layers.entry(attributes.layer).or_default();
        layer.cycles += stack.count as f64 * profile.period as f64;
        for (name, moved) in counters.names.iter().zip(moved) {
            *layer.counted.entry(name.clone()).or_default() += *moved as f64;
        }
    }
}
