//! The gates of packaging/ci, and the workflows that call them, run by a stand-in for a runner.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stored_runs::copy;
use crate::support::python::{Form, python};
use crate::support::stored::Stored;
use crate::support::tool::{self, Answer, Tool};
use crate::support::{Skip, go, need_programs};

pub mod gitlab;

crate::claims!(
    a_comment_of_the_gate_alone_is_replaced,
    a_gate_makes_its_baseline_and_compares_with_it,
    a_slower_version_fails_the_workflow_of_its_pull_request,
    an_equal_version_and_two_settings_are_not_worse,
    two_builds_of_a_library_behind_one_endpoint_are_gated,
    a_baseline_of_the_default_branch_is_what_pull_requests_are_compared_with,
    actionlint_finds_nothing,
    files_of_both_forges_fit_the_schemas_of_the_forges,
    the_workflows_are_sound,
    nettoll_comes_onto_a_runner_as_a_variable_says,
    what_a_gate_cannot_do_is_refused,
);

fn ci(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/ci").join(name)
}

/// A directory with the tool in `bin`, and the path that has it first, then stand-ins.
fn installed() -> (Tool, String) {
    let tool = Tool::new();
    fs::create_dir(tool.path().join("bin")).unwrap();
    std::os::unix::fs::symlink(tool::program(), tool.path().join("bin/nettoll")).unwrap();
    let [bin, stand_ins] = ["bin", STAND_INS].map(|name| tool.path().join(name));
    let path = format!("{}:{}:{}", bin.display(), stand_ins.display(), std::env::var("PATH").unwrap());
    (tool, path)
}

fn a_gate_makes_its_baseline_and_compares_with_it() -> Result<(), Skip> {
    need_programs(&["bash"])?;
    let (tool, path) = installed();
    let gate = |candidate: &str| {
        let mut gate = tool.other(&ci("gate.sh"));
        gate.args(["baseline", candidate, "size", "--test", "UDP_RR", "--size", "1", "--blocks", "4", "-t", "5ms", "-O", "1ms"]);
        gate.env("PATH", &path).env("RUNS", "2").env("GATE", "time").env("THRESHOLD", "5%").env("SUMMARY", "summary.md");
        Answer::from(gate.output().unwrap())
    };
    let first = gate("first").done();
    assert!(first.stdout.contains("these runs are the baseline"), "{first:#?}");
    assert_eq!(fs::read_dir(tool.path().join("baseline")).unwrap().count(), 2);
    let second = gate("second").judged();
    assert!(second.stdout.contains("verdict") && second.stdout.contains("Time"), "{second:#?}");
    // Runs of an earlier call are no part of a later one.
    gate("second").judged();
    assert_eq!(fs::read_dir(tool.path().join("second")).unwrap().count(), 2);
    let summary = fs::read_to_string(tool.path().join("summary.md")).unwrap();
    assert!(summary.contains("| cell |") && summary.contains("1 B"), "{summary}");
    let misuse = Answer::from(tool.other(&ci("gate.sh")).output().unwrap());
    misuse.refused(2, &["usage: gate.sh BASELINE CANDIDATE STUDY"]);
    Ok(())
}

/// The steps that a workflow runs. A runner puts the values of expressions in before a shell sees them: no step has any.
fn steps(workflow: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let mut lines = workflow.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim_start() != "run: |" {
            continue;
        }
        let margin = line.len() - line.trim_start().len();
        let mut step = String::new();
        while let Some(line) = lines.next_if(|line| line.trim().is_empty() || line.len() - line.trim_start().len() > margin) {
            step += line.get(margin + 2..).unwrap_or_default();
            step.push('\n');
        }
        steps.push(step);
    }
    steps
}

/// A repository whose program is a sender by the contract of external endpoints; it spins so many times before each message.
fn repository(tool: &Tool) -> PathBuf {
    let source = fs::read_to_string(ci("../../examples/endpoint/endpoint.c")).unwrap();
    let place = tool.path().join("repository");
    fs::create_dir(&place).unwrap();
    let slowed =
        source.replace("        ssize_t sent = send(", "        for (volatile int n = 0; n < SPINS; n++);\n        ssize_t sent = send(");
    assert_ne!(slowed, source, "the example sends in its loop");
    fs::write(place.join("endpoint.c"), slowed).unwrap();
    fs::write(place.join("Makefile"), "endpoint: endpoint.c spins\n\tcc -O2 -DSPINS=$$(cat spins) -o endpoint endpoint.c\n").unwrap();
    fs::create_dir_all(place.join("packaging/ci")).unwrap();
    for script in ["gate-arms.sh", "install.sh"] {
        fs::copy(ci(script), place.join("packaging/ci").join(script)).unwrap();
    }
    fs::write(place.join(".gitignore"), "endpoint\nnettoll-gate\nbaseline\ncandidate\n").unwrap();
    place
}

