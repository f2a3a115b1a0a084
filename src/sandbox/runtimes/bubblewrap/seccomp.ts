// The filter of system calls of a machine, as a program of classic BPF (seccomp(2)).
//
// The filter lists refused calls: with namespaces, no capabilities and no programs with set-user-id or
// set-group-id, most other calls do no harm, and programs of all kinds should run. The filter refuses ways into
// other processes, mounts and namespaces, and parts of the kernel that had many faults.

import { Buffer } from 'node:buffer'
import process from 'node:process'

const ALLOW = 0x7fff0000
const KILL_PROCESS = 0x80000000
const errno = (number: number): number => 0x00050000 | number
const EPERM = errno(1)
const ENOSYS = errno(38)
const EPROTONOSUPPORT = errno(93)
const EAFNOSUPPORT = errno(97)

/** The kernel does not make the call, and reports success to the caller. */
const FAKE_SUCCESS = errno(0)

/** A part of a call, by its offset in `struct seccomp_data`, and the value that it must have after AND with the mask. */
type Test = readonly [offset: number, mask: number, value: number]

/** The answer to calls that pass all tests. */
type Rule = readonly [answer: number, ...tests: readonly Test[]]

/** The rules of one call. The first rule that fits answers, and the last one always fits. */
type Rules = readonly [...Rule[], Rule]

const AT_NUMBER = 0
const AT_AUDIT = 4
/** The lower half of an argument. */
const at = (argument: number): number => 16 + 8 * argument

const is = (argument: number, value: number): Test => [at(argument), 0xffffffff, value]
const hasNone = (argument: number, bits: number): Test => [at(argument), bits, 0]

/** Calls that are refused with all arguments: the name, and its numbers on x86-64 and arm64. */
const refusedCalls: readonly string[] = [
  // These calls reach into other processes.
  'ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440',
  'kcmp 312 272, pidfd_getfd 438 438',
  // These calls open large parts of the kernel that sandboxed code needs least.
  'bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, io_uring_setup 425 425',
  'io_uring_enter 426 426, io_uring_register 427 427, keyctl 250 219, add_key 248 217',
  'request_key 249 218, fanotify_init 300 262, fanotify_mark 301 263, lookup_dcookie 212 18',
  'remap_file_pages 216 234, move_pages 279 239, migrate_pages 256 238',
  // These calls change mounts and namespaces.
  'mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, open_tree 428 428, move_mount 429 429',
  'fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442',
  'unshare 272 97, setns 308 268, name_to_handle_at 303 264, open_by_handle_at 304 265',
  // These calls change the whole machine.
  'init_module 175 105, finit_module 313 273, delete_module 176 106, create_module 174 -',
  'query_module 178 -, kexec_load 246 104, kexec_file_load 320 294, reboot 169 142, swapon 167 224',
  'swapoff 168 225, acct 163 89, quotactl 179 60, quotactl_fd 443 443, nfsservctl 180 42',
  'settimeofday 164 170, clock_settime 227 112, adjtimex 159 171, clock_adjtime 305 266',
  'sethostname 170 161, setdomainname 171 162, syslog 103 116, vhangup 153 58, iopl 172 -, ioperm 173 -',
  'modify_ldt 154 -, uselib 134 -, ustat 136 -, sysfs 139 -, _sysctl 156 -',
  // These calls allocate memory of the kernel that belongs to no process.
  'shmget 29 194, semget 64 190, msgget 68 186, memfd_secret 447 447',
  // These calls use counters of the whole host, or choose where memory lies.
  'io_setup 206 0, mbind 237 235, set_mempolicy 238 237, set_mempolicy_home_node 450 450',
]

/** `CLONE_NEWNS`, `NEWCGROUP`, `NEWUTS`, `NEWIPC`, `NEWUSER`, `NEWPID`, `NEWNET`. */
const NEW_NAMESPACES = 0x7e020000

/** These requests put bytes into the input of a terminal, which may be the terminal that started the service. */
const TIOCSTI = 0x5412
const TIOCLINUX = 0x541c

/**
 * With a limit of 1 the kernel skips a piped core handler (`core_pattern` with `|`), which runs as root on the
 * host; with a limit of 0 it does not. The filter pretends to set the limit, so that programs cannot lower it to 0.
 */
const RLIMIT_CORE = 4

/** These flags take pages from a pool of the host that the kernel charges to no group. */
const MAP_HUGETLB = 0x40000
const MFD_HUGETLB = 4

const AF_UNIX = 1
const AF_NETLINK = 16
const NETLINK_ROUTE = 0

/** `AF_INET`, `AF_INET6`, and their allowed protocols: the default, TCP, UDP. Others would load modules of the kernel. */
const socketRules: Rules = [
  [ALLOW, is(0, AF_UNIX)],
  ...[2, 10].flatMap((family): Rule[] => [
    ...[0, 6, 17].map((protocol): Rule => [ALLOW, is(0, family), is(2, protocol)]),
    [EPROTONOSUPPORT, is(0, family)],
  ]),
  [ALLOW, is(0, AF_NETLINK), is(2, NETLINK_ROUTE)],
  [EAFNOSUPPORT],
]

