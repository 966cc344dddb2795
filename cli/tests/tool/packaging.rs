//! What a package holds besides the program: man pages and completions, made
//! by the program itself; and how it says which build it is.

use crate::support::python::{Form, python};
use crate::support::tool::Tool;
use crate::support::{Skip, need_programs};

crate::claims!(
    the_short_version_is_one_line_with_the_commit,
    the_long_version_says_what_two_machines_may_disagree_in,
    every_command_has_a_page_with_every_flag,
    every_page_says_codes_variables_and_files,
    the_page_of_reports_has_every_metric_and_column,
    completions_offer_every_command_and_flag_and_nothing_hidden,
    completions_are_printed_for_each_shell,
    completions_offer_presets_workloads_and_stored_runs,
    the_pages_are_sound_to_mandoc,
    the_pages_are_shown_by_man,
    each_shell_completes_commands_presets_and_runs,
    the_synopsis_of_a_page_is_the_usage,
    every_file_has_a_licence,
    the_notices_have_every_linked_package,
    every_shell_can_read_its_completions,
    no_package_needs_a_newer_rust_than_the_pages_say,
    a_directory_that_cannot_be_written_is_named,
    the_pages_name_the_c_library_that_a_release_is_linked_for,
    the_dashboard_asks_for_counters_that_there_are,
    the_unit_of_top_and_the_manifest_have_the_same_capabilities,
);

const COMPLETIONS: [&str; 3] = ["nettoll", "_nettoll", "nettoll.fish"];

fn the_short_version_is_one_line_with_the_commit() -> Result<(), Skip> {
    let said = Tool::new().run(&["-V"]).done().stdout;
    let inner = said.strip_prefix(concat!("nettoll ", env!("CARGO_PKG_VERSION"), " (")).and_then(|rest| rest.strip_suffix(")\n"));
    let commit = inner.unwrap_or_else(|| panic!("{said}"));
    assert!(!commit.is_empty() && !commit.contains(char::is_whitespace), "{said}");
    let hash = commit.trim_end_matches("-dirty").rsplit('-').next().unwrap().trim_start_matches('g');
    let known = hash.len() >= 7 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(known || commit == "unknown" || commit.starts_with('v'), "{said}");
    Ok(())
}

fn the_long_version_says_what_two_machines_may_disagree_in() -> Result<(), Skip> {
    let tool = Tool::new();
    let said = tool.run(&["--version"]).done().stdout;
    let keys: Vec<&str> = said.lines().skip(1).map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(keys, ["commit", "target", "optional features", "control protocol", "formats"], "{said}");
    assert_eq!(said.lines().next(), Some(concat!("nettoll ", env!("CARGO_PKG_VERSION"))), "{said}");
    let short = tool.run(&["-V"]).done().stdout;
    let commit = short.split(['(', ')']).nth(1).unwrap();
    assert!(said.contains(&format!("\ncommit: {commit}")), "{short}{said}");
    assert!(said.contains(&format!("\ncontrol protocol: {}\n", model::control::CONTROL_VERSION)), "{said}");
    assert!(said.contains(&format!("\nformats: run {}, ", model::run::RUN_FORMAT)), "{said}");
    Ok(())
}

/// A tool that has generated everything into its directory.
fn generated() -> Tool {
    let tool = Tool::new();
    tool.run(&["__generate", "."]).done();
    tool
}