fn git(place: &Path, words: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false"];
    let answer = Command::new("git").args(identity).args(words).current_dir(place).output().unwrap();
    assert!(answer.status.success(), "{words:?}: {}", String::from_utf8_lossy(&answer.stderr));
}

/// Commits a version that spins so many times.
fn commit(place: &Path, spins: u32) {
    fs::write(place.join("spins"), format!("{spins}\n")).unwrap();
    git(place, &["add", "-A"]);
    git(place, &["commit", "-q", "--allow-empty", "-m", &format!("{spins} spins")]);
}

/// Folder of stand-ins for programs.
const STAND_INS: &str = "stand-ins";

/// Makes a stand-in for a program.
fn stand_in(tool: &Tool, name: &str, script: &str) {
    fs::create_dir_all(tool.path().join(STAND_INS)).unwrap();
    tool.write(&format!("{STAND_INS}/{name}"), script);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(tool.path().join(STAND_INS).join(name), mode).unwrap();
}

/// Packs the program as a release does.
fn released(tool: &Tool) -> PathBuf {
    const PACK: &str = "mkdir -p nettoll-1-linux/bin; ln -sf \"$NETTOLL\" nettoll-1-linux/bin/nettoll; tar -ch nettoll-1-linux | gzip -1 >nettoll-1-linux.tar.gz";
    tool.script(&[], PACK).done();
    tool.path().join("nettoll-1-linux.tar.gz")
}

/// Runs the steps of the gate's workflow in a checkout, on a runner without nettoll, with the study's length fit for a test. After a
/// step that fails, those run that always do.
fn run_gate(tool: &Tool, place: &Path) -> Answer {
    let workflow = fs::read_to_string(ci("nettoll-gate.yml")).unwrap();
    stand_in(tool, "gh", GH);
    let mut path = format!("{}:{}", tool.path().join(STAND_INS).display(), std::env::var("PATH").unwrap());
    let (archive, added) = (released(tool), tool.path().join("added"));
    fs::write(place.join("comments.json"), "[]").unwrap();
    let mut said = Answer { code: Some(0), stdout: String::new(), stderr: String::new() };
    for step in all_steps(&workflow) {
        match step.get("if").map(String::as_str) {
            None if said.code != Some(0) => continue,
            None | Some("always()" | "always() && github.event.pull_request.head.repo.full_name == github.repository") => {}
            Some(other) => panic!("a condition that the stand-in does not know: {other}"),
        }
        match step.get("uses").map_or("", |uses| uses.split('@').next().unwrap()) {
            "actions/checkout" => assert_eq!(step["fetch-depth"], "0", "the merge base is in the clone"),
            "actions/upload-artifact" => {
                for file in ["comment.md", "badge.json", "report.html", "runs"] {
                    assert!(place.join(&step["path"]).join(file).exists(), "{file}: {said:?}");
                }
            }
            "" => {
                let script = step["run"].replace("--size 64,1472", "--size 64 --receive recv -t 5s");
                let mut shell = tool.other(Path::new("bash"));
                shell.args(["-e", "-o", "pipefail", "-c", &script]).current_dir(place).env("PATH", &path);
                shell.env("NETTOLL_INSTALL", &archive).env("RUNNER_TEMP", tool.path()).env("GITHUB_PATH", &added);
                shell.env("GITHUB_STEP_SUMMARY", "summary.md").env("GITHUB_BASE_REF", "main");
                shell.env("GITHUB_REPOSITORY", "a/b").env("NUMBER", "7");
                shell.env("BUILD", "make -s").env("ARM", "api=exec:{}/endpoint").env("THRESHOLD", "20%");
                let answer = Answer::from(shell.output().unwrap());
                (said.stdout, said.stderr) = (said.stdout + &answer.stdout, said.stderr + &answer.stderr);
                said.code = if said.code == Some(0) { answer.code } else { said.code };
                // Later steps have the directories of this file in front.
                for directory in fs::read_to_string(&added).unwrap_or_default().lines() {
                    path = format!("{directory}:{path}");
                }
                let _ = fs::remove_file(&added);
            }
            other => panic!("an action that the stand-in does not know: {other}"),
        }
    }
    said
}

