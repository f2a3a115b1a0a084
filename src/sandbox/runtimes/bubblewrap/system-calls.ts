// The numbers of the system calls that a machine is refused, on the two processors for which there is a filter.
//
// From `asm/unistd_64.h` of x86-64 and `asm-generic/unistd.h`, which arm64 has; -1 where there is no such call.

export interface ProcessorCalls {
  /** `AUDIT_ARCH_*` of `linux/audit.h`. */
  readonly audit: number
  /** Refused whatever the arguments are. */
  readonly refused: readonly number[]
  /** Refused as if the kernel had them not, so that the C library uses the older call. */
  readonly unknown: readonly number[]
  readonly clone: number
  readonly socket: number
  readonly socketpair: number
  readonly ioctl: number
  readonly personality: number
  readonly memfdCreate: number
  readonly mmap: number
  readonly setrlimit: number
  readonly prlimit: number
  /** They give a file its mode. */
  readonly modes: readonly ModeCall[]
}

/** Which arguments of a call are the mode and, where it opens files that may be there already, the flags. */
export interface ModeCall {
  readonly call: number
  readonly mode: number
  readonly flags: number | undefined
}

/** The newest call that was looked at (`mseal`, Linux 6.10); those that came later are unknown. */
export const LAST_CALL = 462

/** Name, number on x86-64, number on arm64. */
const refusedCalls: readonly (readonly [string, number, number])[] = [
  // Into other processes.
  ['ptrace', 101, 117],
  ['process_vm_readv', 310, 270],
  ['process_vm_writev', 311, 271],
  ['process_madvise', 440, 440],
  ['kcmp', 312, 272],
  ['pidfd_getfd', 438, 438],
  // Large parts of the kernel that sandboxed code needs least.
  ['bpf', 321, 280],
  ['perf_event_open', 298, 241],
  ['userfaultfd', 323, 282],
  ['io_uring_setup', 425, 425],
  ['io_uring_enter', 426, 426],
  ['io_uring_register', 427, 427],
  ['keyctl', 250, 219],
  ['add_key', 248, 217],
  ['request_key', 249, 218],
  ['fanotify_init', 300, 262],
  ['fanotify_mark', 301, 263],
  ['lookup_dcookie', 212, 18],
  ['remap_file_pages', 216, 234],
  ['move_pages', 279, 239],
  ['migrate_pages', 256, 238],
  // Mounts and namespaces.
  ['mount', 165, 40],
  ['umount2', 166, 39],
  ['pivot_root', 155, 41],
  ['chroot', 161, 51],
  ['open_tree', 428, 428],
  ['move_mount', 429, 429],
  ['fsopen', 430, 430],
  ['fsconfig', 431, 431],
  ['fsmount', 432, 432],
  ['fspick', 433, 433],
  ['mount_setattr', 442, 442],
  ['unshare', 272, 97],
  ['setns', 308, 268],
  ['name_to_handle_at', 303, 264],
  ['open_by_handle_at', 304, 265],
  // The machine as a whole.
  ['init_module', 175, 105],
  ['finit_module', 313, 273],
  ['delete_module', 176, 106],
  ['create_module', 174, -1],
  ['query_module', 178, -1],
  ['kexec_load', 246, 104],
  ['kexec_file_load', 320, 294],
  ['reboot', 169, 142],
  ['swapon', 167, 224],
  ['swapoff', 168, 225],
  ['acct', 163, 89],
  ['quotactl', 179, 60],
  ['quotactl_fd', 443, 443],
  ['nfsservctl', 180, 42],
  ['settimeofday', 164, 170],
  ['clock_settime', 227, 112],
  ['adjtimex', 159, 171],
  ['clock_adjtime', 305, 266],
  ['sethostname', 170, 161],
  ['setdomainname', 171, 162],
  ['syslog', 103, 116],
  ['vhangup', 153, 58],
  ['iopl', 172, -1],
  ['ioperm', 173, -1],
  ['modify_ldt', 154, -1],
  ['uselib', 134, -1],
  ['ustat', 136, -1],
  ['sysfs', 139, -1],
  ['_sysctl', 156, -1],
  // Memory of the kernel that belongs to no process.
  ['shmget', 29, 194],
  ['semget', 64, 190],
  ['msgget', 68, 186],
  ['memfd_secret', 447, 447],
  // Counters of the whole host, and where memory lies.
  ['io_setup', 206, 0],
  ['mbind', 237, 235],
  ['set_mempolicy', 238, 237],
  ['set_mempolicy_home_node', 450, 450],
]

/** Name, number on x86-64, number on arm64, arguments. */
const modeCalls: readonly (readonly [
  string,
  x64: number,
  arm64: number,
  mode: number,
  flags: number | undefined,
])[] = [
  ['open', 2, -1, 2, 1],
  ['openat', 257, 56, 3, 2],
  ['creat', 85, -1, 1, undefined],
  ['mknod', 133, -1, 1, undefined],
  ['mknodat', 259, 33, 2, undefined],
  ['chmod', 90, -1, 1, undefined],
  ['fchmod', 91, 52, 1, undefined],
  ['fchmodat', 268, 53, 2, undefined],
  ['fchmodat2', 452, 452, 2, undefined],
]

/** What they are to do is behind a pointer, where no filter can see it: `clone3`, `openat2`. */
const POINTER_ARGUMENT_CALLS = [435, 437]

/** By `process.arch`. */
export const processors: Readonly<Record<string, ProcessorCalls>> = {
  x64: {
    audit: 0xc000003e,
    refused: refusedCalls.map(([, x64]) => x64).filter((number) => number >= 0),
    unknown: POINTER_ARGUMENT_CALLS,
    clone: 56,
    socket: 41,
    socketpair: 53,
    ioctl: 16,
    personality: 135,
    memfdCreate: 319,
    mmap: 9,
    setrlimit: 160,
    prlimit: 302,
    modes: modeCalls.flatMap(([, call, , mode, flags]) => (call < 0 ? [] : [{ call, mode, flags }])),
  },
  arm64: {
    audit: 0xc00000b7,
    refused: refusedCalls.map(([, , arm64]) => arm64).filter((number) => number >= 0),
    unknown: POINTER_ARGUMENT_CALLS,
    clone: 220,
    socket: 198,
    socketpair: 199,
    ioctl: 29,
    personality: 92,
    memfdCreate: 279,
    mmap: 222,
    setrlimit: 164,
    prlimit: 261,
    modes: modeCalls.flatMap(([, , call, mode, flags]) => (call < 0 ? [] : [{ call, mode, flags }])),
  },
}
