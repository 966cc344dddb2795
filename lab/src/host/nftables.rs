//! A table of nftables: rules where packets come in that none of them meets.

use netlink_packet_core::{DefaultNla, NLM_F_APPEND, NLM_F_CREATE};

use super::entered::Entered;
use super::netlink::{emit, nest, refused, text};
use crate::refusal::Refusal;
use sys::netlink::{Channel, Protocol};

/// NFNL_MSG_BATCH_BEGIN and NFNL_MSG_BATCH_END; then messages of NFNL_SUBSYS_NFTABLES.
const BEGIN: u16 = 0x10;
const END: u16 = 0x11;
const SUBSYSTEM: u16 = 10;
const NEW_TABLE: u16 = SUBSYSTEM << 8;
const DELETE_TABLE: u16 = SUBSYSTEM << 8 | 2;
const NEW_CHAIN: u16 = SUBSYSTEM << 8 | 3;
const NEW_RULE: u16 = SUBSYSTEM << 8 | 6;

const NAME: &str = "nettoll";
/// A port that no trial has.
const PORT: u16 = 1;

type Request = (u16, u16, Vec<u8>);

/// A message with its `struct nfgenmsg`.
fn message(kind: u16, flags: u16, family: u8, resource: u16, attributes: &[DefaultNla]) -> Request {
    let [high, low] = resource.to_be_bytes();
    (kind, flags, [vec![family, 0, high, low], emit(attributes)].concat())
}

/// The same about a table of IPv4.
fn about(kind: u16, flags: u16, attributes: &[DefaultNla]) -> Request {
    /// AF_INET.
    const FAMILY: u8 = 2;
    message(kind, flags, FAMILY, 0, attributes)
}

fn number(kind: u16, number: u32) -> DefaultNla {
    DefaultNla::new(kind, number.to_be_bytes().to_vec())
}

/// `th dport PORT`: goes on where the port is another, and says nothing where it is this.
fn expressions() -> Vec<DefaultNla> {
    /// The first register of four bytes.
    const REGISTER: u32 = 1;
    let expression = |name: &str, data: &[DefaultNla]| nest(1, &[text(1, name), nest(2, data)]);
    // Two bytes of the transport's header, from the third on; then whether they are equal.
    let payload = [number(1, REGISTER), number(2, 2), number(3, 2), number(4, 2)];
    let compare = [number(1, REGISTER), number(2, 0), nest(3, &[DefaultNla::new(1, PORT.to_be_bytes().to_vec())])];
    vec![expression("payload", &payload), expression("cmp", &compare)]
}

/// Takes the table away, whether there is one or not: it is made where there is none.
fn removal() -> [Request; 2] {
    [about(NEW_TABLE, NLM_F_CREATE | NLM_F_APPEND, &[text(1, NAME)]), about(DELETE_TABLE, 0, &[text(1, NAME)])]
}

fn table(rules: u32) -> Vec<Request> {
    /// NF_INET_LOCAL_IN, and the verdict NF_ACCEPT.
    const INPUT: u32 = 1;
    const ACCEPT: u32 = 1;
    let make = NLM_F_CREATE | NLM_F_APPEND;
    let chain = [text(1, NAME), text(3, NAME), nest(4, &[number(1, INPUT), number(2, 0)]), number(5, ACCEPT), text(7, "filter")];
    let rule = about(NEW_RULE, make, &[text(1, NAME), text(2, NAME), nest(4, &expressions())]);
    let head = [about(NEW_TABLE, make, &[text(1, NAME)]), about(NEW_CHAIN, make, &chain)];
    // One that an interrupted proof left goes first.
    removal().into_iter().chain(head).chain((0..rules).map(|_| rule.clone())).collect()
}

/// Has every packet that comes in pass so many rules; 0: takes them away.
///
/// # Errors
/// A network that is not nettoll's own; the system's answer.
pub(crate) fn set_rules(entered: &Entered, rules: u32) -> Result<(), Refusal> {
    entered.guard("changing nftables".to_owned(), "")?;
    let step = refused("this needs nftables (CONFIG_NF_TABLES, or 'modprobe nf_tables' as root)");
    let requests = if rules == 0 { removal().into() } else { table(rules) };
    let bound = |kind| message(kind, 0, 0, SUBSYSTEM, &[]);
    let batch: Vec<Request> = std::iter::once(bound(BEGIN)).chain(requests).chain([bound(END)]).collect();
    let mut channel = Channel::open(Protocol::NetlinkNetFilter).map_err(step)?;
    channel.ask_together(&format!("setting {rules} rules of nftables"), &batch).map_err(step)
}