fn a_slower_version_fails_the_workflow_of_its_pull_request() -> Result<(), Skip> {
    need_programs(&["bash", "git", "make", "cc", "jq"])?;
    let tool = Tool::new();
    let place = repository(&tool);
    git(&place, &["init", "-q"]);
    commit(&place, 0);
    // What a checkout of a pull request has: the target as it is there, and the branch.
    git(&place, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    commit(&place, 20_000);
    let slower = run_gate(&tool, &place);
    assert_eq!(slower.code, Some(3), "{slower:?}");
    assert!(slower.stdout.contains("::error::worse than the base"), "{slower:?}");
    let kept = |name: &str| fs::read_to_string(place.join("nettoll-gate").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let comment = kept("comment.md");
    let first = comment.lines().next().unwrap();
    assert!(first.starts_with("**candidate costs ") && first.contains("more CPU than base"), "{comment}");
    assert!(["settled: ", "rough: ", "open: "].iter().any(|grade| comment.lines().any(|line| line.starts_with(grade))), "{comment}");
    assert!(comment.contains("\n| CPU, both ends | ") && comment.contains("Exit 3: worse"), "{comment}");
    assert!(comment.ends_with("\n<!-- nettoll gate -->\n"), "{comment}");
    assert!(kept("report.html").contains("<svg") && kept("badge.json").contains("\"message\":\"worse\""));
    assert!(fs::read_to_string(place.join("summary.md")).unwrap().contains(first));
    // The job that fails comments all the same.
    let calls = fs::read_to_string(place.join("calls")).unwrap();
    assert!(calls.contains("--method POST repos/a/b/issues/7/comments -F body=@nettoll-gate/comment.md"), "{calls}");
    // Both versions were alive at the same time.
    let run = fs::read_dir(place.join("nettoll-gate/runs")).unwrap().next().unwrap().unwrap().path();
    assert!(Stored::at(run).run().plan.woven);
    // The other tree is gone, and git knows of none.
    let trees = Command::new("git").args(["worktree", "list"]).current_dir(&place).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&trees.stdout).lines().count(), 1);
    Ok(())
}

