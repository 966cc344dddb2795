//! nettoll in guests of the oldest, the newest and other kernels: what each
//! offers, and that a study and a receipt run there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};
use std::{env, fs};

use microscope::Failed;
use microscope::cache::Cache;
use microscope::emulator::Emulator;
use microscope::errand::{Errand, ErrandOutput, USUAL};
use microscope::kernel::Kernel;
use microscope::packages;
use model::check::Check;
use serde_json::Value;
use testkit::claims::Skip;
use testkit::guest;

use super::table;

testkit::claims!(
    the_table_of_kernels_is_that_of_the_docs,
    no_kernel_is_newer_than_the_table,
    quick_can_run_on_every_kernel,
    a_study_runs_on_old_and_new_kernels,
    streams_over_other_protocols_are_whole_on_old_and_new_kernels,
    a_receipt_is_made_on_old_and_new_kernels,
    a_receipt_counts_each_datagram_once,
    top_shows_a_window_on_every_kernel,
);

/// Series of the table, the oldest first: the oldest and the newest that have packages, and
/// those between them that distributions keep for long.
const SERIES: [&str; 5] = ["5.10", "6.1", "6.12", "6.18", "7.3"];
/// Those on which studies run as well: the oldest, the newest and one between.
const STUDIED: [&str; 3] = ["5.10", "6.12", "7.3"];

/// Modules that a distribution's kernel loads when they are asked for: a guest has nothing
/// that would.
const MODULES: [&str; 14] = [
    "veth",
    "sch_tbf",
    "tcp_bbr",
    "tcp_dctcp",
    "sctp",
    "tls",
    // The cipher of `ktls`, by the processor and without it.
    "aesni_intel",
    "ctr",
    "ghash_generic",
    "gcm",
    "vsock_loopback",
    "udp_diag",
    "tcp_diag",
    "af_packet",
];

/// A plan of a few blocks of short trials: both ends are on one emulated processor.
fn plan(name: &str, rest: &str) -> String {
    format!("name = \"guest-{name}\"\ntrial = {{ length = \"40ms\", warmup = \"5ms\" }}\nblocks = {{ least = 2, most = 2 }}\n{rest}")
}

/// Plans by name, beyond what they have in common. The last has streams of bytes over other
/// protocols than TCP, of which some machines have none.
const PLANS: [(&str, &str); 3] = [
    ("study", "[[cells]]\ntest = [\"TCP_STREAM\", \"UDP_STREAM\", \"TCP_RR\", \"UDP_RR\"]\nsize = 64\nnodelay = true\n"),
    ("receipt", "receipt = { samples = 300 }\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = 64\n"),
    (
        "others",
        "[[cells]]\ntest = [\"TCP_STREAM\", \"TCP_MAERTS\", \"TCP_RR\"]\napi = [\"sctp\", \"ktls\", \"vsock\"]\nsize = 1024\nnodelay = true\n\
         [[cells]]\ntest = \"TCP_STREAM\"\napi = \"sctp\"\nsize = 1024\nlink = \"loopback\"\nnstreams = 7\nxbind = \"127.0.0.1+127.0.0.2\"\n",
    ),
];

/// What each datagram is once on its way, under the names that kernels and ways of counting have.
const ONCE: [&str; 3] = ["udp_sendmsg", "netif_rx_internal", "net:netif_rx"];

type Guests = BTreeMap<&'static str, ErrandOutput>;

fn guests() -> Result<&'static Guests, Skip> {
    static GUESTS: OnceLock<Result<Guests, String>> = OnceLock::new();
    GUESTS.get_or_init(boot_all).as_ref().map_err(|why| Skip(why.clone()))
}

/// Boots every kernel, two at a time.
fn boot_all() -> Result<Guests, String> {
    let program = guest::with_libraries(&[("nettoll", &guest::program().map_err(|Skip(why)| why)?)]);
    let open = || -> Result<_, Failed> {
        let cache = Cache::open(None)?;
        let emulator = Emulator::find(&cache, false)?;
        let kernel = |series: &'static str| Kernel::find(&cache, series, None, false).map(|kernel| (series, kernel));
        let kernels = SERIES.into_iter().map(kernel).collect::<Result<Vec<_>, _>>()?;
        Ok((cache, emulator, kernels))
    };
    let (cache, emulator, kernels) = open().map_err(|why| why.to_string())?;
    let (next, ran) = (Mutex::new(kernels.iter()), Mutex::new(Guests::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((series, kernel)) = next.lock().unwrap().next() else { return };
                    let guest = boot(&cache, &emulator, kernel, &program, STUDIED.contains(series));
                    ran.lock().unwrap().insert(series, guest);
                }
            });
        }
    });
    Ok(ran.into_inner().unwrap())
}

