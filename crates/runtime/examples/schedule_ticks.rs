//! Prints the ticks of cadences for a comparison with another implementation. Each line of the
//! input is `ZONE<tab>CRON<tab>FROM<tab>UNTIL` with times as seconds since 1970; each line of the
//! output its ticks.

#![allow(clippy::print_stdout, reason = "it prints")]

use std::io::BufRead as _;
use steward_domain::Timestamp;
use steward_runtime::schedule::Cadence;

fn ticks(line: &str) -> Option<String> {
    let mut parts = line.split('\t');
    let (zone, cron) = (parts.next()?, parts.next()?);
    let (from, until): (i64, i64) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let cadence = Cadence::read(cron, zone).ok()?;
    let mut moment = Timestamp::from_micros(from * 1_000_000);
    let mut found = Vec::new();
    while let Some(next) = cadence.next_after(moment).ok()?.filter(|next| next.micros() < until * 1_000_000) {
        found.push((next.micros() / 1_000_000).to_string());
        moment = next;
    }
    Some(found.join(" "))
}

fn main() {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        println!("{}", ticks(&line).unwrap_or_else(|| "unreadable".to_owned()));
    }
}