fn an_equal_version_and_two_settings_are_not_worse() -> Result<(), Skip> {
    need_programs(&["bash", "git", "make", "cc", "jq"])?;
    let (tool, path) = installed();
    let place = repository(&tool);
    git(&place, &["init", "-q"]);
    commit(&place, 20_000);
    git(&place, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    commit(&place, 0);
    let faster = run_gate(&tool, &place);
    assert!(matches!(faster.code, Some(0)), "{faster:?}");
    // An earlier call's directory is replaced.
    assert_eq!(fs::read_dir(place.join("nettoll-gate/runs")).unwrap().count(), 1);
    let mut settings = tool.other(&ci("gate-arms.sh"));
    settings.args(["size", "--test", "UDP_STREAM", "--size", "64", "--blocks", "3"]).env("PATH", &path);
    settings.env("BASE_ARM", "api=send").env("CANDIDATE_ARM", "api=sendmmsg").env("OUT", "settings");
    let settings = Answer::from(settings.output().unwrap());
    // Too few instances for a verdict.
    assert_eq!(settings.code, Some(4), "{settings:?}");
    assert!(fs::read_to_string(tool.path().join("settings/badge.json")).unwrap().contains("open"));
    // Two builds of nettoll.
    let mut builds = tool.other(&ci("gate-arms.sh"));
    builds.args(["size", "--test", "UDP_STREAM", "--size", "64", "--blocks", "3"]).current_dir(&place).env("PATH", &path);
    builds.env("BUILD", "ln -sf \"$(command -v nettoll)\" nettoll").env("ARM", "tool={}/nettoll").env("BASE", "HEAD^");
    let builds = Answer::from(builds.output().unwrap());
    assert!(matches!(builds.code, Some(0 | 4)), "{builds:?}");
    Ok(())
}

/// A library that works on every message, so many times.
const LIBRARY: &str = "#include <stddef.h>
void seal(unsigned char *message, size_t size) {
    unsigned sum = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (size_t place = 1; place < size; place++) sum = sum * 31 + message[place];
    message[0] = sum;
}
";
/// The endpoint finds the library of its own tree.
const MAKEFILE: &str = "endpoint: endpoint.c libseal.so
\tcc -O2 -o endpoint endpoint.c -L. -lseal -Wl,-rpath,'$$ORIGIN'
libseal.so: seal.c
\tcc -O2 -shared -fPIC -o libseal.so seal.c
";

fn two_builds_of_a_library_behind_one_endpoint_are_gated() -> Result<(), Skip> {
    need_programs(&["bash", "git", "make", "cc"])?;
    let (tool, path) = installed();
    let place = repository(&tool);
    let endpoint = fs::read_to_string(place.join("endpoint.c")).unwrap();
    let calls = endpoint.replace("for (volatile int n = 0; n < SPINS; n++);", "seal((unsigned char *)message, size);");
    assert_ne!(calls, endpoint);
    fs::write(place.join("endpoint.c"), format!("#include <stddef.h>\nvoid seal(unsigned char *, size_t);\n{calls}")).unwrap();
    fs::write(place.join("Makefile"), MAKEFILE).unwrap();
    fs::write(place.join(".gitignore"), "endpoint\nlibseal.so\nnettoll-gate\n").unwrap();
    git(&place, &["init", "-q"]);
    let release = |rounds: u32, note: &str| {
        fs::write(place.join("seal.c"), LIBRARY.replace("ROUNDS", &rounds.to_string()) + note).unwrap();
        git(&place, &["add", "-A"]);
        git(&place, &["commit", "-q", "-m", "a version of the library"]);
    };
    release(400, "");
    for (rounds, note, codes) in [(800, "", &[3][..]), (800, "int version(void) { return 2; }\n", &[0, 4])] {
        release(rounds, note);
        let mut gate = tool.other(&place.join("packaging/ci/gate-arms.sh"));
        gate.args(["size", "--test", "UDP_STREAM", "--size", "64", "--receive", "recv", "-t", "8s"]).current_dir(&place);
        gate.env("PATH", &path).env("BASE", "HEAD^").env("THRESHOLD", "20%").env("ARM", "api=exec:{}/endpoint");
        // The sender alone has the library.
        gate.env("GATE", "sender-cpu").env("BUILD", "make -s && cksum endpoint libseal.so");
        let answer = Answer::from(gate.output().unwrap());
        // Both endpoints are one program; the libraries are two.
        let sums = |file: &str| {
            let lines = answer.stderr.lines().filter(|line| line.ends_with(file));
            lines.map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>()
        };
        let (endpoints, libraries) = (sums(" endpoint"), sums(" libseal.so"));
        assert!(endpoints.len() == 2 && endpoints[0] == endpoints[1], "{answer:?}");
        assert!(libraries.len() == 2 && libraries[0] != libraries[1], "{answer:?}");
        assert!(answer.code.is_some_and(|code| codes.contains(&code)), "{answer:?}");
        let run = fs::read_dir(place.join("nettoll-gate/runs")).unwrap().next().unwrap().unwrap().path();
        assert!(Stored::at(run).run().plan.woven);
    }
    Ok(())
}

/// A stand-in for GitHub's program: it notes its words, and lists stored comments.
const GH: &str = r#"#!/bin/bash
echo "$*" >>calls
for word; do last=$word; done
[[ "$*" != *--jq* ]] || jq -r "$last" comments.json
"#;

fn a_comment_of_the_gate_alone_is_replaced() -> Result<(), Skip> {
    need_programs(&["bash", "jq"])?;
    let (tool, path) = installed();
    let workflow = fs::read_to_string(ci("nettoll-gate.yml")).unwrap();
    let step = steps(&workflow).into_iter().find(|step| step.contains("gh api")).unwrap();
    stand_in(&tool, "gh", GH);
    let calls = |comments: &str| {
        tool.write("comments.json", comments);
        tool.write("calls", "");
        let mut shell = tool.other(Path::new("bash"));
        shell.args(["-e", "-o", "pipefail", "-c", &step]).env("PATH", &path).env("GITHUB_REPOSITORY", "a/b").env("NUMBER", "7");
        Answer::from(shell.output().unwrap()).done();
        fs::read_to_string(tool.path().join("calls")).unwrap()
    };
    assert_eq!(calls("[]"), "", "nothing was measured");
    fs::create_dir(tool.path().join("nettoll-gate")).unwrap();
    tool.write("nettoll-gate/comment.md", "x");
    let other = r#"{"id":1,"user":{"login":"github-actions[bot]"},"body":"lint"}"#;
    let quoted = r#"{"id":2,"user":{"login":"a"},"body":"> <!-- nettoll gate -->"}"#;
    let own = r#"{"id":3,"user":{"login":"github-actions[bot]"},"body":"worse\n<!-- nettoll gate -->"}"#;
    let first = calls(&format!("[{other},{quoted}]"));
    assert!(first.contains("--method POST repos/a/b/issues/7/comments -F body=@nettoll-gate/comment.md"), "{first}");
    let second = calls(&format!("[{other},{quoted},{own},{other}]"));
    assert!(second.contains("--method PATCH repos/a/b/issues/comments/3 ") && !second.contains("POST"), "{second}");
    Ok(())
}

/// A stand-in for cargo: it notes its words and installs the program.
const CARGO: &str = r#"#!/bin/bash
echo "$*" >words
while [ "$1" != --root ]; do shift; done
mkdir -p "$2/bin"
ln -s "$NETTOLL" "$2/bin/nettoll"
"#;

fn nettoll_comes_onto_a_runner_as_a_variable_says() -> Result<(), Skip> {
    need_programs(&["bash", "curl", "dpkg-deb", "sha256sum"])?;
    let (tool, path) = installed();
    stand_in(&tool, "cargo", CARGO);
    let archive = released(&tool);
    let install = |into: &str, from: &str, sum: &str| {
        let mut script = tool.other(&ci("install.sh"));
        // Without the directory that has nettoll.
        script.arg(into).env("PATH", path.split_once(':').unwrap().1).env("NETTOLL_INSTALL", from).env("NETTOLL_SHA256", sum);
        Answer::from(script.output().unwrap())
    };
    let runs = |into: &str, from: &str, sum: &str| {
        let printed = install(into, from, sum).done().stdout;
        assert!(Path::new(printed.trim_end()).join("nettoll").exists() && printed.starts_with(tool.path().to_str().unwrap()), "{printed}");
    };
    let sum = tool.script(&[], "sha256sum nettoll-1-linux.tar.gz").done().stdout;
    let sum = sum.split(' ').next().unwrap();
    runs("a", archive.to_str().unwrap(), sum);
    runs("b", &format!("file://{}", archive.display()), "");
    tool.script(&[], "mkdir -p package/DEBIAN package/usr/bin; cp \"$NETTOLL\" package/usr/bin/nettoll").done();
    tool.write("package/DEBIAN/control", "Package: nettoll\nVersion: 1\nArchitecture: all\nMaintainer: a <a@localhost>\nDescription: a\n");
    tool.script(&[], "dpkg-deb -Znone --build package nettoll_1_all.deb").done();
    runs("c", "nettoll_1_all.deb", "");
    runs("d", "git+https://forge/a/nettoll#v1", "");
    let words = fs::read_to_string(tool.path().join("words")).unwrap();
    assert!(words.starts_with("install ") && words.ends_with(" --git https://forge/a/nettoll --tag v1 nettoll\n"), "{words}");
    // What is there already is taken.
    let there = Answer::from(tool.other(&ci("install.sh")).arg("e").env("PATH", &path).output().unwrap()).done();
    assert_eq!(there.stdout.trim_end(), tool.path().join("bin").to_str().unwrap());
    install("f", "", "").refused(1, &["set the variable NETTOLL_INSTALL"]);
    install("g", "https://forge/a/nettoll", "").refused(1, &["it is 'https://forge/a/nettoll'"]);
    install("h", archive.to_str().unwrap(), &"0".repeat(64)).refused(1, &["has not the checksum NETTOLL_SHA256"]);
    install("i", "file:///missing.tar.gz", "").refused(1, &["file:///missing.tar.gz cannot be fetched"]);
    Ok(())
}

fn what_a_gate_cannot_do_is_refused() -> Result<(), Skip> {
    need_programs(&["bash", "git"])?;
    let (tool, path) = installed();
    let gate = |words: &[&str], variables: &[(&str, &str)]| {
        let mut gate = tool.other(&ci("gate-arms.sh"));
        gate.args(words).env("PATH", &path).envs(variables.iter().copied());
        Answer::from(gate.output().unwrap())
    };
    gate(&[], &[]).refused(2, &["usage: gate-arms.sh STUDY"]);
    fs::create_dir(tool.path().join("mine")).unwrap();
    fs::write(tool.path().join("mine/thesis"), "").unwrap();
    let settings = ("CANDIDATE_ARM", "api=sendmmsg");
    gate(&["size"], &[("OUT", "mine"), settings]).refused(2, &["mine holds what no gate wrote"]);
    assert!(tool.path().join("mine/thesis").is_file());
    let version = ("ARM", "tool={}/nettoll");
    gate(&["size"], &[version]).refused(1, &["is in no work tree of git"]);
    gate(&["size", "--dry-run"], &[settings]).refused(2, &["leave --dry-run out"]);
    git(tool.path(), &["init", "-q"]);
    fs::write(tool.path().join("spins"), "").unwrap();
    git(tool.path(), &["add", "spins"]);
    git(tool.path(), &["commit", "-q", "-m", "one"]);
    gate(&["size"], &[version]).refused(1, &["git finds no common commit of HEAD^ and HEAD", "BASE"]);
    // What is wrong in a study is said by nettoll, with its code.
    gate(&["size", "--test", "NONE"], &[settings]).refused(2, &["NONE"]);
    // Arms that are one would pass always.
    gate(&["size"], &[]).refused(2, &["both arms are equal"]);
    gate(&["size"], &[("BUILD", "true")]).refused(2, &["BUILD without ARM"]);
    gate(&["size"], &[("ARM", "api=exec:./server")]).refused(2, &["ARM has no {}"]);
    gate(&["size"], &[version, settings]).refused(2, &["set either"]);
    gate(&["size"], &[version, ("BASE", "HEAD")]).refused(2, &["BASE is this commit"]);
    for none in ["0123", "--force", "a 'branch'"] {
        gate(&["size"], &[version, ("BASE", none)]).refused(1, &[&format!("git has no commit {none}")]);
    }
    let blank = tool.path().join("a tree");
    git(tool.path(), &["clone", "-q", ".", "a tree"]);
    let other =
        Answer::from(tool.other(&ci("gate-arms.sh")).arg("size").current_dir(&blank).env("PATH", &path).envs([version]).output().unwrap());
    other.refused(2, &["blanks and commas end the settings of an arm"]);
    fs::write(tool.path().join("spins"), "1").unwrap();
    // 4 is the verdict `open`, and no exit code of a build.
    gate(&["size"], &[version, ("BASE", "HEAD"), ("BUILD", "exit 4")]).refused(1, &["BUILD failed in "]);
    let same = Answer::from(tool.other(&ci("gate.sh")).args(["same", "same", "size"]).env("PATH", &path).output().unwrap());
    same.refused(2, &["two directories"]);
    Ok(())
}

/// A step of a workflow: its keys and values, those of `with` among them, and its script.
type Step = BTreeMap<String, String>;

/// The steps of a workflow's only job, in order.
fn all_steps(workflow: &str) -> Vec<Step> {
    let (_, list) = workflow.split_once("    steps:\n").unwrap();
    let mut steps: Vec<Step> = Vec::new();
    let mut lines = list.lines().peekable();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        if trimmed.starts_with('#') || trimmed.is_empty() {
            continue;
        }
        let (key, value) = match trimmed.strip_prefix("- ") {
            Some(first) => {
                steps.push(Step::new());
                first.split_once(':').unwrap()
            }
            None => trimmed.split_once(':').unwrap(),
        };
        let mut value = value.trim().to_owned();
        if value == "|" {
            let margin = line.len() - trimmed.len();
            let mut script = Vec::new();
            while let Some(line) = lines.next_if(|line| line.trim().is_empty() || line.len() - line.trim_start().len() > margin) {
                script.push(line.get(margin + 2..).unwrap_or_default());
            }
            value = script.join("\n");
        }
        steps.last_mut().unwrap().insert(key.to_owned(), value);
    }
    steps
}

