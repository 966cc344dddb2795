//! The microscope without a guest: what it refuses, what it plans, and what it makes of
//! recorded counts. `make test-guests` boots guests.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::stored_runs::{copy, data};
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, processes, within};

crate::claims!(
    what_cannot_be_understood_is_misuse,
    without_a_network_what_is_missing_is_named,
    an_emulator_without_plugins_is_named,
    a_cache_that_cannot_be_is_named,
    a_full_disk_under_the_cache_is_named,
    a_dry_run_says_what_would_be_done,
    whichever_way_it_is_killed_no_guest_and_no_folder_is_left,
    the_cache_is_listed_and_pruned,
    the_step_between_two_kernels_is_found_and_named_by_its_path,
    a_threshold_is_a_gate,
    files_that_are_no_counts_are_named,
    the_scenarios_are_those_of_the_page,
    runs_of_the_microscope_are_shown_reported_and_compared,
    a_program_that_a_guest_cannot_run_is_named,
    messages_of_a_run_with_receipts_are_counted_and_others_named,
    exact_counts_of_a_run_stand_next_to_its_time,
);

/// The microscope with a cache of the test's own, and nothing fetched.
fn microscope(tool: &Tool, arguments: &[&str]) -> Answer {
    tool.run(&[&["microscope", "--cache", "cache", "--offline"], arguments].concat())
}

fn what_cannot_be_understood_is_misuse() -> Result<(), Skip> {
    let tool = Tool::new();
    for (arguments, words) in [
        (&["--scenario", "udpp", "--dry-run"][..], &["there is no scenario 'udpp'", "did you mean 'udp'?", "getppid"][..]),
        (&["--size", "1M", "--dry-run"], &["1048576 bytes cannot be sent", "from 1 to 65536"]),
        (&["--scenarios", "none.toml", "--dry-run"], &["read none.toml", "check the path"]),
        (&["6.12"], &["6.12"]),
        (&["count", "6.12"], &["'6.12' is for diff alone", "--kernel"]),
        (&["diff", "6.12"], &["diff needs two sides"]),
        (&["bisect-step", "--kernel", "./vmlinuz"], &["--limit MESSAGE=COUNT"]),
        (&["--append", "a\nb", "--dry-run"], &["one line"]),
        (&["diff", "6.12", "6.18", "--kernel", "6.1"], &["--kernel means nothing to diff of two kernels: it is for counting"]),
        (&["diff", "a.json", "b.json", "--append", "nosmt"], &["--append means nothing to diff of two files"]),
        (&["diff", "a.json", "b.json", "--seeds", "9"], &["--seeds means nothing to diff of two files: it is for diff of two kernels"]),
        (&["diff", "a.json", "b.json", "--messages", "200"], &["--messages means nothing to diff of two files"]),
        (&["--seeds", "3"], &["--seeds means nothing to counting"]),
        (&["bisect-step", "--limit", "udp-112=1", "--html"], &["--html means nothing to bisect-step"]),
        (&["cache", "--prune", "0", "--dry-run"], &["--dry-run means nothing to cache"]),
        (&["bisect-step", "--limit", "udp-112=1", "--threshold", "1%"], &["--threshold means nothing to bisect-step"]),
    ] {
        let answer = microscope(&tool, arguments);
        let code = match words[0] {
            words if words.starts_with("read") => 1,
            // 2 would be a verdict on the commit.
            _ if arguments[0] == "bisect-step" => 128,
            _ => 2,
        };
        answer.refused(code, words);
    }
    tool.write("mine.toml", "[[scenario]]\nname = 'x'\ntitle = 'y'\nrun = 'kind=udp'\nwhat = 1\n");
    microscope(&tool, &["--scenarios", "mine.toml", "--dry-run"]).refused(2, &["mine.toml", "unknown field `what`"]);
    Ok(())
}

