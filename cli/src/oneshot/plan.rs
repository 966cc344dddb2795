//! From iperf3's letters to a plan of one cell.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use model::plan::raw::{RawBlocks, RawTrial};
use model::plan::{AGENT_PORT, ApprovedPlan, Factor, HostAddress, HostPlace, Level, Levels, OnLoss, RawPlan, resolve};
use model::schedule::Roles;
use model::sorting::Gather;
use model::trial::Outcome;
use model::{Api, BitRate, Bytes, Cell, Family, Nanos, OfferedRate, Test, TrialRecord, Ways};

use crate::args::{Client, Offer, OneshotArgs};
use crate::exit::Failure;

/// Time that iperf3 measures for when nothing is said.
const TIME: Nanos = Nanos::from_millis(10_000);
/// Its message size for TCP (DEFAULT_TCP_BLKSIZE in its src/iperf.h).
const TCP_SIZE: u64 = 128 << 10;
/// Its message size for SCTP (DEFAULT_SCTP_BLKSIZE there).
const SCTP_SIZE: u64 = 64 << 10;
/// Payload that fits one frame of Ethernet with IPv4 or IPv6: the segment size of a TCP
/// connection with timestamps, which is what iperf3 takes on such a path.
const UDP_SIZE: u64 = 1_448;
/// netperf's size of requests and answers.
const REQUEST: u64 = 1;
/// Size of datagrams on a schedule: with 4 B there is room for a number that tells
/// 65,536 requests in flight apart; with 1 B, only 128.
const NUMBERED_REQUEST: u64 = 4;
/// iperf3's rate for UDP (UDP_RATE in its src/iperf.h).
const UDP_RATE: OfferedRate = OfferedRate::Bits(BitRate::new(1_000_000));
/// Lines come no oftener: each costs CPU time next to the trial.
const SHORTEST_INTERVAL: Nanos = Nanos::from_millis(100);

/// A plan of one cell, and the settings that a plan has no word for.
#[derive(Debug)]
pub struct OneshotPlan {
    /// The plan.
    pub plan: ApprovedPlan,
    /// Its cell.
    pub cell: Cell,
    /// Whether the agent's host sends.
    pub swapped: bool,
    /// The other host as the user wrote it.
    pub remote: String,
    /// Its address, if that is known.
    pub address: Option<IpAddr>,
}

impl OneshotPlan {
    /// A record that stands for the trial before it has ended, and where it never did, with the reason.
    pub fn unfinished(&self, started_ms: u64, reason: &str) -> TrialRecord {
        let outcome = Outcome::Failed { error: reason.to_owned(), lost: false };
        TrialRecord { swapped: self.swapped, started_ms, ..TrialRecord::new(self.cell.clone(), outcome) }
    }
}

/// Returns the plan that the flags ask for. `reach` is asked which of its addresses the agent
/// answers at, where its name has some of either family and none was asked for.
///
/// # Errors
/// Flags that do not go together, and errors of `reach`.
pub fn plan(args: &OneshotArgs, reach: Reach) -> Result<OneshotPlan, Failure> {
    let Some(host) = args.client.clone().map(|client| with_port(client, args.port)) else {
        return Err(Failure::misuse("name the host of the agent: nettoll -c HOST"));
    };
    let (test, swapped) = test(args)?;
    let size = args.size.unwrap_or(Bytes::new(default_size(test, args)));
    let (length, messages) = end(args, size)?;
    let progress = progress(args)?;
    // Last of what can be wrong, for it takes a while.
    let (family, address) = family(args, &host, reach)?;
    let remote = written(&host);
    let raw = RawPlan {
        name: "once".to_owned(),
        title: Some("One trial".to_owned()),
        trial: RawTrial { length, messages, warmup: Some(args.omit), ..RawTrial::default() },
        blocks: RawBlocks { least: Some(1), most: Some(1), ..RawBlocks::default() },
        hosts: BTreeMap::from([("b".to_owned(), host)]),
        on_loss: Some(OnLoss::Stop),
        data_port: args.data_port,
        progress,
        cpus: cpus(args),
        roles: Roles::Fixed { swapped },
        cells: vec![levels(args, test, family, size)?],
        ..RawPlan::default()
    };
    let plan = resolve(&raw, &[], 0)?;
    match plan.cells.as_slice() {
        [cell] => Ok(OneshotPlan { cell: cell.clone(), swapped, remote, address, plan }),
        cells => Err(Failure::misuse(format!("these flags are of {} trials; vary a factor with `nettoll study`", cells.len()))),
    }
}

