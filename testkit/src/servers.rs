//! Servers from the distribution's packages on loopback, each with a port and files of its own.
//! `scripts/services.sh` unpacks the packages, and names their folder in [`FOLDER`].

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::claims::{NOBODY, Skip, need_programs, succeeds, within};

/// In the environment: the folder with one for each package that was unpacked.
pub const FOLDER: &str = "NETTOLL_TEST_SERVICES";

/// Time that a server has to come up, and to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that runs. Dropped, it is asked to end, and ended where it does not.
#[derive(Debug)]
pub struct Server {
    child: Child,
    directory: tempfile::TempDir,
    port: u16,
}

/// The folder of one package.
///
/// # Errors
/// Where it was not unpacked.
pub fn unpacked(package: &str) -> Result<PathBuf, Skip> {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap_or_default()).join(package);
    if folder.join("done").exists() { Ok(folder) } else { Err(Skip(format!("the packages of {package} could not be unpacked"))) }
}

/// A fresh directory; with `anybodys`, everybody may write there.
fn directory(anybodys: bool) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    if anybodys {
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    }
    directory
}

/// A port that was free a moment ago.
fn port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// A program of a package that was unpacked, or of this machine.
fn find(package: &str, program: &str) -> Result<PathBuf, Skip> {
    let unpacked = unpacked(package);
    let below = |root: &Path| {
        let postgres = fs::read_dir(root.join("usr/lib/postgresql")).into_iter().flatten().flatten().map(|entry| entry.path().join("bin"));
        ["usr/bin", "usr/sbin"]
            .map(|place| root.join(place))
            .into_iter()
            .chain(postgres)
            .map(|place| place.join(program))
            .collect::<Vec<_>>()
    };
    let roots = unpacked.iter().map(PathBuf::as_path).chain([Path::new("/")]);
    let found = roots.flat_map(below).find(|path| path.exists());
    found.ok_or_else(|| unpacked.err().unwrap_or_else(|| Skip(format!("the package {package} has no {program}"))))
}

