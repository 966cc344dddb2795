//! Observations of several processes, as that of one end.

use std::collections::{BTreeMap, BTreeSet};

use crate::profile::{Account, CallCounts, HardwareCounts, Observation, Profile, Stack, Waits};
use crate::refusal::Refusal;
use crate::sorting::Gather;

/// CPUs of one machine.
pub(super) type Cpus = (usize, BTreeSet<u32>);

/// Puts the observations of processes on these CPUs together. All processes on the same CPUs see the same other programs
/// and kernel threads there, which count once. Nothing of several processes is kept that one of them lacks.
pub(super) fn gather(parts: &[(Cpus, &Observation)]) -> Observation {
    let all = |count: usize| count == parts.len();
    let mut refused: Vec<Refusal> = Vec::new();
    for one in parts.iter().flat_map(|(_, seen)| &seen.refused) {
        if !refused.contains(one) {
            refused.push(one.clone());
        }
    }
    let own: Vec<(&Cpus, &Profile)> = parts.iter().filter_map(|(cpus, seen)| Some((cpus, seen.profile.as_ref()?))).collect();
    // Timers of two CPUs are a little apart on purpose.
    let near = |one: &Profile, other: &Profile| one.source == other.source && one.period.abs_diff(other.period) <= other.period / 100;
    let alike = own.iter().all(|(_, one)| near(one, own[0].1));
    if !alike {
        let remedy = "Name machines that count alike, or read the receipt of the other end";
        refused.push(Refusal::new("samples of several machines as one", "some machines count cycles and others time", remedy));
    }
    let counters: Vec<&HardwareCounts> = parts.iter().filter_map(|(_, seen)| seen.counters.as_ref()).collect();
    let (profile, counters) = if alike && all(own.len()) { samples(&own, &counters) } else { (None, None) };
    let waits = parts.iter().map(|(_, seen)| seen.waits).reduce(|sum, one| sum.zip(one).map(|(sum, one)| Waits::and(sum, one)));
    let counts: Vec<&CallCounts> = parts.iter().filter_map(|(_, seen)| seen.counts.as_ref()).collect();
    Observation {
        profile,
        ksoftirqd: own.first().filter(|_| alike).and_then(|(_, first)| kernel_threads(parts, first.period)),
        counters,
        waits: waits.flatten(),
        counts: if all(counts.len()) { calls(&counts) } else { None },
        refused,
    }
}

/// The samples of the processes, with the movements of counters where each profile has the same ones.
fn samples(own: &[(&Cpus, &Profile)], counters: &[&HardwareCounts]) -> (Option<Profile>, Option<HardwareCounts>) {
    let Some((_, first)) = own.first() else { return (None, None) };
    let names: Vec<String> = counters.first().map(|counters| counters.names.clone()).unwrap_or_default();
    let counted = counters.len() == own.len()
        && counters.iter().zip(own).all(|(one, (_, profile))| one.names == names && one.of_stacks.len() == profile.stacks.len());
    let mut symbols = BTreeMap::<&str, u32>::new();
    let mut stacks = BTreeMap::<(Vec<u32>, bool), (u64, Vec<u64>)>::new();
    for (number, (_, profile)) in own.iter().enumerate() {
        let mut place = |symbol: &u32| {
            let name = profile.symbols.get(*symbol as usize).map_or("", String::as_str);
            let next = symbols.len() as u32;
            *symbols.entry(name).or_insert(next)
        };
        for (at, stack) in profile.stacks.iter().enumerate() {
            let frames = stack.frames.iter().map(&mut place).collect();
            let (count, moved) = stacks.entry((frames, stack.user)).or_insert_with(|| (0, vec![0; names.len()]));
            *count += stack.count;
            if counted {
                moved.iter_mut().zip(&counters[number].of_stacks[at]).for_each(|(sum, one)| *sum = sum.saturating_add(*one));
            }
        }
    }
    let mut names_of: Vec<String> = vec![String::new(); symbols.len()];
    symbols.into_iter().for_each(|(name, place)| name.clone_into(&mut names_of[place as usize]));
    let (stacks, moved): (Vec<Stack>, Vec<Vec<u64>>) =
        stacks.into_iter().map(|((frames, user), (count, moved))| (Stack { frames, user, count }, moved)).unzip();
    let sum = |of: fn(&Profile) -> u64| own.iter().map(|(_, one)| of(one)).fold(0, u64::saturating_add);
    let profile = Profile {
        source: first.source,
        period: first.period,
        symbols: names_of,
        stacks,
        lost: sum(|one| one.lost),
        throttled: sum(|one| one.throttled),
        broken: sum(|one| one.broken),
        account: account(own),
    };
    (Some(profile), counted.then_some(HardwareCounts { names, of_stacks: moved }))
}

