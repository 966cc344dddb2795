//! A made-up run with receipts: passes whose chains cost what is said here,
//! collected and analysed as real ones are.

use analysis::Collector;
use analysis::result::Analysis;
use model::end::{CpuTime, EndReport, Window};
use model::plan::receipt::{PERIOD, ReceiptPlan};
use model::profile::{Account, CallCounts, Observation, Profile, SampleSource, Stack, Waits};
use model::trial::{Measured, Observed, Outcome};
use model::woven::{Reading, SAMPLED, Slice, SliceEnd};
use model::{Bytes, Cell, Nanos, Pass, Refusal, Role, Run, Test, TrialRecord};
use report::receipt::Flames;
use testkit::made;

use super::trials;

/// The blocks of the run.
const BLOCKS: u32 = 6;
/// CPU time of each end in each pass.
const BUSY_NS: f64 = 0.4e9;
/// The sizes of both series.
const SIZES: [u64; 4] = [1, 1_448, 1_473, 16_384];
/// Of what the sampler misses, the share of the CPU time.
const BILLED: f64 = 0.015;

/// A chain, innermost function first, and what it costs: ns per message, and per byte.
type Cost = (&'static str, f64, f64);

const TCP_SENDER: &[Cost] = &[
    ("[user]", 40.0, 0.0),
    ("entry_SYSCALL_64_after_hwframe", 55.0, 0.0),
    ("do_syscall_64<entry_SYSCALL_64_after_hwframe", 45.0, 0.0),
    ("tcp_sendmsg_locked<tcp_sendmsg<__sys_sendto<do_syscall_64", 210.0, 0.002),
    ("rep_movs_alternative<_copy_from_iter<tcp_sendmsg_locked<tcp_sendmsg<__sys_sendto<do_syscall_64", 12.0, 0.061),
    ("__alloc_skb<tcp_stream_alloc_skb<tcp_sendmsg_locked<tcp_sendmsg<__sys_sendto<do_syscall_64", 120.0, 0.001),
    ("__tcp_transmit_skb<tcp_write_xmit<tcp_push<tcp_sendmsg_locked<tcp_sendmsg<__sys_sendto<do_syscall_64", 260.0, 0.004),
    ("__ip_queue_xmit<__tcp_transmit_skb<tcp_write_xmit<tcp_push<tcp_sendmsg<__sys_sendto<do_syscall_64", 130.0, 0.001),
    ("veth_xmit [veth]<dev_hard_start_xmit<__dev_queue_xmit<ip_finish_output2<__tcp_transmit_skb<__sys_sendto", 90.0, 0.002),
    ("tcp_ack<tcp_rcv_established<tcp_v4_do_rcv<tcp_v4_rcv<process_backlog<net_rx_action<handle_softirqs<__sys_sendto", 170.0, 0.003),
    ("kmem_cache_free<tcp_clean_rtx_queue<tcp_ack<tcp_v4_rcv<process_backlog<net_rx_action<handle_softirqs<__sys_sendto", 80.0, 0.001),
];

const TCP_RECEIVER: &[Cost] = &[
    ("[user]", 30.0, 0.0),
    ("tcp_recvmsg_locked<tcp_recvmsg<sock_recvmsg<__sys_recvfrom<do_syscall_64", 90.0, 0.001),
    ("rep_movs_alternative<_copy_to_iter<__skb_datagram_iter<tcp_recvmsg_locked<tcp_recvmsg<__sys_recvfrom", 10.0, 0.083),
    ("skb_release_data<tcp_recvmsg_locked<tcp_recvmsg<__sys_recvfrom<do_syscall_64", 60.0, 0.004),
    ("__schedule<schedule<sk_wait_data<tcp_recvmsg_locked<tcp_recvmsg<__sys_recvfrom<do_syscall_64", 50.0, 0.002),
    ("__tcp_transmit_skb<__tcp_send_ack<tcp_cleanup_rbuf<tcp_recvmsg_locked<tcp_recvmsg<__sys_recvfrom", 60.0, 0.003),
];

const UDP_SENDER: &[Cost] = &[
    ("[user]", 40.0, 0.0),
    ("entry_SYSCALL_64_after_hwframe", 60.0, 0.0),
    ("udp_sendmsg<sock_sendmsg<__sys_sendto<do_syscall_64", 190.0, 0.0),
    ("rep_movs_alternative<_copy_from_iter<ip_generic_getfrag<__ip_append_data<ip_make_skb<udp_sendmsg<__sys_sendto", 15.0, 0.066),
    ("__alloc_skb<sock_alloc_send_pskb<__ip_append_data<ip_make_skb<udp_sendmsg<__sys_sendto<do_syscall_64", 180.0, 0.005),
    ("fib_table_lookup<ip_route_output_key_hash_rcu<ip_route_output_flow<udp_sendmsg<__sys_sendto<do_syscall_64", 95.0, 0.0),
    ("__udp4_lib_rcv<ip_local_deliver_finish<process_backlog<net_rx_action<handle_softirqs<__sys_sendto", 140.0, 0.001),
    ("try_to_wake_up<sock_def_readable<udp_queue_rcv_one_skb<__udp4_lib_rcv<net_rx_action<handle_softirqs<__sys_sendto", 230.0, 0.0),
    ("csum_partial<skb_checksum<ip_fragment<udp_sendmsg<__sys_sendto<do_syscall_64", 4.0, 0.020),
    ("ip_frag_queue<ip_defrag<ip_local_deliver<process_backlog<net_rx_action<handle_softirqs<__sys_sendto", 1.0, 0.012),
];

const UDP_RECEIVER: &[Cost] = &[
    ("[user]", 35.0, 0.0),
    ("udp_recvmsg<inet_recvmsg<sock_recvmsg<__sys_recvfrom<do_syscall_64", 130.0, 0.0),
    ("rep_movs_alternative<_copy_to_iter<__skb_datagram_iter<udp_recvmsg<__sys_recvfrom<do_syscall_64", 12.0, 0.079),
    ("__skb_try_recv_from_queue<__skb_recv_udp<udp_recvmsg<__sys_recvfrom<do_syscall_64", 70.0, 0.0),
    ("skb_release_data<__consume_stateless_skb<udp_recvmsg<__sys_recvfrom<do_syscall_64", 85.0, 0.003),
    ("__schedule<schedule<schedule_timeout<__skb_wait_for_more_packets<__skb_recv_udp<udp_recvmsg<__sys_recvfrom", 140.0, 0.0),
];

/// A number between -1 and 1 that depends on its arguments alone.
fn noise(of: &[u64]) -> f64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for part in of {
        state = (state ^ part).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state ^= state >> 29;
    }
    (state % 20_000) as f64 / 10_000.0 - 1.0
}