fn read(tool: &Tool, path: &str) -> String {
    std::fs::read_to_string(tool.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A page without roff's marks: the words that a reader sees.
fn words(tool: &Tool, name: &str) -> String {
    read(tool, &format!("man/{name}.1")).replace("\\-", "-").replace("\\fB", "").replace("\\fR", "").replace("\\fI", "")
}

/// The commands that the help lists.
fn commands(tool: &Tool) -> Vec<String> {
    let help = tool.run(&["--help"]).done().stdout;
    let list = help.split("Commands:\n").nth(1).expect("the help lists commands").split("\n\n").next().unwrap();
    // A line that goes on is indented further.
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).filter(|name| !name.is_empty());
    let found: Vec<String> = names.map(str::to_owned).collect();
    assert!(found.iter().any(|name| name == "study"), "{help}");
    found
}

/// The flags that the help of a command lists, as typed: `-J`, `--json`.
fn flags(tool: &Tool, command: &[&str]) -> Vec<String> {
    let help = tool.run(&[command, &["--help"]].concat()).done().stdout;
    // What stands further right is the text of a flag.
    let lines =
        help.lines().filter(|line| line.find('-').is_some_and(|at| at <= 6)).map(str::trim_start).filter(|line| line.starts_with('-'));
    let words = lines.flat_map(|line| line.split([' ', ',', '=', '[']).take_while(|word| word.is_empty() || word.starts_with('-')));
    let found: Vec<String> = words.filter(|word| word.len() > 1).map(str::to_owned).collect();
    assert!(found.iter().any(|flag| flag == "--help"), "{help}");
    found
}

fn every_command_has_a_page_with_every_flag() -> Result<(), Skip> {
    let tool = generated();
    let commands = commands(&tool);
    let main = words(&tool, "nettoll");
    for flag in flags(&tool, &[]) {
        assert!(main.contains(&flag), "nettoll.1 lacks {flag}");
    }
    for command in &commands {
        assert!(main.contains(&format!("nettoll-{command}(1)")), "nettoll.1 lacks {command}");
        let page = words(&tool, &format!("nettoll-{command}"));
        for flag in flags(&tool, &[command]) {
            assert!(page.contains(&flag), "nettoll-{command}.1 lacks {flag}");
        }
    }
    let pages = std::fs::read_dir(tool.path().join("man")).unwrap().count();
    assert_eq!(pages, commands.len() + 1, "no page of a hidden command");
    Ok(())
}

fn every_page_says_codes_variables_and_files() -> Result<(), Skip> {
    let tool = generated();
    let pages = commands(&tool).into_iter().map(|command| format!("nettoll-{command}")).chain(["nettoll".to_owned()]);
    let help = tool.run(&["--help"]).done().stdout;
    let codes = help.split("Exit codes: ").nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    for name in pages {
        let page = words(&tool, &name);
        for part in ["EXIT STATUS", "ENVIRONMENT", "NO_COLOR", "FILES", "SEE ALSO"] {
            assert!(page.contains(part), "{name} lacks {part}");
        }
        for code in codes.trim_end_matches('.').split(", ") {
            let (number, meaning) = code.split_once(' ').unwrap();
            assert!(page.contains(&format!("{number}\n{meaning}")), "{name} lacks {code}: {page}");
        }
    }
    Ok(())
}

fn the_page_of_reports_has_every_metric_and_column() -> Result<(), Skip> {
    let tool = generated();
    let page = words(&tool, "nettoll-report").replace("\\*(Aq", "'");
    for metric in analysis::result::Metric::ALL {
        assert!(page.contains(&format!("{}, ", metric.name())), "{metric}");
    }
    for (column, _) in report::columns::sections().into_iter().flat_map(|(_, meanings)| meanings) {
        assert!(page.contains(&column), "{column}: {page}");
    }
    Ok(())
}

fn completions_are_printed_for_each_shell() -> Result<(), Skip> {
    let tool = generated();
    for (shell, file) in [("bash", COMPLETIONS[0]), ("zsh", COMPLETIONS[1]), ("fish", COMPLETIONS[2])] {
        let printed = tool.run(&["completions", shell]).done().stdout;
        assert_eq!(printed.trim_end(), read(&tool, &format!("completions/{file}")).trim_end());
    }
    for shell in ["elvish", "powershell"] {
        assert!(tool.run(&["completions", shell]).done().stdout.contains("nettoll"), "{shell}");
    }
    tool.run(&["completions", "tcsh"]).refused(2, &["tcsh", "bash", "fish", "zsh"]);
    Ok(())
}

/// Words that nettoll offers for the last of those typed so far, as fish asks for them.
fn offered(tool: &Tool, typed: &str) -> Vec<String> {
    let answer = tool.script(&[], &format!("NETTOLL_COMPLETE=fish \"$NETTOLL\" -- {typed}")).done();
    answer.stdout.lines().map(|line| line.split('\t').next().unwrap_or_default().to_owned()).collect()
}

fn completions_offer_every_command_and_flag_and_nothing_hidden() -> Result<(), Skip> {
    let tool = Tool::new();
    let words = offered(&tool, "nettoll ''");
    assert!(!words.iter().any(|word| word.starts_with("__")), "{words:?}");
    for command in commands(&tool) {
        assert!(words.contains(&command), "{command} is not offered: {words:?}");
        let offered = offered(&tool, &format!("nettoll {command} --"));
        for flag in flags(&tool, &[&command]).iter().filter(|flag| flag.starts_with("--")) {
            assert!(offered.contains(flag), "{flag} of {command} is not offered: {offered:?}");
        }
    }
    Ok(())
}

fn completions_offer_presets_workloads_and_stored_runs() -> Result<(), Skip> {
    let tool = Tool::new();
    let run = "2026-11-28T08-00-00-quick-ab12";
    tool.script(&[], &format!("mkdir -p runs/{run}; touch runs/{run}/run.json runs/notes.txt")).done();
    assert_eq!(offered(&tool, "nettoll study inc"), ["incast"]);
    assert_eq!(offered(&tool, "nettoll reference jac"), ["jacobson1988"]);
    assert_eq!(offered(&tool, "nettoll workload W"), ["W1", "W2", "W3", "W4", "W5"]);
    for typed in ["report", "show", "compare", "export", "study --again", "study quick --dry-run --like", "microscope --run"] {
        assert_eq!(offered(&tool, &format!("nettoll {typed} 2026")), [run], "{typed}");
    }
    assert_eq!(offered(&tool, "nettoll report runs/n"), ["runs/notes.txt"]);
    // Without a run there is none to offer, and no message.
    let answer = Tool::new().script(&[], "NETTOLL_COMPLETE=bash _CLAP_COMPLETE_INDEX=2 \"$NETTOLL\" -- nettoll report 2026").done();
    assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("", ""));
    Ok(())
}

