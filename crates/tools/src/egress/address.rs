//! Classifies IP addresses: public, private, or never allowed.
//!
//! Invariant: an address is public only if no entry of the special-purpose registries covers it.
//! For IPv6 only `2000::/3` is global unicast, so everything else is rejected before the exceptions
//! inside it are checked. Forms that embed an IPv4 address (mapped, compatible, NAT64, 6to4,
//! Teredo, ISATAP) are always rejected: a caller can write the IPv4 address itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The class of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The public Internet.
    Public,
    /// This machine or its networks. Allowed only if the operator listed the host and enabled
    /// private destinations.
    Private(&'static str),
    /// Never allowed: metadata services, link-local, multicast, documentation, embedded addresses.
    Never(&'static str),
}

/// A range of IPv4 addresses, as in the registry.
struct Range4(Ipv4Addr, u8, Reach);

/// A range of IPv6 addresses, as in the registry.
struct Range6(Ipv6Addr, u8, Reach);

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8, reach: Reach) -> Range4 {
    Range4(Ipv4Addr::new(a, b, c, d), length, reach)
}

const fn v6(head: [u16; 4], tail: [u16; 4], length: u8, reach: Reach) -> Range6 {
    let ([a, b, c, d], [e, f, g, h]) = (head, tail);
    Range6(Ipv6Addr::new(a, b, c, d, e, f, g, h), length, reach)
}

use Reach::{Never, Private};

/// Single addresses come before the ranges that contain them, because the first match decides.
const SPECIAL4: [Range4; 24] = [
    v4(169, 254, 0, 0, 16, Never("link-local and cloud metadata, 169.254.0.0/16")),
    v4(100, 100, 100, 200, 32, Never("cloud metadata, 100.100.100.200")),
    v4(192, 0, 0, 192, 32, Never("cloud metadata, 192.0.0.192")),
    v4(168, 63, 129, 16, 32, Never("cloud platform service, 168.63.129.16")),
    v4(255, 255, 255, 255, 32, Never("broadcast, 255.255.255.255")),
    v4(0, 0, 0, 0, 8, Never("this network, 0.0.0.0/8")),
    v4(10, 0, 0, 0, 8, Private("private network, 10.0.0.0/8")),
    v4(100, 64, 0, 0, 10, Private("shared address space, 100.64.0.0/10")),
    v4(127, 0, 0, 0, 8, Private("loopback, 127.0.0.0/8")),
    v4(172, 16, 0, 0, 12, Private("private network, 172.16.0.0/12")),
    v4(192, 168, 0, 0, 16, Private("private network, 192.168.0.0/16")),
    v4(192, 0, 0, 0, 24, Never("protocol assignments, 192.0.0.0/24")),
    v4(192, 0, 2, 0, 24, Never("documentation, 192.0.2.0/24")),
    v4(192, 31, 196, 0, 24, Never("AS112, 192.31.196.0/24")),
    v4(192, 52, 193, 0, 24, Never("multicast tunnels, 192.52.193.0/24")),
    v4(192, 88, 99, 0, 24, Never("6to4 relays, 192.88.99.0/24")),
    v4(192, 175, 48, 0, 24, Never("AS112, 192.175.48.0/24")),
    v4(198, 18, 0, 0, 15, Never("benchmarking, 198.18.0.0/15")),
    v4(198, 51, 100, 0, 24, Never("documentation, 198.51.100.0/24")),
    v4(203, 0, 113, 0, 24, Never("documentation, 203.0.113.0/24")),
    v4(224, 0, 0, 0, 4, Never("multicast, 224.0.0.0/4")),
    v4(240, 0, 0, 0, 4, Never("reserved, 240.0.0.0/4")),
    v4(233, 252, 0, 0, 24, Never("documentation, 233.252.0.0/24")),
    v4(192, 0, 0, 8, 32, Never("dummy address, 192.0.0.8")),
];

const NONE: [u16; 4] = [0; 4];

