//! Made machines, whose toll is known.

use std::collections::BTreeMap;

use attribution::Rules;
use model::top::{Bucket, Chain, CpuTime, Drops, Messages, OwnCost, Owner, Process, ProcessMessages, Sample, Task};
use model::{Nanos, Refusal};
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

use super::snapshot::{Row, RowKind, Snapshot};
use super::window::Machine;

const SEND: &str = "udp_sendmsg __sys_sendto __x64_sys_sendto do_syscall_64";
const RECEIVE: &str = "udp_queue_rcv_skb udp_rcv ip_local_deliver ip_rcv process_backlog __napi_poll net_rx_action handle_softirqs";
const FORWARD: &str = "veth_xmit ip_forward ip_rcv net_rx_action handle_softirqs";
const IDLE: &str = "default_idle do_idle cpu_startup_entry";
const FILE: &str = "ext4_file_write_iter vfs_write ksys_write do_syscall_64";
const BORDER: &str = "do_syscall_64 entry_SYSCALL_64_after_hwframe";

/// One stretch of a second of two CPUs, sampled at 100 Hz.
struct Made {
    bucket: Bucket,
}

impl Made {
    fn new() -> Self {
        let time = CpuTime {
            softirq: Nanos::from_millis(100),
            idle: Nanos::from_millis(500),
            all: Nanos::from_millis(1000),
            ..CpuTime::default()
        };
        let bucket = Bucket {
            time: 1_000,
            elapsed: Nanos::from_millis(1_000),
            period: Nanos::from_millis(10),
            cpus: BTreeMap::from([(0, time), (1, time)]),
            units: vec!["/a".to_owned(), "/b".to_owned()],
            processes: BTreeMap::from([(10, named("server", Some(0))), (20, named("client", Some(1))), (30, named("gone", None))]),
            own: OwnCost { reader: Nanos::from_millis(1), ..OwnCost::default() },
            ..Bucket::default()
        };
        Self { bucket }
    }

    /// Samples of a chain on a CPU.
    fn with(mut self, count: usize, cpu: u32, task: Task, chain: &str, owner: Option<Owner>, socket_call: Option<bool>) -> Self {
        let frames = chain.split(' ').map(|name| self.symbol(name)).collect();
        let chain = self.bucket.chains.len() as u32;
        self.bucket.chains.push(Chain { frames, user: false });
        self.bucket.samples.extend(vec![Sample { cpu, task, chain, socket_call, owner }; count]);
        self
    }

    fn symbol(&mut self, name: &str) -> u32 {
        let symbols = &mut self.bucket.symbols;
        symbols.iter().position(|known| known == name).unwrap_or_else(|| {
            symbols.push(name.to_owned());
            symbols.len() - 1
        }) as u32
    }

    fn snapshot(self) -> Snapshot {
        snapshot(&[self.bucket])
    }
}

fn named(name: &str, unit: Option<u32>) -> Process {
    Process { name: name.to_owned(), unit, wait: Some(Nanos::new(5_000)), arrivals: Some(2), connections: Some(3) }
}

fn snapshot(buckets: &[Bucket]) -> Snapshot {
    let rules = Rules::builtin().unwrap();
    let mut machine = Machine::new(&rules, Vec::new(), 10);
    buckets.iter().for_each(|bucket| machine.add(bucket, Vec::new()));
    machine.snapshot().unwrap()
}

fn owner(process: u32, unit: u32) -> Option<Owner> {
    Some(Owner { process: Some(process), unit: Some(unit) })
}

fn row<'a>(rows: &'a [Row], name: &str) -> &'a Row {
    rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no row {name}: {rows:#?}"))
}

