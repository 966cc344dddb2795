//! How much of what a kernel calls its functions the rules decide.

use std::collections::BTreeMap;

use crate::tests::sampled::Sampled as Chains;
use crate::{Category, Classifier, Layer, Rules, Setting};

const SAMPLED: &str = include_str!("../../../reference/symbols/linux-6.18.tsv");
const COUNTED: &str = include_str!("../../../reference/symbols/linux-6.1-debian.tsv");

/// A sampled symbol with the shares of its callers.
struct Sampled<'a> {
    symbol: &'a str,
    samples: f64,
    callers: Vec<(&'a str, f64)>,
}

fn sampled() -> Vec<Sampled<'static>> {
    let line = |line: &'static str| {
        let mut columns = line.split('\t');
        let (symbol, samples) = (columns.next().unwrap(), columns.next().unwrap().parse().unwrap());
        let caller = |text: &'static str| {
            let (name, percent) = text.trim().rsplit_once(' ')?;
            Some((name, percent.strip_suffix('%')?.parse::<f64>().ok()? / 100.0))
        };
        let callers = columns.next().unwrap_or_default().split(',').filter_map(caller).collect();
        Sampled { symbol, samples, callers }
    };
    SAMPLED.lines().skip(1).map(line).collect()
}

/// A chain as the list has it: the symbol, a caller of it, then the commonest
/// caller of each.
fn chain<'a>(symbol: &'a str, caller: Option<&'a str>, commonest: &BTreeMap<&'a str, &'a str>) -> Vec<&'a str> {
    let mut chain = vec![symbol];
    let mut next = caller;
    while let Some(name) = next.filter(|name| !chain.contains(name)) {
        chain.push(name);
        next = commonest.get(name).copied();
    }
    chain
}

#[test]
fn sampled_symbols_are_decided_by_weight() {
    let list = sampled();
    let mut commonest: BTreeMap<&str, &str> = list.iter().filter_map(|row| Some((row.symbol, row.callers.first()?.0))).collect();
    // Never a leaf itself, so not in the list: on that machine the timer's.
    commonest.insert("__irq_exit_rcu", "sysvec_apic_timer_interrupt");
    let rules = Rules::builtin().unwrap();
    let (mut all, mut layer, mut category) = (0.0, 0.0, 0.0);
    let mut undecided: BTreeMap<(&str, bool), f64> = BTreeMap::new();
    for row in &list {
        let named: f64 = row.callers.iter().map(|(_, share)| share).sum();
        let callers: Vec<(Option<&str>, f64)> =
            if named > 0.0 { row.callers.iter().map(|(name, share)| (Some(*name), share / named)).collect() } else { vec![(None, 1.0)] };
        for (caller, share) in callers {
            let weight = row.samples * share;
            let found = rules.classify(&chain(row.symbol, caller, &commonest), false);
            all += weight;
            for (other, sum, axis) in
                [(found.layer == Layer::Other, &mut layer, true), (found.category == Category::Other, &mut category, false)]
            {
                if other {
                    *sum += weight;
                    *undecided.entry((row.symbol, axis)).or_default() += weight;
                }
            }
        }
    }
    let mut worst: Vec<_> = undecided.into_iter().collect();
    worst.sort_by(|a, b| b.1.total_cmp(&a.1));
    eprintln!(
        "linux 6.18, {} sampled symbols: layer other {:.3} %, category other {:.3} %",
        list.len(),
        100.0 * layer / all,
        100.0 * category / all
    );
    eprintln!("  most of it: {:?}", &worst[..worst.len().min(30)]);
    assert!(layer / all <= BAR && category / all <= BAR);
}

/// Most of the samples that may be left without a layer, and without a category.
const BAR: f64 = 0.01;

/// Chains as kernels in a guest showed them. Where a list has cut chains, a
/// helper whose callers are missing is counted apart: no rule could tell.
#[test]
fn sampled_chains_of_every_kernel_are_decided() {
    let rules = Rules::builtin().unwrap();
    let lists = Chains::all();
    assert!(lists.iter().any(|list| !list.cut), "no list has whole chains");
    for list in &lists {
        let mut classifier = Classifier::new(&rules);
        let (mut all, mut layer, mut category, mut cut) = (0.0, 0.0, 0.0, 0.0);
        for chain in &list.chains {
            let frames: Vec<&str> = chain.frames.iter().map(String::as_str).collect();
            let (found, weight) = (classifier.classify(&frames, false), chain.samples as f64);
            all += weight;
            category += if found.category == Category::Other { weight } else { 0.0 };
            let helper = rules.ruling(frames[0]).layer == Some(Setting::Caller);
            if found.layer == Layer::Other {
                *(if list.cut && helper { &mut cut } else { &mut layer }) += weight;
            }
        }
        eprintln!(
            "{}, {} chains: layer other {:.3} %, category other {:.3} %, cut before a caller with a layer {:.3} %",
            list.name,
            list.chains.len(),
            100.0 * layer / all,
            100.0 * category / all,
            100.0 * cut / all
        );
        assert!(all > 100_000.0 && layer / all <= BAR && category / all <= BAR, "{}", list.name);
    }
}

