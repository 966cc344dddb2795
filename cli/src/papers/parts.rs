//! Parts of `nettoll papers`: the command that measures each, and the papers that it is for.

use model::Plan;
use model::plan::ApprovedPlan;

use crate::args::{self, Command, MicroscopeArgs};
use crate::exit::Failure;
use crate::{study, workload};

/// Requirement of a part beyond sockets and links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// None.
    Nothing,
    /// Samples of the CPUs.
    Receipts,
    /// QEMU on this machine: `papers` fetches none.
    Emulator,
    /// The run of this part, from whose sizes it is predicted.
    Run(&'static str),
}

/// A part.
#[derive(Debug)]
pub struct Part {
    /// Its name. Its plan has the same behind [`PREFIX`].
    pub name: &'static str,
    /// Years of the papers that it is for; it is listed below the first.
    pub years: &'static [u16],
    /// The command that measures it.
    whole: &'static str,
    /// The same for `--quick`.
    quick: &'static str,
    /// What it needs.
    pub needs: Need,
}

/// Start of a plan's name that makes its runs parts.
pub const PREFIX: &str = analysis::published::PARTS;

/// All parts, in the order in which they are measured.
#[rustfmt::skip]
pub const PARTS: &[Part] = &[
    Part { name: "cabrera1984", years: &[1984], needs: Need::Nothing,
        whole: "study cabrera1984",
        quick: "study cabrera1984 --length 100ms --warmup 20ms" },
    Part { name: "repetitions", years: &[1984], needs: Need::Nothing,
        whole: "study repetitions",
        quick: "study repetitions --count 500,1000,2000,4000,6500,9000 --blocks 12" },
    Part { name: "host-load", years: &[1984], needs: Need::Nothing,
        whole: "study host-load",
        quick: "study host-load --size 1,1024 --load 0,sender:1,sender:2,sender:4,receiver:1,receiver:4,both:1" },
    Part { name: "link-load", years: &[1984], needs: Need::Nothing,
        whole: "study link-load --blocks 6",
        quick: "study link-load --blocks 6 --link-load 0,3x750K --length 200ms --warmup 50ms" },
    // The link in place of the interface, and the sizes next to which an mbuf of 1984 became a page.
    Part { name: "links", years: &[1984], needs: Need::Nothing,
        whole: "study cabrera1984 --test TCP_STREAM,UDP_STREAM --size 1,1460 --link 'ethernet 3M,ethernet 10M,veth,loopback' --length 300ms --warmup 100ms",
        quick: "study cabrera1984 --test TCP_STREAM,UDP_STREAM --size 1,1460 --link 'ethernet 3M,ethernet 10M,veth' --length 100ms --warmup 20ms" },
    Part { name: "boundaries", years: &[1984], needs: Need::Nothing,
        whole: "study size --size 112,113,1023,1024,1025,1460,1472,1473 --blocks 12",
        quick: "study size --size 1023,1024,1025 --blocks 12" },
    Part { name: "udp-buffers", years: &[1984], needs: Need::Nothing,
        whole: "study size --test UDP_STREAM --size 1024 --link 'ethernet 10M' --sndbuf 2304,8192 --rcvbuf 4096,8192 --blocks 12",
        quick: "study size --test UDP_STREAM --size 1024 --link 'ethernet 10M' --sndbuf 2304,8192 --rcvbuf 4096,8192 --blocks 8" },
    Part { name: "jacobson1988", years: &[1988], needs: Need::Nothing,
        whole: "study jacobson1988",
        quick: "study jacobson1988 --bytes 256K" },
    Part { name: "buffers", years: &[1988], needs: Need::Nothing,
        whole: "study buffers",
        quick: "study buffers --sndbuf 2900,5200,7500,9800,13300 --rcvbuf 5450,6950,9300,11700,14900" },
    Part { name: "receipt", years: &[1993, 1997, 1984], needs: Need::Receipts,
        whole: "study receipt --size 1,100,300,500,1440,1448,8192,16384",
        quick: "study receipt --size 1,1440,16384 --samples 2000" },
    Part { name: "checksums", years: &[1993, 1984], needs: Need::Receipts,
        whole: "study receipt --size 1,1448,16384 --offload tx=off,rx=off",
        quick: "study receipt --size 1,16384 --offload tx=off,rx=off --samples 2000" },
    Part { name: "W1", years: &[1993], needs: Need::Run("receipt"),
        whole: "workload W1",
        quick: "workload W1" },
    Part { name: "bidulock2007", years: &[2007], needs: Need::Nothing,
        whole: "study bidulock2007",
        quick: "study bidulock2007 --link loopback --length 100ms --warmup 20ms" },
    Part { name: "processors", years: &[2007], needs: Need::Nothing,
        whole: "study bidulock2007 --link loopback --size 1..512:x2 --api send,tpi-streams --placement same-core,other-core --length 150ms --warmup 30ms",
        quick: "study bidulock2007 --link loopback --size 1,16,256 --api send,tpi-streams --placement same-core,other-core --length 150ms --warmup 30ms" },
    Part { name: "send-buffers", years: &[2007], needs: Need::Nothing,
        whole: "study size --test UDP_STREAM --link loopback --sndbuf 4K,16K,131071 --blocks 8",
        quick: "study size --test UDP_STREAM --link loopback --sndbuf 4K,16K,131071 --size 64,1024 --blocks 8" },
    Part { name: "priorities", years: &[2007], needs: Need::Nothing,
        whole: "study priorities --test UDP_STREAM --load 0 --placement same-core",
        quick: "study priorities --test UDP_STREAM --load 0 --placement same-core --size 1472" },
    Part { name: "loopback", years: &[2007], needs: Need::Receipts,
        whole: "study receipt --test UDP_STREAM --size 1,1448 --link loopback --samples 2000",
        quick: "study receipt --test UDP_STREAM --size 1448 --link loopback --samples 2000" },
    Part { name: "microscope", years: &[1997], needs: Need::Emulator,
        whole: "microscope --scenario tcp --size 100,300,500,1440",
        quick: "microscope --scenario tcp --size 100,300,500,1440" },
];

