//! Tests of the bounds of every range: its first and last address, and the neighbours outside.

use super::*;

#[track_caller]
fn check(address: &str, wanted: &str) {
    let found = match reach(address.parse().unwrap()) {
        Reach::Public => "public",
        Reach::Private(_) => "private",
        Reach::Never(_) => "never",
    };
    assert_eq!(found, wanted, "{address}");
}

#[test]
fn every_address_is_classified() {
    let rows = "
        0.0.0.0 never|0.255.255.255 never|1.0.0.0 public|1.1.1.1 public|8.8.8.8 public
        9.255.255.255 public|10.0.0.0 private|10.255.255.255 private|11.0.0.0 public
        100.63.255.255 public|100.64.0.0 private|100.127.255.255 private|100.128.0.0 public|100.100.100.200 never
        126.255.255.255 public|127.0.0.0 private|127.0.0.1 private|127.255.255.255 private|128.0.0.0 public
        169.253.255.255 public|169.254.0.0 never|169.254.169.254 never|169.254.170.2 never|169.254.255.255 never
        169.255.0.0 public|168.63.129.15 public|168.63.129.16 never|168.63.129.17 public
        172.15.255.255 public|172.16.0.0 private|172.31.255.255 private|172.32.0.0 public
        191.255.255.255 public|192.0.0.0 never|192.0.0.8 never|192.0.0.192 never|192.0.0.255 never|192.0.1.0 public
        192.0.2.0 never|192.0.2.255 never|192.0.3.0 public|192.31.195.255 public|192.31.196.1 \
        never|192.52.193.1 never
        192.88.98.255 public|192.88.99.1 never|192.88.100.0 public|192.167.255.255 public|192.168.0.0 private
        192.168.255.255 private|192.169.0.0 public|192.175.48.1 never|192.175.49.0 public
        198.17.255.255 public|198.18.0.0 never|198.19.255.255 never|198.20.0.0 public|198.51.99.255 public
        198.51.100.0 never|198.51.100.255 never|198.51.101.0 public|203.0.112.255 public|203.0.113.0 never
        203.0.113.255 never|203.0.114.0 public|223.255.255.255 public|224.0.0.0 never|239.255.255.255 never
        240.0.0.0 never|255.255.255.254 never|255.255.255.255 never
        :: never|::1 private|::2 never|::127.0.0.1 never|::8.8.8.8 never|::ffff:127.0.0.1 never|::ffff:8.8.8.8 never
        ::ffff:0:127.0.0.1 never|64:ff9b::7f00:1 never|64:ff9b::808:808 never|64:ff9b:1::1 \
        never|64:ff9b:1:ffff::1 never
        64:ff9b:2::1 never|100::1 never|100:0:0:1::1 never|100:0:0:2::1 never|400::1 never|1fff:ffff::1 never
        2000::1 public|2001::1 never|2001:0:4136:e378:8000:63bf:3fff:fdd2 never|2001:2::1 never|2001:10::1 never
        2001:20::1 never|2001:1ff:ffff::1 never|2001:200::1 public|2001:db7::1 public|2001:db8::1 never
        2001:db9::1 public|2002:7f00:1:: never|2002:808:808::1 never|2003::1 public|2606:4700::1111 public
        2620:4f:8000::1 never|2620:4f:8001::1 public|2a00:1450::5efe:7f00:1 never|2a00:1450::200:5efe:a00:1 never
        2a00:1450::100:5efe:a00:1 public|3ffe:ffff::1 public|3fff::1 never|3fff:fff::1 never|3fff:1000::1 public
        4000::1 never|5f00::1 never|fc00::1 private|fd00:ec2::254 never|fd00:ec2::23 never|fd00:ec3::1 private
        fd20:ce::254 never|fd00:42::42 never|fdff::1 private|fe00::1 never|fe80::1 never|fe80::a9fe:a9fe never
        febf::1 never|fec0::1 never|feff::1 never|ff00::1 never|ff02::1 never|ff0e::1 never";
    let rows: Vec<&str> = rows.split(['|', '\n']).map(str::trim).filter(|row| !row.is_empty()).collect();
    assert!(rows.len() > 100);
    for row in rows {
        let (address, wanted) = row.split_once(' ').unwrap();
        check(address, wanted);
    }
}

#[test]
fn private_address_needs_permission_and_metadata_is_never_allowed() {
    for (address, listed) in
        [("127.0.0.1", true), ("10.1.2.3", true), ("::1", true), ("169.254.169.254", false)]
    {
        let address: IpAddr = address.parse().unwrap();
        assert!(address_allowed(address, false).is_err(), "{address}");
        assert_eq!(address_allowed(address, true).is_ok(), listed, "{address}");
    }
}
