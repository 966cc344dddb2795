//! Runs that another user wrote: whatever their files name, no command starts it, dials it or
//! waits for it before its user has seen it.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::{Value, json};

use crate::support::Skip;
use crate::support::stored::Stored;
use crate::support::tool::{Answer, Tool};

crate::claims!(
    nothing_that_a_stored_run_names_is_carried_out_unasked,
    a_run_of_somebody_else_is_not_gone_by,
    with_consent_it_is_carried_out,
    no_file_of_a_run_is_waited_for,
    no_file_that_a_command_names_is_waited_for,
    nothing_of_a_cache_of_somebody_else_is_started,
    a_named_file_that_others_can_write_starts_nothing,
);

const PLAN: &str = "name = \"sweep\"\n[[cells]]\ntest = \"UDP_STREAM\"\nsize = [1, 1000, 4000]\n";
const SHORT: [&str; 6] = ["-t", "20ms", "-O", "5ms", "--blocks", "2"];

/// Longest time of a command that reads; this machine may be busy.
const LIMIT: Duration = Duration::from_secs(60);

/// A run in which a trial is missing, so that there is something to resume.
struct Hostile {
    tool: Tool,
    stored: Stored,
    agent: TcpListener,
}

impl Hostile {
    fn new() -> Self {
        let tool = Tool::new();
        tool.study(PLAN, &SHORT).done();
        let stored = tool.stored();
        let lines = stored.text("trials.jsonl");
        let kept: String = lines.lines().take(lines.lines().count() - 1).map(|line| format!("{line}\n")).collect();
        stored.write("trials.jsonl", &kept);
        let agent = TcpListener::bind("127.0.0.1:0").unwrap();
        agent.set_nonblocking(true).unwrap();
        Self { tool, stored, agent }
    }

    fn mark(&self) -> PathBuf {
        self.tool.path().join("mark")
    }

    fn touch(&self) -> String {
        format!("touch {}", self.mark().display())
    }

    /// Changes `run.json`, and the cell of each trial.
    fn change(&self, plan: &dyn Fn(&mut Value), cell: &dyn Fn(&mut Value)) {
        let mut run: Value = serde_json::from_str(&self.stored.text("run.json")).unwrap();
        plan(&mut run["plan"]);
        run["plan"]["cells"].as_array_mut().unwrap().iter_mut().for_each(cell);
        self.stored.write("run.json", &run.to_string());
        let of_trial = |line: &str| {
            let mut trial: Value = serde_json::from_str(line).unwrap();
            cell(&mut trial["cell"]);
            format!("{trial}\n")
        };
        let trials: String = self.stored.text("trials.jsonl").lines().map(of_trial).collect();
        self.stored.write("trials.jsonl", &trials);
    }

    /// Makes the run one of a kind of [`KINDS`].
    fn become_one(&self, kind: &str) {
        let (exec, touch) = (format!("exec:{}", self.touch()), self.touch());
        let address = self.agent.local_addr().unwrap().to_string();
        let arms = |setting: &str, value: &str| json!([{ "name": "a", "settings": [] }, { "name": "b", "settings": [[setting, value]] }]);
        let arm = |setting: &'static str, value: String| self.change(&move |plan| plan["arms"] = arms(setting, &value), &|_| ());
        let hosts = |hosts: Value| {
            self.change(
                &|plan| {
                    plan["hosts"] = hosts.clone();
                    plan["link"] = json!({ "kind": "network" });
                },
                &|_| (),
            );
        };
        match kind {
            "api" => self.change(&|_| (), &|cell| cell["api"] = exec.clone().into()),
            "receive" => self.change(&|_| (), &|cell| cell["receive"] = exec.clone().into()),
            "api of an arm" => arm("api", exec),
            "before" => arm("before", touch),
            "after" => arm("after", touch),
            "tool" => {
                let script = self.tool.path().join("script");
                std::fs::write(&script, format!("#!/bin/sh\n{touch}\n")).unwrap();
                std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
                arm("tool", script.display().to_string());
            }
            "host by command" => hosts(json!({ "b": format!("cmd:{touch}") })),
            "agent" => hosts(json!({ "b": address })),
            "fleet" => self.change(
                &|plan| {
                    let hosts = [("na", format!("cmd:{touch}")), ("nb", address.clone())];
                    let hosts = hosts.map(|(name, at)| json!({ "name": name, "at": at }));
                    plan["fleet"] = json!({ "hosts": hosts, "rounds": 2, "least": 0.05 });
                    plan["link"] = json!({ "kind": "network" });
                },
                &|_| (),
            ),
            other => panic!("{other}"),
        }
    }