/// The accounts in one; `None` where a profile has none.
fn account(own: &[(&Cpus, &Profile)]) -> Option<Account> {
    let mut of_cpus = BTreeMap::<&Cpus, Vec<(u64, Account)>>::new();
    for (cpus, profile) in own {
        of_cpus.entry(cpus).or_default().push((profile.samples(), profile.account?));
    }
    let one = |shared: Vec<(u64, Account)>| {
        let (number, samples) = (shared.len() as u64, shared.iter().map(|(samples, _)| samples).sum::<u64>());
        let mean = |of: fn(&(u64, Account)) -> Option<u64>| Some(shared.iter().map(of).sum::<Option<u64>>()? / number.max(1));
        // Each process has the others of the same trial among other programs.
        let others = mean(|(samples, account)| Some(samples + account.others?));
        let (untold, idle_softirq) = (mean(|(_, account)| Some(account.untold)), mean(|(_, account)| account.idle_softirq));
        let sum = shared.iter().map(|(_, account)| *account).reduce(Account::and)?;
        let others = others.map(|busy| busy.saturating_sub(samples));
        Some(Account { others, untold: untold.unwrap_or_default(), idle_softirq, ..sum })
    };
    of_cpus.into_values().map(one).collect::<Option<Vec<_>>>()?.into_iter().reduce(Account::and)
}

/// The samples of kernel threads, at a distance: of each set of CPUs those of the process that saw most of them; `None` where
/// one saw none.
fn kernel_threads(parts: &[(Cpus, &Observation)], period: u64) -> Option<Profile> {
    let mut of_cpus = BTreeMap::<&Cpus, &Profile>::new();
    for (cpus, seen) in parts {
        let profile = seen.ksoftirqd.as_ref()?;
        let most = of_cpus.entry(cpus).or_insert(profile);
        if profile.samples() > most.samples() {
            *most = profile;
        }
    }
    samples(&of_cpus.into_iter().collect::<Vec<_>>(), &[]).0.map(|profile| Profile { period, ..profile })
}

