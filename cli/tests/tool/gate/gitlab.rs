//! GitLab's files of packaging/ci, run by a stand-in for its runner.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::{ci, commit, git, installed, repository};
use crate::stored_runs::copy;
use crate::support::tool::{Answer, Tool};
use crate::support::{Skip, need_programs};

crate::claims!(
    gitlab_runs_the_same_gate,
    a_note_needs_a_token_that_gitlab_takes,
    gitlab_compares_merge_requests_with_a_baseline_of_the_default_branch,
);

/// A job of GitLab's.
struct Job {
    /// Commands that its runner passes to a shell.
    script: String,
    /// Commands for another shell, whatever the exit code of the first.
    after: String,
    variables: BTreeMap<String, String>,
    /// When it runs.
    rules: String,
    cache: BTreeMap<String, String>,
}

impl Job {
    /// That of a name, with what it extends.
    fn of(file: &str, name: &str) -> Self {
        let text = fs::read_to_string(ci(file)).unwrap();
        let job = |name: &str| -> Vec<String> {
            let (_, rest) = text.split_once(&format!("\n{name}:\n")).unwrap_or_else(|| panic!("{file} has no job {name}"));
            rest.lines().take_while(|line| line.starts_with(' ') || line.is_empty()).map(str::to_owned).collect()
        };
        let mut lines = job(name);
        if let Some(base) = lines.iter().find_map(|line| line.strip_prefix("  extends: ")) {
            lines.extend(job(base));
        }
        // The lines of a key, without their margin.
        let block = |key: &str| -> Vec<&str> {
            let begin = lines.iter().position(|line| *line == format!("  {key}:"));
            let rest = begin.map_or(&[][..], |begin| &lines[begin + 1..]);
            rest.iter().map_while(|line| line.strip_prefix("    ")).collect()
        };
        let pairs = |key: &str| -> BTreeMap<String, String> {
            let pair = |line: &&str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()));
            block(key).iter().filter_map(pair).collect()
        };
        // A command of several lines stands below `- |`.
        let command = |line: &&str| format!("{}\n", line.strip_prefix("- ").unwrap_or(line).trim_start_matches('|'));
        let [script, after] = ["script", "after_script"].map(|key| block(key).iter().map(command).collect());
        Self { script, after, variables: pairs("variables"), rules: block("rules").join("\n"), cache: pairs("cache") }
    }
}

/// The project and the merge request of the pipeline.
const NOTES: &str = "/api/v4/projects/9/merge_requests/7/notes";
/// A token that GitLab takes, and the user that it is of.
const TOKEN: (&str, u64) = ("glpat-a", 5);

/// A stand-in for the part of GitLab's API that has the notes of a merge request.
struct Gitlab {
    url: String,
    notes: Arc<Mutex<Vec<Value>>>,
}

impl Gitlab {
    fn new(notes: Vec<Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/api/v4", listener.local_addr().unwrap());
        let notes = Arc::new(Mutex::new(notes));
        let kept = Arc::clone(&notes);
        // It ends with the process.
        thread::spawn(move || listener.incoming().for_each(|stream| answer(&stream.unwrap(), &mut kept.lock().unwrap())));
        Self { url, notes }
    }

    fn notes(&self) -> Vec<Value> {
        self.notes.lock().unwrap().clone()
    }
}

/// Answers the request of a connection.
fn answer(mut stream: &TcpStream, notes: &mut Vec<Value>) {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    let request = line();
    let mut words = request.split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let headers: BTreeMap<String, String> = std::iter::repeat_with(&mut line)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned())))
        .collect();
    let mut body = vec![0; headers.get("content-length").map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    let text = String::from_utf8(body).unwrap().strip_prefix("body=").map(decoded).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let note = path.strip_prefix(NOTES).and_then(|rest| rest.strip_prefix('/')).and_then(|id| id.parse::<u64>().ok());
    let (status, answer) = match (method, path, note) {
        // A job's token comes by another header, which this part of the API does not take.
        _ if headers.get("private-token").map(String::as_str) != Some(TOKEN.0) => ("401 Unauthorized", json!({})),
        ("GET", "/api/v4/user", _) => ("200 OK", json!({ "id": TOKEN.1 })),
        ("GET", NOTES, _) => {
            let number =
                |key: &str| query.split('&').find_map(|pair| pair.strip_prefix(key)).map(|number| number.parse::<usize>().unwrap());
            let (each, page) = (number("per_page=").unwrap_or(20).min(100), number("page=").unwrap_or(1));
            ("200 OK", notes.iter().skip(each * (page - 1)).take(each).cloned().collect())
        }
        ("POST", NOTES, _) => {
            notes.push(json!({ "id": 1_000 + notes.len(), "author": { "id": TOKEN.1 }, "body": text }));
            ("201 Created", json!({}))
        }
        ("PUT", _, Some(id)) => {
            notes.iter_mut().find(|note| note["id"] == id).unwrap()["body"] = text.into();
            ("200 OK", json!({}))
        }
        _ => ("404 Not Found", json!({})),
    };
    let answer = answer.to_string();
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}", answer.len()).unwrap();
}