#[test]
fn cpus_are_samples_over_rate_and_time_and_not_shares_of_the_samples() {
    // A hypervisor took 60 of the 200 samples that were due.
    let made = Made::new().with(40, 0, Task::Process(20), SEND, None, None).with(100, 1, Task::Idle, IDLE, None, None);
    let found = made.snapshot();
    assert_eq!([found.samples.due, found.samples.made, found.samples.idle], [200, 140, 100]);
    let network = found.network.unwrap();
    assert!((network.all.cpus - 0.4).abs() < 1e-9, "{network:?}");
    assert!([found.busy - 0.4, found.idle - 1.0, found.missing - 0.6].iter().all(|off| off.abs() < 1e-9));
    assert_eq!(found.proc_stat_softirq, Some(0.2));
    // 1.96 sqrt(40 (1 - 40/200)) / 100.
    assert!((network.all.high - network.all.cpus - 0.1109).abs() < 1e-3);
    assert_eq!(found.own.reader, 0.001);
}

#[test]
fn softirqs_go_to_the_sockets_owner_and_not_to_the_task_that_they_interrupted() {
    let made = Made::new().with(30, 0, Task::Process(20), RECEIVE, owner(10, 0), None).with(50, 0, Task::Process(20), SEND, None, None);
    let found = made.snapshot();
    let (server, client) = (row(&found.units, "/a"), row(&found.units, "/b"));
    assert_eq!([server.samples, client.samples], [30, 50]);
    assert!((server.softirq_met - 0.3).abs() < 1e-9 && server.call == 0.0 && (client.call - 0.5).abs() < 1e-9);
    assert_eq!(row(&found.interrupted, "client").samples, 80);
    assert_eq!(row(&found.processes, "server").pid, Some(10));
    assert_eq!(found.network.unwrap().met, Some(1.0));
    assert_eq!(server.wait_ns, Some(2_500.0));
    assert_eq!((server.connections, found.interrupted[0].connections), (Some(3), Some(3)));
}

/// Softirqs at the end of a send, in which a queue is received or handed to another CPU.
fn sent(inner: &str) -> String {
    format!("{inner} net_rx_action handle_softirqs do_softirq __local_bh_enable_ip __dev_queue_xmit ip_output {SEND}")
}

const DELIVERED: &str = "udp_queue_rcv_skb udp_rcv ip_local_deliver ip_rcv process_backlog __napi_poll";

#[test]
fn a_sender_causes_the_softirqs_at_the_end_of_its_sends_and_its_packets_work_on_other_cpus() {
    let server = owner(10, 0);
    let own = sent(DELIVERED);
    let made = Made::new().with(30, 0, Task::Process(20), &own, server, None).with(9, 0, Task::Process(10), &own, server, None).with(
        40,
        1,
        Task::Process(20),
        RECEIVE,
        owner(20, 1),
        None,
    );
    let cause = made.snapshot().cause.unwrap();
    assert_eq!((cause.sender.as_deref(), cause.receiver.as_str(), cause.cpu, &cause.interrupted), (Some("/b"), "/a", 0, &None));
    assert!((cause.all.cpus - 0.3).abs() < 1e-9 && (cause.all.high - cause.all.cpus - 0.099).abs() < 1e-3, "{cause:?}");
    // A third unit's CPU receives packets that two units hand over, 3 to 1.
    let handed = sent("net_rps_action_and_irq_enable");
    let irq = format!("{DELIVERED} net_rx_action handle_softirqs __irq_exit_rcu sysvec_call_function_single");
    let mut made = Made::new();
    made.bucket.units.push("/c".to_owned());
    made.bucket.processes.insert(40, named("other", Some(2)));
    let made = made.with(30, 0, Task::Process(20), &handed, None, None).with(10, 0, Task::Process(10), &handed, None, None).with(
        80,
        1,
        Task::Process(40),
        &irq,
        server,
        None,
    );
    let cause = made.snapshot().cause.unwrap();
    let interrupted = cause.interrupted.unwrap();
    assert_eq!((cause.sender.as_deref(), cause.receiver.as_str(), cause.cpu, interrupted.unit.as_str()), (Some("/b"), "/a", 1, "/c"));
    assert!((cause.all.cpus - 0.9).abs() < 1e-9 && (interrupted.all.cpus - 0.6).abs() < 1e-9, "{:?}", cause.all);
    // The whole work was shared out, by owner or by sender.
    assert!(cause.all.high - cause.all.cpus > 0.45);
}

