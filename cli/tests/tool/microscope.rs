//! The microscope without a guest: what it refuses, what it plans, and what it makes of
//! recorded counts. `make test-guests` boots guests.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::stored_runs::data;
use crate::support::Skip;
use crate::support::tool::{Answer, Tool};

crate::claims!(
    what_cannot_be_understood_is_misuse,
    without_a_network_what_is_missing_is_named,
    an_emulator_without_plugins_is_named,
    a_cache_that_cannot_be_is_named,
    a_dry_run_says_what_would_be_done,
    the_cache_is_listed_and_pruned,
    the_step_between_two_kernels_is_found_and_named_by_its_path,
    a_threshold_is_a_gate,
    files_that_are_no_counts_are_named,
    the_scenarios_are_those_of_the_page,
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
    ] {
        let answer = microscope(&tool, arguments);
        let code = match words[0] {
            words if words.starts_with("read") => 1,
            words if words.starts_with("--limit") => 128,
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

/// A program in PATH that looks like QEMU as far as `--version` goes.
fn with_emulator(tool: &Tool, symbols: &str, arguments: &[&str]) -> Answer {
    let folder = tool.path().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("qemu-system-x86_64");
    let script =
        format!("#!/bin/sh\n[ \"$1\" = --version ] && echo QEMU emulator version 10.0 && exit\necho could not boot >&2\nexit 1\n{symbols}");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = tool.command(&[&["microscope", "--cache", "cache", "--offline"], arguments].concat());
    command.env("PATH", format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())).output().unwrap().into()
}

fn an_emulator_without_plugins_is_named() -> Result<(), Skip> {
    let tool = Tool::new();
    with_emulator(&tool, "", &[]).refused(1, &["qemu-system-x86_64 has no plugins", "install another QEMU"]);
    let new = "\0qemu_plugin_register_vcpu_tb_trans_cb\0qemu_plugin_scoreboard_new\0";
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

fn a_dry_run_says_what_would_be_done() -> Result<(), Skip> {
    let tool = Tool::new();
    let answer =
        microscope(&tool, &["--kernel", "6.12,./vmlinuz", "--scenario", "getppid,udp,veth-udp", "--size", "112", "--dry-run"]).done();
    insta::assert_snapshot!("microscope_dry_run", answer.stdout);
    let json = microscope(&tool, &["diff", "6.12", "6.18", "--dry-run", "-J"]).done().json();
    assert_eq!(json["boots"], 6, "{json:#}");
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
