//! A made-up run with everything that a report must be able to show.

pub mod attached;
pub mod buffers;
pub mod cells;
pub mod models;
pub mod receipts;
pub mod studies;
pub mod trials;

use std::collections::BTreeMap;

use analysis::result::{
    ANALYSIS_FORMAT, Analysis, Balance, CostModel, Disturbed, Estimate, Finding, Interval, Method, RoleTest, Roles, StudyResult,
    TrialPoint, TrialState,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use model::host::{FACTS_FORMAT, HostFacts};
use model::plan::{Link, LinkKind, Offload};
use model::run::Status;
use model::{Plan, Refusal, Role, Run, Warning};
use testkit::made;

/// A page without what is drawn in its charts: each drawing keeps its opening tag, which names it.
pub fn without_drawings(page: &str) -> String {
    let mut parts = page.split("<svg class=\"chart");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (tag, rest) = part.split_once('>').expect("the end of a tag");
        let (_, behind) = rest.split_once("</svg>").expect("the end of a drawing");
        text += &format!("<svg class=\"chart{tag}></svg>{behind}");
    }
    text
}

/// The page without what is copied into it from `assets`: a line for each element, so that a change is one line,
/// and what its charts draw.
pub fn body(page: &str) -> String {
    let start = page.find("<body>").expect("a body");
    let end = page.find("<script type=\"application/gzip;base64\"").expect("data");
    format!("{}\n{}", without_drawings(&page[start..end]).replace("><", ">\n<"), packed(page, "chart-data"))
}

/// What the page holds packed under a name.
pub fn packed(page: &str, id: &str) -> serde_json::Value {
    let start = format!("<script type=\"application/gzip;base64\" id=\"{id}\">");
    unpacked(page.split_once(&start).unwrap().1.split_once("</script>").unwrap().0)
}

/// JSON in gzip, as base64.
pub fn unpacked(text: &str) -> serde_json::Value {
    let bytes = STANDARD.decode(text).unwrap();
    serde_json::from_reader(GzDecoder::new(&bytes[..])).unwrap()
}

/// A section of the page, a line for each element; without what is drawn in charts.
pub fn section(page: &str, id: &str) -> String {
    let page = &without_drawings(page);
    let (start, next) = match page.find(&format!("<section id=\"{id}\"")) {
        Some(start) => (start, "</section>"),
        None => (page.find(&format!("<details class=\"fold\" id=\"{id}\"")).expect("the section"), "<details class=\"fold\""),
    };
    let inside = &page[start + 1..];
    let end = start + 1 + inside.find(next).or_else(|| inside.find("</main>")).expect("its end");
    page[start..end].replace("><", ">\n<")
}

/// A figure with an interval of so many shares below and above.
pub fn estimate(value: f64, down: f64, up: f64) -> Estimate {
    let interval = Interval { low: value * (1.0 - down), high: value * (1.0 + up), confidence: 0.9609, method: Method::OrderStatistics };
    Estimate { value, interval: Some(interval), n: 9 }
}

/// The same from a bootstrap.
pub fn bootstrapped(value: f64, width: f64) -> Estimate {
    let interval = Interval { low: value - width, high: value + width, confidence: 0.95, method: Method::BlockBootstrap };
    Estimate { value, interval: Some(interval), n: 9 }
}

/// A run on a veth pair with TCP, UDP, IPv6 and request/response.
pub fn sample() -> Analysis {
    let cells = cells::all();
    let plan = Plan {
        title: "What one message costs, TCP and UDP, 1 B to 16 KiB".into(),
        link: Link { kind: LinkKind::Veth, mtu: Some(1500), offloads: BTreeMap::from([(Offload::Tso, true), (Offload::Gro, false)]) },
        seed: 0x7f3a_1984,
        ..made::plan("quick", cells.iter().map(|cell| cell.cell.clone()).collect())
    };
    Analysis {
        format: ANALYSIS_FORMAT,
        run: Run { started_ms: 1_795_292_045_123, ..made::run(plan) },
        hosts: vec![host("a", vec![0]), host("b", vec![1])],
        blocks: 9,
        trials: cells.iter().map(|cell| cell.trials as u64).sum(),
        failed: 15,
        studies: vec![
            StudyResult::Models(models::all(&cells)),
            StudyResult::Roles(Roles::Tested(RoleTest { ratio: Estimate { n: 12, ..ratio() }, p: 0.3125, swapped: 6, straight: 6 })),
            StudyResult::Datagrams(Balance {
                sent: 48_213_904,
                received: 48_190_112,
                dropped: vec![("UdpRcvbufErrors (b)".into(), 23_760), ("qdisc drops (a)".into(), 32)],
                unaccounted: 0,
                packets: false,
            }),
        ],
        cells,
        findings: findings(),
        disturbed: Disturbed { trials: 12, waited: 12, ..Disturbed::default() },
        irq_pooled: true,
        timeline: timeline(),
    }
}