#[test]
fn without_a_sender_the_unit_that_is_interrupted_is_named_and_chance_is_not() {
    let card = "udp_queue_rcv_skb udp_rcv ip_local_deliver ip_rcv napi_gro_receive virtnet_poll net_rx_action handle_softirqs irq_exit_rcu common_interrupt";
    let made =
        |count| Made::new().with(count, 0, Task::Process(20), card, owner(10, 0), None).with(20, 1, Task::Idle, card, owner(10, 0), None);
    let cause = made(25).snapshot().cause.unwrap();
    assert_eq!((cause.sender, cause.receiver.as_str(), cause.all.cpus), (None, "/a", 0.25));
    assert_eq!(cause.interrupted.map(|other| (other.unit, other.all.cpus)), Some(("/b".to_owned(), 0.25)));
    assert_eq!(made(3).snapshot().cause, None);
    let cpus = made(25).with(90, 0, Task::Process(20), SEND, None, None).snapshot().per_cpu;
    assert_eq!([cpus[0].softirq_for.as_deref(), cpus[1].softirq_for.as_deref()], [Some("/a"); 2]);
}

#[test]
fn the_rest_of_a_cpu_is_shared_out_as_its_owners_were_met() {
    let one = |process, unit| owner(process, unit);
    let made = Made::new()
        .with(8, 0, Task::Process(20), RECEIVE, one(10, 0), None)
        .with(2, 0, Task::Process(20), RECEIVE, one(20, 1), None)
        .with(10, 0, Task::Idle, "net_rx_action handle_softirqs do_idle", None, None)
        .with(7, 1, Task::Idle, RECEIVE, None, None);
    let found = made.snapshot();
    assert_eq!([row(&found.units, "/a").samples, row(&found.units, "/b").samples, row(&found.units, "unowned").samples], [16, 4, 7]);
    let half = |row: &Row| row.all.high - row.all.cpus;
    let chance = |n: f64| 1.96 * (n * (1.0 - n / 200.0)).sqrt() / 100.0;
    // Half of the 8 that were shared out.
    assert!((half(row(&found.units, "/a")) - chance(16.0) - 0.04).abs() < 1e-9);
    assert!((found.network.unwrap().met.unwrap() - 10.0 / 27.0).abs() < 1e-9);
}

#[test]
fn packets_without_a_fate_are_passed_on_and_delivered_as_often_as_chains_show() {
    const SENT: &str = "__dev_queue_xmit ip_finish_output2 __netif_receive_skb_one_core process_backlog net_rx_action handle_softirqs";
    const RECEIVED: &str = "ip_rcv __netif_receive_skb_one_core process_backlog net_rx_action handle_softirqs";
    // The sender's socket is on the stack of all of them: the softirq runs in its call.
    let sender = owner(20, 1);
    let only_passed_on =
        Made::new().with(10, 0, Task::Process(20), SENT, sender, None).with(90, 0, Task::Process(20), RECEIVED, sender, None);
    let found = only_passed_on.snapshot();
    assert_eq!((row(&found.units, "forwarded").samples, found.units.len()), (100, 1));
    // Of those that are delivered, one of two shows its socket.
    let both = Made::new()
        .with(30, 0, Task::Process(20), SENT, sender, None)
        .with(5, 0, Task::Process(20), RECEIVE, owner(10, 0), None)
        .with(5, 0, Task::Process(20), RECEIVE, None, None)
        .with(40, 0, Task::Process(20), RECEIVED, sender, None);
    let found = both.snapshot();
    assert_eq!([row(&found.units, "forwarded").samples, row(&found.units, "/a").samples], [60, 20]);
    // Without BPF no socket shows: packets that are delivered are not passed on.
    let blind = Made::new().with(3, 0, Task::Process(20), SENT, None, None).with(9, 0, Task::Process(20), RECEIVE, None, None);
    assert_eq!(row(&blind.snapshot().units, "unowned").samples, 9);
}

