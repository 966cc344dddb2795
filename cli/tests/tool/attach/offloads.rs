//! A server whose device is told to leave checksums and segmentation to the CPU.

use std::process::Command;

use super::advice::{advise_later, alone, first, holds, observed};
use super::server::{KIND, Kind, SERVER, Server};
use crate::agents::support::{A, Net, Place};
use crate::support::{Skip, need_programs, need_root};

crate::claims!(offloads_that_are_off_are_found);

/// Turns the checksums of what `eth0` sends off or on, and so what builds on them (`ETHTOOL_STXCSUM`).
fn checksums(place: &Place, on: bool) -> Result<(), Skip> {
    let script = format!(
        "import array, fcntl, socket, struct
request = array.array('I', [0x17, {}])
fcntl.ioctl(socket.socket(), 0x8946, struct.pack('16sP', b'eth0', request.buffer_info()[0]))
",
        u8::from(on)
    );
    place.set(&format!("python3 -c \"{script}\"")).map(drop)
}

/// A role of this program in a namespace.
fn start(place: &Place, kind: &str, to: &str) -> Server {
    let role = std::env::current_exe().unwrap();
    let mut command = place.entering(Command::new("nsenter"), &role.to_string_lossy());
    Server::of(command.env(KIND, kind).env(SERVER, to))
}

fn offloads_that_are_off_are_found() -> Result<(), Skip> {
    need_root()?;
    need_programs(&["python3"])?;
    let _alone = alone()?;
    let net = Net::new()?;
    let server = start(&net.a, &format!("{:?}", Kind::Large), "");
    let observe = |on| {
        checksums(&net.a, on)?;
        // A connection that is there already goes on as it began.
        let client = start(&net.b, "Client", &format!("{A}:{}", server.port()));
        advise_later(&server.pid(), client)
    };
    let (found, mended) = (observe(false)?, observe(true)?);
    let one = first(&found, "offloads")?;
    let device = &found["observed"]["device"][0];
    let off = device["off"].as_array().unwrap();
    assert!(device["name"] == "eth0" && off.contains(&"tx".into()) && off.contains(&"tso".into()), "{device}");
    let link = |place: usize| &one["advice"]["replays"][place]["link"]["offloads"]["tso"];
    assert!(*link(0) == false && *link(1) == true, "{one:#}");
    let again = |one: &serde_json::Value| one["advice"]["rule"] == "offloads";
    assert!(!mended["advice"].as_array().unwrap().iter().any(again), "{mended:#}");
    holds(one, observed(&found, "cpu_of_exchange") - observed(&mended, "cpu_of_exchange"))
}
