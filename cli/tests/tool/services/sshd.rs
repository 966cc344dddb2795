//! An sshd in the namespace of host b, with its own port, keys and accounts, and an ssh
//! that knows it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::folder;
use crate::agents::commands::{make_own, own_files};
use crate::agents::support::{B, Net};
use crate::support::processes::MARK;
use crate::support::tool::Tool;
use crate::support::{Skip, need_programs, need_root, within};

pub const PORT: &str = "2222";

/// A running sshd. Dropped, it is killed.
pub struct Sshd {
    child: Child,
}

/// What is particular about one.
#[derive(Default)]
pub struct Settings<'a> {
    /// Further lines of its configuration.
    pub more: &'a str,
    /// Root's login shell there.
    pub shell: Option<&'a str>,
    /// What stands before the key in `authorized_keys`.
    pub key_options: &'a str,
}

impl Sshd {
    /// Starts one, and makes `ssh` of the tool's directory know it as `db1`.
    pub fn start(net: &Net, tool: &Tool, settings: &Settings) -> Result<Self, Skip> {
        need_root()?;
        need_programs(&["ssh", "ssh-keygen", "mount", "unshare"])?;
        let folder = folder("ssh")?;
        make_own(tool);
        let at = tool.path();
        keygen(at, "host_key");
        keygen(at, "key");
        let public = fs::read_to_string(at.join("key.pub")).unwrap();
        tool.write("authorized_keys", &format!("{}{public}", settings.key_options));
        let own = own_files(tool);
        let config = format!(
            "Port {PORT}\nHostKey {at}/host_key\nAuthorizedKeysFile {at}/authorized_keys\nStrictModes no\nUsePAM no\nPidFile none\n\
             PermitRootLogin yes\nSetEnv {MARK}={} {own}\n{}\n",
            tool.mark(),
            settings.more,
            at = at.display()
        );
        tool.write("sshd_config", &config);
        // Its own accounts, so that none of this machine's has to be made.
        let shell = settings.shell.unwrap_or("/bin/sh");
        tool.write("passwd", &format!("root:x:0:0::{}/home:{shell}\nsshd:x:1:65534::/run/sshd:/bin/false\n", at.display()));
        tool.write("shadow", "root:*:19000:0:99999:7:::\nsshd:*:19000:0:99999:7:::\n");
        let libraries = fs::read_dir(folder.join("usr/lib")).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_dir());
        let script = format!(
            "set -e\nfor file in passwd shadow; do mount --bind {at}/$file /etc/$file; done\nmount -t tmpfs none /run\nmkdir -m 755 /run/sshd\n\
             LD_LIBRARY_PATH={} exec {}/usr/sbin/sshd -D -e -f {at}/sshd_config",
            libraries.unwrap_or_default().display(),
            folder.display(),
            at = at.display()
        );
        tool.write("start-sshd", &script);
        let script = at.join("start-sshd").display().to_string();
        let mut command = net.b.program(tool, Path::new("unshare"), &["-m", "sh", &script]);
        // Not among the tool's processes: it outlives every connection.
        command.env_remove(MARK).stderr(fs::File::create(at.join("sshd.log")).unwrap()).stdout(Stdio::null());
        let sshd = Self { child: command.spawn().unwrap() };
        let listens = || net.b.net("tcp").lines().any(|line| line.contains(":08AE 00000000:0000 0A"));
        within(Duration::from_secs(10), &format!("sshd listens: {}", fs::read_to_string(at.join("sshd.log")).unwrap()), listens);
        know(tool);
        Ok(sshd)
    }

    /// The controller's environment: `ssh` finds its configuration.
    pub fn path(tool: &Tool) -> String {
        format!("{}/bin:{}", tool.path().display(), std::env::var("PATH").unwrap())
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn keygen(at: &Path, name: &str) {
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(at.join(name)).status().unwrap();
    assert!(made.success());
}

/// An `ssh` that reads the tool's own configuration, in which `db1` is host b.
fn know(tool: &Tool) {
    let at = tool.path();
    let host_key = fs::read_to_string(at.join("host_key.pub")).unwrap();
    tool.write("known_hosts", &format!("[{B}]:{PORT} {host_key}"));
    let config = format!(
        "Host db1 {B}\n  HostName {B}\n  Port {PORT}\n  User root\n  IdentityFile {at}/key\n  IdentitiesOnly yes\n  \
         UserKnownHostsFile {at}/known_hosts\n  GlobalKnownHostsFile /dev/null\n",
        at = at.display()
    );
    tool.write("ssh_config", &config);
    fs::create_dir_all(at.join("bin")).unwrap();
    let ssh = ["/usr/bin/ssh", "/bin/ssh", "/usr/local/bin/ssh"].into_iter().find(|path| Path::new(path).exists()).unwrap_or("ssh");
    tool.write("bin/ssh", &format!("#!/bin/sh\nexec {ssh} -F {}/ssh_config \"$@\"\n", at.display()));
    fs::set_permissions(at.join("bin/ssh"), fs::Permissions::from_mode(0o755)).unwrap();
}