/// What a part does.
pub enum Work {
    /// It carries out a plan.
    Trials(Box<ApprovedPlan>),
    /// It counts in an emulated machine.
    Counts(Box<MicroscopeArgs>),
}

impl Work {
    /// The plan, of trials.
    pub fn plan(&self) -> Option<&ApprovedPlan> {
        match self {
            Self::Trials(plan) => Some(plan),
            Self::Counts(_) => None,
        }
    }
}

impl Part {
    /// The command without the program's name.
    pub const fn command(&self, quick: bool) -> &'static str {
        if quick { self.quick } else { self.whole }
    }

    /// The part of this name.
    ///
    /// # Errors
    /// There is none; the tests try all.
    pub fn named(name: &str) -> Result<&'static Self, Failure> {
        PARTS.iter().find(|part| part.name == name).ok_or_else(|| Failure::misuse(format!("there is no part '{name}'")))
    }

    /// What it does, its trials in an order drawn from the seed.
    ///
    /// # Errors
    /// A command that cannot be understood; the tests try all.
    pub fn work(&self, quick: bool, seed: u64) -> Result<Work, Failure> {
        let approved = match args::command(words(self.command(quick)))? {
            Some(Command::Study(args)) => study::plan(&args, args.extent.length, seed)?.plan,
            Some(Command::Workload(args)) => {
                let Need::Run(sizes) = self.needs else { return Err(self.no_part()) };
                let Work::Trials(sizes) = Self::named(sizes)?.work(quick, seed)? else { return Err(self.no_part()) };
                workload::like(&sizes, &args, seed)?
            }
            Some(Command::Microscope(args)) => return Ok(Work::Counts(args)),
            _ => return Err(self.no_part()),
        };
        let plan = Plan { name: format!("{PREFIX}{}", self.name), ..approved.clone().into_plan() };
        Ok(Work::Trials(Box::new(approved.carry_over(plan)?)))
    }

    fn no_part(&self) -> Failure {
        Failure::misuse(format!("'{}' cannot be a part of `nettoll papers`", self.whole))
    }
}

/// The words of a command; quotes hold some together.
fn words(command: &str) -> Vec<&str> {
    let pieces = command.split('\'').enumerate();
    pieces.flat_map(|(place, piece)| if place % 2 == 0 { piece.split_whitespace().collect() } else { vec![piece] }).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Need, PARTS, PREFIX, Part, Work, words};
    use analysis::duration::PlanDuration;
    use literature::Study;

    /// Most seconds of all trials: the papers' 45 and 10 minutes less a fifth, which guests and analysis have.
    const MOST: [(bool, f64); 2] = [(false, 2_160.0), (true, 480.0)];

    #[test]
    fn every_part_is_a_plan_that_fits_its_time() {
        for (quick, most) in MOST {
            let mut sum = 0.0;
            for part in PARTS {
                let work = part.work(quick, 7).unwrap_or_else(|failure| panic!("{}: {failure}", part.name));
                let Some(plan) = work.plan() else { continue };
                assert_eq!(plan.name, format!("{PREFIX}{}", part.name));
                assert_eq!(plan.receipt.is_some(), part.needs == Need::Receipts, "{}", part.name);
                assert!(plan.seed == 7 && plan.hosts.is_empty() && plan.actions().is_empty(), "{}", part.name);
                let seconds = PlanDuration::of(plan).time.as_secs_f64();
                assert!(seconds > 0.0, "{}", part.name);
                sum += seconds;
            }
            assert!(sum <= most, "quick {quick}: {sum} s");
        }
    }

    #[test]
    fn parts_are_named_once_and_every_paper_has_one() {
        let names: BTreeSet<&str> = PARTS.iter().map(|part| part.name).collect();
        assert_eq!(names.len(), PARTS.len());
        for study in Study::ALL {
            assert!(PARTS.iter().any(|part| part.years.contains(&study.year())), "{}", study.name());
        }
        for (place, part) in PARTS.iter().enumerate() {
            if let Need::Run(name) = part.needs {
                let of = PARTS.iter().position(|one| one.name == name).unwrap();
                assert!(of < place && part.years.iter().all(|year| PARTS[of].years.contains(year)), "{name}");
            }
        }
        assert!(matches!(Part::named("microscope").unwrap().work(true, 1), Ok(Work::Counts(_))));
        assert_eq!(words("a --b 'c d,e f' g"), ["a", "--b", "c d,e f", "g"]);
    }
}