/// Four minutes in which the hypervisor took CPU time for a while, and one trial failed.
fn timeline() -> Vec<TrialPoint> {
    let one = |place: u64| {
        let (stolen, failed) = ((60..75).contains(&place), place == 40);
        let state = if failed {
            TrialState::Failed
        } else if stolen {
            TrialState::Stolen
        } else {
            TrialState::Sound
        };
        let ratio = 1.0 + 0.02 * ((place * 7 % 11) as f64 - 5.0) + if stolen { 1.2 } else { 0.0 };
        let (cell, block) = ((place % 20) as usize, (place / 20) as u32);
        TrialPoint { started_ms: 1_795_292_045_123 + place * 1_300, block, cell, arm: 0, ratio: (!failed).then_some(ratio), state }
    };
    (0..180).map(one).collect()
}

/// The cost models of an analysis, to be changed.
fn models_of(analysis: &mut Analysis) -> &mut Vec<CostModel> {
    let found = analysis.studies.iter_mut().find_map(|study| match study {
        StudyResult::Models(models) => Some(models),
        _ => None,
    });
    found.expect("the sample has models")
}

fn ratio() -> Estimate {
    let interval = Interval { low: 0.996, high: 1.011, confidence: 0.9531, method: Method::Randomisation };
    Estimate { value: 1.004, interval: Some(interval), n: 9 }
}

pub fn host(name: &str, endpoint_cpus: Vec<u32>) -> HostFacts {
    let pairs = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    HostFacts {
        format: FACTS_FORMAT,
        name: name.into(),
        isolation: "network namespace".into(),
        boot: String::new(),
        kernel: "6.12.43-cloud-amd64".into(),
        kernel_build: "#1 SMP PREEMPT_DYNAMIC Debian 6.12.43-1 (2026-08-27)".into(),
        architecture: "x86_64".into(),
        cpu_model: "AMD EPYC 9B14".into(),
        cpus: 2,
        endpoint_cpus,
        numa_nodes: 1,
        memory: 25_276_510_208,
        virtualisation: "kvm".into(),
        governor: String::new(),
        clocksource: "kvm-clock".into(),
        irq_time_subtracted: Some(true),
        loop_overhead_ns: 1.4,
        wakeups: None,
        sysctls: pairs(&[
            ("net.core.rmem_max", "212992"),
            ("net.core.wmem_max", "212992"),
            ("net.ipv4.tcp_congestion_control", "cubic"),
            ("net.ipv4.tcp_rmem", "4096 131072 6291456"),
            ("net.ipv4.tcp_wmem", "4096 16384 4194304"),
        ]),
        device: pairs(&[
            ("name", "link"),
            ("driver", "veth"),
            ("mtu", "1500"),
            ("qdisc", "noqueue"),
            ("address", &format!("02:00:00:00:00:0{name}")),
        ]),
        offloads: [("tx-checksum-ip-generic", true), ("tx-tcp-segmentation", true), ("rx-gro", false)]
            .map(|(k, v)| (k.to_owned(), v))
            .into(),
        irqs: BTreeMap::new(),
        tool: "0.1.0".into(),
    }
}