const fn costs(test: Test, sender: bool) -> &'static [Cost] {
    match (test, sender) {
        (Test::UdpStream, true) => UDP_SENDER,
        (Test::UdpStream, false) => UDP_RECEIVER,
        (_, true) => TCP_SENDER,
        (_, false) => TCP_RECEIVER,
    }
}

/// One end of one trial.
struct End {
    test: Test,
    sender: bool,
    size: u64,
    /// CPU time per message, with what no sample shows.
    cpu: f64,
    messages: f64,
    salt: u64,
}

impl End {
    fn of(test: Test, size: u64, sender: bool, block: u32) -> Self {
        let rows: f64 = costs(test, sender).iter().map(|(_, ns, per_byte)| ns + per_byte * size as f64).sum();
        let cpu = rows / (1.0 - BILLED);
        Self { test, sender, size, cpu, messages: (BUSY_NS / cpu).floor(), salt: u64::from(block) * 2 + u64::from(sender) }
    }

    /// Asleep and ready, per message.
    fn waits(&self) -> [f64; 2] {
        if self.sender { [8.0, 3.0] } else { [0.25 * self.cpu, 12.0] }
    }

    fn nanos(&self, per_message: f64) -> Nanos {
        Nanos::new((per_message * self.messages) as u64)
    }

