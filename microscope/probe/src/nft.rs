//! A table of nftables for the guest: rules at input and at output, as a host's firewall
//! has them.
//!
//! Each rule compares the destination port with one that no message has, and would drop
//! it. With connection tracking the last one accepts what belongs to an established
//! connection, which has the kernel track each.

use crate::netlink::{self, Message};
use crate::plan::Step;
use crate::sys::{Answer, Errno};

/// `NETLINK_NETFILTER`.
const FAMILY: usize = 12;
/// Types of messages: those around a batch, and three of nftables' own (`NFNL_SUBSYS_NFTABLES`).
const BEGIN: u16 = 0x10;
const END: u16 = 0x11;
const NEW_TABLE: u16 = 0x0a00;
const NEW_CHAIN: u16 = 0x0a03;
const NEW_RULE: u16 = 0x0a06;
/// `NLM_F_CREATE | NLM_F_APPEND`, and `NLM_F_ACK`.
const ADD: u16 = 0xc00;
const ACKNOWLEDGE: u16 = 4;

/// The table, and its chains with the number of their hook (`NF_INET_LOCAL_IN` and `_OUT`).
const TABLE: &str = "nettoll";
const CHAINS: [(&str, u32); 2] = [("input", 1), ("output", 3)];
/// Ports that no message has.
const PORTS: u16 = 4000;
/// Rules of a chain beyond which a step is refused.
const MOST_RULES: usize = 16;
/// A register of four bytes, and that of verdicts.
const REGISTER: u32 = 1;
const VERDICT: u32 = 0;
/// Verdicts.
const DROP: u32 = 0;
const ACCEPT: u32 = 1;
/// `NF_CT_STATE_BIT` of established and of related connections.
const ESTABLISHED: u32 = 2 | 4;

/// Messages that take effect together.
struct Batch {
    bytes: [u8; 16_384],
    length: usize,
}

impl Batch {
    fn new() -> Result<Self, Errno> {
        let mut batch = Self { bytes: [0; 16_384], length: 0 };
        batch.add(BEGIN, 0, 0, 10, |_| Ok(()))?;
        Ok(batch)
    }

    /// Adds a message with its `struct nfgenmsg`.
    fn add(
        &mut self,
        kind: u16,
        flags: u16,
        family: u8,
        resource: u16,
        fill: impl FnOnce(&mut Message) -> Result<(), Errno>,
    ) -> Result<(), Errno> {
        let mut message = Message::unanswered(kind, flags);
        let [high, low] = resource.to_be_bytes();
        message.put(&[family, 0, high, low])?;
        fill(&mut message)?;
        let bytes = message.finished();
        let end = self.length + bytes.len();
        self.bytes.get_mut(self.length..end).ok_or(Errno::INVALID)?.copy_from_slice(bytes);
        self.length = end;
        Ok(())
    }

    /// Adds a message about nftables of IPv4.
    fn put(&mut self, kind: u16, flags: u16, fill: impl FnOnce(&mut Message) -> Result<(), Errno>) -> Result<(), Errno> {
        self.add(kind, ADD | flags, 2, 0, fill)
    }

    fn send(mut self) -> Answer {
        self.add(END, 0, 0, 10, |_| Ok(()))?;
        netlink::exchange(FAMILY, &self.bytes[..self.length])
    }
}

/// Makes the table: `nft rules=10 conntrack=on`.
///
/// # Errors
/// The kernel's, as without the module nf_tables.
pub fn make(step: &Step) -> Answer {
    let (rules, tracked) = (step.number("rules", 0), step.says("conntrack", "on"));
    if rules > MOST_RULES || rules == 0 && !tracked {
        return Err(Errno::INVALID);
    }
    let mut batch = Batch::new()?;
    batch.put(NEW_TABLE, 0, |table| table.text(1, TABLE))?;
    for (place, (name, hook)) in CHAINS.into_iter().enumerate() {
        batch.put(NEW_CHAIN, 0, |chain| {
            chain.text(1, TABLE)?;
            chain.text(3, name)?;
            chain.nested(4, |at| {
                at.attribute(1, &hook.to_be_bytes())?;
                at.attribute(2, &0_u32.to_be_bytes())
            })?;
            chain.attribute(5, &ACCEPT.to_be_bytes())?;
            chain.text(7, "filter")
        })?;
        // The kernel answers to the last message of all, and to those that fail.
        let last_chain = place + 1 == CHAINS.len();
        for number in 0..rules {
            let last = last_chain && !tracked && number + 1 == rules;
            rule(&mut batch, name, last, |list| port(list, PORTS + number as u16))?;
        }
        if tracked {
            rule(&mut batch, name, last_chain, established)?;
        }
    }
    batch.send()
}