fn without_a_network_what_is_missing_is_named() -> Result<(), Skip> {
    let tool = Tool::new();
    let mut command = tool.command(&["microscope", "--cache", "cache", "--offline"]);
    let answer: Answer = command.env("PATH", "/nonexistent").output().unwrap().into();
    answer.refused(1, &["no QEMU for x86-64 with plugins", "fetching is switched off", "qemu-system-x86"]);
    // With JSON, the failure is JSON too.
    let mut command = tool.command(&["microscope", "-J", "--cache", "cache", "--offline"]);
    let answer: Answer = command.env("PATH", "/nonexistent").output().unwrap().into();
    answer.refused_in_json(1, &["no QEMU"]);
    Ok(())
}

/// Symbols of a QEMU with plugins.
const NEW: &str = "\0qemu_plugin_register_vcpu_tb_trans_cb\0qemu_plugin_scoreboard_new\0";

/// Makes a program in `bin` that looks like QEMU as far as `--version` goes.
fn make_emulator(tool: &Tool, symbols: &str) {
    let folder = tool.path().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("qemu-system-x86_64");
    let script =
        format!("#!/bin/sh\n[ \"$1\" = --version ] && echo QEMU emulator version 10.0 && exit\necho could not boot >&2\nexit 1\n{symbols}");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The microscope with such a program in PATH.
fn with_emulator(tool: &Tool, symbols: &str, arguments: &[&str]) -> Answer {
    make_emulator(tool, symbols);
    let folder = tool.path().join("bin");
    let mut command = tool.command(&[&["microscope", "--cache", "cache", "--offline"], arguments].concat());
    command.env("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())).output().unwrap().into()
}

fn an_emulator_without_plugins_is_named() -> Result<(), Skip> {
    let tool = Tool::new();
    with_emulator(&tool, "", &[]).refused(1, &["qemu-system-x86_64 has no plugins", "install another QEMU"]);
    let new = NEW;
    with_emulator(&tool, new, &["--kernel", "6.12"]).refused(1, &["there is no kernel '6.12'", "none is cached"]);
    with_emulator(&tool, new, &["--kernel", "./vmlinuz"]).refused(1, &["read the kernel ./vmlinuz", "check the path"]);
    tool.write("vmlinuz", "no kernel");
    with_emulator(&tool, new, &["--kernel", "./vmlinuz"]).refused(1, &["QEMU ended before the guest did anything: could not boot"]);
    // For bisect, what has nothing to do with the kernel says nothing of the commit.
    let arguments = ["bisect-step", "--kernel", "./vmlinuz", "--limit", "udp-112=1"];
    with_emulator(&tool, new, &arguments).refused(128, &["could not boot"]);
    Ok(())
}

fn a_cache_that_cannot_be_is_named() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.write("file", "");
    tool.run(&["microscope", "cache", "--cache", "file/cache"]).refused(1, &["make the cache file/cache", "--cache DIR"]);
    Ok(())
}

fn a_full_disk_under_the_cache_is_named() -> Result<(), Skip> {
    let mounts = crate::bad_input::mounts()?;
    let tool = Tool::new();
    make_emulator(&tool, NEW);
    tool.write("vmlinuz", "no kernel");
    fs::create_dir(tool.path().join("cache")).unwrap();
    let script = "mount -t tmpfs -o size=4k,mode=700 none cache; PATH=$PWD/bin:$PATH exec $NETTOLL microscope --cache cache --offline --kernel ./vmlinuz";
    let words = ["write", "/cache/", "No space left on device", "microscope cache --prune 0", "--cache DIR on another disk"];
    tool.script(&mounts, script).refused(1, &words);
    // Nothing is fetched that has no room: apt, which would try for minutes, is not started.
    let fetching = script.replace("--offline --kernel ./vmlinuz", "--kernel 6.12");
    let words = ["fetch into the cache", "no storage space", "microscope cache --prune 0"];
    tool.script(&mounts, &fetching).refused(1, &words);
    Ok(())
}

/// A guest that hangs, and a microscope that is asked to end or killed: alone, not with its group.
fn whichever_way_it_is_killed_no_guest_and_no_folder_is_left() -> Result<(), Skip> {
    let tool = Tool::new();
    make_emulator(&tool, NEW);
    let program = tool.path().join("bin/qemu-system-x86_64");
    fs::write(&program, fs::read_to_string(&program).unwrap().replace("echo could not boot >&2\nexit 1", "exec sleep 300")).unwrap();
    tool.write("vmlinuz", "no kernel");
    let path = format!("{}:{}", tool.path().join("bin").display(), std::env::var("PATH").unwrap());
    let guests = || processes::of(&tool).into_iter().filter(|process| process.kind == "300").count();
    let folders = || fs::read_dir(tool.path().join("cache/scratch")).map_or(0, Iterator::count);
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGKILL] {
        let mut command = tool.command(&["microscope", "--cache", "cache", "--offline", "--kernel", "./vmlinuz"]);
        let mut microscope = command.env("PATH", &path).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        within(Duration::from_secs(20), "a guest runs", || guests() == 1);
        assert_eq!(folders(), 1);
        kill(Pid::from_raw(microscope.id().cast_signed()), signal).unwrap();
        assert!(!microscope.wait().unwrap().success());
        within(Duration::from_secs(1), &format!("{signal}: the guest is gone"), || guests() == 0);
        if signal == Signal::SIGKILL {
            // What it could not remove itself, the next one does when it starts.
            self::microscope(&tool, &["cache"]).done();
        }
        assert_eq!(folders(), 0, "{signal}");
    }
    Ok(())
}