/// Runs a script over what was generated; it must succeed and say nothing.
fn silent(tool: &Tool, script: &str) {
    let answer = tool.script(&[], script).done();
    assert_eq!((answer.stdout.as_str(), answer.stderr.as_str()), ("", ""), "{script}");
}

fn the_pages_are_sound_to_mandoc() -> Result<(), Skip> {
    need_programs(&["mandoc"])?;
    // Its STYLE remarks are about the length of source lines.
    silent(&generated(), "mandoc -T lint -W warning man/*.1");
    Ok(())
}

fn the_pages_are_shown_by_man() -> Result<(), Skip> {
    need_programs(&["man"])?;
    let tool = generated();
    let shown = tool.script(&[], "MANWIDTH=80 LC_ALL=C man --warnings -l man/nettoll-study.1").done();
    assert_eq!(shown.stderr, "");
    for word in ["--dry-run", "EXIT STATUS", "NETTOLL-STUDY(1)"] {
        assert!(shown.stdout.contains(word), "{word}: {}", shown.stdout);
    }
    Ok(())
}

/// Does something with each shell that is here and its file of completions; a skip names the others.
fn each_shell(mut with: impl FnMut(&str, &str)) -> Result<(), Skip> {
    let (mut here, mut lacking) = (0, Vec::new());
    for (shell, file) in [("bash", COMPLETIONS[0]), ("zsh", COMPLETIONS[1]), ("fish", COMPLETIONS[2])] {
        if need_programs(&[shell]).is_ok() {
            with(shell, file);
            here += 1;
        } else {
            lacking.push(shell);
        }
    }
    if lacking.is_empty() { Ok(()) } else { Err(Skip(format!("not here: {}; {here} others were asked", lacking.join(", ")))) }
}