/// The text of a form's field.
fn decoded(field: &str) -> String {
    let field = field.replace('+', " ");
    let mut parts = field.split('%');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(code, 16).unwrap());
        bytes.extend(rest.as_bytes());
    }
    String::from_utf8(bytes).unwrap()
}

/// Runs the commands of a job that follow its script, in a shell of their own.
fn run_after(tool: &Tool, path: &str, place: &Path, job: &Job, gitlab: &Gitlab, variables: &[(&str, &str)]) -> Answer {
    let mut shell = tool.other(Path::new("bash"));
    shell.args(["-e", "-o", "pipefail", "-c", &job.after]).current_dir(place).env("PATH", path).env("no_proxy", "127.0.0.1");
    shell.env("CI_API_V4_URL", &gitlab.url).env("CI_JOB_TOKEN", "a job's").env("CI_MERGE_REQUEST_PROJECT_ID", "9");
    shell.env_remove("GITLAB_TOKEN").env("CI_MERGE_REQUEST_IID", "7").envs(variables.iter().copied());
    shell.output().unwrap().into()
}

fn gitlab_runs_the_same_gate() -> Result<(), Skip> {
    need_programs(&["bash", "git", "make", "cc", "curl", "jq"])?;
    let (tool, path) = installed();
    let place = repository(&tool);
    fs::copy(ci("gitlab-note.sh"), place.join("packaging/ci/gitlab-note.sh")).unwrap();
    git(&place, &["init", "-q"]);
    commit(&place, 20_000);
    let head = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(&place).output().unwrap();
    let base = String::from_utf8(head.stdout).unwrap().trim().to_owned();
    let job = Job::of("nettoll-gate.gitlab-ci.yml", "nettoll gate");
    let script = job.script.replace("--size 64,1472", "--size 64 --receive recv -t 5s");
    assert_eq!(job.variables["GIT_DEPTH"], "0", "the merge base is in the clone");
    // More notes than a page has; two quote a note of the gate.
    let other = |id: u64, author: u64, body: &str| json!({ "id": id, "author": { "id": author }, "body": body });
    let others: Vec<Value> = (0..150).map(|id| other(id, 4, "lint")).collect();
    let quoted = [other(998, 4, "worse\n<!-- nettoll gate -->"), other(999, TOKEN.1, "> worse\n> <!-- nettoll gate -->")];
    let others = [others, quoted.to_vec()].concat();
    let gitlab = Gitlab::new(others.clone());
    for (spins, code, message) in [(200_000, 3, "worse"), (0, 0, "not worse")] {
        commit(&place, spins);
        let mut shell = tool.other(Path::new("bash"));
        shell.args(["-e", "-o", "pipefail", "-c", &script]).current_dir(&place).envs(&job.variables).env("PATH", &path);
        shell.env("BUILD", "make -s").env("THRESHOLD", "20%").env("CI_MERGE_REQUEST_DIFF_BASE_SHA", &base);
        let answer = Answer::from(shell.output().unwrap());
        assert_eq!(answer.code, Some(code), "{answer:?}");
        let kept = |name: &str| fs::read_to_string(place.join("nettoll-gate").join(name)).unwrap();
        assert!(kept("badge.json").contains(&format!("\"message\":\"{message}\"")), "{}", kept("badge.json"));
        assert!(kept("comment.md").starts_with("**candidate costs "), "{}", kept("comment.md"));
        // The first note is posted, and the second takes its place.
        run_after(&tool, &path, &place, &job, &gitlab, &[("GITLAB_TOKEN", TOKEN.0)]).done();
        let notes = gitlab.notes();
        assert_eq!((notes.len(), &notes[..others.len()]), (others.len() + 1, &others[..]));
        assert_eq!(notes[others.len()]["body"], kept("comment.md"));
    }
    Ok(())
}