fn a_dry_run_says_what_would_be_done() -> Result<(), Skip> {
    let tool = Tool::new();
    let answer =
        microscope(&tool, &["--kernel", "6.12,./vmlinuz", "--scenario", "getppid,udp,veth-udp", "--size", "112", "--dry-run"]).done();
    insta::assert_snapshot!("microscope_dry_run", answer.stdout);
    let json = microscope(&tool, &["diff", "6.12", "6.18", "--dry-run", "-J"]).done().json();
    assert_eq!(json["boots"], 6, "{json:#}");
    assert_eq!(json["seconds"], serde_json::json!({ "least": 60, "most": 720, "timed_boots": 0 }));
    // What boots took here says more.
    tool.write("cache/boots", "0 9000\n2200 35100\n400 95300\n");
    let answer = microscope(&tool, &["diff", "6.12", "6.18", "--size", "112", "--scenario", "udp", "--dry-run"]).done();
    answer.says("boots: 6, 210 to 576 s of one core's time (by the last 2 that were timed here)");
    let more = microscope(&tool, &["--messages", "100000", "--size", "112", "--scenario", "udp", "--dry-run"]).done();
    more.says("boots: 1, 35 s or more of one core's time");
    Ok(())
}

fn the_cache_is_listed_and_pruned() -> Result<(), Skip> {
    let tool = Tool::new();
    for (folder, bytes) in [("kernels/6.12.1-cloud-amd64", 3000), ("kernels/6.18.1-cloud-amd64", 1000)] {
        let folder = tool.path().join("cache").join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("vmlinuz"), vec![0; bytes]).unwrap();
    }
    let listed = microscope(&tool, &["cache", "-J"]).done().json();
    assert_eq!(listed["held"].as_array().unwrap().len(), 2, "{listed:#}");
    microscope(&tool, &["--kernel", "6.12", "--dry-run"]).done().says("6.12: 6.12.1-cloud-amd64 from the cache");
    microscope(&tool, &["cache", "--prune", "0"]).done().says("dropped kernels");
    microscope(&tool, &["cache"]).done().says("0 in");
    Ok(())
}

/// Counts of small UDP messages, three seeds a kernel, as `microscope -J` printed them.
fn recorded(tool: &Tool) -> [&'static str; 2] {
    ["6.12.json", "6.18.json"].map(|name| {
        fs::copy(data().join("microscope").join(name), tool.path().join(name)).unwrap();
        name
    })
}

