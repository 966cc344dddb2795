use super::{Chain, NamedChain, count, plain};
use crate::counts::table::{STACK_RULES, StackRule, TRACEPOINTS};
use crate::symbols::Symbols;
use std::collections::BTreeSet;

/// Functions of 0x100 bytes each.
const LIST: &str = "1000 T _stext\n1000 T outer\n1100 T middle.constprop.0\n1200 T __alloc_skb\n1300 T kmem_cache_alloc_node_noprof\n\
                    1400 T kmalloc_reserve\n1500 T ip_do_fragment\n1600 T handle_softirqs\n1700 T _etext\n";

fn counted(row: StackRule, chains: &[(&[u64], u64)]) -> Result<u64, String> {
    let symbols = Symbols::parse(LIST.as_bytes(), b"").unwrap();
    let chains: Vec<Chain> = chains.iter().map(|(frames, count)| Chain { event: "a:b", frames: frames.to_vec(), count: *count }).collect();
    let named: Vec<NamedChain> = chains.iter().map(|chain| NamedChain::new(chain, &symbols)).collect();
    count(&row, &named)
}

const ROW: StackRule = StackRule { function: "middle", event: "a:b", by: None, unless: &[] };

#[test]
fn events_through_one_place_are_calls() {
    assert_eq!(counted(ROW, &[(&[0x1110, 0x1010], 7), (&[0x1110, 0x1050], 3), (&[0x1010], 9)]), Ok(10));
    assert_eq!(counted(ROW, &[(&[0x1010], 9)]), Ok(0));
    assert_eq!(counted(StackRule { event: "a:other", ..ROW }, &[(&[0x1110], 7)]), Ok(0));
}

#[test]
fn several_places_and_recursion_are_no_count() {
    assert!(counted(ROW, &[(&[0x1110], 7), (&[0x1120], 7)]).unwrap_err().contains("2 places"));
    assert!(counted(ROW, &[(&[0x1110, 0x1110], 7)]).unwrap_err().contains("twice"));
}

#[test]
fn what_a_softirq_does_is_none_of_whom_it_interrupted() {
    assert_eq!(counted(ROW, &[(&[0x1110, 0x1610, 0x1110], 7), (&[0x1010, 0x1610, 0x1110], 5)]), Ok(7));
}

#[test]
fn of_several_ways_one_is_taken() {
    let chains: [(&[u64], u64); 2] = [(&[0x1310, 0x1210, 0x1110], 5), (&[0x1310, 0x1410, 0x1220, 0x1110], 4)];
    let row = StackRule { by: Some(("__alloc_skb", "kmem_cache_alloc_node")), ..ROW };
    assert_eq!(counted(row, &chains), Ok(5));
    assert_eq!(counted(ROW, &chains), Ok(9));
}

#[test]
fn fragments_anywhere_spoil_a_count() {
    let row = StackRule { unless: &["ip_do_fragment"], ..ROW };
    assert_eq!(counted(row, &[(&[0x1110], 7)]), Ok(7));
    assert!(counted(row, &[(&[0x1110], 7), (&[0x1510], 1)]).unwrap_err().contains("ip_do_fragment"));
}

#[test]
fn what_is_put_behind_a_name_is_taken_off() {
    assert_eq!((plain("a.isra.0"), plain("veth_xmit [veth]"), plain("udp_sendmsg")), ("a", "veth_xmit", "udp_sendmsg"));
}

#[test]
fn each_function_has_one_row_and_each_event_is_known() {
    let functions: BTreeSet<_> = STACK_RULES.iter().map(|row| row.function).collect();
    assert_eq!(functions.len(), STACK_RULES.len());
    for row in STACK_RULES {
        assert!(TRACEPOINTS.contains(&row.event), "{}", row.event);
    }
}
