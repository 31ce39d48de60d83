//! seccomp: blocks system calls that no tool needs and that sandbox escapes use.
//!
//! Invariant: a listed call fails with EPERM in every calling convention: a foreign architecture
//! kills the process, and on x86-64 the x32 numbers are listed as well. It is a deny-list, so that
//! node and python run.
//!
//! `clone3` passes its flags in memory, where no filter can read them. It returns ENOSYS, so that
//! every libc falls back to `clone`, whose flags are checked.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};
use std::collections::BTreeMap;

const EPERM: u32 = 1;
const ENOSYS: u32 = 38;

/// The call numbers of an architecture: forbidden ones, and those whose arguments are checked.
struct Numbers {
    forbidden: &'static [i64],
    clone: i64,
    socket: i64,
    connect: i64,
    personality: i64,
    ioctl: i64,
    /// The bit that marks a second calling convention, and the forbidden calls that have separate
    /// numbers there.
    second: Option<(i64, &'static [i64])>,
}

/// The number is the same on all architectures, like those of all newer calls.
const CLONE3: i64 = 435;

/// Forbidden calls with the same number on all architectures: io_uring (425-427), the mount calls
/// (428-433, 442, 467), pidfd_getfd, process_madvise, quotactl_fd, memfd_secret.
const ALIKE: [i64; 15] = [425, 426, 427, 428, 429, 430, 431, 432, 433, 438, 440, 442, 443, 447, 467];

#[cfg(target_arch = "x86_64")]
const HERE: Option<(TargetArch, Numbers)> = Some((
    TargetArch::x86_64,
    Numbers {
        forbidden: &[
            101, 310, 311, 312, // ptrace, process_vm_readv, process_vm_writev, kcmp
            246, 320, 175, 313,
            176, // kexec_load, kexec_file_load, init_module, finit_module, delete_module
            165, 166, 155, 161, 304, // mount, umount2, pivot_root, chroot, open_by_handle_at
            321, 298, 323, 300, // bpf, perf_event_open, userfaultfd, fanotify_init
            250, 248, 249, // keyctl, add_key, request_key
            272, 308, // unshare, setns
            167, 168, 169, 163, 179, 103, // swapon, swapoff, reboot, acct, quotactl, syslog
            164, 227, 305, 159, 170,
            171, // settimeofday, clock_settime, clock_adjtime, adjtimex, sethostname, setdomainname
            153, 172, 173, 154, 134, 156, // vhangup, iopl, ioperm, modify_ldt, uselib, _sysctl
            212, 180, 256, 279, // lookup_dcookie, nfsservctl, migrate_pages, move_pages
        ],
        clone: 56,
        socket: 41,
        connect: 42,
        personality: 135,
        ioctl: 16,
        // ptrace, kexec_load, process_vm_readv, process_vm_writev, move_pages; then ioctl, which is
        // always forbidden there.
        second: Some((0x4000_0000, &[521, 528, 539, 540, 533, 514])),
    },
));

#[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
const HERE: Option<(TargetArch, Numbers)> = Some((
    if cfg!(target_arch = "aarch64") { TargetArch::aarch64 } else { TargetArch::riscv64 },
    Numbers {
        forbidden: &[
            117, 270, 271, 272, // ptrace, process_vm_readv, process_vm_writev, kcmp
            104, 294, 105, 273,
            106, // kexec_load, kexec_file_load, init_module, finit_module, delete_module
            40, 39, 41, 51, 265, // mount, umount2, pivot_root, chroot, open_by_handle_at
            280, 241, 282, 262, // bpf, perf_event_open, userfaultfd, fanotify_init
            219, 217, 218, // keyctl, add_key, request_key
            97, 268, // unshare, setns
            224, 225, 142, 89, 60, 116, // swapon, swapoff, reboot, acct, quotactl, syslog
            170, 112, 266, 171, 161,
            162, // settimeofday, clock_settime, clock_adjtime, adjtimex, sethostname, setdomainname
            58, 18, 42, 238, 239, // vhangup, lookup_dcookie, nfsservctl, migrate_pages, move_pages
        ],
        clone: 220,
        socket: 198,
        connect: 203,
        personality: 92,
        ioctl: 29,
        second: None,
    },
));

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const HERE: Option<(TargetArch, Numbers)> = None;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Built<T> = Result<T, seccompiler::BackendError>;

/// Blocks the calls for this process and its descendants.
pub(super) fn restrict(network: bool) -> Result<Vec<String>, String> {
    let Some((architecture, numbers)) = HERE else {
        return Err("there is no list of system calls for this architecture".into());
    };
    let failed = |error: &dyn std::fmt::Display| format!("seccomp: {error}");
    let program = |rules, errno| -> Built<BpfProgram> {
        SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), architecture)?.try_into()
    };
    let hidden = everywhere([(CLONE3, Vec::new())].into(), numbers.second);
    let rules = rules(&numbers, network).map_err(|error| failed(&error))?;
    for (rules, errno) in [(hidden, ENOSYS), (everywhere(rules, numbers.second), EPERM)] {
        let program = program(rules, errno).map_err(|error| failed(&error))?;
        apply_filter(&program).map_err(|error| failed(&error))?;
    }
    Ok(Vec::new())
}

