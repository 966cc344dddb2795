//! Waiting until a link carries traffic, by the kernel's own news.

use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use model::Nanos;
use model::control::LinkEnd;
use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage};

use super::{open, speaks_ipv6, state};
use crate::host::netlink::{bytes, refused};
use crate::refusal::Refusal;
use sys::netlink::{Channel, NetlinkError};

/// The group of news of devices, RTNLGRP_LINK.
const LINK_GROUP: i32 = 1;
/// The group of news of routes of IPv6, RTNLGRP_IPV6_ROUTE.
const IPV6_ROUTE_GROUP: i32 = 11;

/// RTM_GETROUTE.
const GET_ROUTE: u16 = 26;
/// The type of a route to this host itself (RTN_LOCAL), and its place.
const LOCAL: u8 = 2;
const TYPE_AT: usize = 7;

/// Waits until this end of the link carries traffic, at most `limit`: the
/// device is up, and the host takes what is sent to its addresses. For IPv6
/// that comes later than the address itself: the route to it is made by a
/// kernel worker, and what arrives before is lost without a drop counter.
pub fn wait_until_ready(end: &LinkEnd, limit: Duration) -> Result<(), Refusal> {
    let deadline = Instant::now() + limit;
    let mut channel = open()?;
    // First listen, then look: no change can fall between the two.
    let mut news = open()?;
    let step = refused("run the study again");
    for group in [LINK_GROUP, IPV6_ROUTE_GROUP] {
        news.listen(group).map_err(step)?;
    }
    loop {
        let Some(missing) = missing(&mut channel, end)? else { return Ok(()) };
        if !news.wait("waiting for news of devices and routes", deadline).map_err(step)? {
            let tried = format!("waiting for '{}' to come up", end.device);
            return Err(Refusal::new(tried, format!("{missing} after {}", Nanos::from(limit)), "configure both ends at the same time"));
        }
    }
}

/// Returns what is still missing, in words.
fn missing(channel: &mut Channel, end: &LinkEnd) -> Result<Option<String>, Refusal> {
    let state = state::read(channel, &end.device)?;
    if !state.is_up() {
        return Ok(Some(format!("it is still {}", state.operstate())));
    }
    for (address, _) in &end.addresses {
        if let IpAddr::V6(address) = address
            && speaks_ipv6()
            && !is_local(channel, *address)?
        {
            return Ok(Some(format!("it does not yet receive for {address}")));
        }
    }
    Ok(None)
}

/// Returns whether packets to `address` are taken by this host itself.
fn is_local(channel: &mut Channel, address: Ipv6Addr) -> Result<bool, Refusal> {
    let mut message = RouteMessage::default();
    message.header.address_family = AddressFamily::Inet6;
    message.header.destination_prefix_length = 128;
    message.attributes.push(RouteAttribute::Destination(RouteAddress::Inet6(address)));
    match channel.ask(&format!("looking for the route to {address}"), GET_ROUTE, 0, &bytes(&message)) {
        Ok(answers) => Ok(answers.iter().any(|answer| answer.body.get(TYPE_AT) == Some(&LOCAL))),
        // The kernel's answer for «no route»: it is not there yet.
        Err(NetlinkError::Refused { .. }) => Ok(false),
        Err(other) => Err(refused("run the study again")(other)),
    }
}