fn rule(batch: &mut Batch, chain: &str, last: bool, fill: impl FnOnce(&mut Message) -> Result<(), Errno>) -> Result<(), Errno> {
    batch.put(NEW_RULE, if last { ACKNOWLEDGE } else { 0 }, |rule| {
        rule.text(1, TABLE)?;
        rule.text(2, chain)?;
        rule.nested(4, fill)
    })
}

/// One expression of a rule.
fn expression(list: &mut Message, name: &str, fill: impl FnOnce(&mut Message) -> Result<(), Errno>) -> Result<(), Errno> {
    list.nested(1, |element| {
        element.text(1, name)?;
        element.nested(2, fill)
    })
}

fn numbers(message: &mut Message, all: &[(u16, u32)]) -> Result<(), Errno> {
    all.iter().try_for_each(|(kind, number)| message.attribute(*kind, &number.to_be_bytes()))
}

/// Goes on only where the register is (0) or is not (1) a value.
fn compare(list: &mut Message, operation: u32, value: &[u8]) -> Result<(), Errno> {
    expression(list, "cmp", |data| {
        numbers(data, &[(1, REGISTER), (2, operation)])?;
        data.nested(3, |content| content.attribute(1, value))
    })
}

fn verdict(list: &mut Message, code: u32) -> Result<(), Errno> {
    expression(list, "immediate", |data| {
        data.attribute(1, &VERDICT.to_be_bytes())?;
        data.nested(2, |content| content.nested(2, |verdict| verdict.attribute(1, &code.to_be_bytes())))
    })
}

/// `th dport PORT drop`.
fn port(list: &mut Message, port: u16) -> Result<(), Errno> {
    // Of the transport's header, two bytes from the third on.
    expression(list, "payload", |data| numbers(data, &[(1, REGISTER), (2, 2), (3, 2), (4, 2)]))?;
    compare(list, 0, &port.to_be_bytes())?;
    verdict(list, DROP)
}

/// `ct state established,related accept`.
fn established(list: &mut Message) -> Result<(), Errno> {
    expression(list, "ct", |data| numbers(data, &[(1, REGISTER), (2, 0)]))?;
    expression(list, "bitwise", |data| {
        numbers(data, &[(1, REGISTER), (2, REGISTER), (3, 4)])?;
        data.nested(4, |mask| mask.attribute(1, &ESTABLISHED.to_ne_bytes()))?;
        data.nested(5, |flipped| flipped.attribute(1, &[0; 4]))
    })?;
    compare(list, 1, &[0; 4])?;
    verdict(list, ACCEPT)
}

#[cfg(test)]
mod tests {
    use super::{Batch, Message, make, port};
    use crate::plan::Step;
    use crate::sys::Errno;

    #[test]
    fn a_batch_is_messages_behind_each_other() {
        let mut batch = Batch::new().unwrap();
        batch.put(super::NEW_RULE, 4, |rule| rule.text(1, "nettoll")).unwrap();
        // 16 of the header and 4 of its own, twice; the name with its end and its head in 12.
        assert_eq!(batch.length, 20 + 20 + 12);
        assert_eq!(batch.bytes[..8], [20, 0, 0, 0, 0x10, 0, 1, 0]);
        assert_eq!(batch.bytes[16..20], [0, 0, 0, 10]);
        // Create, append, acknowledge, request.
        assert_eq!(batch.bytes[20..28], [32, 0, 0, 0, 6, 10, 5, 0x0c]);
    }

    #[test]
    fn a_rule_of_the_greatest_length_has_room() {
        let mut message = Message::unanswered(0, 0);
        message.nested(4, |list| port(list, 1)).unwrap();
        assert!(message.finished().len() < 256);
        let step = |rest| Step { verb: "nft", rest };
        assert_eq!(make(&step("rules=17")), Err(Errno::INVALID));
        assert_eq!(make(&step("conntrack=off")), Err(Errno::INVALID));
    }
}