/// Scripts that print the last word of `nettoll stu`, `nettoll study inc` and `nettoll report 2026` as each shell completes
/// it. zsh has a terminal of its own, where TAB is typed, the first of them before the file was read.
const COMPLETING: [(&str, &str); 3] = [
    (
        "bash",
        r#"
        . completions/nettoll
        ask() { COMP_WORDS=(nettoll "$@") COMP_CWORD=$#; _clap_complete_nettoll nettoll "${!#}" nettoll; echo "${COMPREPLY[@]}"; }
        ask stu; ask study inc; ask report 2026
        "#,
    ),
    (
        "zsh",
        r#"
        zmodload zsh/zpty
        zpty shell zsh -f -i
        zpty -w shell 'PS1=; unsetopt prompt_sp prompt_cr; fpath=($PWD/completions $fpath); autoload -Uz compinit; compinit -u -D; bindkey -e'
        for typed in stu 'study inc' 'report 2026'; do zpty -w -n shell "nettoll $typed"$'\t\x01echo COMPLETED \n'; done
        zpty -w shell exit
        while zpty -r shell line; do print -r -- $line; done | sed -n 's/\r*$//; s/^COMPLETED .* //p'
        "#,
    ),
    ("fish", r#"source completions/nettoll.fish; for typed in stu 'study inc' 'report 2026'; complete -C "nettoll $typed" | cut -f1; end"#),
];

fn each_shell_completes_commands_presets_and_runs() -> Result<(), Skip> {
    let tool = generated();
    let run = "2026-11-28T08-00-00-quick-ab12";
    tool.script(&[], &format!("mkdir -p bin runs/{run}; touch runs/{run}/run.json; ln -s \"$NETTOLL\" bin/nettoll")).done();
    each_shell(|shell, _| {
        let (_, script) = COMPLETING.into_iter().find(|(name, _)| *name == shell).unwrap();
        tool.write("script", script);
        let answer = tool.script(&[], &format!("HOME=$PWD PATH=$PWD/bin:$PATH timeout 60 {shell} script")).done();
        assert_eq!(answer.stdout, format!("study\nincast\n{run}\n"), "{shell}: {}", answer.stderr);
    })
}

fn every_shell_can_read_its_completions() -> Result<(), Skip> {
    let tool = generated();
    each_shell(|shell, file| silent(&tool, &format!("HOME=$PWD {shell} -n completions/{file}")))
}

/// A version's three parts; those left out are 0.
fn parts(version: &str) -> [u32; 3] {
    let mut parts = version.split('.').map(|part| part.parse().unwrap_or_else(|_| panic!("{version}")));
    [(); 3].map(|()| parts.next().unwrap_or(0))
}

/// Lints compare calls of the standard library with it, the workflow `oldest-rust` builds with it.
fn no_package_needs_a_newer_rust_than_the_pages_say() -> Result<(), Skip> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let arguments = ["metadata", "--locked", "--offline", "--format-version", "1"];
    let said = std::process::Command::new("cargo").args(arguments).current_dir(&root).output();
    let said = said.map_err(|error| Skip(format!("no cargo to ask: {error}")))?;
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let said: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
    let packages = said["packages"].as_array().unwrap();
    let oldest = packages.iter().find(|package| package["name"] == "nettoll").unwrap()["rust_version"].as_str().unwrap();
    let newer: Vec<String> = packages
        .iter()
        .filter(|package| package["rust_version"].as_str().is_some_and(|version| parts(version) > parts(oldest)))
        .map(|package| format!("{} {}", package["name"], package["rust_version"]))
        .collect();
    assert!(newer.is_empty() && packages.len() > 100, "{oldest}, {} packages: {newer:?}", packages.len());
    for page in ["README.md", "docs/install.md", "scripts/setup.sh"] {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        assert!(text.contains(&format!("{oldest} or later")), "{page} does not name Rust {oldest}");
    }
    Ok(())
}

fn a_directory_that_cannot_be_written_is_named() -> Result<(), Skip> {
    let tool = Tool::new();
    tool.write("file", "");
    tool.run(&["__generate", "file"]).refused(1, &["write man pages below file", "writable"]);
    Ok(())
}

fn the_pages_name_the_c_library_that_a_release_is_linked_for() -> Result<(), Skip> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = |name: &str| std::fs::read_to_string(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let script = text("scripts/release.sh");
    let version = script.lines().find_map(|line| line.strip_prefix("GLIBC=")).expect("the script has a line GLIBC=");
    for page in ["docs/install.md", "docs/hosts.md"] {
        assert!(text(page).contains(&format!("glibc {version}")), "{page} does not name glibc {version}");
    }
    Ok(())
}

fn the_synopsis_of_a_page_is_the_usage() -> Result<(), Skip> {
    let tool = generated();
    for (name, usage) in
        [("nettoll", "nettoll [OPTIONS] --client <HOST>\n.br\nnettoll <COMMAND>\n"), ("nettoll-study", "nettoll study [OPTIONS] [NAME]\n")]
    {
        let page = words(&tool, name);
        assert!(page.contains(&format!(".SH SYNOPSIS\n{usage}")), "{name}: {page}");
    }
    Ok(())
}

/// As the specification of REUSE has it, by its own checker; the program prints the plugin's.
fn every_file_has_a_licence() -> Result<(), Skip> {
    let printed = Tool::new().run(&["help", "licences"]).done().stdout;
    for words in ["MIT or Apache-2.0", "Permission is hereby granted", "GNU GENERAL PUBLIC LICENSE", "END OF TERMS AND CONDITIONS"] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    let python = python("reuse", Form::Wheel, &["reuse==4.0.3"])?;
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let lint = std::process::Command::new(python).args(["-m", "reuse", "--root", root, "lint", "--lines"]).output().unwrap();
    assert!(lint.status.success(), "{}", String::from_utf8_lossy(&lint.stdout));
    Ok(())
}

/// What a release says of the packages that it is linked from, made of the sources that cargo has.
fn the_notices_have_every_linked_package() -> Result<(), Skip> {
    need_programs(&["bash", "cargo"])?;
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/notices.sh");
    let made = || {
        let said = std::process::Command::new(&script).arg("nettoll").env("CARGO_NET_OFFLINE", "true").output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8(said.stdout).unwrap()
    };
    let text = made();
    let list = text.split("\n\n").nth(1).unwrap();
    let of_texts: std::collections::BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("== ")).flat_map(|line| line.split(", ")).collect();
    for line in list.lines() {
        let [name, version, _] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
        assert!(of_texts.contains(&*format!("{name} {version}")), "{line}");
    }
    assert!(of_texts.len() > 100 && of_texts.len() == list.lines().count(), "{} of {}", of_texts.len(), list.lines().count());
    let lacking = text.matches("No text of a licence is in the package").count();
    assert!(lacking < 5 && text.matches("Permission is hereby granted").count() > 30, "{lacking}");
    assert_eq!(text, made(), "the same text each time");
    Ok(())
}

