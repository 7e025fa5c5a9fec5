//! [`Lacking`]: a system that has not all of the calls.

use std::collections::BTreeMap;
use std::io;

use seccompiler::SeccompCmpArgLen::Dword;
use seccompiler::SeccompCmpOp::{self, Eq, MaskedEq, Ne};
use seccompiler::{SeccompAction, SeccompCondition, SeccompFilter, SeccompRule};

/// A system on which some calls are always refused, for this process and its children: by a filter of the kernel
/// (seccomp), so however the call is made.
///
/// What is refused of a process stays refused, so it is for child processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// Calls that came to Linux since 3.15 are not there: `ENOSYS`. So are some that not all kernels are built with.
    OldKernel,
    /// The filter of a container knows no calls newer than itself, and forbids them: `EPERM`. The first versions of
    /// Docker's did so.
    Sandbox,
    /// A file system without the calls that make things easy: it clones, reserves, locks, links and exchanges nothing.
    PlainFileSystem,
}

/// Calls that some system lacks, each with the arguments that matter.
type Calls = Vec<(i64, Vec<SeccompRule>)>;

impl Lacking {
    /// From here on, in the calling thread, and in all threads and processes that it starts.
    pub fn begin(self) -> io::Result<()> {
        for (errno, calls) in self.calls() {
            let filter = SeccompFilter::new(
                calls.into_iter().collect::<BTreeMap<_, _>>(),
                SeccompAction::Allow,
                SeccompAction::Errno(errno as u32),
                std::env::consts::ARCH.try_into().map_err(io::Error::other)?,
            );
            let program: seccompiler::BpfProgram = filter.and_then(TryInto::try_into).map_err(io::Error::other)?;
            seccompiler::apply_filter(&program).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// What is refused, by the error. No call is in two of the lists.
    fn calls(self) -> Vec<(i32, Calls)> {
        match self {
            Lacking::OldKernel => {
                let newer = [libc::SYS_renameat2, libc::SYS_memfd_create];
                vec![(libc::ENOSYS, since_docker().into_iter().chain(newer.map(always)).collect())]
            }
            Lacking::Sandbox => vec![(libc::EPERM, since_docker())],
            Lacking::PlainFileSystem => vec![
                (
                    libc::EOPNOTSUPP,
                    vec![
                        always(libc::SYS_copy_file_range),
                        always(libc::SYS_fallocate),
                        always(libc::SYS_flock),
                        always(libc::SYS_fsetxattr),
                        when(libc::SYS_openat, &[(2, MaskedEq(O_TMPFILE_ALONE), O_TMPFILE_ALONE)]),
                        when(libc::SYS_ioctl, &[(1, Eq, FICLONE)]),
                    ],
                ),
                (libc::EINVAL, vec![when(libc::SYS_renameat2, &[(4, Ne, 0)]), always(libc::SYS_sync_file_range)]),
                (libc::EPERM, links()),
            ],
        }
    }
}

/// `__O_TMPFILE` alone: `O_TMPFILE` has `O_DIRECTORY` in it.
const O_TMPFILE_ALONE: u64 = (libc::O_TMPFILE & !libc::O_DIRECTORY) as u64;
/// `_IOW(0x94, 9, int)`.
const FICLONE: u64 = 0x4004_9409;

/// Since 2016, but for `process_vm_readv`, which debuggers need: so sandboxes forbid it, and kernels may be built without.
/// `statx` was forbidden by Docker until 2018.
fn since_docker() -> Calls {
    [
        libc::SYS_process_vm_readv,
        libc::SYS_copy_file_range,
        libc::SYS_preadv2,
        libc::SYS_pwritev2,
        libc::SYS_statx,
        libc::SYS_io_uring_setup,
        libc::SYS_openat2,
        libc::SYS_close_range,
        libc::SYS_faccessat2,
        libc::SYS_fchmodat2,
    ]
    .map(always)
    .into()
}

fn links() -> Calls {
    let calls = [libc::SYS_linkat, libc::SYS_symlinkat];
    #[cfg(target_arch = "x86_64")]
    let calls = calls.into_iter().chain([libc::SYS_link, libc::SYS_symlink]);
    calls.into_iter().map(always).collect()
}

fn always(call: libc::c_long) -> (i64, Vec<SeccompRule>) {
    (call, Vec::new())
}

/// Only if all arguments are so: each with its number.
fn when(call: libc::c_long, arguments: &[(u8, SeccompCmpOp, u64)]) -> (i64, Vec<SeccompRule>) {
    let condition = |(index, op, value): &(u8, SeccompCmpOp, u64)| {
        SeccompCondition::new(*index, Dword, op.clone(), *value).expect("a call has six arguments")
    };
    let rule = SeccompRule::new(arguments.iter().map(condition).collect());
    (call, vec![rule.expect("there is a condition")])
}
