// The filter of system calls of a machine, as a program of classic BPF (seccomp(2)).
//
// The filter lists refused calls: with namespaces, no capabilities and no programs with set-user-id or set-group-id, most other calls do no harm, and
// programs of all kinds should run. The filter refuses ways into other processes, mounts and namespaces, and parts of the kernel
// that had many faults.

import { Buffer } from 'node:buffer'

/** `linux/bpf_common.h`: load a word of `struct seccomp_data`, jump, AND, return. */
const LOAD = 0x20
const JUMP_EQUAL = 0x15
const JUMP_GREATER = 0x25
const AND = 0x54
const RETURN = 0x06

/** `struct seccomp_data`: the offsets of the number of the call, the processor and the lower halves of the arguments. */
const AT_NUMBER = 0
const AT_AUDIT = 4
const atArgument = (index: number): number => 16 + 8 * index

const ALLOW = 0x7fff0000
const KILL_PROCESS = 0x80000000
const errno = (number: number): number => 0x00050000 | number
const EPERM = errno(1)
const ENOSYS = errno(38)
const EPROTONOSUPPORT = errno(93)
const EAFNOSUPPORT = errno(97)

/** The kernel does not make the call, and reports success to the caller. */
const FAKE_SUCCESS = errno(0)

/** `CLONE_NEWNS`, `NEWCGROUP`, `NEWUTS`, `NEWIPC`, `NEWUSER`, `NEWPID`, `NEWNET`. */
const NEW_NAMESPACES = 0x7e020000

/** These requests put bytes into the input of a terminal, which may be the terminal that started the service. */
const TIOCSTI = 0x5412
const TIOCLINUX = 0x541c

/** `AF_INET`, `AF_INET6`, and their allowed protocols: the default one, TCP, UDP. Others would load modules of the kernel. */
const INTERNET_FAMILIES = [2, 10]
const INTERNET_PROTOCOLS = [0, 6, 17]
const AF_UNIX = 1
const AF_NETLINK = 16
const NETLINK_ROUTE = 0

/**
 * With a limit of 1 the kernel skips a piped core handler (`core_pattern` with `|`), which runs as root on the host; with a
 * limit of 0 it does not. The filter pretends to set the limit, so that programs cannot lower it to 0.
 */
const RLIMIT_CORE = 4

/**
 * A file with one of these bits runs as its owner or its group: those of the service, or of `runAs`. Mounts forbid that inside; on
 * the host, such a file in a volume would let every user run programs with these rights.
 */
const SET_IDS = 0o6000

/** `O_CREAT`, `__O_TMPFILE`: without them the kernel ignores the mode. */
const CREATES = 0o20000100

/** These flags take pages from a pool of the host that the kernel charges to no group. */
const MAP_HUGETLB = 0x40000
const MFD_HUGETLB = 4

/** The personality of Linux, and the query for the current one. */
const PERSONALITIES = [0, 0xffffffff]

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number]

/** The filter as `bwrap --seccomp` reads it. */
export function seccompFilter(calls: ProcessorCalls): Buffer {
  return assembled([
    [LOAD, 0, 0, AT_AUDIT],
    [JUMP_EQUAL, 1, 0, calls.audit],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, AT_NUMBER],
    // The numbers of x32 are above this limit too.
    [JUMP_GREATER, 0, 1, LAST_CALL],
    [RETURN, 0, 0, ENOSYS],
    ...POINTER_ARGUMENT_CALLS.flatMap((call) => answer(call, ENOSYS)),
    ...calls.refused.flatMap((call) => answer(call, EPERM)),
    ...whenCalled(calls.numberOf('clone'), [
      [LOAD, 0, 0, atArgument(0)],
      [AND, 0, 0, NEW_NAMESPACES],
      [JUMP_EQUAL, 0, 1, 0],
      [RETURN, 0, 0, ALLOW],
      [RETURN, 0, 0, EPERM],
    ]),
    ...whenCalled(calls.numberOf('socket'), sockets),
    ...whenCalled(calls.numberOf('socketpair'), sockets),
    ...whenCalled(calls.numberOf('ioctl'), switchOnArgument(1, [TIOCSTI, TIOCLINUX], EPERM, ALLOW)),
    ...whenCalled(calls.numberOf('setrlimit'), switchOnArgument(0, [RLIMIT_CORE], FAKE_SUCCESS, ALLOW)),
    ...whenCalled(calls.numberOf('prlimit'), coreLimit),
    ...calls.modes.flatMap((each) => whenCalled(each.call, unlessSetIds(each))),
    ...whenCalled(calls.numberOf('mmap'), whenAny(3, MAP_HUGETLB)),
    ...whenCalled(calls.numberOf('memfdCreate'), whenAny(1, MFD_HUGETLB)),
    ...whenCalled(calls.numberOf('personality'), switchOnArgument(0, PERSONALITIES, ALLOW, EPERM)),
    [RETURN, 0, 0, ALLOW],
  ])
}

const sockets: readonly Instruction[] = [
  ...whenFamily(AF_UNIX, [[RETURN, 0, 0, ALLOW]]),
  ...INTERNET_FAMILIES.flatMap((family) =>
    whenFamily(family, switchOnArgument(2, INTERNET_PROTOCOLS, ALLOW, EPROTONOSUPPORT)),
  ),
  ...whenFamily(AF_NETLINK, switchOnArgument(2, [NETLINK_ROUTE], ALLOW, EAFNOSUPPORT)),
  [RETURN, 0, 0, EAFNOSUPPORT],
]

/** The last of these instructions must return. */
function whenFamily(family: number, then: readonly Instruction[]): Instruction[] {
  return [[LOAD, 0, 0, atArgument(0)], [JUMP_EQUAL, 0, then.length, family], ...then]
}