fn findings() -> Vec<Finding> {
    let one = |text: &str, warning: Warning, trials, cells: &[&str], cell_count| Finding {
        is_of_whole_arm: false,
        text: text.to_owned(),
        remedy: warning.remedy(),
        warning,
        trials,
        cells: cells.iter().map(|cell| (*cell).to_owned()).collect(),
        places: (0..cell_count).collect(),
    };
    vec![
        one(
            "15 of 261 trials failed: connect to fd00::2 port 40001: Network is unreachable (ENETUNREACH)",
            Warning::TrialFailed { error: "connect to fd00::2 port 40001: Network is unreachable (ENETUNREACH)".into() },
            15,
            &["UDP_STREAM (ipv6) 16384 B", "TCP_STREAM (nagle) 64 B"],
            2,
        ),
        one(
            "in 12 of 261 trials the receiver waited for a CPU, up to 8.3 % of the time",
            Warning::Contended { role: Role::Receiver, share: 0.083 },
            12,
            &["TCP_STREAM (nodelay) 1 B", "TCP_STREAM (nodelay) 64 B", "UDP_STREAM 1 B"],
            7,
        ),
        one(
            "in 9 of 261 trials the tool's own loop took a part of the sender's time per message, up to 5.2 %",
            Warning::GeneratorLimit { role: Role::Sender, share: 0.052 },
            9,
            &["TCP_STREAM (nodelay) 1 B"],
            1,
        ),
        one(
            "in 90 of 261 trials SO_RCVBUF of the receiver: asked 8M, got 416K",
            Warning::OptionNotTaken { role: Role::Receiver, option: "SO_RCVBUF".into(), asked: "8M".into(), got: "416K".into() },
            90,
            &["UDP_STREAM 1 B", "UDP_STREAM 64 B", "UDP_STREAM 112 B"],
            10,
        ),
        one(
            "hardware cycle counter is not available: perf_event_open: No such file or directory (ENOENT)",
            Warning::Absent(Refusal {
                what: "hardware cycle counter".into(),
                answer: "perf_event_open: No such file or directory (ENOENT)".into(),
                remedy: "Run on a machine whose hypervisor passes the counters on.".into(),
            }),
            0,
            &[],
            0,
        ),
    ]
}

/// The sample cut down to what one can read: three sizes of UDP, one cell with
/// too few trials and no line, one request/response.
pub fn small() -> Analysis {
    let mut analysis = sample();
    let kept = ["UDP_STREAM 1 B", "UDP_STREAM 1472 B", "UDP_STREAM 1473 B", "TCP_STREAM (nagle) 64 B", "TCP_RR (nodelay) 1 B"];
    analysis.cells.retain(|cell| kept.contains(&cell.label.as_str()));
    analysis.run.plan.cells = analysis.cells.iter().map(|cell| cell.cell.clone()).collect();
    let models = models_of(&mut analysis);
    models.retain(|model| ["UDP_STREAM", "TCP_STREAM (nagle)"].contains(&model.series.to_string().as_str()));
    for model in models {
        if let analysis::result::FitOutcome::Fitted(fit) = &mut model.outcome {
            fit.points.retain(|point| [1, 1_472, 1_473].contains(&point.size.get()));
        }
    }
    analysis.findings.truncate(2);
    analysis
}

/// A run of cells with every factor that changes what a report says.
pub fn factors() -> Analysis {
    let mut analysis = sample();
    analysis.cells = cells::factors();
    analysis.run.plan.cells = analysis.cells.iter().map(|cell| cell.cell.clone()).collect();
    analysis.trials = 45;
    analysis.failed = 0;
    models_of(&mut analysis).clear();
    let behind = Warning::BehindSchedule { role: Role::Sender, messages: 18_600, share: 0.31 };
    analysis.findings = vec![Finding {
        is_of_whole_arm: false,
        text: "in 9 of 45 trials the sender did not reach the rate offered, up to 31.0 % of the schedule was not sent in time".into(),
        remedy: behind.remedy(),
        warning: behind,
        trials: 9,
        cells: vec!["UDP_STREAM (4 flows, 100000/s, stamped) 1448 B".into()],
        places: vec![0],
    }];
    analysis
}