/// The calls of the names that all processes counted.
fn calls(counts: &[&CallCounts]) -> Option<CallCounts> {
    let mut sum = (*counts.first()?).clone();
    for one in &counts[1..] {
        sum.refused.extend(one.refused.clone());
        sum.calls = sum.calls.iter().filter_map(|(name, calls)| Some((name.clone(), calls + one.calls.get(name)?))).into_map();
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::{Cpus, gather};
    use crate::profile::{Account, CallCounts, HardwareCounts, Observation, Profile, SampleSource, Stack, Waits};
    use crate::quantity::Nanos;

    /// A profile with these chains of names and their samples, next to so many samples of others.
    fn profile(chains: &[(&[&str], u64)], others: u64) -> Profile {
        let mut symbols: Vec<String> = Vec::new();
        let mut place = |name: &&str| {
            let at = symbols.iter().position(|known| known == name).unwrap_or_else(|| {
                symbols.push((*name).to_owned());
                symbols.len() - 1
            });
            at as u32
        };
        let stacks =
            chains.iter().map(|(names, count)| Stack { frames: names.iter().map(&mut place).collect(), user: false, count: *count });
        let stacks: Vec<Stack> = stacks.collect();
        let samples: u64 = chains.iter().map(|(_, count)| count).sum();
        let account = Account {
            on_cpu: Some(Nanos::new(samples * 100)),
            recorded: samples + others,
            counted: None,
            others: Some(others),
            untold: 2,
            idle_softirq: Some(4),
        };
        let source = SampleSource::CpuClock;
        Profile { source, period: 100, symbols, stacks, lost: 1, throttled: 0, broken: 0, account: Some(account) }
    }

    fn seen(chains: &[(&[&str], u64)], others: u64) -> Observation {
        let calls = [("sendto".to_owned(), 10)].into();
        Observation {
            profile: Some(profile(chains, others)),
            ksoftirqd: Some(profile(&[(&["net_rx_action"], others)], 0)),
            waits: Some(Waits { runnable: Nanos::new(1), blocked: Nanos::new(2), switches: 3, unseen: Nanos::new(4) }),
            counts: Some(CallCounts { calls, ..CallCounts::default() }),
            ..Observation::default()
        }
    }

    fn on(machine: usize, cpu: u32) -> Cpus {
        (machine, [cpu].into())
    }

    /// Chain by chain in names, with the samples.
    fn chains(profile: &Profile) -> Vec<(Vec<&str>, u64)> {
        let names = |stack: &Stack| stack.frames.iter().map(|at| profile.symbols[*at as usize].as_str()).collect();
        let mut all: Vec<_> = profile.stacks.iter().map(|stack| (names(stack), stack.count)).collect();
        all.sort();
        all
    }

    #[test]
    fn chains_are_added_by_name_and_each_process_is_no_stranger_to_the_others() {
        // Two on one CPU, which 100 samples found busy with something: 30 and 50 of the two, 20 of others. One on another.
        let parts = [
            (on(0, 1), &seen(&[(&["copy", "recv"], 20), (&["recv"], 10)], 70)),
            (on(0, 1), &seen(&[(&["recv"], 5), (&["copy", "recv"], 45)], 50)),
            (on(0, 2), &seen(&[(&["wake", "recv"], 7)], 3)),
        ];
        let all = gather(&parts);
        let profile = all.profile.unwrap();
        assert_eq!(chains(&profile), [(vec!["copy", "recv"], 65), (vec!["recv"], 15), (vec!["wake", "recv"], 7)]);
        let account = profile.account.unwrap();
        assert_eq!((account.others, account.untold, account.idle_softirq), (Some(20 + 3), 4, Some(8)));
        assert_eq!((account.on_cpu, account.recorded, profile.lost), (Some(Nanos::new(8_700)), 210, 3));
        // The kernel thread of a CPU was seen by both that are there.
        assert_eq!(all.ksoftirqd.unwrap().samples(), 70 + 3);
        assert_eq!(all.waits, Some(Waits { runnable: Nanos::new(3), blocked: Nanos::new(6), switches: 9, unseen: Nanos::new(12) }));
        assert_eq!(all.counts.unwrap().calls["sendto"], 30);
        assert!(all.refused.is_empty());
    }

    #[test]
    fn timers_that_are_a_little_apart_are_one() {
        let (one, mut other) = (seen(&[(&["recv"], 10)], 5), seen(&[(&["recv"], 30)], 5));
        let period = |seen: &Observation| seen.profile.as_ref().map(|profile| profile.period);
        for (apart, taken) in [(101, Some(100)), (110, None)] {
            [&mut other.profile, &mut other.ksoftirqd].into_iter().flatten().for_each(|profile| profile.period = apart);
            let all = gather(&[(on(0, 1), &one), (on(0, 0), &other)]);
            assert_eq!((period(&all), all.ksoftirqd.map(|threads| threads.period)), (taken, taken));
        }
    }

    #[test]
    fn the_same_cpu_of_two_machines_is_two() {
        let one = seen(&[(&["send"], 10)], 5);
        let all = gather(&[(on(0, 1), &one), (on(1, 1), &one)]);
        assert_eq!((all.profile.unwrap().account.unwrap().others, all.ksoftirqd.unwrap().samples()), (Some(10), 10));
    }

    #[test]
    fn what_one_lacks_none_has_and_machines_that_count_otherwise_are_not_mixed() {
        let (one, none) = (seen(&[(&["send"], 10)], 5), Observation::default());
        assert_eq!(gather(&[(on(0, 1), &one), (on(1, 1), &none)]), Observation::default());
        let mut cycles = one.clone();
        cycles.profile.as_mut().unwrap().source = SampleSource::Cycles;
        let all = gather(&[(on(0, 1), &one), (on(1, 1), &cycles)]);
        assert!(all.profile.is_none() && all.ksoftirqd.is_none() && all.counts.is_some());
        assert!(all.refused[0].to_string().contains("count cycles"), "{:?}", all.refused);
    }

    #[test]
    fn counters_move_with_their_chains() {
        let counted = |chains: &[(&[&str], u64)], moved: &[u64]| {
            let counters = HardwareCounts { names: vec!["cycles".to_owned()], of_stacks: moved.iter().map(|one| vec![*one]).collect() };
            Observation { counters: Some(counters), ..seen(chains, 0) }
        };
        let (a, b) = (counted(&[(&["x"], 1), (&["y"], 2)], &[10, 20]), counted(&[(&["y"], 4), (&["x"], 8)], &[40, 80]));
        let all = gather(&[(on(0, 0), &a), (on(0, 1), &b)]);
        let (profile, counters) = (all.profile.unwrap(), all.counters.unwrap());
        let of: Vec<_> = profile.stacks.iter().zip(&counters.of_stacks).map(|(stack, moved)| (stack.count, moved[0])).collect();
        assert_eq!(of, [(9, 90), (6, 60)]);
        let without = gather(&[(on(0, 0), &a), (on(0, 1), &seen(&[(&["x"], 1)], 0))]);
        assert!(without.counters.is_none() && without.profile.is_some());
    }
}
