//! Servers in Go, Java and JavaScript, attached: each answer is counted, and the function that does
//! their work has its name where its language leaves one.

use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use model::attach::Look;

use crate::attach::bursts::{Burst, Counts, Extent, bytes_agree, requests_agree, seen};
use crate::attach::server::{ANSWER, REQUEST, Server, ask};
use crate::support::{Skip, directory, need_programs};

crate::claims!(
    functions_of_a_go_server_have_their_names,
    functions_of_a_java_server_have_the_names_of_its_map,
    functions_of_a_node_server_have_the_names_of_its_map,
    without_a_map_they_are_one_row,
);

/// A window of each look, twice.
const EXTENT: Extent = Extent { windows: 8, length: Duration::from_millis(1500) };
/// Requests of a burst, each of some 100 µs of the server's own code.
const ROUNDS: u64 = 300;
/// Time in which a run-time compiler gets to know what is called often.
const WARM_UP: Duration = Duration::from_secs(3);

const GO: &str = r#"package main

import (
	"fmt"
	"io"
	"net"
)

//go:noinline
func digest(ask []byte) uint32 {
	sum := uint32(2166136261)
	for i := 0; i < 60000; i++ {
		sum = (sum ^ uint32(ask[i%len(ask)])) * 16777619
	}
	return sum
}