/// Text that would run or draw something if it were ever taken as markup.
pub const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&--><!--\u{1b}[31m";

/// The sample with hostile text wherever text comes from outside.
pub fn hostile() -> Analysis {
    let mut analysis = sample();
    let bad = || HOSTILE.to_owned();
    analysis.run.id = bad();
    analysis.run.plan.title = bad();
    analysis.run.plan.name = bad();
    analysis.run.tool = bad();
    analysis.run.status = Status::Failed { error: bad() };
    let places: Vec<usize> = {
        let place = |model: &CostModel| analysis.cells.iter().position(|cell| cell.cell.series() == model.series).unwrap();
        analysis.models().iter().map(place).collect()
    };
    for cell in &mut analysis.cells {
        cell.label = format!("{} {HOSTILE}", cell.label);
        cell.cell.cc = Some(bad());
    }
    let series: Vec<_> = places.into_iter().map(|place| analysis.cells[place].cell.series()).collect();
    for (model, series) in models_of(&mut analysis).iter_mut().zip(series) {
        model.series = series;
        match &mut model.outcome {
            analysis::result::FitOutcome::NotALine { reason } => *reason = bad(),
            analysis::result::FitOutcome::Fitted(fit) => fit.breakpoints.iter_mut().for_each(|point| point.name = Some(bad())),
        }
    }
    for host in &mut analysis.hosts {
        for text in [&mut host.kernel, &mut host.cpu_model, &mut host.isolation, &mut host.virtualisation, &mut host.tool] {
            *text = bad();
        }
        host.sysctls.insert(bad(), bad());
        host.device.insert(bad(), bad());
        host.offloads.insert(bad(), true);
    }
    for finding in &mut analysis.findings {
        finding.text = bad();
        finding.remedy = bad();
        finding.cells = vec![bad()];
    }
    for study in &mut analysis.studies {
        if let StudyResult::Datagrams(balance) = study {
            balance.dropped.push((bad(), 1));
        }
    }
    analysis
}

/// The sample with every figure spoilt.
pub fn spoilt() -> Analysis {
    let mut analysis = sample();
    let spoil = |estimate: &mut Estimate, value: f64| {
        estimate.value = value;
        if let Some(interval) = &mut estimate.interval {
            (interval.low, interval.high) = (value, value);
        }
    };
    for (place, cell) in analysis.cells.iter_mut().enumerate() {
        let value = [f64::NAN, f64::INFINITY, 0.0][place % 3];
        cell.metrics.values_mut().for_each(|estimate| spoil(estimate, value));
        cell.latency.iter_mut().flat_map(|latency| &mut latency.percentiles).for_each(|entry| spoil(&mut entry.estimate, value));
    }
    for model in models_of(&mut analysis) {
        if let analysis::result::FitOutcome::Fitted(fit) = &mut model.outcome {
            fit.r_squared = f64::NAN;
            for point in &mut fit.points {
                (point.fitted, point.residual) = (f64::NAN, f64::NAN);
                spoil(&mut point.measured, f64::NAN);
            }
            fit.pieces.iter_mut().flat_map(|piece| &mut piece.terms).for_each(|entry| spoil(&mut entry.estimate, f64::NAN));
        }
    }
    for study in &mut analysis.studies {
        match study {
            StudyResult::Roles(Roles::Tested(roles)) => {
                roles.p = f64::NAN;
                spoil(&mut roles.ratio, f64::NAN);
            }
            StudyResult::Datagrams(balance) => {
                *balance = Balance { sent: 0, received: 0, dropped: vec![], unaccounted: -3, packets: false }
            }
            _ => {}
        }
    }
    analysis
}

/// The sample on a machine that had other things to do.
pub fn disturbed() -> Analysis {
    let mut analysis = sample();
    analysis.disturbed = Disturbed { trials: analysis.trials, waited: analysis.trials, misaligned: 3, ..Disturbed::default() };
    analysis.studies.retain(|study| !matches!(study, StudyResult::Roles(_)));
    analysis.studies.push(StudyResult::Roles(Roles::TooFewBlocks { blocks: 7, needed: 8 }));
    for cell in &mut analysis.cells {
        if let Some(waited) = cell.metrics.get_mut(&analysis::result::Metric::SenderRunDelayShare) {
            *waited = Estimate { value: 0.37, ..*waited };
        }
    }
    analysis
}

/// A run that was stopped before its first trial.
pub fn empty() -> Analysis {
    let mut analysis = sample();
    analysis.run.status = Status::Interrupted;
    (analysis.blocks, analysis.trials, analysis.failed) = (0, 0, 0);
    (analysis.cells, analysis.studies, analysis.findings, analysis.hosts) = (vec![], vec![], vec![], vec![]);
    (analysis.disturbed, analysis.irq_pooled) = (Disturbed::default(), false);
    analysis
}

/// The page without its script.
pub fn without_scripts(page: &str) -> String {
    // Each begins a script: data in base64, which may hold any three letters, or the page's own.
    page.split("<script").enumerate().fold(String::new(), |text, (place, part)| match place {
        0 => part.to_owned(),
        _ => text + part.split_once("</script>").map_or("", |(_, rest)| rest),
    })
}