fn a_note_needs_a_token_that_gitlab_takes() -> Result<(), Skip> {
    need_programs(&["bash", "curl", "jq"])?;
    let (tool, path) = installed();
    let place = tool.path().to_owned();
    fs::create_dir_all(place.join("packaging/ci")).unwrap();
    fs::copy(ci("gitlab-note.sh"), place.join("packaging/ci/gitlab-note.sh")).unwrap();
    let job = Job::of("nettoll-gate.gitlab-ci.yml", "nettoll gate");
    let gitlab = Gitlab::new(Vec::new());
    let after = |variables: &[(&str, &str)]| run_after(&tool, &path, &place, &job, &gitlab, variables);
    let token = ("GITLAB_TOKEN", TOKEN.0);
    let left_out = |variables: &[(&str, &str)], reason: &str| {
        let answer = after(variables).done();
        assert!(answer.stdout.contains(reason) && answer.stdout.lines().count() == 1 && answer.stderr.is_empty(), "{answer:?}");
    };
    left_out(&[token], "no note: nettoll-gate/comment.md is missing");
    fs::create_dir(place.join("nettoll-gate")).unwrap();
    tool.write("nettoll-gate/comment.md", "**50 % worse** & \"more\" +1 = ä\n\n<!-- nettoll gate -->\n");
    left_out(&[], "no note: the variable GITLAB_TOKEN is not set, and CI_JOB_TOKEN may write no notes");
    left_out(&[token, ("CI_MERGE_REQUEST_IID", "")], "no note: this pipeline belongs to no merge request");
    after(&[("GITLAB_TOKEN", "glpat-b")]).refused(1, &["401", "names no user for GITLAB_TOKEN", "the scope api"]);
    after(&[token, ("CI_MERGE_REQUEST_IID", "8")]).refused(1, &["404", "does not list the notes"]);
    assert_eq!(gitlab.notes(), Vec::<Value>::new());
    after(&[token]).done();
    after(&[token]).done();
    let notes = gitlab.notes();
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0]["body"], fs::read_to_string(place.join("nettoll-gate/comment.md")).unwrap());
    Ok(())
}

/// Runs a job in a checkout, with a cache below the tool's directory: the default branch is protected, and its cache is
/// another's unless a job says so.
fn run_job(tool: &Tool, path: &str, place: &Path, job: &Job, is_protected: bool) -> Answer {
    git(place, &["clean", "-q", "-fdx"]);
    let kind = if is_protected && job.cache["unprotect"] != "true" { "protected" } else { "non_protected" };
    let (name, kept) = (&job.cache["paths"][1..job.cache["paths"].len() - 1], format!("{}-{kind}", job.cache["key"]));
    let kept = tool.path().join("cache").join(kept);
    if job.cache["policy"] != "push" && kept.is_dir() {
        copy(&kept, &place.join(name));
    }
    let script = job.script.replace("--size 64,1472", "--size 64 --receive recv --blocks 6 -t 20ms -O 5ms");
    let mut shell = tool.other(Path::new("bash"));
    shell.args(["-e", "-o", "pipefail", "-c", &script]).current_dir(place).envs(&job.variables).env("PATH", path);
    let answer = Answer::from(shell.env("GATE", "sender-cpu").env("THRESHOLD", "20%").output().unwrap());
    if job.cache["policy"] != "pull" && answer.code == Some(0) {
        let _ = fs::remove_dir_all(&kept);
        copy(&place.join(name), &kept);
    }
    answer
}

fn gitlab_compares_merge_requests_with_a_baseline_of_the_default_branch() -> Result<(), Skip> {
    need_programs(&["bash", "git", "make", "cc"])?;
    let [saves, compares] = ["nettoll baseline", "nettoll baseline gate"].map(|name| Job::of("nettoll-baseline.gitlab-ci.yml", name));
    assert_eq!(saves.rules, "- if: $CI_PIPELINE_SOURCE == \"push\" && $CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH");
    assert_eq!(compares.rules, "- if: $CI_PIPELINE_SOURCE == \"merge_request_event\"");
    // A merge request saves none: it would be compared with itself from then on.
    assert_eq!((saves.cache["policy"].as_str(), compares.cache["policy"].as_str()), ("push", "pull"));
    let (tool, path) = installed();
    let place = repository(&tool);
    fs::copy(ci("gate.sh"), place.join("packaging/ci/gate.sh")).unwrap();
    git(&place, &["init", "-q"]);
    commit(&place, 20_000);
    let early = run_job(&tool, &path, &place, &compares, false);
    assert!(early.code == Some(0) && early.stdout.contains("no baseline: the next push"), "{early:?}");
    let made = run_job(&tool, &path, &place, &saves, true);
    assert!(made.code == Some(0) && made.stdout.contains("these runs are the baseline"), "{made:?}");
    git(&place, &["checkout", "-q", "-b", "slower"]);
    commit(&place, 200_000);
    let worse = run_job(&tool, &path, &place, &compares, false);
    assert_eq!(worse.code, Some(3), "{worse:?}");
    git(&place, &["checkout", "-q", "-b", "faster", "main"]);
    commit(&place, 0);
    let better = run_job(&tool, &path, &place, &compares, false);
    assert_eq!(better.code, Some(0), "{better:?}");
    // A later push replaces the baseline.
    git(&place, &["checkout", "-q", "main"]);
    commit(&place, 0);
    let again = run_job(&tool, &path, &place, &saves, true);
    assert!(again.code == Some(0) && again.stdout.contains("these runs are the baseline"), "{again:?}");
    Ok(())
}
