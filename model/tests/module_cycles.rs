//! No two modules of one parent use each other, directly or by a ring: whoever
//! reads one of them would have to read them all. The check is textual: `crate::`,
//! `super::` and `self::` paths outside comments and tests, through re-exports.
#![allow(clippy::unwrap_used)] // clippy.toml allows it in tests, but not in what they share.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{env, fs};

/// A module by its names below the crate's root.
type Module = Vec<String>;

/// The sources of a crate's modules, without comments and tests.
fn sources(folder: &Path, module: &Module, found: &mut BTreeMap<Module, String>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let own = matches!(name.as_str(), "lib" | "main" | "mod");
        let inner: Module = module.iter().cloned().chain((!own).then(|| name.clone())).collect();
        if name == "tests" {
        } else if path.is_dir() {
            sources(&path, &inner, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| line.to_owned() + "\n");
            found.entry(inner).or_default().extend(code);
        }
    }
}

/// Every path that `text` begins with, groups in braces written out; and the rest.
fn paths<'a>(text: &'a str, before: &[&'a str], all: &mut Vec<Vec<&'a str>>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        while !rest.trim_start().starts_with('}') && !rest.is_empty() {
            rest = paths(rest, before, all).trim_start();
            rest = &rest[rest.find([',', '}']).unwrap_or(rest.len())..];
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        return rest.trim_start().strip_prefix('}').unwrap_or("");
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let path = [before, &[&text[..end]]].concat();
    match text[end..].strip_prefix("::") {
        Some(rest) => paths(rest, &path, all),
        None => {
            all.push(path);
            &text[end..]
        }
    }
}

/// Every path in `code` that begins with one of `starts`.
fn paths_from<'a>(code: &'a str, starts: &[&str]) -> Vec<Vec<&'a str>> {
    let mut all = Vec::new();
    for start in starts {
        for (at, _) in code.match_indices(&format!("{start}::")) {
            if !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                paths(&code[at..], &[], &mut all);
            }
        }
    }
    all
}

/// The module that a path of `from` leads to, through what modules re-export.
fn resolve(modules: &BTreeMap<Module, String>, from: &Module, path: &[&str], depth: usize) -> Module {
    let mut at = if path[0] == "crate" { Module::new() } else { from.clone() };
    for (place, step) in path.iter().enumerate() {
        let inner: Module = at.iter().cloned().chain([(*step).to_owned()]).collect();
        match *step {
            "crate" | "self" => {}
            "super" => drop(at.pop()),
            _ if modules.contains_key(&inner) => at = inner,
            name => {
                let children = modules
                    .keys()
                    .filter(|child| child.len() == at.len() + 1 && child.starts_with(&at))
                    .map(|child| child[at.len()].as_str());
                let children: Vec<&str> = children.chain(["self"]).collect();
                let code = modules.get(&at).map_or("", String::as_str);
                let exported = paths_from(code, &children).into_iter().find(|export| export.len() > 1 && export.last() == Some(&name));
                return exported
                    .filter(|_| depth < 4)
                    .map_or(at.clone(), |export| resolve(modules, &at, &[&export, &path[place + 1..]].concat(), depth + 1));
            }
        }
    }
    at
}

/// The rings of a crate: modules of one parent, each with the siblings in its ring that it uses.
fn rings(modules: &BTreeMap<Module, String>) -> BTreeSet<String> {
    let mut uses: BTreeMap<(Module, String), BTreeSet<String>> = BTreeMap::new();
    for (module, code) in modules {
        for path in paths_from(code, &["crate", "super", "self"]) {
            let other = resolve(modules, module, &path, 0);
            let shared = module.iter().zip(&other).take_while(|(a, b)| a == b).count();
            if let (Some(own), Some(other)) = (module.get(shared), other.get(shared)) {
                uses.entry((module[..shared].to_vec(), own.clone())).or_default().insert(other.clone());
            }
        }
    }
    let reached = |parent: &Module, from: &str| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(one) = next.pop() {
            let used = uses.get(&(parent.clone(), one)).into_iter().flatten().cloned();
            next.extend(used.filter(|used| seen.insert(used.clone())));
        }
        seen
    };
    let in_ring = |(parent, own): &(Module, String)| {
        let ring: Vec<String> = reached(parent, own).into_iter().filter(|other| reached(parent, other).contains(own)).collect();
        let used: Vec<&String> = ring.iter().filter(|other| uses[&(parent.clone(), own.clone())].contains(*other)).collect();
        (!ring.is_empty()).then(|| format!("{}::{own} uses {used:?}", parent.join("::")))
    };
    uses.keys().filter_map(in_ring).collect()
}

#[test]
fn no_sibling_modules_use_each_other_in_a_ring() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folders = fs::read_dir(workspace).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.join("src").is_dir());
    let mut wrong = Vec::new();
    for folder in folders {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        let mut modules = BTreeMap::new();
        sources(&folder.join("src"), &Module::new(), &mut modules);
        wrong.extend(rings(&modules).into_iter().map(|ring| format!("{name}: {ring}")));
    }
    assert!(
        wrong.is_empty(),
        "Modules use each other in a ring. Move what both need into a module below them, or to the one that owns it:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn a_ring_is_found_through_groups_and_re_exports() {
    let made = |files: &[(&str, &str)]| {
        files.iter().map(|(module, code)| (module.split_whitespace().map(str::to_owned).collect(), (*code).to_owned())).collect()
    };
    let ring = [
        ("", "mod a; mod b; pub use b::{B, c::C};"),
        ("a", "use crate::{x::Y, C};"),
        ("b", ""),
        ("b c", "fn f() { super::super::a::g() }"),
    ];
    assert_eq!(rings(&made(&ring)).len(), 2);
    assert!(rings(&made(&ring[..3])).is_empty());
}