/// Tells the address that an agent answers at.
pub type Reach<'a> = &'a dyn Fn(&HostAddress) -> Result<IpAddr, Failure>;

/// The port of `-p` is that of a host that has none of its own.
fn with_port(client: Client, port: Option<u16>) -> HostPlace {
    match (client.host, port) {
        (HostPlace::Agent(agent), Some(port)) if !client.names_port => HostPlace::Agent(HostAddress { port, ..agent }),
        (host, _) => host,
    }
}

/// As a user writes it: without the port that is understood.
fn written(host: &HostPlace) -> String {
    match host.agent() {
        Some(agent) if agent.port == AGENT_PORT && agent.data.is_none() => agent.address.clone(),
        _ => host.to_string(),
    }
}

/// The test, and whether the agent's host sends.
fn test(args: &OneshotArgs) -> Result<(Test, bool), Failure> {
    let named = args.test.unwrap_or(if args.udp { Test::UdpStream } else { Test::TcpStream });
    match (named, args.reverse) {
        (Test::TcpMaerts, true) => Err(Failure::misuse("TCP_MAERTS is a TCP stream in reverse already: leave out -R")),
        // As with netperf and iperf3, whoever asks connects and the other sends.
        (Test::TcpMaerts, false) | (Test::TcpStream, true) => Ok((Test::TcpMaerts, true)),
        (Test::UdpStream, true) => Ok((Test::UdpStream, true)),
        (Test::TcpRr | Test::UdpRr | Test::TcpCrr, true) => {
            Err(Failure::misuse(format!("{named} sends both ways already: -R is for streams")))
        }
        (test, false) => Ok((test, false)),
    }
}

const fn default_size(test: Test, args: &OneshotArgs) -> u64 {
    match (test, args.bitrate) {
        (Test::UdpRr, Some(Offer::Rate(_))) => NUMBERED_REQUEST,
        (Test::TcpStream | Test::TcpMaerts, _) if args.sctp => SCTP_SIZE,
        (test, _) => default_size_of(test),
    }
}

const fn default_size_of(test: Test) -> u64 {
    match test {
        Test::TcpStream | Test::TcpMaerts => TCP_SIZE,
        Test::UdpStream => UDP_SIZE,
        Test::TcpRr | Test::UdpRr | Test::TcpCrr => REQUEST,
    }
}

/// A time, or messages of each flow.
fn end(args: &OneshotArgs, size: Bytes) -> Result<(Option<Nanos>, Option<u64>), Failure> {
    let all = match (args.bytes, args.blockcount) {
        (Some(bytes), _) => bytes.get().div_ceil(size.get().max(1)),
        (None, Some(count)) => count,
        (None, None) => return Ok((Some(args.time.unwrap_or(TIME)), None)),
    };
    match all {
        0 => Err(Failure::misuse("nothing to send: -n and -k take 1 or more; leave them out for a time (-t)")),
        all => Ok((None, Some(all.div_ceil(u64::from(args.parallel.max(1)))))),
    }
}

fn progress(args: &OneshotArgs) -> Result<Option<Nanos>, Failure> {
    match args.interval {
        interval if interval.get() == 0 => Ok(None),
        interval if interval < SHORTEST_INTERVAL => Err(Failure::misuse(format!(
            "-i {interval} is too short: 0.1 s or more, or 0 for no lines; every line takes CPU time from the trial"
        ))),
        interval => Ok(Some(interval)),
    }
}

fn cpus(args: &OneshotArgs) -> BTreeMap<String, Vec<u32>> {
    let here = args.affinity.map(|affinity| ("a".to_owned(), vec![affinity.here]));
    let there = args.affinity.and_then(|affinity| affinity.there).map(|cpu| ("b".to_owned(), vec![cpu]));
    here.into_iter().chain(there).collect()
}

/// The version of IP: as asked, or the one that the agent answers over.
fn family(args: &OneshotArgs, host: &HostPlace, reach: Reach) -> Result<(Family, Option<IpAddr>), Failure> {
    let asked = if args.version6 { Some(Family::V6) } else { args.version4.then_some(Family::V4) };
    let Some(host) = host.agent() else {
        // Where a command leads its host says, once it runs; an address that was given is known.
        let data: Option<IpAddr> = host.data().and_then(|data| data.parse().ok());
        let of_data = data.map(|address| if address.is_ipv6() { Family::V6 } else { Family::V4 });
        return Ok((asked.or(of_data).unwrap_or(Family::V4), data));
    };
    // What cannot be looked up is told by the laboratory, with the remedy.
    let found = lab::connection::resolve(host.data.as_deref().unwrap_or(&host.address), host.port).unwrap_or_default();
    // Where messages take another way, the control connection knows nothing of it.
    let reached = || host.data.as_ref().map_or_else(|| reach(host), |_| Ok(found[0].ip()));
    choose(asked, &found, reached)
}

