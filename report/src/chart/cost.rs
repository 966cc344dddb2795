//! What a message costs: elapsed time with its model, CPU time at both ends.

use analysis::result::{FitOutcome, Metric, Quantity};

use super::rate::{alt, points};
use super::trace::X;
use super::{Chart, Numbered, Panel, SizeAxis, Trace};
use crate::number;

const NS: f64 = 1e-9;

/// Time per message against size, with the fit, and what the fit misses below it.
pub fn elapsed(groups: &[Numbered]) -> Chart {
    let mut traces = measured(groups, 0, Metric::TimePerMessageNs, Quantity::Elapsed);
    let residuals: Vec<Trace> = groups.iter().filter_map(residuals).collect();
    let mut panels = vec![Panel { title: "time per message", unit: "s", log_ticks: None, zero: true, joined: false, share: 1.0 }];
    if !residuals.is_empty() {
        panels[0].share = 0.7;
        panels.push(Panel { title: "residual", unit: "%", log_ticks: None, zero: true, joined: false, share: 0.3 });
        traces.extend(residuals);
    }
    Chart {
        id: "delay".into(),
        title: "Time per message".into(),
        caption:
            "Dotted: the cost model, in one or more straight pieces, where there is one. Below: by how much the measurement misses the \
                  model. Series without a model have no residuals."
                .into(),
        alt: alt("Elapsed time per message against message size.", groups, Metric::TimePerMessageNs, number::time),
        sizes: Some(SizeAxis::of(groups, false)),
        panels,
        traces,
    }
}

/// CPU time per message at the sender and at the receiver.
pub fn demand(groups: &[Numbered]) -> Chart {
    let mut traces = measured(groups, 0, Metric::SenderCpuPerMessageNs, Quantity::SenderCpu);
    traces.extend(measured(groups, 1, Metric::ReceiverCpuPerMessageNs, Quantity::ReceiverCpu));
    let panel = |title| Panel { title, unit: "s", log_ticks: None, zero: true, joined: false, share: 0.5 };
    let sender = alt("Service demand against message size. Sender.", groups, Metric::SenderCpuPerMessageNs, number::time);
    Chart {
        id: "demand".into(),
        title: "Service demand".into(),
        caption: "CPU time that each end spends on a message: process, interrupts and kernel threads. Dotted: the cost model, where there is one.".into(),
        alt: alt(&format!("{sender} Receiver."), groups, Metric::ReceiverCpuPerMessageNs, number::time),
        sizes: Some(SizeAxis::of(groups, false)),
        panels: vec![panel("sender CPU"), panel("receiver CPU")],
        traces,
    }
}

fn measured(groups: &[Numbered], panel: usize, name: Metric, quantity: Quantity) -> Vec<Trace> {
    let of = |(series, group): &Numbered| {
        let dots = Trace::of(*series, group, panel).measured(points(&group.cells, name), NS, number::time);
        let line = Trace::of(*series, group, panel).fitted(group, quantity);
        [Some(dots), line]
    };
    groups.iter().flat_map(of).flatten().collect()
}

/// The share by which each size misses the model of elapsed time.
fn residuals((series, group): &Numbered) -> Option<Trace> {
    let FitOutcome::Fitted(fit) = &group.model(Quantity::Elapsed)?.outcome else { return None };
    let mut trace = Trace::of(*series, group, 1);
    let mut sizes = Vec::new();
    for point in fit.points.iter().filter(|point| point.residual.is_finite()) {
        let mut share = point.measured;
        share.value = point.residual;
        if let Some(ends) = &mut share.interval {
            (ends.low, ends.high) = (ends.low / point.fitted - 1.0, ends.high / point.fitted - 1.0);
        }
        sizes.push(point.size.get() as f64);
        let head = format!("{} · {} B", trace.name, number::whole(point.size.get()));
        trace.push(&share, 1.0, &head, number::change);
    }
    trace.x = X::Sizes(sizes);
    Some(trace)
}
