//! Where a host or an address leads: to the world, to this machine, or to the network around it.
//!
//! Asked twice: of the host in a URL when a webhook is added, and of every address that a name turned out to be when it is
//! called, because a name may lead anywhere.

use onceover_engine::webhook::Reach;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use url::Host;

/// Of the host in a URL. Numbers in any spelling have been read as addresses by then.
#[must_use]
pub fn of_host(host: &Host<&str>) -> Reach {
    match host {
        Host::Ipv4(ip) => of_ip(IpAddr::V4(*ip)),
        Host::Ipv6(ip) => of_ip(IpAddr::V6(*ip)),
        Host::Domain(name) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            if name == "localhost" || name.ends_with(".localhost") {
                Reach::Localhost
            } else if name.ends_with(".internal") {
                Reach::Metadata
            } else {
                Reach::World
            }
        }
    }
}

/// Of an address.
#[must_use]
pub fn of_ip(ip: IpAddr) -> Reach {
    match ip {
        IpAddr::V4(ip) if ip == Ipv4Addr::LOCALHOST => Reach::Localhost,
        IpAddr::V4(ip) => of_ipv4(ip),
        IpAddr::V6(ip) => of_ipv6(ip),
    }
}

fn of_ipv4(ip: Ipv4Addr) -> Reach {
    let [a, b, ..] = ip.octets();
    match (a, b) {
        (0, _) => Reach::Unspecified,
        (127, _) => Reach::Loopback,
        (169, 254) => Reach::LinkLocal,
        (10, _) | (172, 16..=31) | (192, 168) => Reach::Private,
        // Carriers' own networks, tests of networks, groups of receivers, and what is reserved.
        (100, 64..=127) | (198, 18..=19) | (224.., _) => Reach::Private,
        _ => Reach::World,
    }
}

fn of_ipv6(ip: Ipv6Addr) -> Reach {
    if ip == Ipv6Addr::LOCALHOST {
        return Reach::Localhost;
    }
    if ip.is_unspecified() {
        return Reach::Unspecified;
    }
    if let Some(inner) = ip.to_ipv4_mapped() {
        return match of_ipv4(inner) {
            Reach::Localhost => Reach::Loopback,
            reach => reach,
        };
    }
    match ip.segments()[0] {
        0xfc00..=0xfdff => Reach::UniqueLocal,
        0xfe80..=0xfebf => Reach::LinkLocal,
        // Networks inside of others (NAT64, 6to4) lead to whatever stands in their last bits; groups; old site-local ones.
        0x0064 | 0x2002 | 0xfec0..=0xffff => Reach::Private,
        _ => Reach::World,
    }
}
