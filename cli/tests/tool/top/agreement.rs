//! What `top` says of traffic against what the kernel's counters and `attach` say of the same.

use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

use serde_json::Value;

use super::networks::{GIVE, TAKE, start};
use super::{Load, number, window};
use crate::agents::support::Place;
use crate::attach::observe;
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_programs};

crate::claims!(softirqs_are_those_of_the_kernels_counters_in_many_windows, layers_of_a_program_are_those_that_attach_finds,);

/// Windows in which two samplings of the same time are compared; one of them may differ by chance.
const WINDOWS: usize = 8;
/// Share by which they may differ beyond chance.
const APART: f64 = 0.03;
/// Share of the due samples without which a window says little: another guest had the CPU.
const MISSING: f64 = 0.05;
/// Layers of the network: in `attach` other layers have work of other kinds as well.
const LAYERS: [&str; 6] = ["socket", "tcp", "udp", "ip", "netfilter", "netdev"];
/// Samples of each from which shares are compared.
const LEAST: f64 = 200.0;

/// A namespace in which one program gives datagrams to another as fast as it can.
fn traffic(tool: &Tool) -> Result<(Place, Load, Load), Skip> {
    need_programs(&["python3", "unshare", "nsenter", "setpriv", "ip"])?;
    let place = Place::new(None)?;
    place.set("ip link set lo up")?;
    let taker = start(&place, tool, &[], TAKE, "127.0.0.1");
    let giver = start(&place, tool, &[], GIVE, "127.0.0.1");
    Ok((place, taker, giver))
}

/// The kernel's count of ticks, where it shows it.
fn ticks() -> Option<f64> {
    let text = fs::read_to_string("/proc/timer_list").ok()?;
    text.lines().find_map(|line| line.trim_start_matches(['.', ' ']).strip_prefix("jiffies: "))?.trim().parse().ok()
}

/// Softirqs over some time, in CPUs: the network's and all by samples, all by the kernel's counters.
#[derive(Debug, Clone, Copy)]
struct Softirqs {
    network: f64,
    sampled: f64,
    counted: f64,
    seconds: f64,
}

impl Softirqs {
    fn of(window: &Value) -> Self {
        Self {
            network: number(&window["network"]["softirq"]),
            sampled: number(&window["sampled_softirq"]),
            counted: number(&window["proc_stat_softirq"]),
            seconds: number(&window["elapsed_ns"]) / 1e9,
        }
    }

    /// The mean over windows.
    fn mean(windows: &[Self]) -> Self {
        let seconds = windows.iter().map(|one| one.seconds).sum::<f64>();
        let mean = |of: fn(&Self) -> f64| windows.iter().map(|one| of(one) * one.seconds).sum::<f64>() / seconds;
        Self { network: mean(|one| one.network), sampled: mean(|one| one.sampled), counted: mean(|one| one.counted), seconds }
    }

    /// Where accounting is by ticks, the counter is a sampling too, and is read in steps of 10 ms. A tick does not see the
    /// softirqs that it starts (timers, RCU), samples do: the counter is between the network's and all.
    fn agree(self, cpus: f64, [hz, ticks]: [f64; 2]) -> bool {
        let share = self.counted.max(self.sampled) / cpus;
        let variance = |rate: f64| cpus * share * (1.0 - share) / (rate * self.seconds);
        let steps = cpus / 6.0 * (0.01 / self.seconds).powi(2);
        let room = APART * self.counted + 3.0 * (variance(hz) + variance(ticks) + steps).sqrt();
        self.network - room <= self.counted && self.counted <= self.sampled + room
    }
}