    fn path(&self) -> String {
        self.stored.path().display().to_string()
    }

    /// Nothing was started and nothing dialled.
    #[track_caller]
    fn assert_untouched(&self, what: &str) {
        assert!(!self.mark().exists(), "{what}: started");
        assert!(self.agent.accept().is_err(), "{what}: dialled");
    }

    /// Runs a command to its end, which has to come.
    #[track_caller]
    fn run(&self, arguments: &[&str]) -> Answer {
        let mut child = self.tool.command(arguments).stdin(Stdio::null()).spawn().unwrap();
        wait(&mut child, arguments);
        child.wait_with_output().unwrap().into()
    }
}

#[track_caller]
fn wait(child: &mut Child, arguments: &[&str]) {
    let begun = Instant::now();
    // What it says has room in the pipes.
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Kinds of stored things that could be carried out.
const KINDS: [&str; 9] = ["api", "receive", "api of an arm", "before", "after", "tool", "host by command", "agent", "fleet"];

/// Every command that reads a stored run, `RUN` being the run.
const COMMANDS: [&[&str]; 25] = [
    &["study", "--resume", "RUN"],
    &["study", "--resume"],
    &["fleet", "--resume", "RUN"],
    &["workload", "W1", "--run", "RUN"],
    &["workload", "W1", "--run", "RUN", "--dry-run"],
    &["workload", "W1", "--run", "RUN", "-J"],
    &["workload", "W1", "--run", "RUN", "--predict"],
    // The latest run, which no word named.
    &["workload", "W1"],
    &["workload", "W1", "--dry-run"],
    &["advise", "RUN", "-l", "64"],
    &["advise", "RUN", "--workload", "W1"],
    &["report", "RUN"],
    &["report", "RUN", "-v"],
    &["report", "RUN", "--csv"],
    &["show", "RUN"],
    &["show"],
    &["history"],
    &["compare", "RUN", "RUN"],
    &["export", "RUN"],
    &["export", "RUN", "--trials"],
    &["export", "RUN", "--slices"],
    &["reference", "cabrera1984", "--run", "RUN"],
    &["microscope", "--run", "RUN", "--dry-run", "--offline", "--cache", "cache"],
    &["study", "quick", "--dry-run", "--like", "RUN"],
    &["doctor"],
];

fn nothing_that_a_stored_run_names_is_carried_out_unasked() -> Result<(), Skip> {
    for kind in KINDS {
        let hostile = Hostile::new();
        hostile.become_one(kind);
        let run = hostile.path();
        for command in COMMANDS {
            let words: Vec<&str> = command.iter().map(|word| if *word == "RUN" { run.as_str() } else { word }).collect();
            let answer = hostile.run(&words);
            hostile.assert_untouched(&format!("{kind}: {words:?}: {answer:#?}"));
        }
        // Each consent is to its own kind.
        for other in [&["--yes"][..], &["--allow-exec"]] {
            let (exec, yes) = (kind.contains("api") || kind == "receive", other == ["--yes"]);
            if exec == yes {
                let answer = hostile.run(&[&["study", "--resume", &run], other].concat());
                assert_ne!(answer.code, Some(0), "{kind}: {answer:#?}");
                hostile.assert_untouched(&format!("{kind}: study --resume {other:?}: {answer:#?}"));
                let answer = hostile.run(&[&["workload", "W1", "--run", &run], &SHORT[..], other].concat());
                hostile.assert_untouched(&format!("{kind}: workload {other:?}: {answer:#?}"));
            }
        }
    }
    Ok(())
}

/// What is refused here is what the test above did not start.
fn with_consent_it_is_carried_out() -> Result<(), Skip> {
    let consents = ["--yes", "--allow-exec"];
    for (kind, command) in [("api", "workload"), ("receive", "workload"), ("host by command", "workload"), ("before", "study")] {
        let hostile = Hostile::new();
        hostile.become_one(kind);
        let run = hostile.path();
        let words: Vec<&str> = match command {
            "workload" => [&["workload", "W1", "--run", &run], &SHORT[..], &consents].concat(),
            _ => [&["study", "--resume", &run], &consents[..]].concat(),
        };
        if command == "study" {
            // Arms are in all trials or in none.
            hostile.stored.write("trials.jsonl", "");
        }
        let answer = hostile.run(&words);
        assert!(hostile.mark().exists(), "{kind}: {answer:#?}");
    }
    let hostile = Hostile::new();
    hostile.become_one("agent");
    let _ = hostile.run(&[&["workload", "W1", "--run", &hostile.path(), "--yes"], &SHORT[..]].concat());
    assert!(hostile.agent.accept().is_ok(), "dialled");
    Ok(())
}

fn a_run_of_somebody_else_is_not_gone_by() -> Result<(), Skip> {
    crate::support::need_root()?;
    for file in ["", "run.json", "trials.jsonl"] {
        let hostile = Hostile::new();
        let (run, place) = (hostile.path(), hostile.stored.path().join(file));
        let commands: [&[&str]; 2] = [&["study", "--resume", &run, "--yes"], &["workload", "W1", "--run", &run, "--yes"]];
        let trials = hostile.stored.text("trials.jsonl");
        for command in commands {
            std::os::unix::fs::chown(&place, Some(65_534), None).unwrap();
            hostile.run(command).refused(1, &["it belongs to user 65534", "copy the run to a directory of your own"]);
            std::os::unix::fs::chown(&place, Some(0), None).unwrap();
            let mode = |mode| std::fs::set_permissions(&place, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
            mode(0o777);
            hostile.run(command).refused(1, &["others can write it (mode 777)"]);
            mode(0o755);
        }
        assert_eq!(hostile.stored.text("trials.jsonl"), trials, "nothing was written there");
        // It is read all the same.
        hostile.run(&["workload", "W1", "--run", &run, "--predict"]).done();
    }
    Ok(())
}

/// Commands that read runs, of which nothing is to be carried out.
const READERS: [&[&str]; 10] = [
    &["report", "RUN"],
    &["show", "RUN"],
    &["show"],
    &["history"],
    &["compare", "RUN", "RUN"],
    &["export", "RUN"],
    &["export", "RUN", "--trials"],
    &["export", "RUN", "--slices"],
    &["study", "--resume", "RUN"],
    &["workload", "W1", "--run", "RUN", "--predict"],
];

fn no_file_of_a_run_is_waited_for() -> Result<(), Skip> {
    let hostile = Hostile::new();
    let (run, names) = (hostile.path(), ["run.json", "trials.jsonl", "hosts/a.json", "summary.json", "exact.json", "attach.json"]);
    hostile.run(&["report", "RUN"].map(|word| if word == "RUN" { &run } else { word })).done();
    for name in names {
        let file = hostile.stored.path().join(name);
        let sound = std::fs::read(&file).ok();
        for kind in ["pipe", "zero"] {
            let _ = std::fs::remove_file(&file);
            match kind {
                "pipe" => mkfifo(&file, Mode::S_IRWXU).unwrap(),
                _ => std::os::unix::fs::symlink("/dev/zero", &file).unwrap(),
            }
            for command in READERS {
                let words: Vec<&str> = command.iter().map(|word| if *word == "RUN" { run.as_str() } else { word }).collect();
                let answer = hostile.run(&words);
                // One run as `show` has it, and the cells of slices, stand in its `run.json`.
                let read =
                    if command[0] == "show" || command.contains(&"--slices") { &["run.json"][..] } else { &["run.json", "trials.jsonl"] };
                let unread = read.contains(&name) && command.contains(&"RUN");
                assert!(!unread || answer.code == Some(1) && answer.stderr.contains(name), "{kind} {name}: {words:?}: {answer:#?}");
            }
        }
        std::fs::remove_file(&file).unwrap();
        if let Some(sound) = sound {
            std::fs::write(&file, sound).unwrap();
        }
    }
    Ok(())
}

/// Every flag that takes a file, `FILE` being one that is no file.
const FILES: [&[&str]; 14] = [
    &["study", "--plan", "FILE", "--dry-run"],
    &["report", "RUN", "--rules", "FILE"],
    &["compare", "RUN", "RUN", "--rules", "FILE"],
    &["workload", "FILE", "--predict"],
    &["workload", "FILE.toml", "--dry-run"],
    &["advise", "--workload", "FILE"],
    &["advise", "--workload", "FILE.toml"],
    &["reference", "--iperf3", "FILE"],
    &["reference", "--netperf", "FILE"],
    &["reference", "cabrera1984", "--table", "FILE"],
    &["microscope", "--scenarios", "FILE", "--dry-run", "--offline", "--cache", "cache"],
    &["microscope", "diff", "FILE.json", "FILE.json", "--cache", "cache"],
    &["microscope", "--program", "FILE", "--dry-run", "--offline", "--cache", "cache"],
    &["fleet", "--hosts-file", "FILE", "--dry-run"],
];

fn no_file_that_a_command_names_is_waited_for() -> Result<(), Skip> {
    let hostile = Hostile::new();
    let at = |name: &str| hostile.tool.path().join(name);
    let make = |kind: &str, place: &Path| match kind {
        "pipe" => mkfifo(place, Mode::S_IRWXU).unwrap(),
        _ => std::os::unix::fs::symlink("/dev/zero", place).unwrap(),
    };
    for kind in ["pipe", "zero"] {
        for ending in ["", ".toml", ".json"] {
            make(kind, &at(&format!("{kind}{ending}")));
        }
        for command in FILES {
            let run = hostile.path();
            let words: Vec<String> = command.iter().map(|word| word.replace("FILE", kind).replace("RUN", &run)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let answer = hostile.run(&words);
            let why = if kind == "pipe" { "it is a pipe, and no regular file" } else { "it is a device, and no regular file" };
            assert!(matches!(answer.code, Some(1 | 2)) && answer.stderr.contains(why), "{words:?}: {answer:#?}");
        }
    }
    Ok(())
}

fn a_named_file_that_others_can_write_starts_nothing() -> Result<(), Skip> {
    let tool = Tool::new();
    let started = tool.path().join("started");
    let plan = |before: &str| format!("arms = [\"a\", \"b: {before}\"]\n{PLAN}");
    tool.write("acts.toml", &plan(&format!("before=touch {}", started.display())));
    tool.write("sets.toml", &plan("nodelay=true"));
    tool.write("hosts", "n1=cmd:sh -c true\nn2=cmd:sh -c true\n");
    let all = ["acts.toml", "sets.toml", "hosts"];
    let mode = |mode| {
        let set = |name| std::fs::set_permissions(tool.path().join(name), std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        all.into_iter().for_each(set);
    };
    let [acts, sets] = ["acts.toml", "sets.toml"].map(|file| ["study", "--plan", file, "--dry-run"]);
    let hosts = ["fleet", "--hosts-file", "hosts", "--dry-run"];
    mode(0o646);
    let study = ["study", "--plan", "acts.toml", "-t", "20ms", "-O", "5ms", "--blocks", "1"];
    for words in [&acts[..], &hosts, &study] {
        tool.run(words).refused(1, &["names commands or programs", "others can write it (mode 646)"]);
    }
    // What starts nothing may be of others.
    tool.run(&sets).done();
    mode(0o644);
    for words in [acts, sets] {
        tool.run(&words).done();
    }
    let answer = tool.run(&hosts);
    assert!(!answer.stderr.contains("names commands or programs"), "{answer:?}");
    assert!(!started.exists());
    Ok(())
}

/// Commands that use a cache.
const OF_CACHE: [&[&str]; 4] = [
    &["doctor", "-v"],
    &["microscope", "--offline", "--kernel", "6.12"],
    &["microscope", "--dry-run", "--offline"],
    &["microscope", "cache"],
];

fn nothing_of_a_cache_of_somebody_else_is_started() -> Result<(), Skip> {
    let tool = Tool::new();
    let place = tool.path().join("nettoll/microscope");
    let (emulator, started) = (place.join("emulator/1/usr/bin/qemu-system-x86_64"), tool.path().join("started"));
    std::fs::create_dir_all(emulator.parent().unwrap()).unwrap();
    let script = format!("#!/bin/sh\ntouch {}\necho QEMU emulator version 1\nexit 0\n", started.display());
    std::fs::write(&emulator, script + "\0qemu_plugin_register_vcpu_tb_trans_cb\0qemu_plugin_scoreboard_new\0").unwrap();
    let mode = |path: &Path, mode| std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    let chown = |path: &Path, owner| std::os::unix::fs::chown(path, Some(owner), None).is_ok();
    let run = |words: &[&str]| -> Answer { tool.command(words).env("XDG_CACHE_HOME", tool.path()).output().unwrap().into() };
    let own = |path: &Path| {
        mode(path, 0o755);
        chown(path, nix::unistd::geteuid().as_raw())
    };
    for path in [&place, &place.join("emulator"), &emulator] {
        assert!(own(&place) && own(&emulator) && own(&place.join("emulator")));
        let foreign: [(&dyn Fn() -> bool, &str); 2] = [
            (
                &|| {
                    mode(path, 0o777);
                    true
                },
                "others can write it (mode 777)",
            ),
            (&|| own(path) && chown(path, 65_534), "it belongs to user 65534"),
        ];
        for (make, why) in foreign {
            // Another owner takes root.
            if !make() {
                continue;
            }
            for words in OF_CACHE {
                let answer = run(words);
                assert!(!started.exists(), "{words:?}: {answer:#?}");
                let said = [answer.stdout.as_str(), &answer.stderr].concat();
                let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
                assert!(said.contains(why) && said.contains("--cache DIR"), "{words:?}: {answer:#?}");
            }
            assert!(own(path));
        }
    }
    // What was refused above is what is started here.
    let _ = run(&["doctor"]);
    assert!(started.exists());
    Ok(())
}
