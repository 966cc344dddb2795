//! What strangers, controllers and other users could hand over: credentials,
//! commands to an agent, journals of changes.

use std::cell::RefCell;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;

use lab::agent::passed_on;
use lab::arm::journal::changes;
use lab::connection::{Credentials, TlsFiles};
use model::control::{ToEndpoint, ToHost};
use model::frame::Decoder;
use tempfile::TempDir;

use crate::says_something;

/// Commands to an agent. The first byte says whether they come from its own machine:
/// nothing that is refused reaches the host process.
pub fn policy(bytes: &[u8]) {
    let Some((near, stream)) = bytes.split_first() else { return };
    let near = near & 1 == 1;
    let mut decoder = Decoder::<ToHost>::default();
    decoder.push(stream);
    let commands: Vec<ToHost> = std::iter::from_fn(|| decoder.take().ok().flatten()).collect();
    for command in passed_on(&commands, near) {
        match command {
            ToHost::Arm(_)
            | ToHost::Background(_)
            | ToHost::MakeLink { .. }
            | ToHost::MakeWire(_)
            | ToHost::WireCounters
            | ToHost::Configure(_)
            | ToHost::Inject { .. }
            | ToHost::Calibrate { .. } => panic!("passed on: {command:?}"),
            ToHost::Endpoint(ToEndpoint::Prepare(task)) => {
                assert!(task.local.port() == 0 || task.local.port() >= 1024, "{}", task.local);
                reaches(task.local, near);
            }
            ToHost::Endpoint(ToEndpoint::Connect { peers }) => peers.iter().for_each(|peer| {
                assert!(!peer.ip().is_unspecified());
                reaches(*peer, near);
            }),
            ToHost::Counters { device, .. } | ToHost::Facts { device, .. } => assert!(!device.contains('/') && device != ".."),
            _ => {}
        }
    }
}

fn reaches(address: SocketAddr, near: bool) {
    let ip = address.ip().to_canonical();
    assert!(!ip.is_multicast() && (near || !ip.is_loopback()), "{address}");
}

/// The text of a journal of host-wide changes.
pub fn journal(bytes: &[u8]) {
    if let Err(why) = changes(bytes) {
        assert!(!why.trim().is_empty());
    }
}

/// A file of a secret, and one that is given for certificate, key and authority.
pub fn credentials(bytes: &[u8]) {
    thread_local!(static PLACE: RefCell<TempDir> = RefCell::new(tempfile::tempdir().unwrap()));
    PLACE.with_borrow(|place| {
        let file = place.path().join("file");
        fs::write(&file, bytes).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        if let Ok(found) = Credentials::load(Some(&file), None).inspect_err(says_something) {
            assert!(!found.is_empty() && bytes.len() >= 16);
        }
        // What is no PEM is refused at its first line, after a mebibyte was wiped.
        if !bytes.windows(10).any(|window| window == b"-----BEGIN") {
            return;
        }
        let files = TlsFiles { cert: file.clone(), key: file.clone(), ca: file };
        let _ = Credentials::load(None, Some(&files)).inspect_err(says_something);
    });
}
