//! A network namespace with addresses that are not loopback's, and a file of
//! host names of its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use super::Skip;

/// Says that this process is inside, or why it cannot be.
const INSIDE: &str = "NETTOLL_TEST_INSIDE";
const CANNOT: &str = "NETTOLL_TEST_CANNOT";

/// Addresses of this namespace that are not loopback's.
pub const HERE: &str = "192.0.2.1";
pub const HERE_V6: &str = "2001:db8::1";
/// On the link, answered by nobody.
pub const NOBODY: &str = "192.0.2.99";
/// A link-local address here and its device.
pub const LINK_LOCAL: &str = "fe80::1%near0";
/// A name with both addresses.
pub const TWOFOLD: &str = "twofold.test";

/// `near0` leads nowhere: its other end has no addresses.
const SCRIPT: &str = r#"
set -e
ip link set lo up
ip link add near0 type veth peer name far0
ip link set near0 up
ip link set far0 up
ip addr add 192.0.2.1/24 dev near0
ip addr add 2001:db8::1/64 dev near0 nodad
ip addr add fe80::1/64 dev near0 nodad
ip neigh add 192.0.2.99 lladdr 02:00:00:00:00:99 dev near0 nud permanent
mount --bind "$1" /etc/hosts
shift
exec "$@"
"#;

/// Runs this program inside and returns how it ended; `None` where it already
/// is, or cannot be, which the claims then say.
pub fn run() -> Option<ExitCode> {
    if std::env::var_os(INSIDE).is_some() {
        return None;
    }
    let hosts = hosts_file();
    let root = nix::unistd::geteuid().is_root();
    let namespaces: &[&str] = if root { &["-n", "-m"] } else { &["-r", "-n", "-m"] };
    let shell = |script: &str, program: &[&std::ffi::OsStr]| {
        let mut command = Command::new("unshare");
        command.args(namespaces).args(["sh", "-c", script, "sh"]).arg(&hosts).args(program);
        command
    };
    let tried = shell(SCRIPT, &["true".as_ref()]).output();
    let cannot = match &tried {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("unshare: {error}")),
    };
    let outcome = match cannot {
        Some(reason) => {
            let this = std::env::current_exe().unwrap();
            Command::new(this).args(std::env::args_os().skip(1)).env(INSIDE, "no").env(CANNOT, reason).status()
        }
        None => {
            let this = std::env::current_exe().unwrap();
            shell(SCRIPT, &[this.as_os_str()]).args(std::env::args_os().skip(1)).env(INSIDE, "yes").status()
        }
    };
    let _ = std::fs::remove_file(&hosts);
    Some(outcome.unwrap().code().map_or(ExitCode::FAILURE, |code| ExitCode::from(u8::try_from(code).unwrap_or(1))))
}

fn hosts_file() -> PathBuf {
    let path = std::env::temp_dir().join(format!("nettoll-agent-test-hosts-{}", std::process::id()));
    std::fs::write(&path, format!("127.0.0.1 localhost\n::1 localhost\n{HERE} {TWOFOLD}\n{HERE_V6} {TWOFOLD}\n")).unwrap();
    path
}

/// For claims that need the namespace.
pub fn need() -> Result<(), Skip> {
    match std::env::var(CANNOT) {
        Ok(reason) => Err(Skip(format!("a namespace with addresses could not be set up: {reason}"))),
        Err(_) => Ok(()),
    }
}

/// An address of this namespace that is not loopback's, any port.
pub fn here() -> Result<SocketAddr, Skip> {
    need()?;
    Ok(SocketAddr::new(HERE.parse().unwrap(), 0))
}

/// Loopback, any port.
pub fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}
