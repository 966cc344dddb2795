//! The script that a shell on the host gets: it finds this program there or takes it, and
//! becomes it.

/// Task of the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Task {
    /// Become `nettoll __serve`.
    Run {
        /// A copy stays in the user's cache.
        keep: bool,
    },
    /// Remove copies from the user's cache.
    Prune,
}

/// A function, so that all is read before any line runs: what is sent
/// afterwards is for `head` and for the program. POSIX shell and utilities, with `head
/// -c`, `mktemp` and `sha256sum`, which coreutils and busybox have.
///
/// The words for the other side are put together only when they are said, so that no
/// echo of the script is taken for them.
const BODY: &str = r#"nettoll_reach() {
LC_ALL=C; export LC_ALL
say() { printf '%s-reach %s\n' nettoll "$*"; }
fail() { say failed "$@"; exit 1; }
if [ -t 0 ]; then fail terminal; fi
for tool in head mktemp sha256sum; do
  command -v $tool >/dev/null 2>&1 || fail tool $tool
done
case ${XDG_CACHE_HOME:-} in /*) cache=$XDG_CACHE_HOME/nettoll ;; *) cache=${HOME:-/nonexistent}/.cache/nettoll ;; esac
is_it() { [ -f "$1" ] && [ "$(sha256sum <"$1" 2>/dev/null | cut -c 1-64)" = $sum ]; }
if [ $task = prune ]; then
  copies=0
  for file in "$cache"/*; do
    name=${file##*/}
    case $name in *[!0-9a-f]*) continue ;; esac
    [ ${#name} = 64 ] && [ -f "$file" ] && rm -f "$file" && copies=$((copies + 1))
  done
  rmdir "$cache" 2>/dev/null
  say pruned $copies
  exit 0
fi
for file in "$cache/$sum" "$(command -v nettoll 2>/dev/null)"; do
  if [ -x "$file" ] && is_it "$file"; then exec "$file" __serve; fi
done
umask 077
if [ $task = keep ]; then
  mkdir -p "$cache" || fail cache "$cache"
  set -- "$cache"
else
  set -- "${TMPDIR:-/tmp}" /var/tmp /dev/shm "${HOME:-/tmp}"
fi
new=
trap '[ -z "$new" ] || rm -f "$new"' 0
trap 'exit 1' 1 2 13 15
for place; do
  new=$(mktemp "$place/.nettoll.XXXXXX") || { new=; continue; }
  printf '#!/bin/sh\nexit 0\n' >"$new" && chmod 700 "$new" && "$new" </dev/null && break
  rm -f "$new"; new=
done
[ -n "$new" ] || fail place "$*"
unpack=
[ "$(printf x | gzip -c 2>/dev/null | gzip -dc 2>/dev/null)" != x ] || unpack=gzip
say need "$(uname -s)" "$(uname -m)" $unpack
if [ -n "$unpack" ]; then
  read -r packed || fail short "$place"
  case $packed in ''|*[!0-9]*) fail short "$place" ;; esac
  head -c "$packed" | gzip -dc | head -c $((size + 1)) >"$new" || fail write "$place"
else
  head -c $size >"$new" || fail write "$place"
fi
[ "$(wc -c <"$new")" -eq $size ] || fail short "$place"
is_it "$new" || fail damaged "$place"
chmod 500 "$new"
"$new" --version </dev/null >/dev/null || fail run "$(uname -s) $(uname -m)"
if [ $task = keep ]; then
  mv -f "$new" "$cache/$sum" || fail cache "$cache"
  new=
  exec "$cache/$sum" __serve
fi
exec 3<"$new"
rm -f "$new"
new=
exec /proc/self/fd/3 __serve
}
nettoll_reach
"#;

