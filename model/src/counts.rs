//! Sums and differences of what was counted.

use crate::end::{Counts, Opening, TcpInfo};

/// The sum of the counts of two parts of a trial, or of two flows.
pub fn sum(a: Counts, b: Counts) -> Counts {
    Counts { last_errno: b.last_errno.or(a.last_errno), ..each(a, b, |a, b| a + b) }
}

/// The difference between counts and the same counts at an earlier time.
pub fn difference(later: Counts, earlier: Counts) -> Counts {
    Counts { last_errno: later.last_errno.filter(|_| later.errors > earlier.errors), ..each(later, earlier, u64::saturating_sub) }
}

/// Each count of two put together.
fn each(a: Counts, b: Counts, of: impl Fn(u64, u64) -> u64) -> Counts {
    Counts {
        calls: of(a.calls, b.calls),
        messages: of(a.messages, b.messages),
        bytes: of(a.bytes, b.bytes),
        sent: of(a.sent, b.sent),
        received: of(a.received, b.received),
        short: of(a.short, b.short),
        errors: of(a.errors, b.errors),
        last_errno: None,
        lost: of(a.lost, b.lost),
        late: of(a.late, b.late),
        first: Opening { messages: of(a.first.messages, b.first.messages), bytes: of(a.first.bytes, b.first.bytes) },
    }
}

/// The accounts of several connections in one: the counts are added, the rest
/// is of the first.
pub fn merge(accounts: impl Iterator<Item = TcpInfo>) -> Option<TcpInfo> {
    accounts.reduce(|first, other| TcpInfo {
        total_retrans: first.total_retrans.saturating_add(other.total_retrans),
        segs_out: first.segs_out.saturating_add(other.segs_out),
        segs_in: first.segs_in.saturating_add(other.segs_in),
        data_segs_out: first.data_segs_out.saturating_add(other.data_segs_out),
        data_segs_in: first.data_segs_in.saturating_add(other.data_segs_in),
        ..first
    })
}

#[cfg(test)]
mod tests {
    use super::{difference, merge, sum};
    use crate::end::{Counts, TcpInfo};
    use proptest::prelude::{prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn what_is_added_is_taken_off_again(a in 0u64..1 << 40, b in 0u64..1 << 40, errors in 0u64..3) {
            let last_errno = (errors > 0).then_some(11);
            let one = Counts { calls: a, messages: b, bytes: a + b, sent: b, received: a, lost: 1, ..Counts::default() };
            let other = Counts { calls: b, bytes: a, short: a, late: b, errors, last_errno, ..Counts::default() };
            prop_assert_eq!(difference(sum(one, other), one), other);
        }
    }

    #[test]
    fn counts_of_connections_are_added_and_times_are_of_the_first() {
        let one = |rtt| TcpInfo { total_retrans: 2, segs_out: 10, rtt, ..TcpInfo::default() };
        let all = merge([one(5), one(7)].into_iter()).unwrap();
        assert_eq!((all.total_retrans, all.segs_out, all.rtt), (4, 20, 5));
        assert_eq!(merge(std::iter::empty()), None);
    }
}