const UNIT: &str = include_str!("../../../packaging/nettoll-top.service");
const MANIFEST: &str = include_str!("../../../packaging/kubernetes/nettoll-top.yaml");

fn the_dashboard_asks_for_counters_that_there_are() -> Result<(), Skip> {
    let dashboard: serde_json::Value = serde_json::from_str(include_str!("../../../packaging/grafana/nettoll-top.json")).unwrap();
    let page = include_str!("../../../docs/top.md");
    let panels = dashboard["panels"].as_array().unwrap();
    let mut ids = std::collections::BTreeSet::new();
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "two panels of one id: {panel}");
        let [x, w] = ["x", "w"].map(|key| panel["gridPos"][key].as_u64().unwrap());
        assert!(x + w <= 24, "{panel}");
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            let names = expression.split(|letter: char| !(letter.is_ascii_lowercase() || letter == '_'));
            let counters: Vec<&str> = names.filter(|name| name.starts_with("nettoll_")).collect();
            assert!(!counters.is_empty() && counters.iter().all(|name| page.contains(&format!("`{name}`"))), "{expression}");
            let even = |open, close| expression.matches(open).count() == expression.matches(close).count();
            assert!(even('(', ')') && even('{', '}') && even('[', ']'), "{expression}");
        }
    }
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    for variable in ["source", "instance", "unit"] {
        assert!(variables.iter().any(|one| one["name"] == variable), "{variable}");
    }
    Ok(())
}

fn the_unit_of_top_and_the_manifest_have_the_same_capabilities() -> Result<(), Skip> {
    let of_unit = |key: &str| {
        let line = UNIT.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.split(' ').map(|name| name.trim_start_matches("CAP_").to_owned()).collect::<Vec<_>>()
    };
    let line = MANIFEST.lines().find_map(|line| line.trim().strip_prefix("add: [")).unwrap();
    let of_manifest: Vec<String> = line.trim_end_matches(']').split(", ").map(|name| name.trim_matches('"').to_owned()).collect();
    let bounding = of_unit("CapabilityBoundingSet=");
    assert_eq!([&of_unit("AmbientCapabilities="), &of_manifest], [&bounding; 2]);
    let page = include_str!("../../../docs/howto/monitoring.md");
    assert!(bounding.iter().all(|name| page.contains(&format!("CAP_{name}"))));
    Ok(())
}