/// An event that a workflow runs at, on the branch of its checkout.
#[derive(Clone, Copy)]
struct Push<'a> {
    event: &'a str,
    branch: &'a str,
}

impl Push<'_> {
    /// A value with what it stands for at this event.
    fn filled(&self, value: &str, place: &Path) -> String {
        let head = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(place).output().unwrap();
        let filled = value.replace("${{ github.sha }}", String::from_utf8_lossy(&head.stdout).trim()).replace("${{ runner.os }}", "Linux");
        assert!(!filled.contains("${{"), "{filled}");
        filled
    }

    /// The caches that a forge lets it read: those of its own branch and of the default branch.
    fn readable(&self) -> [String; 2] {
        [self.branch.to_owned(), "main".to_owned()]
    }
}

/// Runs the steps of the workflow of baselines in a checkout, with caches below the tool's directory, as a forge keeps them: each
/// belongs to the branch that saved it.
fn run_baseline(tool: &Tool, path: &str, place: &Path, push: Push) -> Answer {
    let workflow = fs::read_to_string(ci("nettoll-baseline.yml")).unwrap();
    let caches = tool.path().join("caches");
    // A checkout is fresh.
    git(place, &["clean", "-q", "-fdx"]);
    let mut said = Answer { code: Some(0), stdout: String::new(), stderr: String::new() };
    for step in all_steps(&workflow) {
        let key = |name: &str| step.get(name).map(|value| push.filled(value, place)).unwrap_or_default();
        match step.get("if").map(String::as_str) {
            None => {}
            Some("github.event_name == 'push'") if push.event == "push" => {}
            Some("github.event_name == 'pull_request'") if push.event == "pull_request" => {}
            Some("github.event_name == 'push'" | "github.event_name == 'pull_request'") => continue,
            Some(other) => panic!("a condition that the stand-in does not know: {other}"),
        }
        match step.get("uses").map_or("", |uses| uses.split('@').next().unwrap()) {
            "actions/checkout" => {}
            "actions/cache/save" => copy(&place.join(key("path")), &caches.join(push.branch).join(key("key"))),
            "actions/cache/restore" => {
                let fits = |name: &str| name == key("key") || name.starts_with(&key("restore-keys"));
                let entries = push.readable().into_iter().filter_map(|branch| fs::read_dir(caches.join(branch)).ok()).flatten();
                let mut found: Vec<_> = entries.map(|entry| entry.unwrap()).filter(|one| fits(one.file_name().to_str().unwrap())).collect();
                // The newest is taken.
                found.sort_by_key(|one| one.metadata().unwrap().modified().unwrap());
                if let Some(newest) = found.last() {
                    copy(&newest.path(), &place.join(key("path")));
                }
            }
            "" => {
                let script = step["run"].replace("--size 64,1472", "--size 64 --receive recv --blocks 6 -t 20ms -O 5ms");
                let mut shell = tool.other(Path::new("bash"));
                shell.args(["-e", "-o", "pipefail", "-c", &script]).current_dir(place).env("PATH", path);
                shell
                    .env("GITHUB_STEP_SUMMARY", tool.path().join("summary.md"))
                    .env("GITHUB_PATH", tool.path().join("added"))
                    .env("RUNNER_TEMP", tool.path())
                    .env("RUNS", "3")
                    .env("GATE", "sender-cpu")
                    .env("THRESHOLD", "20%");
                let answer = Answer::from(shell.output().unwrap());
                (said.stdout, said.stderr) = (said.stdout + &answer.stdout, said.stderr + &answer.stderr);
                if answer.code != Some(0) {
                    return Answer { code: answer.code, ..said };
                }
            }
            other => panic!("an action that the stand-in does not know: {other}"),
        }
    }
    said
}

