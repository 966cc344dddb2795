//! The processor's counters by layer, where it has any.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::attributes::Layer;

/// Instructions, as [`model::profile::HardwareCounts::names`] calls them.
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

/// Counts of the processor's counters, layer by layer.
///
/// What happened between two samples is booked on the later one. Over many
/// samples that is right on average where layers follow each other at random
/// (statistical attribution, as `perf stat` and `perf record` of a group have
/// it); work shorter than the period borrows from its neighbours.
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
