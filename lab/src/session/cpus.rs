//! Which of the CPUs that the hosts offer the two ends are bound to.

use model::control::CpuPlace;

/// The CPUs of each end, the best first; none of them empty where the hosts
/// offer any. Two machines give all that they offer. Of one machine the ends
/// take turns, so that each has CPUs of its own where there are enough.
pub fn share(offered: [Vec<CpuPlace>; 2], one_machine: bool) -> [Vec<CpuPlace>; 2] {
    if !one_machine {
        return offered;
    }
    let mut shares = [Vec::new(), Vec::new()];
    // Whoever has less to choose from chooses first.
    let first = usize::from(offered[1].len() < offered[0].len());
    let mut taken: Vec<u32> = Vec::new();
    let mut left = true;
    while left {
        left = false;
        for at in [first, 1 - first] {
            if let Some(place) = offered[at].iter().find(|place| !taken.contains(&place.cpu)) {
                taken.push(place.cpu);
                shares[at].push(*place);
                left = true;
            }
        }
    }
    for (share, offered) in shares.iter_mut().zip(&offered) {
        if share.is_empty() {
            share.extend(offered.first());
        }
    }
    let [a, b] = &mut shares;
    // Of a CPU that both ends share, no kernel thread is one end's alone.
    for place in a.iter_mut() {
        if let Some(same) = b.iter_mut().find(|same| same.cpu == place.cpu) {
            (place.ksoftirqd, same.ksoftirqd) = (None, None);
        }
    }
    shares
}

/// Those of the CPUs that a host offers which the plan names, in its order; all
/// of them where it names none.
///
/// # Errors
/// A CPU that the host does not offer, in words.
pub fn chosen(offered: Vec<CpuPlace>, wish: Option<&Vec<u32>>) -> Result<Vec<CpuPlace>, String> {
    let Some(wish) = wish else { return Ok(offered) };
    let find = |cpu: &u32| {
        offered.iter().find(|place| place.cpu == *cpu).copied().ok_or_else(|| {
            let all: Vec<String> = offered.iter().map(|place| place.cpu.to_string()).collect();
            format!("bind to CPU {cpu}: it offers {} (its cpuset); name one of them", all.join(", "))
        })
    };
    wish.iter().map(find).collect()
}

/// Returns whether the two ends have a CPU in common.
pub fn overlap([a, b]: &[Vec<CpuPlace>; 2]) -> bool {
    a.iter().any(|place| b.iter().any(|other| other.cpu == place.cpu))
}

#[cfg(test)]
mod tests {
    use super::{chosen, overlap, share};
    use model::control::CpuPlace;
    use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

    fn offer(cpus: &[u32]) -> Vec<CpuPlace> {
        cpus.iter().map(|cpu| CpuPlace { cpu: *cpu, ksoftirqd: Some(100 + cpu) }).collect()
    }

    fn shared(a: &[u32], b: &[u32]) -> [Vec<u32>; 2] {
        share([offer(a), offer(b)], true).map(|share| share.iter().map(|place| place.cpu).collect())
    }

    #[test]
    fn a_wish_is_kept_or_refused() {
        assert_eq!(chosen(offer(&[2, 0, 1]), Some(&vec![1, 2])), Ok(offer(&[1, 2])));
        assert_eq!(chosen(offer(&[2, 0]), None), Ok(offer(&[2, 0])));
        assert!(chosen(offer(&[2, 0]), Some(&vec![7])).unwrap_err().contains("CPU 7: it offers 2, 0"));
    }

    #[test]
    fn the_ends_take_turns() {
        assert_eq!(shared(&[2, 3, 1, 0], &[2, 3, 1, 0]), [vec![2, 1], vec![3, 0]]);
        assert_eq!(shared(&[0, 1, 2], &[0, 1, 2]), [vec![0, 2], vec![1]]);
        assert_eq!(shared(&[0, 1], &[0]), [vec![1], vec![0]]);
        assert_eq!(shared(&[0, 1], &[4, 5]), [vec![0, 1], vec![4, 5]]);
    }

    #[test]
    fn the_only_cpu_is_everybodys() {
        let shares = share([offer(&[5]), offer(&[5])], true);
        assert_eq!(shares, [vec![CpuPlace { cpu: 5, ksoftirqd: None }], vec![CpuPlace { cpu: 5, ksoftirqd: None }]]);
        assert!(overlap(&shares));
        assert!(!overlap(&share([offer(&[0, 1]), offer(&[0, 1])], true)));
    }

    #[test]
    fn two_machines_count_their_cpus_apart() {
        assert_eq!(share([offer(&[0]), offer(&[0])], false), [offer(&[0]), offer(&[0])]);
    }

    proptest! {
        #[test]
        fn no_cpu_is_given_twice_unless_it_is_the_only_one(
            a in prop::collection::vec(0_u32..20, 1..10),
            b in prop::collection::vec(0_u32..20, 1..10),
            one in any::<bool>(),
        ) {
            let shares = share([offer(&a), offer(&b)], one);
            prop_assert!(shares.iter().all(|share| !share.is_empty()));
            let distinct = a.iter().chain(&b).collect::<std::collections::HashSet<_>>().len();
            prop_assert!(!one || !overlap(&shares) || distinct == 1 || shares.iter().any(|share| share.len() == 1));
            prop_assert_eq!(one || shares == [offer(&a), offer(&b)], true);
        }
    }
}