/// The rules for the default calling convention. A call without conditions is always blocked, one
/// with conditions if any of them matches.
fn rules(numbers: &Numbers, network: bool) -> Built<Rules> {
    let mut rules: Rules =
        numbers.forbidden.iter().chain(&ALIKE).map(|number| (*number, Vec::new())).collect();
    rules.insert(numbers.clone, new_namespaces()?);
    rules.insert(numbers.socket, sockets(network)?);
    // Reading the personality and setting the default one are harmless. Other values weaken address
    // space randomization.
    let odd = [argument(0, SeccompCmpOp::Ne, 0xffff_ffff)?, argument(0, SeccompCmpOp::Ne, 0)?];
    rules.insert(numbers.personality, vec![SeccompRule::new(odd.into())?]);
    // TIOCSTI and TIOCLINUX inject input into the terminal that started Steward.
    let typing = [0x5412, 0x541c].map(|request| one(argument(1, SeccompCmpOp::Eq, request)?));
    rules.insert(numbers.ioctl, typing.into_iter().collect::<Built<_>>()?);
    if !network {
        rules.insert(numbers.connect, Vec::new());
    }
    Ok(rules)
}

/// `clone` with a namespace flag. A new namespace grants rights that the other rules remove.
fn new_namespaces() -> Built<Vec<SeccompRule>> {
    const FLAGS: [u64; 7] =
        [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];
    FLAGS.into_iter().map(|flag| one(argument(0, SeccompCmpOp::MaskedEq(flag), flag)?)).collect()
}

/// The blocked socket families: all but AF_UNIX, and with network access also all but AF_INET,
/// AF_INET6 and AF_NETLINK, which lists interfaces. Raw sockets are allowed for AF_NETLINK only,
/// which has no other type.
fn sockets(network: bool) -> Built<Vec<SeccompRule>> {
    const UNIX: u64 = 1;
    const NETLINK: u64 = 16;
    let families: &[u64] = if network { &[UNIX, 2, 10, NETLINK] } else { &[UNIX] };
    let others: Built<Vec<_>> =
        families.iter().map(|family| argument(0, SeccompCmpOp::Ne, *family)).collect();
    let raw = vec![argument(1, SeccompCmpOp::MaskedEq(0xf), 3)?, argument(0, SeccompCmpOp::Ne, NETLINK)?];
    Ok(vec![SeccompRule::new(others?)?, SeccompRule::new(raw)?])
}

fn argument(place: u8, operator: SeccompCmpOp, value: u64) -> Built<SeccompCondition> {
    SeccompCondition::new(place, SeccompCmpArgLen::Dword, operator, value)
}

fn one(condition: SeccompCondition) -> Built<SeccompRule> {
    SeccompRule::new(vec![condition])
}

/// Adds the same rules for the numbers of the second calling convention.
fn everywhere(mut rules: Rules, second: Option<(i64, &[i64])>) -> Rules {
    if let Some((bit, own)) = second {
        let twins: Vec<_> = rules.iter().map(|(number, rule)| (number | bit, rule.clone())).collect();
        rules.extend(twins);
        rules.extend(own.iter().map(|number| (number | bit, Vec::new())));
    }
    rules
}