fn boot(cache: &Cache, emulator: &Emulator, kernel: &Kernel, program: &BTreeMap<String, Vec<u8>>, studied: bool) -> ErrandOutput {
    let mut commands = vec![("doctor", "/nettoll doctor -J".to_owned()), ("top", "/nettoll top --once -J -t 1s".to_owned())];
    let plans = PLANS.map(|(name, rest)| (name, format!("{name}.toml"), plan(name, rest)));
    if studied {
        commands.extend(plans.iter().map(|(name, file, _)| (*name, format!("/nettoll study --plan /{file} -J"))));
    }
    let plans = plans.iter().map(|(_, file, text)| (file.as_str(), text.as_bytes()));
    let files: Vec<(&str, &[u8])> = program.iter().map(|(path, content)| (path.as_str(), content.as_slice())).chain(plans).collect();
    let errand = Errand { kernel, size: USUAL, modules: &MODULES, files: &files, cards: None, commands: &commands };
    errand.run(cache, emulator).unwrap_or_else(|why| panic!("{}: {why}", kernel.name))
}

/// What a command wrote, which ended well.
fn wrote(series: &str, ran: &ErrandOutput, command: &str) -> String {
    let ended = ran.ended(command).unwrap_or_else(|why| panic!("{series}: {why}"));
    assert_eq!(ended.code, 0, "{series}: {command}: {}", ended.wrote);
    ended.wrote
}

/// The JSON that a command wrote.
fn json(series: &str, command: &str) -> Result<Value, Skip> {
    let text = wrote(series, &guests()?[series], command);
    // Notes go to the other output, before the result, and the console may cut their end off.
    let from = text.find("{\n").unwrap_or(0);
    Ok(serde_json::from_str(&text[from..]).unwrap_or_else(|error| panic!("{series}: {error}: {text}")))
}

fn checks(series: &str, ran: &ErrandOutput) -> Vec<Check> {
    let text = wrote(series, ran, "doctor");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{series}: {error}: {text}"))
}

/// The window that `top` shows.
fn window(series: &str, ran: &ErrandOutput) -> Value {
    let text = wrote(series, ran, "top");
    let line = text.lines().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{series}: {text}"));
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{series}: {error}: {text}"))
}

fn quick_can_run_on_every_kernel() -> Result<(), Skip> {
    for (series, ran) in guests()? {
        // doctor fails where it cannot.
        assert!(!checks(series, ran).is_empty(), "{series}");
    }
    Ok(())
}

/// What a kernel lacks is refused with the release that has it, and the rest is shown.
fn top_shows_a_window_on_every_kernel() -> Result<(), Skip> {
    for (series, ran) in guests()? {
        let found = window(series, ran);
        let refused = found["refused"].to_string();
        println!("{series}: {} of {} samples, refused {refused}", found["samples"]["made"], found["samples"]["due"]);
        assert!(found["network"].is_object() && found["samples"]["made"].as_u64().unwrap() > 0, "{series}: {found}");
        let older = |than: [u32; 2]| {
            let mut numbers = series.split('.').map(|number| number.parse::<u32>().unwrap());
            [numbers.next().unwrap(), numbers.next().unwrap()] < than
        };
        for (lacking, since) in [("Use Linux 5.15", [5, 15]), ("Use Linux 6.3", [6, 3])] {
            assert_eq!(refused.contains(lacking), older(since), "{series}: {refused}");
        }
    }
    Ok(())
}

/// The page whose table is made here.
fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/kernels.md")
}

fn the_table_of_kernels_is_that_of_the_docs() -> Result<(), Skip> {
    let guests = guests()?;
    let columns: Vec<table::Kernel> = SERIES
        .iter()
        .map(|series| table::Kernel { series, release: guests[series].release().to_owned(), checks: checks(series, &guests[series]) })
        .collect();
    let made = table::write(&columns);
    let page = page();
    let text = fs::read_to_string(&page).unwrap();
    let held = table::held(&text).expect("docs/kernels.md has lost the marks around its table");
    if env::var_os("NETTOLL_UPDATE_EXPECTED").is_some() {
        fs::write(&page, table::renewed(&text, &made).unwrap()).unwrap();
        return Ok(());
    }
    // Packages are replaced every few weeks by others of the same series.
    let [made_without, held_without] = [made.as_str(), held].map(table::without_releases);
    assert_eq!(made_without, held_without, "docs/kernels.md is out of date: `NETTOLL_UPDATE_EXPECTED=1 make test-guests` renews it");
    if made != held {
        println!("docs/kernels.md names older packages than those that were booted, which offer the same");
    }
    Ok(())
}