#[test]
fn the_kernel_forwarded_packets_and_ended_processes_have_rows_of_their_own() {
    let made = Made::new()
        .with(5, 0, Task::Kernel(77), "tcp_sendmsg sock_sendmsg xs_tcp_send_request rpc_async_schedule kthread", None, None)
        .with(6, 0, Task::Idle, FORWARD, None, None)
        .with(4, 0, Task::Process(30), SEND, None, None)
        .with(3, 1, Task::Outside, SEND, None, None)
        .with(9, 1, Task::Process(20), FILE, None, None);
    let found = made.snapshot();
    let kinds: Vec<(RowKind, u64)> = found.units.iter().map(|row| (row.kind, row.samples)).collect();
    assert_eq!(kinds, [(RowKind::Forwarded, 6), (RowKind::Kernel, 5), (RowKind::Ended, 4), (RowKind::Outside, 3)]);
    assert_eq!(row(&found.processes, "gone").samples, 4);
    assert_eq!(found.samples.outside, 3);
}

#[test]
fn a_call_number_settles_the_border_and_where_there_is_none_the_process_does() {
    let known =
        Made::new().with(6, 0, Task::Process(20), BORDER, None, Some(true)).with(4, 0, Task::Process(20), BORDER, None, Some(false));
    assert_eq!(row(&known.snapshot().units, "/b").samples, 6);
    // Three of four samples in the kernel are the network's: so are three of four of the border's.
    let unknown = Made::new().with(30, 0, Task::Process(20), SEND, None, None).with(10, 0, Task::Process(20), FILE, None, None).with(
        8,
        0,
        Task::Process(20),
        BORDER,
        None,
        None,
    );
    assert_eq!(row(&unknown.snapshot().units, "/b").samples, 36);
}

#[test]
fn messages_are_scaled_and_their_scatter_is_their_error() {
    let counted = |sends: u64| {
        let mut bucket = Made::new().with(10, 0, Task::Process(20), SEND, None, None).bucket;
        let one = ProcessMessages { owner: owner(20, 1).unwrap(), messages: [sends, 0], bytes: [sends * 100, 0] };
        bucket.messages = Some(Messages { counted: Nanos::from_millis(100), processes: vec![one] });
        bucket
    };
    let found = snapshot(&[counted(90), Made::new().bucket, counted(110)]);
    let client = row(&found.units, "/b");
    let [sent, received] = client.messages.unwrap();
    assert_eq!([sent.rate, received.rate, client.byte_rate().unwrap()], [1_000.0, 0.0, 100_000.0]);
    // t (95 %, 1 degree) x sd of 900 and 1,100 / sqrt 2.
    assert!((sent.half - 12.706 * 141.42 / 2_f64.sqrt()).abs() < 1.0, "{sent:?}");
    // 20 samples of 10 ms in 3 s, over 1,000 messages a second.
    assert!((client.per_message().unwrap().rate - 66_667.0).abs() < 1.0);
    let all = Bucket { messages: Some(Messages { counted: Nanos::from_millis(1_000), ..counted(90).messages.unwrap() }), ..counted(90) };
    assert_eq!(row(&snapshot(&[all.clone(), all]).units, "/b").messages.unwrap()[0].half, 0.0);
    assert_eq!(row(&Made::new().with(1, 0, Task::Process(20), SEND, None, None).snapshot().units, "/b").messages, None);
}

#[test]
fn drops_are_rates_over_the_time_for_which_they_were_counted() {
    let dropped = |packets| {
        let owners = vec![(owner(10, 0).unwrap(), packets), (Owner { process: None, unit: Some(0) }, 10)];
        Bucket {
            drops: Some(Drops { counted: Nanos::from_millis(500), owners }),
            ..Made::new().with(1, 0, Task::Process(20), SEND, None, None).bucket
        }
    };
    let found = snapshot(&[dropped(20), Made::new().bucket, dropped(0)]);
    assert_eq!([row(&found.units, "/a").drops, row(&found.units, "/b").drops], [Some(40.0), Some(0.0)]);
    assert_eq!([row(&found.processes, "server").drops, row(&found.interrupted, "client").drops], [Some(20.0), None]);
    assert_eq!(row(&Made::new().with(1, 0, Task::Process(20), SEND, None, None).snapshot().units, "/b").drops, None);
}