    fn report(&self, report: &EndReport, watched: f64) -> EndReport {
        let own = 1.0 + 0.01 * noise(&[self.salt, self.size, 7]);
        let start = report.window.start;
        let window = Window { start, end: start + self.nanos((self.cpu + self.waits().iter().sum::<f64>()) * own) };
        let counts = trials::counts_of(self.size, self.messages as u64);
        let cpu_time = CpuTime { process: self.nanos(self.cpu * own * watched), irq: None, kernel_threads: Some(Nanos::new(0)) };
        EndReport { window, flow: report.flow.map(|_| window), counts, total: counts, cpu_time, progress: Vec::new(), ..report.clone() }
    }

    fn profile(&self, watched: f64) -> Profile {
        let mut symbols: Vec<String> = Vec::new();
        let mut stacks = Vec::new();
        for (place, (chain, ns, per_byte)) in costs(self.test, self.sender).iter().enumerate() {
            let mut frames = Vec::new();
            for name in chain.split('<') {
                let known = symbols.iter().position(|known| known == name).unwrap_or_else(|| {
                    symbols.push(name.to_owned());
                    symbols.len() - 1
                });
                frames.push(known as u32);
            }
            let ns = (ns + per_byte * self.size as f64) * watched * (1.0 + 0.02 * noise(&[self.salt, place as u64, self.size]));
            let count = (ns * self.messages / PERIOD.get() as f64) as u64;
            if count > 0 {
                stacks.push(Stack { frames, user: chain.starts_with('['), count });
            }
        }
        let mut profile = Profile {
            source: SampleSource::CpuClock,
            period: PERIOD.get(),
            symbols,
            stacks,
            lost: 0,
            throttled: 0,
            broken: 0,
            account: None,
        };
        let on_cpu = Some(self.nanos(self.cpu * (1.0 - BILLED) * watched));
        profile.account = Some(Account { on_cpu, recorded: profile.samples(), counted: None, ..Account::default() });
        profile
    }

    /// What a pass sees; `red` loses sight of its sleep.
    fn observation(&self, pass: Pass, red: bool) -> Observation {
        let mut seen = Observation::default();
        let [blocked, runnable] = self.waits();
        match pass {
            Pass::Time if self.sender => seen.profile = Some(self.profile(1.03)),
            Pass::TimeReceiver if !self.sender => seen.profile = Some(self.profile(1.03)),
            Pass::Wait => {
                let blocked = self.nanos(if red { 0.0 } else { blocked });
                // On its way to a CPU, and billed already.
                let billed = BILLED * self.cpu;
                seen.waits = Some(Waits { runnable: self.nanos(runnable + billed), blocked, switches: 400, ..Waits::default() });
            }
            Pass::Count => {
                seen.counts = Some(self.calls());
                seen.refused.push(Refusal {
                    what: "counts of functions by BPF".into(),
                    answer: "bpf(BPF_PROG_LOAD): Operation not permitted (EPERM)".into(),
                    remedy: "run as root, or give CAP_BPF and CAP_PERFMON".into(),
                });
            }
            Pass::Clean | Pass::Time | Pass::TimeReceiver => {}
        }
        seen
    }

    fn calls(&self) -> CallCounts {
        let segments = (self.size as f64 / 1_448.0).ceil();
        let known: &[(&str, f64)] = match (self.test, self.sender) {
            (Test::UdpStream, true) => &[("__alloc_skb", segments), ("udp_sendmsg", 1.0)],
            (_, true) => &[("__alloc_skb", 1.0), ("tcp_ack", 0.5)],
            (_, false) => &[("__schedule", 0.01)],
        };
        let mut counts = CallCounts::default();
        for (name, calls) in known {
            counts.calls.insert((*name).to_owned(), (calls * self.messages) as u64);
        }
        counts
    }
}