fn softirqs_are_those_of_the_kernels_counters_in_many_windows() -> Result<(), Skip> {
    let tool = Tool::new();
    let _traffic = traffic(&tool)?;
    let (before, begun) = (ticks(), Instant::now());
    let found = (0..WINDOWS).map(|_| window(&tool, &["-t", "2s", "--rate", "499"])).collect::<Result<Vec<Value>, Skip>>()?;
    // A kernel without a count has a tick of 100 Hz at least.
    let rate = before.zip(ticks()).map_or(100.0, |(before, now)| (now - before) / begun.elapsed().as_secs_f64());
    let sum = |of: &str| found.iter().map(|one| number(&one[of])).sum::<f64>();
    let missing = sum("missing") / sum("cpus");
    let (cpus, rates) = (number(&found[0]["cpus"]), [number(&found[0]["hz"]), rate]);
    let windows: Vec<Softirqs> = found.iter().map(Softirqs::of).collect();
    let whole = Softirqs::mean(&windows);
    let lines: Vec<String> = windows.iter().map(|one| format!("{:.3}/{:.3}/{:.3}", one.network, one.counted, one.sampled)).collect();
    println!("{rate:.0} ticks/s; the network's, counted, sampled: {whole:.3?}; windows {}", lines.join(" "));
    if missing > MISSING {
        return Err(Skip(format!("{:.0} % of the due samples were not made: another guest has the CPUs", missing * 100.0)));
    }
    assert!(whole.counted > 0.01, "there is traffic");
    let apart = windows.iter().filter(|one| !one.agree(cpus, rates)).count();
    assert!(apart <= 1 && whole.agree(cpus, rates), "{apart} of {WINDOWS} windows differ; {whole:?} in all: {lines:?}");
    Ok(())
}

/// Both sample the sender at the same time. Of `top` it is the view of the tasks in which work ran: `attach` has that of one.
fn layers_of_a_program_are_those_that_attach_finds() -> Result<(), Skip> {
    let tool = Tool::new();
    let (_place, _taker, giver) = traffic(&tool)?;
    let top = tool.command(&["top", "--once", "-J", "-t", "12s", "--rate", "499"]).spawn().unwrap();
    let attached = observe(&Tool::new(), &["--pid", &giver.0.id().to_string(), "-t", "10", "-J"]);
    let found = Answer::from(top.wait_with_output().unwrap()).done().json();
    let attached = attached?.done().json();
    let receipt = &attached["states"][0]["outcome"]["made"];
    if !found["network"].is_object() || !receipt.is_object() {
        return Err(Skip(format!("no samples here: {} {}", found["refused"], attached["states"][0]["outcome"]["absent"])));
    }
    let row = found["interrupted"].as_array().unwrap().iter().find(|row| row["pid"] == giver.0.id());
    let row = row.unwrap_or_else(|| panic!("the sender has no row: {found}"));
    let each = number(&found["elapsed_ns"]) / 1e9 * number(&found["hz"]);
    let mut layers: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for part in row["parts"].as_array().unwrap() {
        layers.entry(part[0].as_str().unwrap()).or_default()[0] += number(&part[2]) * each;
    }
    for row in receipt["layers"].as_array().unwrap() {
        layers.entry(row["key"].as_str().unwrap()).or_default()[1] += number(&row["samples"]);
    }
    layers.retain(|layer, _| LAYERS.contains(layer));
    let [of_top, of_attach] = [0, 1].map(|place| layers.values().map(|samples| samples[place]).sum::<f64>());
    let shares = |samples: &[f64; 2]| [samples[0] / of_top, samples[1] / of_attach];
    let lines: Vec<String> =
        layers.iter().map(|(layer, samples)| format!("{layer} {:.3}/{:.3}", shares(samples)[0], shares(samples)[1])).collect();
    println!("{of_top:.0} samples of top, {of_attach:.0} of attach; {}", lines.join(", "));
    if of_top < LEAST || of_attach < LEAST {
        return Err(Skip(format!("{of_top:.0} and {of_attach:.0} samples: this machine is too busy")));
    }
    for (layer, samples) in &layers {
        let [top, attach] = shares(samples);
        let share = f64::midpoint(top, attach);
        let chance = 3.0 * (share * (1.0 - share) * (1.0 / of_top + 1.0 / of_attach)).sqrt();
        assert!((top - attach).abs() <= 0.1 * share + chance, "{layer}: {top:.3} of top's, {attach:.3} of attach's: {lines:?}");
    }
    Ok(())
}