fn the_step_between_two_kernels_is_found_and_named_by_its_path() -> Result<(), Skip> {
    let tool = Tool::new();
    let [before, after] = recorded(&tool);
    let text = microscope(&tool, &["diff", before, after]).done();
    text.says("skb_defer_free_flush > _find_next_bit");
    insta::assert_snapshot!("microscope_diff", text.stdout);
    let json = microscope(&tool, &["diff", before, after, "-J"]).done().json();
    let region = &json["regions"][0];
    assert_eq!(region["functions"][0]["function"]["key"], "_find_next_bit", "{:#}", region["functions"][0]);
    // Names and paths are cut before a figure goes.
    let row = microscope(&tool, &["diff", before, after, "-v"]).done();
    row.says("skb_defer_free_flush 0 70 +70");
    let chosen = microscope(&tool, &["diff", before, after, "--scenario", "udp", "--size", "112", "-J"]).done().json();
    assert_eq!(chosen["regions"].as_array().unwrap().len(), 1, "{chosen:#}");
    let none = microscope(&tool, &["diff", before, after, "--size", "1460"]);
    none.refused(2, &["no message of both files is of that scenario and size; they have udp-112"]);
    // A side does not differ from itself.
    let same = microscope(&tool, &["diff", before, before, "-J"]).done().json();
    assert!(same["regions"][0]["functions"].as_array().unwrap().is_empty(), "{same:#}");
    Ok(())
}

fn a_threshold_is_a_gate() -> Result<(), Skip> {
    let tool = Tool::new();
    let [before, after] = recorded(&tool);
    for (sides, threshold, code) in [([before, after], "1%", 3), ([before, after], "50%", 0), ([after, before], "1%", 0)] {
        let answer = microscope(&tool, &[&["diff"], &sides[..], &["--threshold", threshold]].concat());
        assert_eq!(answer.code, Some(code), "{answer:#?}");
    }
    Ok(())
}

fn files_that_are_no_counts_are_named() -> Result<(), Skip> {
    let tool = Tool::new();
    let [before, _] = recorded(&tool);
    tool.write("x.json", "{}");
    tool.write("y.json", "{\"format\": 9, \"measured\": []}");
    microscope(&tool, &["diff", before, "none.json"]).refused(1, &["read none.json"]);
    microscope(&tool, &["diff", before, "x.json"]).refused(1, &["x.json holds no counts"]);
    microscope(&tool, &["diff", before, "y.json"]).refused(2, &["format 9"]);
    microscope(&tool, &["diff", before, "6.18"]).refused(2, &["two of one kind"]);
    Ok(())
}

fn the_scenarios_are_those_of_the_page() -> Result<(), Skip> {
    let page = crate::docs::page("docs/microscope.md");
    let table = page.split("\n| scenario | one message |").nth(1).unwrap().split("\n\n").next().unwrap();
    let mut told: Vec<&str> =
        table.lines().skip(2).filter_map(|row| row.split('|').nth(1)).flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let refusal = microscope(&Tool::new(), &["--scenario", "?", "--dry-run"]).stderr;
    let mut known: Vec<&str> = refusal.trim().rsplit("There are: ").next().unwrap().split(", ").collect();
    told.sort_unstable();
    known.sort_unstable();
    assert_eq!(told, known);
    Ok(())
}

/// Stored runs of the microscope, one a kernel.
fn stored(tool: &Tool) -> [&'static str; 2] {
    for (place, file) in recorded(tool).into_iter().enumerate() {
        let folder = tool.path().join(format!("runs/2026-01-0{}T00-00-00Z-microscope-000{place}", place + 1));
        fs::create_dir_all(&folder).unwrap();
        fs::rename(tool.path().join(file), folder.join("exact.json")).unwrap();
    }
    ["microscope-0000", "microscope-0001"]
}

