//! The kernel's own counters of one host, and how they change over a trial.

use serde::{Deserialize, Serialize};

use crate::end::Counts;

/// Counters of one host; a reading, or the difference of two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCounters {
    /// UDP over the trial's address family.
    pub udp: UdpCounters,
    /// IP, likewise.
    pub ip: IpCounters,
    /// TCP, over both families.
    pub tcp: TcpCounters,
    /// The device that the trial's traffic has to take.
    pub link: LinkCounters,
    /// All CPUs of the machine.
    pub cpu: CpuTicks,
}

macro_rules! counters {
    ($(#[$meta:meta])* $type:ident { $($(#[$doc:meta])* $field:ident,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $type {
            $($(#[$doc])* #[serde(default, skip_serializing_if = "crate::is_default")] pub $field: u64,)+
        }

        impl $type {
            /// The change from `earlier` to `self`. Counters wrap as the kernel's do.
            pub const fn since(&self, earlier: &Self) -> Self {
                Self { $($field: self.$field.wrapping_sub(earlier.$field),)+ }
            }

            /// The sum of both.
            pub const fn plus(&self, other: &Self) -> Self {
                Self { $($field: self.$field.wrapping_add(other.$field),)+ }
            }
        }
    };
}

counters! {
    /// `Udp:` of /proc/net/snmp, or `Udp6` of /proc/net/snmp6.
    UdpCounters {
        /// Datagrams handed to sockets' readers.
        in_datagrams,
        /// Datagrams for a port without a socket.
        no_ports,
        /// All receive errors together.
        in_errors,
        /// Datagrams (GSO packets count once) that left the socket layer.
        out_datagrams,
        /// Dropped: the receive buffer was full.
        rcvbuf_errors,
        /// Dropped on the way out: no buffer, or the device's queue was full.
        sndbuf_errors,
        /// Dropped: bad checksum.
        in_csum_errors,
        /// Dropped: UDP's memory limit (since Linux 5.11).
        mem_errors,
    }
}

impl UdpCounters {
    /// Puts the datagrams of `sent` in the place of its packets, one a call: a call of
    /// `UDP_SEGMENT` counts once, whatever is in it (udp_send_skb() in the kernel's
    /// net/ipv4/udp.c). Packets that a queue dropped were as large as the others.
    pub fn unpack_sent(&mut self, sent: &Counts) {
        let dropped = sent.calls.saturating_sub(self.out_datagrams).min(self.sndbuf_errors);
        let in_each = sent.sent.checked_div(sent.calls).unwrap_or(1);
        self.out_datagrams = self.out_datagrams.saturating_add(dropped).saturating_sub(sent.calls).saturating_add(sent.sent);
        self.out_datagrams = self.out_datagrams.saturating_sub(dropped.saturating_mul(in_each));
        self.sndbuf_errors = self.sndbuf_errors.saturating_mul(in_each);
    }
}

counters! {
    /// `Ip:` of /proc/net/snmp, or `Ip6` of /proc/net/snmp6.
    IpCounters {
        /// Received packets dropped for lack of resources.
        in_discards,
        /// Packets to send dropped for lack of resources or by a filter.
        out_discards,
        /// Packets without a route.
        out_no_routes,
        /// Packets cut into fragments.
        frag_oks,
        /// Packets that could not be cut.
        frag_fails,
        /// Fragments made.
        frag_creates,
        /// Fragments received.
        reasm_reqds,
        /// Packets put together again.
        reasm_oks,
        /// Failures to do so; counts fragments and time-outs, not packets.
        reasm_fails,
    }
}

counters! {
    /// `Tcp:` of /proc/net/snmp and `TcpExt:` of /proc/net/netstat.
    TcpCounters {
        /// Segments sent again.
        retrans_segs,
        /// Segments received with an error.
        in_errs,
        /// Retransmission timeouts.
        timeouts,
        /// Dropped: the socket was in use and its backlog was full.
        backlog_drops,
        /// Dropped: the receive queue was full.
        rcvq_drops,
        /// Dropped: the queue of segments out of order was full.
        ofo_drops,
    }
}

counters! {
    /// One device's row of /proc/net/dev.
    LinkCounters {
        /// Packets received (a GSO packet counts once).
        rx_packets,
        /// Their bytes, with link headers.
        rx_bytes,
        /// Packets dropped on the way in.
        rx_dropped,
        /// Broken packets received.
        rx_errors,
        /// Packets sent.
        tx_packets,
        /// Their bytes.
        tx_bytes,
        /// Packets dropped on the way out.
        tx_dropped,
        /// Packets that could not be sent.
        tx_errors,
    }
}

counters! {
    /// Counts of the frames of both directions on a wire of nettoll's own.
    WireCounters {
        /// Frames that it was handed, where it can tell.
        handed,
        /// Frames dropped: they found a full queue inside it.
        dropped,
        /// Frames lost by chance, as it was asked to.
        lost,
        /// Frames given up after 16 collisions.
        aborted,
        /// Collisions.
        collisions,
        /// Frames that overtook others.
        overtaking,
        /// Frames that a relay delivered.
        delivered,
        /// By how much later than the wire's rules say, all together, in ns.
        late_ns,
    }
}

impl WireCounters {
    /// Frames that it did not deliver.
    pub const fn missing(&self) -> u64 {
        self.dropped.saturating_add(self.lost).saturating_add(self.aborted)
    }

    /// Frames that a relay has not yet delivered.
    pub const fn under_way(&self) -> u64 {
        self.handed.saturating_sub(self.missing()).saturating_sub(self.delivered)
    }
}

counters! {
    /// The `cpu` row of /proc/stat, in ticks of 10 ms. Tick-based: for a short
    /// trial it says whether the host was disturbed, not what a message cost.
    CpuTicks {
        /// User and nice time.
        user,
        /// System time.
        system,
        /// Idle and waiting for input or output.
        idle,
        /// Hard interrupts.
        irq,
        /// Soft interrupts.
        softirq,
        /// Taken by the hypervisor for another machine.
        steal,
        /// Times a CPU was slowed down for its heat, over all CPUs. From
        /// sysfs, not /proc/stat; 0 where the machine does not tell.
        throttled,
    }
}

impl CpuTicks {
    /// Time in which some CPU was not idle: netperf's host-wide figure.
    pub const fn busy(&self) -> u64 {
        self.user.saturating_add(self.system).saturating_add(self.irq).saturating_add(self.softirq).saturating_add(self.steal)
    }

    /// All time of all CPUs.
    pub const fn all(&self) -> u64 {
        self.busy().saturating_add(self.idle)
    }

    /// Share of it that the hypervisor took, 0 to 1.
    pub fn stolen(&self) -> f64 {
        self.steal as f64 / self.all().max(1) as f64
    }
}

impl HostCounters {
    /// The change from `earlier` to `self`.
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            udp: self.udp.since(&earlier.udp),
            ip: self.ip.since(&earlier.ip),
            tcp: self.tcp.since(&earlier.tcp),
            link: self.link.since(&earlier.link),
            cpu: self.cpu.since(&earlier.cpu),
        }
    }

    /// With the counters of another host of the same machine, whose CPUs are these.
    pub const fn with(&self, other: &Self) -> Self {
        Self {
            udp: self.udp.plus(&other.udp),
            ip: self.ip.plus(&other.ip),
            tcp: self.tcp.plus(&other.tcp),
            link: self.link.plus(&other.link),
            cpu: self.cpu,
        }
    }
}