#[test]
fn a_machine_without_samples_shows_what_the_kernel_counts() {
    let bucket = Bucket { period: Nanos::default(), ..Made::new().bucket };
    let rules = Rules::builtin().unwrap();
    let refusal = Refusal::new("samples of every CPU", "EACCES", "Run as root");
    let mut machine = Machine::new(&rules, vec![refusal.clone()], 10);
    assert_eq!(machine.snapshot(), None);
    machine.add(&bucket, vec![refusal]);
    let found = machine.snapshot().unwrap();
    assert_eq!((found.network, found.hz, found.proc_stat_softirq), (None, 0.0, Some(0.2)));
    assert!([found.busy - 1.0, found.idle - 1.0].iter().all(|off| off.abs() < 1e-9));
    assert!(found.per_cpu.iter().all(|row| (row.softirq - 0.1).abs() < 1e-9 && (row.busy - 0.5).abs() < 1e-9), "{:?}", found.per_cpu);
    assert_eq!(found.refused, ["samples of every CPU: EACCES; Run as root"]);
}

#[test]
fn the_window_slides() {
    let busy = Made::new().with(50, 0, Task::Process(20), SEND, None, None).bucket;
    let rules = Rules::builtin().unwrap();
    let mut machine = Machine::new(&rules, Vec::new(), 2);
    for bucket in [&busy, &Made::new().bucket, &Made::new().bucket] {
        machine.add(bucket, Vec::new());
    }
    let found = machine.snapshot().unwrap();
    assert_eq!((found.elapsed_ns, found.network.unwrap().all.cpus, found.units.len()), (2_000_000_000, 0.0, 0));
}

proptest! {
    /// Whatever is met, every table's rows sum to the network's samples, and no CPU is counted twice.
    #[test]
    fn rows_sum_to_the_total(samples in proptest::collection::vec((0..2_u32, 0..6_u8, 0..6_usize, 0..4_u8, any::<Option<bool>>()), 0..300)) {
        let chains = [SEND, RECEIVE, FORWARD, IDLE, FILE, BORDER];
        let mut made = Made::new();
        for (cpu, task, chain, owned, call) in samples {
            let task = match task { 0 => Task::Idle, 1 => Task::Kernel(7), 2 => Task::Outside, 3 => Task::Process(30), 4 => Task::Process(10), _ => Task::Process(20) };
            let owned = match owned { 0 => None, 1 => owner(10, 0), 2 => Some(Owner { process: None, unit: Some(1) }), _ => Some(Owner::default()) };
            made = made.with(1, cpu, task, chains[chain], owned, call);
        }
        let found = made.snapshot();
        let sums = [&found.units, &found.processes, &found.interrupted].map(|rows| rows.iter().map(|row| row.samples).sum::<u64>());
        prop_assert_eq!(sums[0], sums[1]);
        prop_assert_eq!(sums[0], sums[2]);
        let network = found.network.unwrap();
        prop_assert!((sums[0] as f64 / 100.0 - network.all.cpus).abs() < 1e-9);
        prop_assert!((network.call + network.softirq - network.all.cpus).abs() < 1e-9);
        let layers: f64 = network.layer.iter().map(|(_, cpus)| cpus).sum();
        let cpus: f64 = found.per_cpu.iter().map(|row| row.network).sum();
        prop_assert!((layers - network.all.cpus).abs() < 1e-9 && (cpus - network.all.cpus).abs() < 1e-9);
        prop_assert!(found.units.iter().all(|row| row.all.low <= row.all.cpus && row.all.cpus <= row.all.high));
        serde_json::to_string(&found.units).unwrap();
    }
}