fn runs_of_the_microscope_are_shown_reported_and_compared() -> Result<(), Skip> {
    let tool = Tool::new();
    let [before, after] = stored(&tool);
    tool.run(&["show"]).done().says("2026-01-02T00-00-00Z-microscope-0001 kernel 6.18: udp-112 7,504");
    tool.run(&["show", before]).done().says("udp-112 7,025 7,025 7,028");
    let answer = tool.run(&["report", after]).done();
    answer.says("Report: runs/2026-01-02T00-00-00Z-microscope-0001/report.html");
    let page = fs::read_to_string(tool.path().join("runs/2026-01-02T00-00-00Z-microscope-0001/report.html")).unwrap();
    assert!(page.contains("<svg class=\"flame\""), "call paths are drawn");
    assert_eq!(tool.run(&["report", "latest", "-J"]).done().json()["measured"][0]["provenance"]["kernel"], "6.18");
    // What comparing runs says is what diff says of their counts.
    let compared = tool.run(&["compare", before, after, "--threshold", "1%"]);
    assert_eq!(compared.code, Some(3), "{compared:#?}");
    compared.says("skb_defer_free_flush > _find_next_bit");
    assert_eq!(tool.run(&["compare", before, after, "--threshold", "50%"]).code, Some(0));
    // Flags and runs of other kinds are refused by name.
    tool.run(&["report", before, "--csv"]).refused(2, &["this is a run of the microscope"]);
    tool.run(&["compare", before, after, "--markdown"]).refused(2, &["not for a run of the microscope"]);
    copy(&data().join("runs/sizes"), &tool.path().join("runs/sizes"));
    tool.run(&["compare", before, "sizes"]).refused(2, &["another of its kind"]);
    // A damaged one is listed, and says why it cannot be read.
    let place = tool.path().join("runs/2026-01-01T00-00-00Z-microscope-0000/exact.json");
    let text = fs::read_to_string(&place).unwrap();
    fs::write(&place, &text[..text.len() / 2]).unwrap();
    tool.run(&["show"]).done().says("microscope-0000 cannot be read");
    tool.run(&["show", before]).refused(1, &["exact.json holds no counts of the microscope"]);
    Ok(())
}

fn a_program_that_a_guest_cannot_run_is_named() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.write("script", "#!/bin/sh\n");
    let refused = |path: &str, words: &[&str]| microscope(&tool, &["--program", path, "--dry-run"]).refused(1, words);
    refused("none", &["read the program none", "check the path"]);
    refused("script", &["script is no program for x86-64"]);
    // The tool itself is linked with libraries, but where it was built without.
    let this = fs::read(std::env::current_exe().unwrap()).unwrap();
    if this.windows(8).any(|bytes| bytes == b"ld-linux") {
        fs::write(tool.path().join("dynamic"), this).unwrap();
        refused("dynamic", &["dynamic is not static", "-static"]);
    }
    Ok(())
}

fn messages_of_a_run_with_receipts_are_counted_and_others_named() -> Result<(), Skip> {
    let tool = Tool::new();
    for run in ["receipt", "sizes"] {
        copy(&data().join("runs").join(run), &tool.path().join("runs").join(run));
    }
    let planned = microscope(&tool, &["--run", "receipt", "--kernel", "6.12", "--dry-run"]).done();
    planned.says("veth-tcp-1448");
    planned.says("veth-udp-64");
    microscope(&tool, &["--run", "sizes", "--dry-run"]).refused(2, &["runs/sizes has no receipts", "study receipt"]);
    microscope(&tool, &["diff", "6.12", "6.18", "--run", "receipt"])
        .refused(2, &["--run means nothing to diff of two kernels", "counting the messages of a run"]);
    Ok(())
}

fn exact_counts_of_a_run_stand_next_to_its_time() -> Result<(), Skip> {
    let tool = Tool::new();
    copy(&data().join("runs/receipt"), &tool.path().join("runs/receipt"));
    let counted = fs::read(data().join("microscope/timed-receipt.json.gz")).unwrap();
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&counted[..]).read_to_end(&mut text).unwrap();
    fs::write(tool.path().join("runs/receipt/exact.json"), text).unwrap();
    let told = tool.run(&["report", "receipt"]).done().stdout;
    let section = &told[told.find("Time next to instructions").expect(&told)..];
    insta::assert_snapshot!("microscope_timed", section);
    let page = fs::read_to_string(tool.path().join("runs/receipt/report.html")).unwrap();
    assert!(page.contains("id=\"timed\""), "the page has the section");
    Ok(())
}
