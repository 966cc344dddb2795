//! Hosts that a command starts: `nsenter` and a shell stand for ssh and its like, which
//! are tested where they can be had (`make test-services`).

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use model::plan::HostPlace;
use model::run::Status;

use super::support::{B, B_V6, CELLS, Net, cells, ended, plan, says};
use crate::support::Skip;
use crate::support::tool::{Tool, program};

crate::claims!(
    a_host_by_command_needs_nothing_there_and_leaves_nothing,
    what_a_login_prints_is_skipped,
    a_host_that_runs_nettoll_at_once,
    both_hosts_by_commands,
    a_copy_stays_where_it_is_asked_for_and_is_found_again,
    two_studies_take_turns_on_one_machine,
    the_words_of_slurm_and_kubernetes_are_passed_on,
    going_on_with_a_run_asks_before_its_commands,
    what_a_dry_run_says_of_it,
    ways_are_ranked_between_hosts,
);

/// The environment of a host whose cache and temporary files are below the tool's directory.
pub fn own_files(tool: &Tool) -> String {
    let at = tool.path().display();
    format!("HOME={at}/home TMPDIR={at}/tmp XDG_CACHE_HOME={at}/cache")
}

/// Makes the directories of [`own_files`].
pub fn make_own(tool: &Tool) {
    ["home", "tmp", "cache"].iter().for_each(|name| fs::create_dir(tool.path().join(name)).unwrap());
}

/// Every file below [`own_files`].
pub fn files(tool: &Tool) -> BTreeSet<String> {
    fn below(path: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(path).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                below(&path, found);
            } else {
                found.insert(path.display().to_string());
            }
        }
    }
    let mut found = BTreeSet::new();
    ["home", "tmp", "cache"].iter().for_each(|name| below(&tool.path().join(name), &mut found));
    found
}

fn a_host_by_command_needs_nothing_there_and_leaves_nothing() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    make_own(&tool);
    let host = format!("b=cmd:{}", net.b.shell(&format!("{} PATH=/usr/bin:/bin", own_files(&tool))));
    let text = plan(1) + "[[cells]]\ntest = \"TCP_STREAM\"\nsize = 1000\nfamily = \"ipv6\"\n";
    let analysis = net.a.study(&tool, &text, &["--host", &host, "-J"]).done().json();
    assert_eq!((&analysis["trials"], &analysis["failed"]), (&(CELLS + 1).into(), &0.into()));
    let stored = tool.stored();
    assert_eq!(stored.status(), Status::BlocksDone);
    let place: HostPlace = host.strip_prefix("b=").unwrap().parse().unwrap();
    assert_eq!(stored.run().plan.hosts["b"], place);
    // The messages took the host's own address, over the router.
    assert_eq!(stored.host("b")["device"]["name"], "eth0", "{}", stored.host("b"));
    assert!(net.b.counter("Udp", "InDatagrams") > 0);
    assert_eq!(files(&tool), BTreeSet::new());
    net.nothing_left(&[&tool]);
    Ok(())
}

fn what_a_login_prints_is_skipped() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let noise = "printf \"Welcome\\n\\nLast login: today\\nprompt$ \"; head -c 5000 /dev/urandom; echo";
    let host = format!("b=cmd:sh -c '{noise}; exec {}'", net.b.shell("X=1"));
    net.a.study(&tool, &plan(1), &["--host", &host]).done();
    assert_eq!(tool.stored().all_measured().len(), CELLS);
    net.nothing_left(&[&tool]);
    Ok(())
}

/// As a key does that `authorized_keys` lets start nothing else.
fn a_host_that_runs_nettoll_at_once() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let shell = net.b.shell("X=1");
    let host = format!("b=cmd:{} {} __serve", shell.strip_suffix(" sh").unwrap(), program().display());
    net.a.study(&tool, &plan(1), &["--host", &host]).done();
    assert_eq!(tool.stored().all_measured().len(), CELLS);
    net.nothing_left(&[&tool]);
    Ok(())
}

/// Started on a third machine, which measures neither.
fn both_hosts_by_commands() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let (a, b) = (format!("a=cmd:{}", net.a.shell("X=1")), format!("b=cmd:{},data={B_V6}", net.b.shell("X=1")));
    let text = cells(1, "[[cells]]\ntest = [\"TCP_STREAM\", \"UDP_RR\"]\nfamily = \"ipv6\"\nsize = 100");
    net.router.study(&tool, &text, &["--host", &a, "--host", &b]).done();
    assert_eq!(tool.stored().all_measured().len(), 2);
    net.nothing_left(&[&tool]);
    Ok(())
}

fn a_copy_stays_where_it_is_asked_for_and_is_found_again() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    make_own(&tool);
    let place = format!("cmd:{}", net.b.shell(&own_files(&tool)));
    let host = format!("b={place}");
    let text = cells(1, "[[cells]]\ntest = \"UDP_RR\"\nsize = 64");
    for _ in 0..2 {
        net.a.study(&tool, &text, &["--host", &host, "--deploy"]).done();
        let found = files(&tool);
        assert_eq!(found.len(), 1, "{found:?}");
        let copy = found.first().unwrap();
        assert_eq!(fs::read(copy).unwrap(), fs::read(program()).unwrap());
        assert_eq!(fs::metadata(copy).unwrap().permissions().mode() & 0o777, 0o500);
    }
    let deploy = |words: &[&str]| net.a.run(&tool, &[&["deploy"], words, &[&place]].concat()).done();
    deploy(&[]).says("there already");
    // One that was changed there is not run, but replaced.
    let copy = files(&tool).pop_first().unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(&copy, "#!/bin/sh\nexit 7\n").unwrap();
    deploy(&[]).says("copied");
    assert_eq!(fs::read(&copy).unwrap(), fs::read(program()).unwrap());
    // A file of the user's own in the same place is none of ours.
    let own = tool.path().join("cache/nettoll/notes");
    fs::write(&own, "mine").unwrap();
    deploy(&["--prune"]).says("1 copy of nettoll removed");
    assert_eq!(files(&tool), BTreeSet::from([own.display().to_string()]));
    deploy(&["--prune"]).says("no nettoll was there");
    net.nothing_left(&[&tool]);
    Ok(())
}