fn choose(
    asked: Option<Family>,
    found: &[SocketAddr],
    reached: impl FnOnce() -> Result<IpAddr, Failure>,
) -> Result<(Family, Option<IpAddr>), Failure> {
    let of = |address: &SocketAddr| if address.is_ipv6() { Family::V6 } else { Family::V4 };
    let families: BTreeSet<Family> = found.iter().map(of).into_set();
    if asked.is_none() && families.len() > 1 {
        let address = reached()?;
        return Ok((if address.is_ipv6() { Family::V6 } else { Family::V4 }, Some(address)));
    }
    let family = asked.or(families.first().copied()).unwrap_or(Family::V4);
    Ok((family, found.iter().find(|address| of(address) == family).map(SocketAddr::ip)))
}

fn levels(args: &OneshotArgs, test: Test, family: Family, size: Bytes) -> Result<Levels, Failure> {
    let rate = match args.bitrate {
        Some(Offer::Rate(rate)) => Some(rate),
        Some(Offer::All) => None,
        None => (test == Test::UdpStream).then_some(UDP_RATE),
    };
    let always = [
        Level::Test(test),
        Level::Size(size),
        Level::Family(family),
        Level::Flows(args.parallel),
        Level::Nodelay(args.no_delay),
        Level::Pacing(args.pacing),
        Level::Arrivals(args.arrivals),
        Level::Bidirectional(args.bidir),
    ];
    let asked = [
        args.congestion.clone().map(Level::Cc),
        args.window.map(Level::Sndbuf),
        args.window.map(Level::Rcvbuf),
        rate.map(Level::Rate),
        args.dscp.map(Level::Tos),
        letter(args).map(|api| Level::Api(Ways::from(api))),
    ];
    let mut all: Levels = always.into_iter().chain(asked.into_iter().flatten()).map(|level| (level.factor(), vec![level])).collect();
    all.extend(args.factors.overrides().map_err(Failure::misuse)?);
    // Not every way can bear them.
    let stamps = Cell::plain(test, size).with(all.values().flatten().chain([&Level::Stamp(true)])).is_ok();
    all.insert(Factor::Stamp, vec![Level::Stamp(stamps)]);
    Ok(all)
}

