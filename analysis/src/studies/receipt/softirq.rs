//! Share of softirqs in the time of a system call by samples, to be compared with
//! time stamps at tracepoints.

use std::collections::BTreeMap;

use model::order::Order;

use super::SoftirqOfCall;
use super::kept::KeptTime;
use super::known::Known;
use attribution::Context;
use attribution::{Sampling, ratio, share};

/// A call with fewer samples is left out: nothing could be said of it.
const LEAST: u64 = 100;

/// Each system call with enough samples, the most sampled first.
pub fn softirq(time: &[KeptTime], known: &mut Known) -> Vec<SoftirqOfCall> {
    // Softirq samples and all samples, pass by pass.
    let mut calls: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for (place, pass) in time.iter().enumerate() {
        for (chain, count) in &pass.stacks {
            let softirq = known.attributes(*chain).context == Context::Softirq;
            let Some(call) = known.call(*chain) else { continue };
            if !calls.contains_key(call) {
                calls.insert(call.to_owned(), vec![(0.0, 0.0); time.len()]);
            }
            let Some(pair) = calls.get_mut(call).and_then(|passes| passes.get_mut(place)) else { continue };
            pair.0 += if softirq { f64::from(*count) } else { 0.0 };
            pair.1 += f64::from(*count);
        }
    }
    let share = |(call, passes): (String, Vec<(f64, f64)>)| {
        let sum = |of: fn(&(f64, f64)) -> f64| passes.iter().map(of).sum::<f64>() as u64;
        let (softirq, samples) = (sum(|pair| pair.0), sum(|pair| pair.1));
        let sampling = Sampling { samples: softirq, of: samples, each: 1.0 / samples.max(1) as f64 };
        SoftirqOfCall { call, samples, share: share(ratio(&passes), sampling) }
    };
    let mut found: Vec<SoftirqOfCall> = calls.into_iter().map(share).filter(|call| call.samples >= LEAST).collect();
    found.order_by_key(|call| std::cmp::Reverse(call.samples));
    found
}