fn record(cell: &Cell, pass: Pass, block: u32, red: bool) -> TrialRecord {
    let record = trials::trial(cell.clone(), false).record;
    let Outcome::Measured(made) = record.outcome else { unreachable!("made so") };
    let watched = if pass.samples() { 1.03 + 0.004 * noise(&[u64::from(block), cell.size.get()]) } else { 1.0 };
    let [sender, receiver] = [true, false].map(|sender| End::of(cell.test, cell.size.get(), sender, block));
    let observed = Observed { sender: sender.observation(pass, false), receiver: receiver.observation(pass, red) };
    let (sent, mut received) = (sender.report(&made.sender, watched), receiver.report(&made.receiver, watched));
    // No more arrives than was sent, in all of the trial.
    if cell.test == Test::UdpStream && received.total.messages > sent.total.messages {
        received.total = sent.total;
    }
    let measured = Measured {
        sender: sent,
        receiver: received,
        isolated: true,
        apart: false,
        clock: None,
        observed: (!pass.is_clean()).then(|| Box::new(observed)),
        ..*made
    };
    TrialRecord { block, pass, outcome: Outcome::Measured(Box::new(measured)), ..record }
}

/// Slices of an instance, in which samplers cost 3 % at the sender and 1 % at the receiver.
fn slices(instance: u32) -> Vec<Slice> {
    let end = |role: Role, more: f64, salt: [u64; 3]| {
        let sampled = if SAMPLED[salt[2] as usize] == Some(role) { more } else { 0.0 };
        let cpu = Nanos::new((9e6 * (1.0 + sampled) * (1.0 + 0.004 * noise(&salt))) as u64);
        let whole = Reading { time: Nanos::from_millis(10), cpu, messages: 9_000, bytes: 9_000, ..Reading::default() };
        SliceEnd { whole, ..SliceEnd::default() }
    };
    let slice = |(round, arm): (u32, u32)| {
        let salt = [instance.into(), round.into(), arm.into()];
        Slice { arm, round, sender: end(Role::Sender, 0.03, salt), receiver: end(Role::Receiver, 0.01, salt), ..Slice::default() }
    };
    (0..6).flat_map(|round| [0, 1, 2].map(|arm| (round, arm))).map(slice).collect()
}

/// A collector with the trials of a made-up run: TCP and UDP at four sizes, six
/// blocks, and slices of UDP. With `red` the receiver of the largest datagrams does not add up.
fn collector(red: bool) -> Collector {
    let cell = |test: Test, size: u64| Cell { nodelay: test == Test::TcpStream, ..Cell::plain(test, Bytes::new(size)) };
    let cells: Vec<Cell> = [Test::TcpStream, Test::UdpStream].iter().flat_map(|test| SIZES.map(|size| cell(*test, size))).collect();
    let base = super::small();
    let mut plan = base.run.plan;
    (plan.name, plan.title) = ("receipt".into(), "Where the time of a message goes, TCP and UDP".into());
    (plan.cells, plan.receipt) = (cells.clone(), Some(ReceiptPlan::default()));
    let run = Run { started_ms: base.run.started_ms, ..made::run(plan) };
    let mut collector = Collector::new(run, base.hosts);
    for block in 0..BLOCKS {
        for cell in &cells {
            let red = red && cell.test == Test::UdpStream && cell.size.get() == 16_384;
            for pass in [Pass::Clean, Pass::Time, Pass::TimeReceiver, Pass::Wait, Pass::Count] {
                collector.push(&record(cell, pass, block, red));
            }
        }
    }
    for (group, _) in cells.iter().enumerate().filter(|(_, cell)| cell.test == Test::UdpStream) {
        (0..10).for_each(|instance| collector.push_slices(group, instance, &slices(instance)));
    }
    collector
}

/// The analysis of the made-up run.
pub fn receipts() -> Analysis {
    collector(false).finish()
}

/// The same with a receipt that does not add up, and with its flame graphs.
pub fn red() -> (Analysis, Flames) {
    let collector = collector(true);
    let mut flames = Flames::default();
    collector.stacks().for_each(|(file, folded)| flames.push(&file, &folded));
    (collector.finish(), flames)
}