func serve(peer net.Conn) {
	ask, answer := make([]byte, 36), make([]byte, 100)
	for {
		if _, err := io.ReadFull(peer, ask); err != nil {
			return
		}
		answer[0] = byte(digest(ask))
		peer.Write(answer)
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	for {
		if peer, err := listener.Accept(); err == nil {
			go serve(peer)
		}
	}
}
"#;

const JAVA: &str = r#"import java.io.*;
import java.net.*;

public class Server {
    static int digest(byte[] ask) {
        int sum = (int) 2166136261L;
        for (int i = 0; i < 60000; i++) {
            sum = (sum ^ ask[i % ask.length]) * 16777619;
        }
        return sum;
    }

    static void serve(Socket peer) {
        byte[] answer = new byte[100];
        try {
            while (true) {
                byte[] ask = peer.getInputStream().readNBytes(36);
                if (ask.length < 36) {
                    return;
                }
                answer[0] = (byte) digest(ask);
                peer.getOutputStream().write(answer);
            }
        } catch (IOException ended) {
        }
    }

    public static void main(String[] words) throws IOException {
        ServerSocket listener = new ServerSocket(0, 16, InetAddress.getByName("127.0.0.1"));
        System.out.println(listener.getLocalPort());
        while (true) {
            Socket peer = listener.accept();
            peer.setTcpNoDelay(true);
            new Thread(() -> serve(peer)).start();
        }
    }
}
"#;

const NODE: &str = r#"const net = require('net');

function digest(ask) {
  let sum = 2166136261;
  for (let i = 0; i < 60000; i++) {
    sum = Math.imul(sum ^ ask[i % ask.length], 16777619);
  }
  return sum;
}

const server = net.createServer((peer) => {
  let taken = Buffer.alloc(0);
  peer.setNoDelay(true);
  peer.on('error', () => {});
  peer.on('data', (data) => {
    taken = Buffer.concat([taken, data]);
    while (taken.length >= 36) {
      const answer = Buffer.alloc(100, 1);
      answer[0] = digest(taken.subarray(0, 36)) & 255;
      taken = taken.subarray(36);
      peer.write(answer);
    }
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
"#;

/// A command that ends with this test, whatever becomes of that.
fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", program]).args(arguments);
    command
}

/// The map that a run-time compiler left. Removed with its process.
struct Map(String);

impl Map {
    fn of(server: &Server) -> Self {
        Self(format!("/tmp/perf-{}.map", server.pid()))
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Bursts of requests on a connection that stays.
fn burst(server: &Server) -> impl FnMut() -> Counts + Send {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, server.port())).unwrap();
    connection.set_nodelay(true).unwrap();
    move || {
        assert!((0..ROUNDS).all(|_| ask(&mut connection)), "the server answers");
        Counts { requests: ROUNDS, to: ROUNDS * REQUEST as u64, from: ROUNDS * ANSWER as u64 }
    }
}

fn warm_up(burst: &mut impl FnMut() -> Counts) {
    let begun = Instant::now();
    while begun.elapsed() < WARM_UP {
        burst();
    }
}

/// The samples in own code: those whose function the name says something of, and all.
fn samples(seen: &Burst, named: &dyn Fn(&str) -> bool) -> Result<(u64, u64), Skip> {
    let (mut found, mut all) = (0, 0);
    for (record, _) in seen.windows.iter().filter(|(record, _)| record.look == Look::Time) {
        let Some(own) = &record.own_code else { return Err(Skip(format!("no samples here: {:?}", record.refused))) };
        found += own.functions.iter().filter(|(name, _)| named(name)).map(|(_, count)| count).sum::<u64>();
        all += own.functions.iter().map(|(_, count)| count).sum::<u64>() + own.rest + own.unnamed;
    }
    Ok((found, all))
}

/// Every answer is counted, and the rows of the own code make up the whole, most by one function's.
fn agrees(seen: &Burst, named: &dyn Fn(&str) -> bool) -> Result<(), Skip> {
    requests_agree(seen);
    bytes_agree(seen);
    let (found, all) = samples(seen, named)?;
    assert!(all > 40 && found * 2 > all, "{found} of {all}: {:#}", seen.told["states"][0]["own_code"]);
    let state = &seen.told["states"][0];
    if state["outcome"].get("made").is_some() {
        let rows = |name: &str| state[name].as_array().unwrap().clone();
        let share = |row: &serde_json::Value| row["share"]["value"].as_f64().unwrap();
        let functions: f64 = rows("own_code").iter().map(share).sum();
        let own: f64 = rows("work").iter().filter(|row| row["work"] == "own code").map(share).sum();
        assert!(own > 0.1 && (functions - own).abs() < 1e-6, "{functions} {own}");
    }
    Ok(())
}

fn functions_of_a_go_server_have_their_names() -> Result<(), Skip> {
    need_programs(&["go", "setpriv"])?;
    let at = directory(false);
    std::fs::write(at.path().join("server.go"), GO).unwrap();
    let made = Command::new("go").args(["build", "-o", "server", "server.go"]).current_dir(at.path()).output().unwrap();
    if !made.status.success() {
        return Err(Skip(format!("go builds nothing here: {}", String::from_utf8_lossy(&made.stderr).trim())));
    }
    let server = Server::of(&mut command(&at.path().join("server").to_string_lossy(), &[]));
    let seen = seen(&server.pid(), EXTENT, "sends", &mut burst(&server))?;
    agrees(&seen, &|name| name == "main.digest")
}

fn functions_of_a_java_server_have_the_names_of_its_map() -> Result<(), Skip> {
    need_programs(&["java", "javac", "jcmd", "setpriv"])?;
    let at = directory(false);
    std::fs::write(at.path().join("Server.java"), JAVA).unwrap();
    let made = Command::new("javac").arg("Server.java").current_dir(at.path()).output().unwrap();
    if !made.status.success() {
        return Err(Skip(format!("javac compiles nothing here: {}", String::from_utf8_lossy(&made.stderr).trim())));
    }
    let folder = at.path().to_string_lossy().into_owned();
    let server = Server::of(&mut command(
        "java",
        &["-Xmx64m", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Server::digest", "-cp", &folder, "Server"],
    ));
    let map = Map::of(&server);
    let mut burst = burst(&server);
    warm_up(&mut burst);
    let asked = Command::new("jcmd").args([&server.pid(), "Compiler.perfmap"]).output().unwrap();
    if !std::path::Path::new(&map.0).exists() {
        return Err(Skip(format!("this Java writes no map: {}", String::from_utf8_lossy(&asked.stdout).trim())));
    }
    let seen = seen(&server.pid(), EXTENT, "sends", &mut burst)?;
    agrees(&seen, &|name| name.contains("Server.digest"))
}

fn node(at: &tempfile::TempDir, flags: &[&str]) -> Result<Server, Skip> {
    need_programs(&["node", "setpriv"])?;
    let script = at.path().join("server.js");
    std::fs::write(&script, NODE).unwrap();
    // It writes a log of its own to where it runs.
    Ok(Server::of(command("node", &[flags, &[&script.to_string_lossy()]].concat()).current_dir(at.path())))
}

fn functions_of_a_node_server_have_the_names_of_its_map() -> Result<(), Skip> {
    let at = directory(false);
    // Else it moves code about, of which the map says nothing.
    let server = node(&at, &["--perf-basic-prof", "--interpreted-frames-native-stack"])?;
    let _map = Map::of(&server);
    let mut burst = burst(&server);
    warm_up(&mut burst);
    let seen = seen(&server.pid(), EXTENT, "sends", &mut burst)?;
    agrees(&seen, &|name| name.contains("server.js"))
}

fn without_a_map_they_are_one_row() -> Result<(), Skip> {
    let at = directory(false);
    let server = node(&at, &[])?;
    let mut burst = burst(&server);
    warm_up(&mut burst);
    let seen = seen(&server.pid(), EXTENT, "sends", &mut burst)?;
    requests_agree(&seen);
    let (named, all) = samples(&seen, &|name| name.contains("server.js") || name.contains("digest"))?;
    let (any, _) = samples(&seen, &|_| true)?;
    // What the compiler made has no name; Node's own code has.
    assert!(named == 0 && all > 40 && any * 2 < all, "{any} of {all} have a name: {:#}", seen.told["states"][0]["own_code"]);
    Ok(())
}
