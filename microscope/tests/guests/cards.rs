//! nettoll over cards that read and write frames themselves: two of virtio in one guest, a cable
//! between them, an agent at the second.

use microscope::cache::Cache;
use microscope::emulator::Emulator;
use microscope::errand::{Cards, Errand, USUAL};
use microscope::kernel::Kernel;
use serde_json::Value;
use testkit::claims::Skip;
use testkit::guest;

testkit::claims!(frames_go_without_a_copy_where_a_card_has_it,);

/// Its driver of virtio has AF_XDP without a copy, for what comes and what goes (since Linux 6.13).
const SERIES: &str = "7.3";
const SECRET: &[u8] = b"a secret of this guest alone, 32 bytes or more\n";
const AGENT: &str = "/nettoll agent --listen 10.9.0.2 --secret-file /secret --keep-capabilities perfmon,bpf,syslog,net_admin,net_raw";
/// Either end with a copy and without.
const PLAN: &str = "name = \"cards\"\ntrial = { length = \"40ms\", warmup = \"5ms\" }\nblocks = { least = 2, most = 2 }\n\
    [[cells]]\ntest = \"UDP_STREAM\"\nsize = [64, 1024]\napi = \"xdp-zerocopy\"\nreceive = [\"recv\", \"xdp-zerocopy\"]\n\
    [[cells]]\ntest = \"UDP_STREAM\"\nsize = 64\napi = \"xdp\"\nreceive = \"xdp-zerocopy\"\n";
const TRIALS: u64 = 10;

fn frames_go_without_a_copy_where_a_card_has_it() -> Result<(), Skip> {
    let program = guest::with_libraries(&[("nettoll", &guest::program()?)]);
    let absent = |why: microscope::Failed| Skip(why.to_string());
    let cache = Cache::open(None).map_err(absent)?;
    let emulator = Emulator::find(&cache, false).map_err(absent)?;
    let kernel = Kernel::find(&cache, SERIES, None, false).map_err(absent)?;
    let commands = [
        ("doctor", "/nettoll doctor -J".to_owned()),
        ("study", "/nettoll study --plan /cards.toml --host b=10.9.0.2 --secret-file /secret -J".to_owned()),
    ];
    let program = program.iter().map(|(path, content)| (path.as_str(), content.as_slice()));
    let files: Vec<(&str, &[u8])> = program.chain([("secret", SECRET), ("cards.toml", PLAN.as_bytes())]).collect();
    let cards = Some(Cards { beyond: AGENT });
    let errand = Errand { kernel: &kernel, size: USUAL, modules: &["af_packet"], files: &files, cards, commands: &commands };
    let ran = errand.run(&cache, &emulator).unwrap_or_else(|why| panic!("{}: {why}", kernel.name));
    let doctor = ran.ended("doctor").unwrap();
    let checks: Value = serde_json::from_str(&doctor.wrote).unwrap_or_else(|error| panic!("{error}: {}", doctor.wrote));
    for name in ["xdp-zerocopy", "received by xdp-zerocopy"] {
        let check = checks.as_array().into_iter().flatten().find(|check| check["name"] == name);
        assert!(check.is_some_and(|check| check.to_string().contains("eth0")), "{name}: {check:?}");
    }
    let study = ran.ended("study").unwrap_or_else(|why| panic!("{why}: {:?} {:?}", ran.log.failures, ran.ended("beyond")));
    let report: Value = serde_json::from_str(&study.wrote[study.wrote.find("{\n").unwrap_or(0)..])
        .unwrap_or_else(|error| panic!("{error}: {}", study.wrote));
    assert!(report["trials"].is_u64(), "no report: {}", study.wrote);
    assert_eq!((&report["failed"], &report["trials"]), (&Value::from(0), &Value::from(TRIALS)), "{:#}", report["findings"]);
    assert_eq!(report["datagrams"]["unaccounted"], 0, "{}", report["datagrams"]);
    assert!(report["datagrams"]["sent"].as_u64().unwrap() > 100, "{}", report["datagrams"]);
    println!("{SERIES}: {} datagrams without a copy, 0 unaccounted", report["datagrams"]["sent"]);
    Ok(())
}
