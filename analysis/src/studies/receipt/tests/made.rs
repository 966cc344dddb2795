//! Made-up trials of every pass, whose truth is known.

use model::end::{CpuTime, Window};
use model::plan::ReceiptPlan;
use model::profile::{Account, CallCounts, Observation, Waits};
use model::trial::{Measured, Observed};
use model::{Cell, Nanos, Pass, Role, Test, TrialRecord};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::studies::receipt::tests::profiles::{COSTS, Cost, PERIOD, profile};
use crate::testing::{cell, generator, measured, normal, record, run};
use crate::{Analysis, Collector};

/// Messages of the measured part of each trial, and of all of it.
pub const MESSAGES: f64 = 300_000.0;
pub const WHOLE: f64 = 360_000.0;

/// Runnable wait and blocked time per message, in ns.
pub const WAITS: [f64; 2] = [50.0, 250.0];

/// How much more CPU time a time pass takes.
pub const OBSERVER: f64 = 1.04;

/// A run to make up: its cells and arms.
pub struct Made {
    pub cells: Vec<Cell>,
    pub arms: Vec<Option<&'static str>>,
    pub blocks: u32,
    /// What a chain costs in a cell and arm, in ns.
    pub costs: fn(&Cell, Option<&str>) -> Vec<Cost>,
}

/// UDP at three sizes; copying costs 50 ns and a ns for 16 bytes.
pub fn sizes() -> Made {
    let cells = [1, 1024, 4096].map(|size| cell(Test::UdpStream, size)).to_vec();
    Made { cells, arms: vec![None], blocks: 6, costs: copying }
}

/// [`COSTS`], of which the copy depends on the size.
pub fn copying(cell: &Cell, _arm: Option<&str>) -> Vec<Cost> {
    let mut costs = COSTS.to_vec();
    costs[0].ns = 50.0 + cell.size.get() as f64 / 16.0;
    costs
}

/// All trials of the run, in order of blocks.
pub fn records(made: &Made) -> Vec<TrialRecord> {
    let mut random = generator(17);
    let mut records = Vec::new();
    for block in 0..made.blocks {
        for cell in &made.cells {
            for arm in &made.arms {
                let costs = (made.costs)(cell, *arm);
                for pass in Pass::ALL {
                    let mut record = record(cell.test, cell.size.get(), block, trial(cell, &costs, *pass, &mut random));
                    (record.cell, record.pass, record.arm) = (cell.clone(), *pass, arm.map(str::to_owned));
                    records.push(record);
                }
            }
        }
    }
    records
}

fn trial(cell: &Cell, costs: &[Cost], pass: Pass, random: &mut ChaCha8Rng) -> Measured {
    let mut trial = measured(cell.test, cell.size.get());
    let mut observed = Observed::default();
    for role in [Role::Sender, Role::Receiver] {
        let report = if role == Role::Sender { &mut trial.sender } else { &mut trial.receiver };
        let whole: f64 = costs.iter().map(|cost| cost.ns).sum();
        let cost = if pass.samples() && pass.watches(role) { whole * OBSERVER } else { whole } * (1.0 + 0.005 * normal(random));
        let cpu = (cost * MESSAGES) as u64;
        report.window = Window { start: Nanos::new(7), end: Nanos::new(7 + cpu + ((WAITS[0] + WAITS[1]) * MESSAGES) as u64) };
        report.cpu_time = CpuTime { process: Nanos::new(cpu), irq: None, kernel_threads: None };
        (report.counts.messages, report.total.messages) = (MESSAGES as u64, WHOLE as u64);
        report.counts.bytes = report.counts.messages * cell.size.get();
        report.total.bytes = report.total.messages * cell.size.get();
        let seen = if role == Role::Sender { &mut observed.sender } else { &mut observed.receiver };
        if pass.watches(role) {
            see(seen, costs, pass, cpu, random);
        }
    }
    trial.observed = (!pass.is_clean()).then(|| Box::new(observed));
    trial
}

fn see(seen: &mut Observation, costs: &[Cost], pass: Pass, cpu: u64, random: &mut ChaCha8Rng) {
    match pass {
        Pass::Clean => {}
        Pass::Time | Pass::TimeReceiver => {
            let varied: Vec<f64> = costs.iter().map(|cost| cost.ns * (1.0 + 0.03 * normal(random))).collect();
            let sum: f64 = varied.iter().sum();
            // Chance rounds each count, so that the mean is right.
            let counts = costs
                .iter()
                .zip(varied)
                .map(|(cost, ns)| (cost.chain, (ns / sum * cpu as f64 / PERIOD as f64 + random.random::<f64>()).floor() as u64));
            let mut profile = profile(&counts.collect::<Vec<_>>());
            let recorded = profile.samples();
            profile.account = Some(Account { on_cpu: Some(Nanos::new(cpu)), recorded, ..Account::default() });
            seen.profile = Some(profile);
        }
        Pass::Wait => {
            let of = |ns: f64| Nanos::new((ns * MESSAGES) as u64);
            seen.waits = Some(Waits { runnable: of(WAITS[0]), blocked: of(WAITS[1]), switches: 9, ..Waits::default() });
        }
        Pass::Count => {
            let mut counts = CallCounts::default();
            counts.calls.insert("udp_sendmsg".to_owned(), WHOLE as u64);
            counts.refused.insert("ip_output".to_owned(), "fentry: EPERM".to_owned());
            seen.counts = Some(counts);
        }
    }
}

/// A collector of these trials of the made-up run.
pub fn collected(made: &Made, records: &[TrialRecord]) -> Collector {
    let mut run = run(made.cells.clone(), made.blocks);
    run.plan.receipt = Some(ReceiptPlan::default());
    run.plan.arms = made.arms.iter().flatten().map(|name| model::Arm { name: (*name).to_owned(), settings: Vec::new() }).collect();
    let mut collector = Collector::new(run, Vec::new());
    records.iter().for_each(|record| collector.push(record));
    collector
}

/// What the trials show.
pub fn analysed(made: &Made, records: &[TrialRecord]) -> Analysis {
    collected(made, records).finish()
}

/// What was seen of one end, to be changed.
pub fn seen(record: &mut TrialRecord, role: Role) -> Option<&mut Observation> {
    let observed = measured_of(record).observed.as_mut()?;
    Some(if role == Role::Sender { &mut observed.sender } else { &mut observed.receiver })
}

/// The trial's measurements, to be changed.
pub fn measured_of(record: &mut TrialRecord) -> &mut Measured {
    match &mut record.outcome {
        model::trial::Outcome::Measured(measured) => measured,
        _ => panic!("a trial that was measured"),
    }
}
