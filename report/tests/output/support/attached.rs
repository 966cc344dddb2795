//! A server that was observed while it ran, made up.

use analysis::attached::{Attached, PerSend, analyse};
use attribution::Rules;
use model::Nanos;
use model::attach::{ATTACH_FORMAT, Attachment, CallKind, Clocks, Look, Messages, OwnCode, Pattern, Totals, Way, WindowRecord};
use model::end::Window;
use model::profile::{Account, Profile, SampleSource, Stack, Waits};
use model::run::Status;

/// Requests of each window.
const REQUESTS: u64 = 50_000;
/// Distance of samples, in ns.
const PERIOD: u64 = 100_000;

/// Chains, innermost function first, with the ns that a request spends there; `[user]` is the program's own code.
const CHAINS: [(&str, u64); 8] = [
    ("[user]", 2_700),
    ("tcp_sendmsg_locked<tcp_sendmsg<__sys_sendto<do_syscall_64", 1_900),
    ("tcp_recvmsg_locked<tcp_recvmsg<__sys_recvfrom<do_syscall_64", 1_800),
    ("tcp_ack<tcp_v4_rcv<process_backlog<net_rx_action<handle_softirqs<__sys_sendto", 1_400),
    ("do_syscall_64<entry_SYSCALL_64_after_hwframe", 1_800),
    ("__schedule<schedule<sk_wait_data<tcp_recvmsg<__sys_recvfrom", 1_200),
    ("__dev_queue_xmit<ip_finish_output2<__tcp_transmit_skb<__sys_sendto", 900),
    ("__ip_queue_xmit<__tcp_transmit_skb<tcp_write_xmit<__sys_sendto", 800),
];

fn attachment(arms: &[&str]) -> Attachment {
    Attachment {
        format: ATTACH_FORMAT,
        id: "2026-11-26T07-23-49Z-attach-eeae".to_owned(),
        started_ms: 1_795_677_829_000,
        tool: "0.1.0".to_owned(),
        status: Status::BlocksDone,
        target: "pid 4711".to_owned(),
        program: "redis-server".to_owned(),
        arguments: None,
        requests: "redis:127.0.0.1:6379".to_owned(),
        window: Nanos::from_millis(1_000),
        period: PERIOD,
        sample_cost: None,
        wakeups: None,
        seed: 1,
        kernel: "6.18.44".to_owned(),
        cpus: 2,
        irq_time_subtracted: Some(false),
        affinity: Vec::new(),
        peer_affinity: Vec::new(),
        arms: arms.iter().map(|arm| (*arm).to_owned()).collect(),
        refused: Vec::new(),
    }
}

/// A second in which a request costs `factor` of what [`CHAINS`] say, and samples show `seen` of that.
fn window(block: u32, look: Look, factor: f64, seen: f64) -> WindowRecord {
    let second = Window { start: Nanos::new(0), end: Nanos::new(1_000_000_000) };
    let request: u64 = CHAINS.iter().map(|(_, ns)| ns).sum();
    // Blocks differ, as they do.
    let cpu = Nanos::new((request as f64 * factor) as u64 * REQUESTS + u64::from(block % 3) * REQUESTS * 10);
    let clocks = Clocks { cpu, processes: 1, threads: 1, voluntary: 5_000, ..Clocks::default() };
    let mut record = WindowRecord { requests: Some(REQUESTS), ..WindowRecord::new(block, look, second, clocks) };
    match look {
        Look::Clean => {}
        Look::Time => {
            let mut symbols: Vec<String> = Vec::new();
            let mut stacks = Vec::new();
            for (chain, ns) in CHAINS {
                let mut frames = Vec::new();
                for name in chain.split('<') {
                    let known = symbols.iter().position(|known| known == name).unwrap_or_else(|| {
                        symbols.push(name.to_owned());
                        symbols.len() - 1
                    });
                    frames.push(known as u32);
                }
                let count = (ns as f64 / request as f64 * cpu.get() as f64 * seen / PERIOD as f64).round() as u64;
                stacks.push(Stack { frames, user: chain.starts_with('['), count });
            }
            let own = stacks[0].count;
            let account = Account { on_cpu: Some(cpu), recorded: 20_000, counted: None, others: Some(9), ..Account::default() };
            let source = SampleSource::CpuClock;
            record.profile =
                Some(Profile { source, period: PERIOD, symbols, stacks, lost: 0, throttled: 0, broken: 0, account: Some(account) });
            record.own_code = Some(OwnCode { functions: vec![("lookupKey".to_owned(), own / 2)], rest: 0, unnamed: own - own / 2 });
        }
        Look::Messages => {
            let totals = Totals { sends: REQUESTS, sent: REQUESTS * 5, receives: REQUESTS, received: REQUESTS * 244, empty: 0, failed: 0 };
            let kind = |call: &str, way, bytes: u64| CallKind {
                call: call.to_owned(),
                way,
                protocol: "tcp".to_owned(),
                calls: REQUESTS,
                bytes: REQUESTS * bytes,
                empty: 0,
                failed: 0,
                short: None,
                asked: None,
                asked_sizes: Vec::new(),
                at_least: 0,
                untold: 0,
                sizes: vec![(bytes, REQUESTS)],
            };
            let exchange = Pattern {
                protocol: "tcp".to_owned(),
                receives: 1,
                received: 244,
                call: "write".to_owned(),
                calls: Vec::new(),
                sends: vec![5],
                apart: 0,
                count: REQUESTS,
            };
            let calls = vec![kind("read", Way::In, 244), kind("write", Way::Out, 5)];
            record.messages =
                Some(Messages { totals, kept: 2 * REQUESTS, beyond: 0, calls, patterns: vec![exchange], exchanges: REQUESTS, sockets: 1 });
        }
        Look::Waits => {
            let rest = 1_000_000_000 - cpu.get();
            record.waits = Some(Waits { runnable: Nanos::new(0), blocked: Nanos::new(rest), switches: 5_000, ..Waits::default() });
        }
    }
    record
}

/// So many blocks of windows of a server whose samples show `seen` of its CPU time.
pub fn server(blocks: u32, seen: f64) -> Attached {
    let windows: Vec<WindowRecord> =
        (0..blocks).flat_map(|block| Look::ALL.iter().map(move |look| window(block, *look, 1.0, seen))).collect();
    analyse(attachment(&[]), &windows, 0, &Rules::builtin().expect("the rules that come with nettoll"))
}

/// A program whose sends are counted, and which asks another server: it has a port of its own more than it listens on.
pub fn proxy() -> Attached {
    let mut attached = server(8, 1.0);
    attached.run.requests = "sends".to_owned();
    attached.states.iter_mut().for_each(|state| state.per_send = Some(PerSend::Client));
    attached
}

/// The same in two arms, of which the second costs `factor` of the first.
pub fn switched(factor: f64) -> Attached {
    let of = |block: u32, arm: usize| {
        let factor = if arm == 0 { 1.0 } else { factor };
        Look::ALL.iter().map(move |look| WindowRecord { arm: Some(arm), ..window(block, *look, factor, 1.0) })
    };
    let windows: Vec<WindowRecord> = (0..8).flat_map(|block| [0, 1].into_iter().flat_map(move |arm| of(block, arm))).collect();
    analyse(attachment(&["before", "after"]), &windows, 0, &Rules::builtin().expect("the rules that come with nettoll"))
}