/** The third argument is the new limit, or a null pointer in a query. */
const coreLimit: readonly Instruction[] = [
  [LOAD, 0, 0, atArgument(1)],
  [JUMP_EQUAL, 1, 0, RLIMIT_CORE],
  [RETURN, 0, 0, ALLOW],
  [LOAD, 0, 0, atArgument(2)],
  [JUMP_EQUAL, 0, 3, 0],
  [LOAD, 0, 0, atArgument(2) + 4],
  [JUMP_EQUAL, 0, 1, 0],
  [RETURN, 0, 0, ALLOW],
  [RETURN, 0, 0, FAKE_SUCCESS],
]

function unlessSetIds({ mode, flags }: ModeCall): Instruction[] {
  return [
    ...(flags === undefined ? [] : whenNone(flags, CREATES)),
    ...whenNone(mode, SET_IDS),
    [RETURN, 0, 0, EPERM],
  ]
}

/** Refuses the call when the argument has one of these bits. */
function whenAny(index: number, bits: number): Instruction[] {
  return [...whenNone(index, bits), [RETURN, 0, 0, EPERM]]
}

/** Allows the call when the argument has none of these bits. */
function whenNone(index: number, bits: number): Instruction[] {
  return [[LOAD, 0, 0, atArgument(index)], [AND, 0, 0, bits], ...answer(0, ALLOW)]
}

/** Returns `then` when the loaded value equals `value`. */
function answer(value: number, then: number): Instruction[] {
  return [
    [JUMP_EQUAL, 0, 1, value],
    [RETURN, 0, 0, then],
  ]
}

/** Applies to one call only; the last of these instructions must return. */
function whenCalled(call: number, then: readonly Instruction[]): Instruction[] {
  return [[JUMP_EQUAL, 0, then.length, call], ...then]
}

/** Returns `then` when the argument equals one of these values, else `otherwise`; the kernel reads 32 bits of it too. */
function switchOnArgument(
  index: number,
  values: readonly number[],
  then: number,
  otherwise: number,
): Instruction[] {
  return [
    [LOAD, 0, 0, atArgument(index)],
    ...values.flatMap((value) => answer(value, then)),
    [RETURN, 0, 0, otherwise],
  ]
}

/** `struct sock_filter`: u16 code, u8 jump when true, u8 jump when false, u32 value; both processors are little-endian. */
function assembled(instructions: readonly Instruction[]): Buffer {
  const program = Buffer.alloc(8 * instructions.length)
  for (const [index, [code, whenTrue, whenFalse, value]] of instructions.entries()) {
    program.writeUInt16LE(code, 8 * index)
    program.writeUInt8(whenTrue, 8 * index + 2)
    program.writeUInt8(whenFalse, 8 * index + 3)
    program.writeUInt32LE(value >>> 0, 8 * index + 4)
  }
  return program
}

export interface ProcessorCalls {
  /** `AUDIT_ARCH_*` of `linux/audit.h`. */
  readonly audit: number
  /** Calls that the filter refuses with any arguments. */
  readonly refused: readonly number[]
  /** The number of a call that the filter judges by its arguments. */
  readonly numberOf: (name: keyof typeof judgedCalls) => number
  /** Calls that give a file its mode. */
  readonly modes: readonly ModeCall[]
}

/** The arguments of a call that are the mode and, where it can open existing files, the flags. */
export interface ModeCall {
  readonly call: number
  readonly mode: number
  readonly flags: number | undefined
}

/** The newest call that was reviewed (`mseal`, Linux 6.10); later ones are unknown. */
const LAST_CALL = 462

/** Name, number on x86-64, number on arm64. */
const refusedCalls: readonly (readonly [string, number, number])[] = [
  // These calls reach into other processes.
  ['ptrace', 101, 117],
  ['process_vm_readv', 310, 270],
  ['process_vm_writev', 311, 271],
  ['process_madvise', 440, 440],
  ['kcmp', 312, 272],
  ['pidfd_getfd', 438, 438],
  // These calls open large parts of the kernel that sandboxed code needs least.
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
  // These calls change mounts and namespaces.
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
  // These calls change the whole machine.
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
  // These calls allocate memory of the kernel that belongs to no process.
  ['shmget', 29, 194],
  ['semget', 64, 190],
  ['msgget', 68, 186],
  ['memfd_secret', 447, 447],
  // These calls use counters of the whole host, or choose where memory lies.
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

/** Calls that the filter judges by their arguments: number on x86-64, number on arm64. */
const judgedCalls = {
  clone: [56, 220],
  socket: [41, 198],
  socketpair: [53, 199],
  ioctl: [16, 29],
  personality: [135, 92],
  memfdCreate: [319, 279],
  mmap: [9, 222],
  setrlimit: [160, 164],
  prlimit: [302, 261],
} as const

/**
 * `clone3`, `openat2`: their arguments are behind a pointer, which no filter can read. The filter answers as a kernel without
 * them, so that the C library uses the older call.
 */
const POINTER_ARGUMENT_CALLS = [435, 437]

/** The calls by `process.arch`. */
export const processors: Readonly<Record<string, ProcessorCalls>> = {
  x64: callsOf(0xc000003e, 0),
  arm64: callsOf(0xc00000b7, 1),
}

function callsOf(audit: number, processor: 0 | 1): ProcessorCalls {
  return {
    audit,
    refused: refusedCalls.map(([, ...numbers]) => numbers[processor]).filter((number) => number >= 0),
    numberOf: (name) => judgedCalls[name][processor],
    modes: modeCalls.flatMap(([, x64, arm64, mode, flags]) => {
      const call = [x64, arm64][processor] ?? -1
      return call < 0 ? [] : [{ call, mode, flags }]
    }),
  }
}