/// The way of sending that a letter of iperf3's stands for.
const fn letter(args: &OneshotArgs) -> Option<Api> {
    match (args.zerocopy, args.mptcp, args.sctp) {
        (true, ..) => Some(Api::Sendfile),
        (_, true, _) => Some(Api::Mptcp),
        (.., true) => Some(Api::Sctp),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, SocketAddr};

    use clap::Parser;
    use model::plan::{LinkKind, PlanEnd};
    use model::{Api, Arrivals, Bytes, Family, Nanos, OfferedRate, Pacing, Receive, Test, Waiting, schedule};

    use super::{OneshotPlan, choose, plan};
    use crate::args::Arguments;
    use crate::exit::Failure;

    fn try_asked(line: &str) -> Result<OneshotPlan, String> {
        let words = ["nettoll"].into_iter().chain(line.split_whitespace());
        let args = Arguments::try_parse_from(words).map_err(|error| error.to_string())?;
        plan(&args.oneshot, &|_| panic!("nobody is to be reached")).map_err(|failure| format!("{failure:?}"))
    }

    fn asked(line: &str) -> OneshotPlan {
        let asked = try_asked(line).unwrap();
        // The laboratory draws the roles from the seed.
        assert_eq!(schedule::block(asked.plan.seed, 0, asked.plan.shape()).swapped, asked.swapped, "{line}");
        asked
    }

    #[test]
    fn nothing_said_is_what_iperf3_does() {
        let OneshotPlan { plan, cell, swapped, remote, .. } = asked("-c 192.0.2.7");
        assert_eq!((cell.test, cell.size, cell.flows, cell.rate, cell.nodelay), (Test::TcpStream, Bytes::new(131_072), 1, None, false));
        assert_eq!(
            (plan.end, plan.warmup, plan.progress),
            (PlanEnd::Length(Nanos::from_millis(10_000)), Nanos::new(0), Some(Nanos::from_millis(1_000)))
        );
        assert_eq!((plan.blocks.least, plan.blocks.most, plan.link.kind, plan.cells.len()), (1, 1, LinkKind::Network, 1));
        assert_eq!((swapped, remote.as_str(), plan.hosts["b"].agent().unwrap().port), (false, "192.0.2.7", model::plan::AGENT_PORT));
    }

    #[test]
    fn datagrams_bear_stamps_and_a_rate_as_in_iperf3() {
        let cell = asked("-c 192.0.2.7 -u").cell;
        assert_eq!((cell.test, cell.size, cell.stamp), (Test::UdpStream, Bytes::new(1_448), true));
        assert_eq!(cell.rate, Some(OfferedRate::Bits(model::BitRate::new(1_000_000))));
        assert_eq!(asked("-c 192.0.2.7 -u -b 0").cell.rate, None);
        assert!(!asked("-c 192.0.2.7 -u -l 15").cell.stamp && asked("-c 192.0.2.7 -u -l 16").cell.stamp);
        let cell = asked("-c 192.0.2.7 -u -b 50000/s --pacing spin").cell;
        assert_eq!((cell.rate, cell.pacing), (Some(OfferedRate::Messages(50_000)), Pacing::Spin));
        assert_eq!(asked("-c 192.0.2.7 -u -b 50000/s --arrivals poisson").cell.arrivals, Arrivals::Poisson);
    }

    #[test]
    fn who_sends() {
        let of = |line: &str| {
            let asked = asked(line);
            (asked.cell.test, asked.swapped)
        };
        assert_eq!(of("-c 192.0.2.7 -R"), (Test::TcpMaerts, true));
        assert_eq!(of("-c 192.0.2.7 --test tcp_maerts"), (Test::TcpMaerts, true));
        assert_eq!(of("-c 192.0.2.7 -uR"), (Test::UdpStream, true));
        assert_eq!(of("-c 192.0.2.7 --test TCP_CRR"), (Test::TcpCrr, false));
        for wrong in
            ["-c h --test TCP_MAERTS -R", "-c h --test TCP_RR -R", "-c h -R --bidir", "-c h -u --test TCP_RR", "-c h --test TCP_RR --bidir"]
        {
            assert!(try_asked(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bytes_and_blocks_are_of_all_flows() {
        let end = |line: &str| asked(line).plan.end;
        assert_eq!(end("-c 192.0.2.7 -n 1M -l 1K"), PlanEnd::Messages(1_024));
        assert_eq!(end("-c 192.0.2.7 -n 1000001 -l 1000"), PlanEnd::Messages(1_001));
        assert_eq!(end("-c 192.0.2.7 -n 1M -l 1K -P 4"), PlanEnd::Messages(256));
        assert_eq!(end("-c 192.0.2.7 -k 10 -P 4"), PlanEnd::Messages(3));
        assert_eq!(end("-c 192.0.2.7 -t 2.5"), PlanEnd::Length(Nanos::from_millis(2_500)));
        for wrong in ["-c h -n 0", "-c h -k 0", "-c h -n 1 -t 1", "-c h -i 0.01", "-c h -b 10M/16", "-c h -A x", "-c h -P 0", "-c h -l 0"] {
            assert!(try_asked(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_rest_of_the_letters() {
        let OneshotPlan { plan, cell, remote, .. } = asked("-c [2001:db8::7]:5000 -w 64K -N -C reno -A 2,3 -O 1 -i 0 -P 8 -p 7000 --bidir");
        assert_eq!(
            (cell.sndbuf, cell.rcvbuf, cell.nodelay, cell.cc.as_deref()),
            (Some(Bytes::new(65_536)), Some(Bytes::new(65_536)), true, Some("reno"))
        );
        assert_eq!((cell.family, cell.flows, cell.bidirectional), (Family::V6, 8, true));
        assert_eq!((plan.warmup, plan.progress, plan.cpus.len(), plan.cpus["b"][0]), (Nanos::from_millis(1_000), None, 2, 3));
        // The port of the host goes before that of -p.
        assert_eq!((plan.hosts["b"].agent().unwrap().port, remote.as_str()), (5_000, "[2001:db8::7]:5000"));
        assert_eq!(asked("-c 192.0.2.7 -p 7000").plan.hosts["b"].agent().unwrap().port, 7_000);
        assert_eq!(asked("-c 192.0.2.7:10984 -p 7000").plan.hosts["b"].agent().unwrap().port, 10_984);
        assert_eq!(asked("-c [2001:db8::7]:10984 -p 7000").plan.hosts["b"].agent().unwrap().port, 10_984);
        assert_eq!(asked("-c 2001:db8::7,data=192.0.2.7 -p 7000").plan.hosts["b"].agent().unwrap().port, 7_000);
    }

    #[test]
    fn the_factors_of_a_study_and_the_letters_for_them() {
        let cell = asked("-c 192.0.2.7 --api sender:sendmmsg,receiver:recvmmsg --batch 8 -u --waiting poll --work 1us -S 0x20").cell;
        assert_eq!((cell.api, cell.receive(), cell.batch, cell.waiting), (Api::Sendmmsg, Receive::Recvmmsg, 8, Waiting::Poll));
        assert_eq!((cell.work, cell.tos.map(model::Tos::byte), cell.stamp), (Nanos::new(1_000), Some(0x20), true));
        let api = |line: &str| asked(line).cell.api;
        assert_eq!([api("-c h4 -4 -Z"), api("-c h4 -4 -m"), api("-c h4 -4 --sctp")], [Api::Sendfile, Api::Mptcp, Api::Sctp]);
        assert_eq!(asked("-c h4 -4 --sctp").cell.size, Bytes::new(64 << 10));
        let association = asked("-c h4 -4 --sctp --nstreams 10 -X 192.0.2.1 -X 198.51.100.1").cell;
        let addresses = association.xbind.map(|addresses| addresses.to_string());
        assert_eq!((association.nstreams, addresses.as_deref()), (Some(10), Some("192.0.2.1+198.51.100.1")));
        assert_eq!(asked("-c h4 -4 --dscp ef").cell.tos, asked("-c h4 -4 --tos 184").cell.tos);
        // No number fits what the kernel reads late.
        assert!(!asked("-c h4 -4 -u --api zerocopy").cell.stamp);
        for wrong in [
            "--api send,gso",
            "--tos 256",
            "--dscp 64",
            "--dscp ef --tos 1",
            "-Z --api send",
            "-m -u",
            "--waiting sleep",
            "--api unix -S 1",
        ] {
            assert!(try_asked(&format!("-c h4 -4 {wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_host_that_a_command_starts() {
        let OneshotPlan { plan, cell, remote, address, .. } = asked("-c ssh:op@db1:2222 -p 7000 -t 1");
        assert_eq!((plan.hosts["b"].to_string().as_str(), remote.as_str()), ("ssh:op@db1:2222", "ssh:op@db1:2222"));
        assert_eq!((cell.family, address), (Family::V4, None));
        let OneshotPlan { cell, address, .. } = asked("-c slurm:n1,data=2001:db8::7 -t 1");
        assert_eq!((cell.family, address), (Family::V6, Some("2001:db8::7".parse().unwrap())));
        assert!(try_asked("-c ssh:-oX=y").unwrap_err().contains("cannot begin with '-'"));
    }

    #[test]
    fn scheduled_datagrams_have_room_for_a_number() {
        let size = |line: &str| asked(line).cell.size.get();
        assert_eq!(size("-c 192.0.2.7 --test UDP_RR"), 1);
        assert_eq!(size("-c 192.0.2.7 --test UDP_RR -b 0"), 1);
        assert_eq!(size("-c 192.0.2.7 --test UDP_RR -b 1000/s"), 4);
        assert_eq!(size("-c 192.0.2.7 --test UDP_RR -b 1000/s -l 2"), 2);
        assert_eq!(size("-c 192.0.2.7 --test TCP_RR -b 1000/s"), 1);
    }

    #[test]
    fn a_name_of_both_families_is_measured_over_the_one_that_answers() {
        let all: Vec<SocketAddr> = ["[2001:db8::7]:1", "192.0.2.7:1"].map(|text| text.parse().unwrap()).into();
        let (v6, v4) = (all[0].ip(), all[1].ip());
        let unasked = || -> Result<IpAddr, Failure> { panic!("nothing is open") };
        assert_eq!(choose(None, &all, || Ok(v4)).unwrap(), (Family::V4, Some(v4)));
        assert_eq!(choose(None, &all, || Ok(v6)).unwrap(), (Family::V6, Some(v6)));
        assert_eq!(choose(Some(Family::V4), &all, unasked).unwrap(), (Family::V4, Some(v4)));
        assert_eq!(choose(None, &all[..1], unasked).unwrap(), (Family::V6, Some(v6)));
        // What cannot be looked up is told later, with the remedy.
        assert_eq!(choose(None, &[], unasked).unwrap(), (Family::V4, None));
        assert!(choose(None, &all, || Err(Failure::misuse("no agent"))).is_err());
    }
}
