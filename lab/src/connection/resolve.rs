//! Names and addresses as they are typed, with the scope of a link.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use model::{Family, Nanos};

/// Time that a name server may take.
const LOOKUP_LIMIT: Duration = Duration::from_secs(10);

/// Every address that a name stands for, in the order in which the system
/// would have them tried; never none.
///
/// # Errors
/// What the system answered, in words.
pub fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    if let Some(address) = literal(host, port)? {
        return Ok(vec![address]);
    }
    // The system's own lookup knows no limit that could be set.
    let (answer, answered) = mpsc::channel();
    let name = host.to_owned();
    thread::Builder::new()
        .spawn(move || {
            let _ = answer.send((name.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<_>>));
        })
        .map_err(|error| format!("start a thread for it: {error}"))?;
    match answered.recv_timeout(LOOKUP_LIMIT) {
        Ok(Ok(addresses)) if !addresses.is_empty() => {
            let mut each = Vec::new();
            addresses.into_iter().for_each(|address| {
                if !each.contains(&address) {
                    each.push(address)
                }
            });
            Ok(each)
        }
        Ok(Ok(_)) => Err("the name has no address".to_owned()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("the name server gave no answer for {}", Nanos::from(LOOKUP_LIMIT))),
    }
}

/// Those of a family; all of them where there is none of it, or none is asked for.
pub fn of_family(all: Vec<SocketAddr>, family: Option<Family>) -> Vec<SocketAddr> {
    let is_one = |address: &SocketAddr| family.is_none_or(|family| address.is_ipv4() == (family == Family::V4));
    if all.iter().any(is_one) { all.into_iter().filter(is_one).collect() } else { all }
}

/// An address that is one already; `None` for a name.
///
/// # Errors
/// A scope that is no device of this machine, or a link-local address without one.
pub fn literal(host: &str, port: u16) -> Result<Option<SocketAddr>, String> {
    let (address, scope) = host.split_once('%').map_or((host, None), |(address, scope)| (address, Some(scope)));
    let address = match (address.parse::<IpAddr>(), scope) {
        (Ok(IpAddr::V6(address)), scope) => address_v6(address, port, scope)?,
        (Ok(address @ IpAddr::V4(_)), None) => SocketAddr::new(address, port),
        (Ok(IpAddr::V4(_)), Some(_)) => return Err("only an IPv6 address can have a scope (%)".to_owned()),
        (Err(_), Some(_)) => return Err("a scope (%) needs an IPv6 address before it".to_owned()),
        (Err(_), None) => return Ok(None),
    };
    Ok(Some(address))
}

fn address_v6(address: Ipv6Addr, port: u16, scope: Option<&str>) -> Result<SocketAddr, String> {
    let scope = match scope {
        Some(device) => scope_of(device).map_err(|error| format!("there is no device '{device}' here: {error}; see `ip link`"))?,
        None if address.is_unicast_link_local() => {
            return Err(format!("a link-local address needs its device behind it, such as {address}%eth0"));
        }
        None => 0,
    };
    Ok(SocketAddrV6::new(address, port, 0, scope).into())
}

fn scope_of(device: &str) -> io::Result<u32> {
    match device.parse() {
        Ok(0) => Err(io::ErrorKind::NotFound.into()),
        Ok(number) => Ok(number),
        Err(_) => Ok(nix::net::if_::if_nametoindex(device)?),
    }
}

#[cfg(test)]
mod tests {
    use super::{literal, of_family, resolve};
    use model::Family;
    use std::net::SocketAddr;

    #[test]
    fn addresses_are_taken_as_they_are() {
        assert_eq!(resolve("192.0.2.1", 7), Ok(vec!["192.0.2.1:7".parse().unwrap()]));
        assert_eq!(resolve("::1", 7), Ok(vec!["[::1]:7".parse().unwrap()]));
        assert_eq!(literal("a.name", 7), Ok(None));
    }

    #[test]
    fn a_family_that_is_there_is_all_that_is_tried() {
        let all: Vec<SocketAddr> = ["[::1]:7", "192.0.2.1:7", "192.0.2.2:7"].map(|text| text.parse().unwrap()).into();
        assert_eq!(of_family(all.clone(), Some(Family::V4)), all[1..]);
        assert_eq!(of_family(all.clone(), Some(Family::V6)), all[..1]);
        assert_eq!(of_family(all.clone(), None), all);
        // What is wrong with it then is said by whoever needs the other family.
        assert_eq!(of_family(all[..1].to_vec(), Some(Family::V4)), all[..1]);
    }

    #[test]
    fn a_scope_is_kept_and_a_wrong_one_is_said() {
        assert_eq!(resolve("fe80::1%lo", 7).unwrap()[0].to_string(), "[fe80::1%1]:7");
        assert_eq!(resolve("fe80::1%7", 7).unwrap()[0].to_string(), "[fe80::1%7]:7");
        assert!(resolve("fe80::1%nosuch9", 7).unwrap_err().contains("no device 'nosuch9'"));
        assert!(resolve("fe80::1", 7).unwrap_err().contains("needs its device"));
        assert!(resolve("192.0.2.1%lo", 7).unwrap_err().contains("only an IPv6 address"));
        assert!(resolve("name%lo", 7).is_err());
    }
}