fn a_baseline_of_the_default_branch_is_what_pull_requests_are_compared_with() -> Result<(), Skip> {
    need_programs(&["bash", "git", "make", "cc"])?;
    let (tool, path) = installed();
    let place = repository(&tool);
    fs::copy(ci("gate.sh"), place.join("packaging/ci/gate.sh")).unwrap();
    git(&place, &["init", "-q"]);
    commit(&place, 20_000);
    git(&place, &["branch", "-q", "slower"]);
    let (main, slower) = (Push { event: "push", branch: "main" }, Push { event: "pull_request", branch: "slower" });
    // Without a baseline a pull request makes none: it would be compared with itself from then on.
    let early = run_baseline(&tool, &path, &place, slower);
    assert!(early.code == Some(0) && early.stdout.contains("::warning::no baseline"), "{early:?}");
    assert!(!tool.path().join("caches").exists());
    let made = run_baseline(&tool, &path, &place, main);
    assert!(made.code == Some(0) && made.stdout.contains("these runs are the baseline"), "{made:?}");
    git(&place, &["checkout", "-q", "slower"]);
    commit(&place, 200_000);
    let worse = run_baseline(&tool, &path, &place, slower);
    assert_eq!(worse.code, Some(3), "{worse:?}");
    assert!(worse.stdout.contains("::error::worse than the baseline"), "{worse:?}");
    assert!(fs::read_to_string(tool.path().join("summary.md")).unwrap().contains("| cell |"));
    git(&place, &["checkout", "-q", "-b", "faster", "main"]);
    commit(&place, 0);
    let better = run_baseline(&tool, &path, &place, Push { branch: "faster", ..slower });
    assert_eq!(better.code, Some(0), "{better:?}");
    // Pull requests saved nothing, and the default branch replaces its baseline by each push.
    git(&place, &["checkout", "-q", "main"]);
    commit(&place, 0);
    run_baseline(&tool, &path, &place, main).done();
    let kept: Vec<_> = fs::read_dir(tool.path().join("caches")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(kept, ["main"]);
    assert_eq!(fs::read_dir(tool.path().join("caches/main")).unwrap().count(), 2);
    Ok(())
}

fn actionlint_finds_nothing() -> Result<(), Skip> {
    let program = go::program("actionlint", "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12")?;
    for workflow in ["nettoll-gate.yml", "nettoll-baseline.yml", "../../.github/workflows/ci.yml"] {
        // Scripts have a test of their own, with another linter's version.
        let found = Command::new(&program).args(["-shellcheck=", "-pyflakes="]).arg(ci(workflow)).output().unwrap();
        assert!(found.status.success(), "{}{}", String::from_utf8_lossy(&found.stdout), String::from_utf8_lossy(&found.stderr));
    }
    Ok(())
}

/// GitLab publishes a schema of its files. A checker carries it, as it does that of GitHub's workflows; at 128 KB it is no part of
/// this repository. It takes any key of a cache: the stand-in for a runner reads those by name.
fn files_of_both_forges_fit_the_schemas_of_the_forges() -> Result<(), Skip> {
    let python = python("check_jsonschema", Form::Wheel, &["check_jsonschema==0.39.0"])?;
    let tool = Tool::new();
    let check = |schema: &str, text: &str| {
        tool.write("checked.yml", text);
        let mut checker = Command::new(&python);
        checker.args(["-m", "check_jsonschema", "--builtin-schema", schema, "checked.yml"]).current_dir(tool.path());
        Answer::from(checker.output().unwrap())
    };
    for (schema, files) in [
        ("vendor.github-workflows", ["nettoll-gate.yml", "nettoll-baseline.yml"]),
        ("vendor.gitlab-ci", ["nettoll-gate.gitlab-ci.yml", "nettoll-baseline.gitlab-ci.yml"]),
    ] {
        for file in files {
            // A hidden job, whose name begins with a dot, may hold anything.
            check(schema, &fs::read_to_string(ci(file)).unwrap().replace(".nettoll baseline", "nettoll base")).done();
        }
    }
    let refused = |file: &str, right: &str, wrong: &str| {
        let text = fs::read_to_string(ci(file)).unwrap();
        assert!(text.contains(right), "{file}: {right}");
        let answer = check("vendor.gitlab-ci", &text.replace(right, wrong));
        assert!(answer.code == Some(1) && answer.stdout.contains("validation errors"), "{file}: {wrong}: {answer:?}");
    };
    for (right, wrong) in [
        ("  script:", "  scripts:"),
        ("    - if: ", "    - unless: "),
        ("exit_codes: 4", "exit_codes: open"),
        ("when: always", "when: ever"),
        ("paths: [nettoll-gate]", "path: [nettoll-gate]"),
    ] {
        refused("nettoll-gate.gitlab-ci.yml", right, wrong);
    }
    refused("nettoll-baseline.gitlab-ci.yml", "policy: pull", "policy: read");
    refused("nettoll-baseline.gitlab-ci.yml", "extends: .", "extend: .");
    Ok(())
}

fn the_workflows_are_sound() -> Result<(), Skip> {
    need_programs(&["bash"])?;
    let workflow = fs::read_to_string(ci("nettoll-gate.yml")).unwrap();
    let tool = Tool::new();
    let steps = steps(&workflow);
    assert!(steps.len() >= 3, "{workflow}");
    for step in &steps {
        assert!(!step.contains("${{"), "an expression in a script is code of whoever wrote its value: {step}");
        tool.write("step.sh", step);
        let read = Command::new("bash").args(["-n", "step.sh"]).current_dir(tool.path()).output().unwrap();
        assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
        for command in step.lines().filter(|line| line.starts_with("nettoll ")) {
            tool.script(&[], &command.replacen("nettoll", "$NETTOLL", 1)).done();
        }
    }
    assert!(steps.iter().any(|step| ["0)", "3)", "4)", "*)"].iter().all(|code| step.contains(code))), "every exit code");
    // Both forges run the same script with the same variables.
    let gitlab = fs::read_to_string(ci("nettoll-gate.gitlab-ci.yml")).unwrap();
    for text in [&workflow, &gitlab] {
        assert!(!text.contains('\t') && text.contains("packaging/ci/gate-arms.sh size "), "{text}");
        for variable in ["BUILD: make", "ARM: api=exec:{}/endpoint", "GATE: cpu", "THRESHOLD: 5%"] {
            assert!(text.contains(variable), "{variable}: {text}");
        }
    }
    Ok(())
}