/// A command that starts it such that it ends with this test, whatever becomes of that; as nobody
/// where it refuses root.
fn command(package: &str, program: &str, nobody: bool) -> Result<Command, Skip> {
    need_programs(&["setpriv"])?;
    let path = find(package, program)?;
    let libraries: Vec<String> = unpacked(package)
        .iter()
        .flat_map(|folder| [folder.join("usr/lib"), folder.join("lib")])
        .flat_map(|place| fs::read_dir(place).into_iter().flatten().flatten())
        .filter(|entry| entry.file_name().to_string_lossy().contains("-linux-"))
        .map(|entry| entry.path().display().to_string())
        .collect();
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM"]);
    if nobody {
        command.args([format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".to_owned()]);
    }
    command.arg("--").arg(path).env("LD_LIBRARY_PATH", libraries.join(":"));
    command.stdin(Stdio::null());
    Ok(command)
}

impl Server {
    /// Starts a command in its directory and waits until its port answers.
    fn start(mut command: Command, directory: tempfile::TempDir, port: u16) -> Self {
        let log = directory.path().join("log");
        let out = fs::File::create(&log).unwrap();
        command.current_dir(directory.path()).stdout(out.try_clone().unwrap()).stderr(out).process_group(0);
        let mut child = command.spawn().unwrap();
        let up = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        within(PATIENCE, &format!("a server answers at {port}"), || {
            assert!(child.try_wait().unwrap().is_none(), "it ended: {}", fs::read_to_string(&log).unwrap());
            up()
        });
        Self { child, directory, port }
    }

    /// Any other that takes its port as the last argument, in a directory of its own.
    pub fn of(mut command: Command) -> Self {
        let port = port();
        command.arg(port.to_string());
        Self::start(command, directory(false), port)
    }

    /// The process.
    pub fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// The place where it listens.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Its directory, which vanishes with it.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A connection on which small writes are not held back.
    pub fn connect(&self) -> TcpStream {
        let connection = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        connection.set_nodelay(true).unwrap();
        connection.set_read_timeout(Some(PATIENCE)).unwrap();
        connection
    }

    /// Redis, without persistence.
    ///
    /// # Errors
    /// Where there is none here.
    pub fn redis() -> Result<Self, Skip> {
        let (at, port) = (directory(false), port());
        let mut command = command("redis", "redis-server", false)?;
        command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--daemonize", "no", "--port", &port.to_string()]);
        Ok(Self::start(command, at, port))
    }

    /// memcached, with two threads.
    ///
    /// # Errors
    /// Where there is none here.
    pub fn memcached() -> Result<Self, Skip> {
        let (at, port) = (directory(false), port());
        let mut command = command("memcached", "memcached", false)?;
        command.args(["-l", "127.0.0.1", "-U", "0", "-t", "2", "-u", "root", "-p", &port.to_string()]);
        Ok(Self::start(command, at, port))
    }

    /// nginx that serves `/small` and `/large`, and logs the bytes of each request and its answer.
    ///
    /// # Errors
    /// Where there is none here.
    pub fn nginx(small: usize, large: usize) -> Result<Self, Skip> {
        let (at, port) = (directory(true), port());
        let mut command = command("nginx", "nginx", false)?;
        let place = at.path().display();
        let folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|name| format!("{name}_temp_path {place}/{name};\n"));
        let user = if nix::unistd::geteuid().is_root() { "user root;\n" } else { "" };
        let configuration = format!(
            "daemon off;\nworker_processes 1;\n{user}pid {place}/pid;\nerror_log {place}/errors;\nevents {{ worker_connections 64; }}\n\
             http {{\n{}log_format bytes '$request_length $bytes_sent';\naccess_log {place}/access bytes;\nsendfile on;\n\
             keepalive_requests 1000000;\nserver {{ listen 127.0.0.1:{port}; root {place}/pages; }}\n}}\n",
            folders.concat()
        );
        fs::write(at.path().join("configuration"), configuration).unwrap();
        fs::create_dir(at.path().join("pages")).unwrap();
        for (name, size) in [("small", small), ("large", large)] {
            fs::write(at.path().join("pages").join(name), vec![b'x'; size]).unwrap();
        }
        command.arg("-p").arg(at.path()).arg("-e").arg(at.path().join("errors")).arg("-c").arg(at.path().join("configuration"));
        Ok(Self::start(command, at, port))
    }

    /// A cluster of PostgreSQL of its own, without a password.
    ///
    /// # Errors
    /// Where there is none here, or nobody, as whom it runs, may not read it.
    pub fn postgres() -> Result<Self, Skip> {
        let root = nix::unistd::geteuid().is_root();
        let (at, port) = (directory(true), port());
        let program = find("postgres", "initdb")?;
        let reachable = format!("setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups -- test -x {}", program.display());
        if root && !succeeds(&reachable) {
            return Err(Skip(format!("nobody, as whom PostgreSQL is to run, may not read {}", program.display())));
        }
        let mut make = command("postgres", "initdb", root)?;
        make.current_dir(at.path()).args(["-D", "data", "-U", "postgres", "-A", "trust", "-N", "--no-locale", "-E", "UTF8"]);
        let made = make.output().unwrap();
        if !made.status.success() {
            let why = String::from_utf8_lossy(&made.stderr).lines().last().unwrap_or_default().to_owned();
            return Err(Skip(format!("initdb makes no cluster here: {why}")));
        }
        let mut command = command("postgres", "postgres", root)?;
        command.args(["-D", "data", "-h", "127.0.0.1", "-k", "", "-F", "-c", "autovacuum=off", "-p", &port.to_string()]);
        Ok(Self::start(command, at, port))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It is a child that nobody has waited for, so the id is its own, and that of its group.
        let group = Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        let _ = nix::sys::signal::kill(group, Signal::SIGINT);
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        // Processes that it started and left behind are of its group.
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.child.wait();
    }
}
