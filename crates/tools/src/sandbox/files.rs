//! Landlock: the files that a child can access, and on newer kernels its connections and signals.
//!
//! Invariant: the default list contains programs, libraries and what they need to start. It
//! contains no home, no `/proc` of other processes, and no configuration that may hold a secret.

use super::Confinement;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use std::path::{Path, PathBuf};

/// The newest Landlock ABI in use. Features that the kernel lacks are omitted.
const NEWEST: ABI = ABI::V9;
/// The oldest accepted ABI. Before it, files outside can be truncated.
const OLDEST: ABI = ABI::V3;

/// Programs and libraries.
const PROGRAMS: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"];

/// Files that programs read at startup: loader cache, certificates, name resolution, time zone,
/// their own process.
const READABLE: [&str; 46] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/ssl/cert.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/openssl.cnf",
    "/etc/pki/ca-trust/extracted",
    "/etc/ca-certificates",
    "/etc/crypto-policies",
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/group",
    "/etc/protocols",
    "/etc/services",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/locale.alias",
    "/etc/mime.types",
    "/etc/os-release",
    "/etc/alternatives",
    "/etc/terminfo",
    "/etc/inputrc",
    "/dev/random",
    "/dev/urandom",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/version",
    "/proc/uptime",
    "/proc/loadavg",
    "/proc/filesystems",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/cap_last_cap",
    "/proc/sys/kernel/ngroups_max",
    "/proc/sys/kernel/random/uuid",
    "/sys/devices/system/cpu",
    "/sys/fs/cgroup",
];

/// Harmless devices.
const SINKS: [&str; 3] = ["/dev/null", "/dev/zero", "/dev/full"];

/// Drops access to all files but the granted ones. The notes name what could not be enforced.
pub(super) fn restrict(confinement: &Confinement, program: &Path) -> Result<Vec<String>, String> {
    let mut notes = Vec::new();
    for folder in confinement.read.iter().chain(&confinement.write) {
        if !folder.exists() {
            notes.push(format!("{} is granted but not there", folder.display()));
        }
    }
    let status = ruleset(confinement, program).map_err(|error| format!("Landlock: {error}"))?;
    match status {
        RulesetStatus::NotEnforced => Err("the kernel has no Landlock".into()),
        RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced => Ok(notes),
    }
}

fn ruleset(confinement: &Confinement, program: &Path) -> Result<RulesetStatus, RulesetError> {
    let read = AccessFs::from_read(NEWEST);
    let look = AccessFs::ReadFile | AccessFs::ReadDir;
    // Devices can neither be created nor controlled, in any folder.
    let devices = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    let write = AccessFs::from_all(NEWEST) & !devices;
    let sink = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
    let ruleset = Ruleset::default()
        .set_compatibility(floor(confinement.required))
        .handle_access(AccessFs::from_all(OLDEST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    let ruleset =
        if confinement.network { ruleset } else { ruleset.handle_access(AccessNet::from_all(NEWEST))? };
    let created = ruleset
        .create()?
        .set_compatibility(CompatLevel::BestEffort)
        .add_rules(path_beneath_rules(PROGRAMS, read))?
        .add_rules(path_beneath_rules(READABLE, look))?
        .add_rules(path_beneath_rules(SINKS, sink))?
        .add_rules(path_beneath_rules(&confinement.read, read))?
        .add_rules(path_beneath_rules(&confinement.write, write))?
        .add_rules(own_file(program))?;
    Ok(created.restrict_self()?.ruleset)
}

fn floor(required: bool) -> CompatLevel {
    if required { CompatLevel::HardRequirement } else { CompatLevel::BestEffort }
}

/// The program file itself, which the operator named. Its folder is not granted.
fn own_file(program: &Path) -> Vec<Result<PathBeneath<PathFd>, RulesetError>> {
    let rights: BitFlags<AccessFs> = AccessFs::Execute | AccessFs::ReadFile;
    let file: Option<PathBuf> = program.canonicalize().ok().filter(|path| path.is_file());
    path_beneath_rules(file, rights).collect()
}