const SPECIAL6: [Range6; 23] = [
    v6(NONE, [0, 0, 0, 1], 128, Private("loopback, ::1")),
    v6(NONE, NONE, 128, Never("unspecified, ::")),
    v6(NONE, [0, 0xffff, 0, 0], 96, Never("an IPv4 address in disguise, ::ffff:0:0/96")),
    v6(NONE, [0xffff, 0, 0, 0], 96, Never("an IPv4 address in disguise, ::ffff:0:0:0/96")),
    v6(NONE, NONE, 96, Never("an IPv4 address in disguise, ::/96")),
    v6([0x64, 0xff9b, 0, 0], NONE, 96, Never("NAT64, 64:ff9b::/96")),
    v6([0x64, 0xff9b, 1, 0], NONE, 48, Never("NAT64, 64:ff9b:1::/48")),
    v6([0x100, 0, 0, 0], NONE, 64, Never("discarded, 100::/64")),
    v6([0x100, 0, 0, 1], NONE, 64, Never("dummy prefix, 100:0:0:1::/64")),
    v6([0xfd00, 0xec2, 0, 0], NONE, 32, Never("cloud metadata, fd00:ec2::/32")),
    v6([0xfd20, 0xce, 0, 0], NONE, 32, Never("cloud metadata, fd20:ce::/32")),
    v6([0xfd00, 0x42, 0, 0], NONE, 32, Never("cloud metadata, fd00:42::/32")),
    v6([0xfc00, 0, 0, 0], NONE, 7, Private("unique local network, fc00::/7")),
    v6([0xfe80, 0, 0, 0], NONE, 10, Never("link-local, fe80::/10")),
    v6([0xfec0, 0, 0, 0], NONE, 10, Never("site-local, fec0::/10")),
    v6([0xff00, 0, 0, 0], NONE, 8, Never("multicast, ff00::/8")),
    v6([0x5f00, 0, 0, 0], NONE, 16, Never("segment routing, 5f00::/16")),
    v6([0x2001, 0, 0, 0], NONE, 32, Never("Teredo, 2001::/32")),
    v6([0x2001, 0, 0, 0], NONE, 23, Never("protocol assignments, 2001::/23")),
    v6([0x2001, 0xdb8, 0, 0], NONE, 32, Never("documentation, 2001:db8::/32")),
    v6([0x2002, 0, 0, 0], NONE, 16, Never("6to4, 2002::/16")),
    v6([0x2620, 0x4f, 0x8000, 0], NONE, 48, Never("AS112, 2620:4f:8000::/48")),
    v6([0x3fff, 0, 0, 0], NONE, 20, Never("documentation, 3fff::/20")),
];

/// Classifies an address.
#[must_use]
pub fn reach(address: IpAddr) -> Reach {
    match address {
        IpAddr::V4(address) => reach4(address),
        IpAddr::V6(address) => reach6(address),
    }
}

/// Whether a request may go to this address. `private` means that the operator allowed private
/// addresses for this host.
pub fn address_allowed(address: IpAddr, private: bool) -> Result<(), &'static str> {
    match reach(address) {
        Reach::Public => Ok(()),
        Reach::Private(_) if private => Ok(()),
        Reach::Private(what) | Reach::Never(what) => Err(what),
    }
}

fn reach4(address: Ipv4Addr) -> Reach {
    let bits = address.to_bits();
    let fits = |range: &&Range4| shared(u128::from(bits ^ range.0.to_bits()), 32, range.1);
    SPECIAL4.iter().find(fits).map_or(Reach::Public, |range| range.2)
}

fn reach6(address: Ipv6Addr) -> Reach {
    let bits = address.to_bits();
    let fits = |range: &&Range6| shared(bits ^ range.0.to_bits(), 128, range.1);
    if let Some(range) = SPECIAL6.iter().find(fits) {
        return range.2;
    }
    let [first, _, _, _, e, f, _, _] = address.segments();
    // ISATAP puts `0:5efe` (or `200:5efe`) before an IPv4 address, below any prefix.
    if f == 0x5efe && e & !0x0200 == 0 {
        return Reach::Never("an IPv4 address in disguise, ISATAP");
    }
    if first & 0xe000 == 0x2000 {
        Reach::Public
    } else {
        Reach::Never("not global unicast, outside of 2000::/3")
    }
}

/// Whether the first `length` of `width` bits of a difference are zero.
fn shared(difference: u128, width: u32, length: u8) -> bool {
    difference.checked_shr(width - u32::from(length)).unwrap_or(0) == 0
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