/// The share of names of which some rule sets the layer, and of which some
/// rule sets the category, each name once or by its weight.
fn decided<'a>(rules: &Rules, names: impl Iterator<Item = (&'a str, f64)>) -> (usize, f64, f64, Vec<&'a str>) {
    let (mut count, mut all, mut layer, mut category, mut missed) = (0, 0.0, 0.0, 0.0, Vec::new());
    for (name, weight) in names {
        let ruling = rules.ruling(name);
        count += 1;
        all += weight;
        layer += if ruling.layer.is_some() { weight } else { 0.0 };
        category += if ruling.category.is_some() { weight } else { 0.0 };
        if ruling.layer.is_none() || ruling.category.is_none() {
            missed.push(name);
        }
    }
    (count, layer / all, category / all, missed)
}

#[test]
fn counted_symbols_of_an_older_kernel_are_decided() {
    let rules = Rules::builtin().unwrap();
    let rows = || COUNTED.lines().skip(1).map(|line| line.split_once('\t').unwrap());
    let (count, layer, category, missed) = decided(&rules, rows().map(|(name, calls)| (name, calls.parse::<f64>().unwrap())));
    eprintln!("linux 6.1 (Debian), {count} counted functions by calls: layer {:.2} %, category {:.2} %", layer * 100.0, category * 100.0);
    assert!(layer >= 0.99 && category >= 0.99, "{missed:?}");
}

/// What networking calls its functions.
const PREFIXES: [&str; 38] = [
    "tcp_",
    "__tcp_",
    "udp_",
    "__udp",
    "udp4_",
    "udp6_",
    "udpv6_",
    "ip_",
    "__ip_",
    "ip6_",
    "ipv6_",
    "ipv4_",
    "inet_",
    "__inet_",
    "inet6_",
    "icmp",
    "fib_",
    "fib6_",
    "rt6_",
    "neigh_",
    "arp_",
    "dst_",
    "skb_",
    "__skb_",
    "sock_",
    "__sock_",
    "sk_",
    "__sk_",
    "dev_",
    "__dev_",
    "netif_",
    "__netif_",
    "napi_",
    "net_",
    "nf_",
    "qdisc_",
    "veth_",
    "loopback_",
];

#[test]
fn the_running_kernel_is_decided() {
    let text = match std::fs::read_to_string("/proc/kallsyms") {
        Ok(text) if !text.is_empty() => text,
        Ok(_) => return eprintln!("skipped: /proc/kallsyms is empty"),
        Err(error) => return eprintln!("skipped: /proc/kallsyms cannot be read: {error}"),
    };
    // An address, a type, a name, perhaps a module.
    let functions = || {
        text.lines().filter_map(|line| {
            let rest = line.split_once(' ')?.1;
            let (kind, name) = rest.split_once(' ')?;
            matches!(kind, "t" | "T").then_some(name)
        })
    };
    let network = || functions().filter(|name| PREFIXES.iter().any(|prefix| name.starts_with(prefix)));
    if network().next().is_none() {
        return eprintln!("skipped: /proc/kallsyms names no function of networking");
    }
    let rules = Rules::builtin().unwrap();
    let (count, layer, category, missed) = decided(&rules, network().map(|name| (name, 1.0)));
    eprintln!("running kernel, {count} functions of networking: layer {:.2} %, category {:.2} %", layer * 100.0, category * 100.0);
    let (all, of_all, by_category, _) = decided(&rules, functions().map(|name| (name, 1.0)));
    eprintln!("running kernel, all {all} functions: layer {:.1} %, category {:.1} %", of_all * 100.0, by_category * 100.0);
    assert!(layer >= 0.99 && category >= 0.99, "{missed:?}");
}

/// A shared helper has its caller's layer wherever it is called from.
#[test]
fn helpers_have_the_layer_of_their_caller() {
    let rules = Rules::builtin().unwrap();
    for helper in [
        "_raw_spin_lock_bh",
        "kfree",
        "_copy_to_iter",
        "csum_partial",
        "__alloc_skb",
        "ktime_get",
        "__check_object_size",
        "rcu_read_unlock_strict",
    ] {
        assert_eq!(rules.ruling(helper).layer, Some(Setting::Caller), "{helper}");
    }
}
