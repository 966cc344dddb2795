//! Sums and differences of what was counted.

use model::end::{Counts, TcpInfo};

/// The sum of the counts of two parts of a trial, or of two flows.
pub fn sum(a: Counts, b: Counts) -> Counts {
    Counts {
        calls: a.calls + b.calls,
        messages: a.messages + b.messages,
        bytes: a.bytes + b.bytes,
        sent: a.sent + b.sent,
        received: a.received + b.received,
        short: a.short + b.short,
        errors: a.errors + b.errors,
        last_errno: b.last_errno.or(a.last_errno),
        lost: a.lost + b.lost,
        late: a.late + b.late,
    }
}

/// The difference between counts and the same counts at an earlier time.
pub fn difference(later: Counts, earlier: Counts) -> Counts {
    Counts {
        calls: later.calls.saturating_sub(earlier.calls),
        messages: later.messages.saturating_sub(earlier.messages),
        bytes: later.bytes.saturating_sub(earlier.bytes),
        sent: later.sent.saturating_sub(earlier.sent),
        received: later.received.saturating_sub(earlier.received),
        short: later.short.saturating_sub(earlier.short),
        errors: later.errors.saturating_sub(earlier.errors),
        last_errno: later.last_errno.filter(|_| later.errors > earlier.errors),
        lost: later.lost.saturating_sub(earlier.lost),
        late: later.late.saturating_sub(earlier.late),
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
    use model::end::{Counts, TcpInfo};
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