/** `O_CREAT`, `__O_TMPFILE`: without them the kernel ignores the mode. */
const CREATES = 0o20000100

/**
 * A file with one of these bits runs as its owner or its group: those of the service, or of `runAs`. Mounts
 * forbid that inside. On the host, such a file in a volume would let every user run programs with these rights.
 */
const SET_IDS = 0o6000

/** The rules of a call that sets the mode of a file. `flags` is the argument of a call that can open files. */
function modeRules(mode: number, flags?: number): Rules {
  const opens: Rule[] = flags === undefined ? [] : [[ALLOW, hasNone(flags, CREATES)]]
  return [...opens, [ALLOW, hasNone(mode, SET_IDS)], [EPERM]]
}

/** Calls whose arguments decide: the name, and its numbers on x86-64 and arm64. */
const judgedCalls: readonly (readonly [string, Rules])[] = [
  // Their arguments are behind a pointer, which no filter can read. The C library uses the older call instead.
  ['clone3 435 435, openat2 437 437', [[ENOSYS]]],
  ['clone 56 220', [[ALLOW, hasNone(0, NEW_NAMESPACES)], [EPERM]]],
  ['socket 41 198, socketpair 53 199', socketRules],
  ['ioctl 16 29', [[EPERM, is(1, TIOCSTI)], [EPERM, is(1, TIOCLINUX)], [ALLOW]]],
  ['setrlimit 160 164', [[FAKE_SUCCESS, is(0, RLIMIT_CORE)], [ALLOW]]],
  // The third argument is the new limit, or a null pointer in a query.
  [
    'prlimit64 302 261',
    [[ALLOW, is(2, 0), [at(2) + 4, 0xffffffff, 0]], [FAKE_SUCCESS, is(1, RLIMIT_CORE)], [ALLOW]],
  ],
  ['open 2 -', modeRules(2, 1)],
  ['openat 257 56', modeRules(3, 2)],
  ['creat 85 -, mknod 133 -, chmod 90 -, fchmod 91 52', modeRules(1)],
  ['mknodat 259 33, fchmodat 268 53, fchmodat2 452 452', modeRules(2)],
  ['mmap 9 222', [[ALLOW, hasNone(3, MAP_HUGETLB)], [EPERM]]],
  ['memfd_create 319 279', [[ALLOW, hasNone(1, MFD_HUGETLB)], [EPERM]]],
  // The personality of Linux, and the query for the current one.
  ['personality 135 92', [[ALLOW, is(0, 0)], [ALLOW, is(0, 0xffffffff)], [EPERM]]],
]

/** The newest call that was reviewed (`mseal`, Linux 6.10). Later ones are unknown. The numbers of x32 are above it too. */
const LAST_CALL = 462

/** `AUDIT_ARCH_*` of `linux/audit.h`, and the position of the numbers after a name, by `process.arch`. */
const processors: ReadonlyMap<string, readonly [audit: number, place: number]> = new Map([
  ['x64', [0xc000003e, 0]],
  ['arm64', [0xc00000b7, 1]],
])

/** The filter in the format of `bwrap --seccomp`. Undefined for other processors. */
export function seccompFilter(processor: string = process.arch): Buffer | undefined {
  const [audit, place] = processors.get(processor) ?? []
  if (audit === undefined || place === undefined) return undefined
  const refused = refusedCalls.map((calls): readonly [string, Rules] => [calls, [[EPERM]]])
  const judged = [...judgedCalls, ...refused].flatMap(([calls, rules]) => {
    const then = rules.flatMap(ruleCode)
    return numbersIn(calls, place).flatMap((call): Instruction[] => [
      [JUMP_EQUAL, 0, then.length, call],
      ...then,
    ])
  })
  return assembled([
    [LOAD, 0, 0, AT_AUDIT],
    [JUMP_EQUAL, 1, 0, audit],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, AT_NUMBER],
    [JUMP_GREATER, 0, 1, LAST_CALL],
    [RETURN, 0, 0, ENOSYS],
    ...judged,
    [RETURN, 0, 0, ALLOW],
  ])
}

function numbersIn(calls: string, place: number): number[] {
  const numbers = calls.split(', ').map((call) => call.split(' ')[1 + place])
  return numbers.filter((number) => number !== '-').map(Number)
}

/** `linux/bpf_common.h`: load a word, jump, AND, return. */
const LOAD = 0x20
const JUMP_EQUAL = 0x15
const JUMP_GREATER = 0x25
const AND = 0x54
const RETURN = 0x06

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number]

/** A failed test jumps to the next rule. */
function ruleCode([answer, ...tests]: Rule): Instruction[] {
  return tests.reduceRight<Instruction[]>(
    (then, [offset, mask, value]) => [
      [LOAD, 0, 0, offset],
      [AND, 0, 0, mask],
      [JUMP_EQUAL, 0, then.length, value],
      ...then,
    ],
    [[RETURN, 0, 0, answer]],
  )
}

/** `struct sock_filter`: u16 code, u8 jump when true, u8 jump when false, u32 value. Both processors are little-endian. */
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