fn no_kernel_is_newer_than_the_table() -> Result<(), Skip> {
    let cache = Cache::open(None).map_err(|why| Skip(why.to_string()))?;
    let known = packages::available(&cache, false).map_err(|why| Skip(why.to_string()))?;
    let all = packages::series(&known);
    let newest = all.last().ok_or_else(|| Skip("no package of a kernel is known".to_owned()))?;
    assert_eq!(newest.as_str(), SERIES[SERIES.len() - 1], "packages have a newer kernel than docs/kernels.md: put it into SERIES");
    assert_eq!(all[0], SERIES[0], "packages have an older kernel than docs/kernels.md: put it into SERIES");
    Ok(())
}

fn a_study_runs_on_old_and_new_kernels() -> Result<(), Skip> {
    for series in STUDIED {
        let report = json(series, "study")?;
        assert_eq!((&report["failed"], &report["trials"]), (&Value::from(0), &Value::from(8)), "{series}: {:#}", report["findings"]);
        // Every datagram that was sent is received, or in a counter of the kernel.
        assert_eq!(report["datagrams"]["unaccounted"], 0, "{series}: {}", report["datagrams"]);
        assert!(report["datagrams"]["sent"].as_u64().unwrap() > 100, "{series}: {}", report["datagrams"]);
        println!("{series}: {} trials, {} datagrams, 0 unaccounted", report["trials"], report["datagrams"]["sent"]);
    }
    Ok(())
}

fn streams_over_other_protocols_are_whole_on_old_and_new_kernels() -> Result<(), Skip> {
    for series in STUDIED {
        let report = json(series, "others")?;
        let planned = [&report["trials"], &report["failed"]].map(|count| count.as_u64().unwrap_or_default()).iter().sum::<u64>();
        assert_eq!(planned, 20, "{series}: {:#}", report["findings"]);
        // The oldest kernel's package has no module of TLS.
        let texts = report["findings"].as_array().into_iter().flatten().filter_map(|finding| finding["text"].as_str());
        let failed: Vec<&str> = texts.filter(|text| text.contains("trials failed")).collect();
        let named = failed.iter().all(|text| text.contains("this kernel has no TLS"));
        assert!(named && (failed.is_empty() || series == SERIES[0]), "{series}: {failed:#?}");
        // An association that has other streams or addresses than it was asked for is a finding.
        assert!(!report["findings"].to_string().contains("SCTP_"), "{series}: {:#}", report["findings"]);
        for cell in report["cells"].as_array().unwrap() {
            println!("{series}: {} by {}: {}", cell["cell"]["test"], cell["cell"]["api"], cell["metrics"]["messages_per_s"]);
        }
    }
    Ok(())
}

fn a_receipt_is_made_on_old_and_new_kernels() -> Result<(), Skip> {
    for series in STUDIED {
        let report = json(series, "receipt")?;
        for end in ["sender", "receiver"] {
            let outcome = &report["receipt"]["cells"][0][end]["outcome"];
            let samples = outcome["made"]["samples"].as_u64();
            println!("{series}: {end}: {samples:?} samples");
            assert!(samples.is_some_and(|samples| samples >= 50), "{series}: {outcome:#}");
        }
    }
    Ok(())
}

/// Programs at some hundred functions take an emulated processor longer to put in place and to
/// take away than a host may be silent: a pass that is lost to that is named, not passed.
fn a_receipt_counts_each_datagram_once() -> Result<(), Skip> {
    let mut lost = Vec::new();
    for series in STUDIED {
        let report = json(series, "receipt")?;
        let calls = report["receipt"]["cells"][0]["sender"]["outcome"]["made"]["calls"].as_object().cloned().unwrap_or_default();
        let once = ONCE.iter().filter_map(|name| calls.get(*name)).collect::<Vec<_>>();
        // Tracepoints have a colon in their names, functions none.
        let functions = calls.keys().filter(|name| !name.contains(':')).count();
        println!("{series}: {} names counted, {functions} of them functions", calls.len());
        assert!(once.iter().all(|calls| calls["per_message"]["value"] == 1.0), "{series}: {once:#?}");
        let failed = report["findings"].as_array().into_iter().flatten().filter_map(|finding| finding["text"].as_str());
        lost.extend(failed.filter(|text| text.contains("failed: host")).map(|text| format!("{series}: {text}")));
        assert!(
            (!once.is_empty() && functions > 0) || !lost.is_empty(),
            "{series}: function entries are not counted, and nothing says why: {calls:#?}"
        );
    }
    if lost.is_empty() { Ok(()) } else { Err(Skip(lost.join("; "))) }
}