/// The script for a task; `size` and `digest` are of this program.
pub(super) fn text(task: &Task, size: u64, digest: &str) -> String {
    let task = match task {
        Task::Run { keep: true } => "keep",
        Task::Run { keep: false } => "once",
        Task::Prune => "prune",
    };
    format!("task={task} size={size} sum={digest}\n{BODY}")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use crate::hex::Hex;
    use crate::reach::MARK;

    use super::{Task, text};

    #[test]
    fn an_echo_of_it_is_no_word_of_the_host() {
        assert!(!text(&Task::Prune, 1, "ab").contains(MARK));
    }

    #[test]
    fn every_shell_here_reads_it() {
        for shell in [&["dash"][..], &["bash", "--posix"], &["busybox", "sh"], &["sh"]] {
            let (program, rest) = shell.split_first().unwrap();
            let mut command = Command::new(program);
            command.args(rest).arg("-n").stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
            // A shell that is not installed cannot misread it; `sh` always is.
            let Ok(mut child) = command.spawn() else { continue };
            child.stdin.take().unwrap().write_all(text(&Task::Run { keep: true }, 1, "ab").as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success() && output.stderr.is_empty(), "{shell:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }

    /// A program that is copied.
    const PROGRAM: &[u8] = b"#!/bin/sh\necho served $1\n";

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// The words of a host that lacks [`PROGRAM`], with these utilities, and gets `sent`; its cache is below `home`.
    fn host(home: &Path, utilities: &[&str], sent: &[u8]) -> [String; 2] {
        let (bin, cache) = (home.join("bin"), home.join("cache"));
        [&bin, &cache].iter().for_each(|place| fs::create_dir(place).unwrap());
        for name in ["head", "mktemp", "sha256sum", "cut", "wc", "uname", "chmod", "mkdir", "mv", "rm", "sh"].iter().chain(utilities) {
            let found = std::env::split_paths(&std::env::var_os("PATH").unwrap()).map(|place| place.join(name)).find(|file| file.is_file());
            symlink(found.unwrap(), bin.join(name)).unwrap();
        }
        let digest = ring::digest::digest(&ring::digest::SHA256, PROGRAM);
        let mut command = Command::new("/bin/sh");
        command.env("PATH", &bin).env("XDG_CACHE_HOME", &cache).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input
            .write_all(
                text(&Task::Run { keep: true }, PROGRAM.len() as u64, &Hex::<32>(digest.as_ref().try_into().unwrap()).to_string())
                    .as_bytes(),
            )
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (mut need, mut rest) = (String::new(), String::new());
        output.read_line(&mut need).unwrap();
        // A host that has enough takes no more.
        let _ = input.write_all(sent);
        drop(input);
        output.read_to_string(&mut rest).unwrap();
        child.wait().unwrap();
        [need, rest]
    }

    #[test]
    fn a_host_unpacks_the_program_where_it_can() {
        let line = |bytes: &[u8]| [format!("{}\n", bytes.len()).as_bytes(), bytes].concat();
        let larger = packed(&[b'#'; 1 << 20]);
        for (utilities, sent, unpacks, came) in [
            (&["gzip"][..], line(&packed(PROGRAM)), true, "served __serve\n"),
            (&[], PROGRAM.to_vec(), false, "served __serve\n"),
            // No more is written than the program has, and none is kept.
            (&["gzip"], line(&larger), true, "nettoll-reach failed short "),
            (&["gzip"], line(&packed(&PROGRAM[1..])), true, "nettoll-reach failed short "),
            (&["gzip"], b"many\n".to_vec(), true, "nettoll-reach failed short "),
        ] {
            let home = tempfile::tempdir().unwrap();
            let [need, rest] = host(home.path(), utilities, &sent);
            assert_eq!(need.trim_end().ends_with(" gzip"), unpacks, "{need}");
            assert!(rest.starts_with(came), "{utilities:?}: {rest}");
            let kept = fs::read_dir(home.path().join("cache/nettoll")).unwrap().count();
            assert_eq!(kept, usize::from(came.starts_with("served")));
        }
    }
}