/// Each has its own command and sees nothing of the other; still no two trials run at once.
fn two_studies_take_turns_on_one_machine() -> Result<(), Skip> {
    let (net, tools) = (Net::new()?, [(); 2].map(|()| Tool::new()));
    let host = format!("b=cmd:{}", net.b.shell("X=1"));
    let text = cells(6, "[[cells]]\ntest = [\"TCP_RR\", \"UDP_RR\"]\nsize = 64\n").replace("30ms", "200ms");
    let studies = [(&net.a, &tools[0]), (&net.c, &tools[1])].map(|(place, tool)| place.start_study(tool, &text, &["--host", &host]));
    let answers = studies.map(|study| ended(study).done());
    assert!(answers.iter().any(|answer| answer.stderr.contains("is busy with another controller")), "{answers:#?}");
    // The measured windows of all hosts, on the one clock that this machine has.
    let of = |tool: &Tool| tool.stored().all_measured().into_iter().map(|(_, measured)| measured.receiver.window).collect::<Vec<_>>();
    let mut windows = tools.iter().flat_map(of).collect::<Vec<_>>();
    windows.sort_unstable_by_key(|window| window.start);
    assert_eq!(windows.len(), 24);
    let overlap = windows.windows(2).find(|pair| pair[1].start < pair[0].end);
    assert_eq!(overlap, None, "{windows:?}");
    net.nothing_left(&tools.each_ref());
    Ok(())
}

/// Stand-ins that insist on their words and then do as `srun` and `kubectl exec -i` do.
fn the_words_of_slurm_and_kubernetes_are_passed_on() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let shell = net.b.shell("X=1");
    let stand_in = |name: &str, words: &str| {
        let script = format!("#!/bin/sh\n[ \"$*\" = '{words}' ] || {{ echo \"unexpected: $*\" >&2; exit 64; }}\nexec {shell}\n");
        let path = tool.path().join(name);
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    stand_in("srun", "-u --overlap -N1 -n1 -w n7 sh");
    stand_in("kubectl", "exec -i -n lab pod-b -c box -- sh");
    let path = format!("{}:{}", tool.path().display(), std::env::var("PATH").unwrap());
    tool.write("plan.toml", &cells(1, "[[cells]]\ntest = \"UDP_RR\"\nsize = 64"));
    for host in ["b=slurm:n7", "b=kubectl:lab/pod-b:box"] {
        let mut command = net.a.nettoll(&tool, &["study", "--plan", "plan.toml", "--host", host]);
        ended(command.env("PATH", &path).spawn().unwrap()).done();
        assert_eq!(tool.stored().all_measured().len(), 1);
    }
    net.nothing_left(&[&tool]);
    Ok(())
}

fn going_on_with_a_run_asks_before_its_commands() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let host = format!("b=cmd:{}", net.b.shell("X=1"));
    net.a.study(&tool, &plan(1), &["--host", &host]).done();
    let answer = net.a.run(&tool, &["study", "--resume"]);
    answer.refused(2, &["the stored run names commands and agents", "host b: cmd:nsenter", "give --yes"]);
    net.a.run(&tool, &["study", "--resume", "--yes"]).done();
    net.nothing_left(&[&tool]);
    Ok(())
}

fn what_a_dry_run_says_of_it() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let host = format!("b=cmd:{}", net.b.shell("X=1"));
    let answer = net.a.study(&tool, &plan(1), &["--host", &host, "--dry-run"]).done();
    says(&answer.stdout, &["host b is cmd:nsenter"]);
    let found = ["messages go between 198.51.100.1 (host a) and", B];
    says(&answer.stderr, &found);
    let advise = ["advise", "--workload", "W1", "--host", &host, "--dry-run"];
    says(&net.a.run(&tool, &advise).done().stderr, &found);
    let answer = net.a.run(&tool, &[&advise[..], &["-J"]].concat()).done();
    says(&answer.json()["notes"].to_string(), &found);
    assert!(!answer.stderr.contains(found[0]), "{answer:?}");
    assert!(tool.try_stored().is_none());
    net.nothing_left(&[&tool]);
    Ok(())
}

fn ways_are_ranked_between_hosts() -> Result<(), Skip> {
    let (net, tool) = (Net::new()?, Tool::new());
    let host = format!("b=cmd:{}", net.b.shell("X=1"));
    let asked = ["advise", "--size", "64", "--protocol", "UDP", "--host", &host, "-t", "20ms", "--blocks", "2", "-J"];
    let answer = net.a.run(&tool, &asked);
    assert!(matches!(answer.code, Some(0 | 4)), "{answer:?}");
    let json = answer.json();
    let ranked: BTreeSet<&str> = json["rankings"][0]["ways"].as_array().unwrap().iter().filter_map(|way| way["api"].as_str()).collect();
    assert!(ranked.contains("send") && ranked.contains("sendmmsg"), "{json:#}");
    assert_eq!(tool.stored().status(), Status::BlocksDone);
    net.nothing_left(&[&tool]);
    Ok(())
}
