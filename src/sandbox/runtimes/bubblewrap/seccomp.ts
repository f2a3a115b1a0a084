// The filter of system calls of a machine, as a program of classic BPF (seccomp(2)).
//
// It is a list of what is refused: with namespaces, no capabilities and no set-user-id programs, most of what is left
// can do no harm, and programs of all kinds should run. What is refused are ways into other processes, mounts and namespaces, and
// parts of the kernel in which many faults were found.

import { Buffer } from 'node:buffer'
import { LAST_CALL, type ModeCall, type ProcessorCalls } from './system-calls.js'

/** `linux/bpf_common.h`: load a word of `struct seccomp_data`, jump, AND, return. */
const LOAD = 0x20
const JUMP_EQUAL = 0x15
const JUMP_GREATER = 0x25
const AND = 0x54
const RETURN = 0x06

/** `struct seccomp_data`: where the number of the call, the processor and the lower halves of the arguments stand. */
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

/** The call is not made, and whoever made it is told that it was. */
const FAKE_SUCCESS = errno(0)

/** `CLONE_NEWNS`, `NEWCGROUP`, `NEWUTS`, `NEWIPC`, `NEWUSER`, `NEWPID`, `NEWNET`. */
const NEW_NAMESPACES = 0x7e020000

/** Put bytes into the input of a terminal; the terminal may be that of whoever started the service. */
const TIOCSTI = 0x5412
const TIOCLINUX = 0x541c

/** `AF_INET`, `AF_INET6`, and what they may carry: the usual protocol, TCP, UDP. Others would load modules of the kernel. */
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
 * Whoever runs such a file becomes its owner, who is the user of the service or of `runAs`. Inside, mounts forbid
 * that; on the host a file in a volume would lend the user to everybody there.
 */
const SET_USER_ID = 0o4000

/** `O_CREAT`, `__O_TMPFILE`: without them the mode is nothing. */
const CREATES = 0o20000100

/** Pages of a pool of the host that no group is charged for. */
const MAP_HUGETLB = 0x40000
const MFD_HUGETLB = 4

/** Linux itself, and the question which one it is. */
const PERSONALITIES = [0, 0xffffffff]

type Instruction = readonly [code: number, whenTrue: number, whenFalse: number, value: number]

/** The filter as `bwrap --seccomp` reads it. */
export function seccompFilter(calls: ProcessorCalls): Buffer {
  return assembled([
    [LOAD, 0, 0, AT_AUDIT],
    [JUMP_EQUAL, 1, 0, calls.audit],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, AT_NUMBER],
    // The numbers of x32 are above it too.
    [JUMP_GREATER, 0, 1, LAST_CALL],
    [RETURN, 0, 0, ENOSYS],
    ...calls.unknown.flatMap((call) => answer(call, ENOSYS)),
    ...calls.refused.flatMap((call) => answer(call, EPERM)),
    ...whenCalled(calls.clone, [
      [LOAD, 0, 0, atArgument(0)],
      [AND, 0, 0, NEW_NAMESPACES],
      [JUMP_EQUAL, 0, 1, 0],
      [RETURN, 0, 0, ALLOW],
      [RETURN, 0, 0, EPERM],
    ]),
    ...whenCalled(calls.socket, sockets),
    ...whenCalled(calls.socketpair, sockets),
    ...whenCalled(calls.ioctl, switchOnArgument(1, [TIOCSTI, TIOCLINUX], EPERM, ALLOW)),
    ...whenCalled(calls.setrlimit, switchOnArgument(0, [RLIMIT_CORE], FAKE_SUCCESS, ALLOW)),
    ...whenCalled(calls.prlimit, coreLimit),
    ...calls.modes.flatMap((each) => whenCalled(each.call, unlessSetUserId(each))),
    ...whenCalled(calls.mmap, whenAny(3, MAP_HUGETLB)),
    ...whenCalled(calls.memfdCreate, whenAny(1, MFD_HUGETLB)),
    ...whenCalled(calls.personality, switchOnArgument(0, PERSONALITIES, ALLOW, EPERM)),
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

/** The last of these instructions returns. */
function whenFamily(family: number, then: readonly Instruction[]): Instruction[] {
  return [[LOAD, 0, 0, atArgument(0)], [JUMP_EQUAL, 0, then.length, family], ...then]
}

/** Its third argument is the new limit, or a null pointer in a question for the old one. */
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

function unlessSetUserId({ mode, flags }: ModeCall): Instruction[] {
  return [
    ...(flags === undefined ? [] : whenNone(flags, CREATES)),
    ...whenNone(mode, SET_USER_ID),
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

/** Returns `then` when the loaded value is this one. */
function answer(value: number, then: number): Instruction[] {
  return [
    [JUMP_EQUAL, 0, 1, value],
    [RETURN, 0, 0, then],
  ]
}

/** Only for one call; the last of these instructions returns. */
function whenCalled(call: number, then: readonly Instruction[]): Instruction[] {
  return [[JUMP_EQUAL, 0, then.length, call], ...then]
}

/** Returns `then` when the argument is one of these, else `otherwise`; the kernel reads 32 bits of it too. */
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
