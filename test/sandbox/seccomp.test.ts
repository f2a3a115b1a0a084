// The filter of system calls, run by an interpreter of classic BPF.

import assert from 'node:assert/strict'
import type { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import { seccompFilter } from '../../src/sandbox/runtimes/bubblewrap/seccomp.js'

const ALLOW = 0x7fff0000
const KILL = 0x80000000
const EPERM = 0x00050001
const ENOSYS = 0x00050026
const EAFNOSUPPORT = 0x00050061
const EPROTONOSUPPORT = 0x0005005d
const PRETEND = 0x00050000

/** The verdict of the kernel on a call. The arguments are 64 bits wide. */
function judged(filter: Buffer, audit: number, number: number, args: readonly bigint[] = []): number {
  const data = new DataView(new ArrayBuffer(64))
  data.setUint32(0, number, true)
  data.setUint32(4, audit, true)
  for (const [index, arg] of args.entries()) data.setBigUint64(16 + 8 * index, arg, true)
  let accumulator = 0
  for (let at = 0; ; at++) {
    assert(8 * at < filter.length, 'it runs past its end')
    const value = filter.readUInt32LE(8 * at + 4)
    const jump = (isTrue: boolean): number => (at += filter.readUInt8(8 * at + (isTrue ? 2 : 3)))
    switch (filter.readUInt16LE(8 * at)) {
      case 0x20:
        assert(value % 4 === 0 && value < 64)
        accumulator = data.getUint32(value, true)
        break
      case 0x15:
        jump(accumulator === value)
        break
      case 0x25:
        jump(accumulator > value)
        break
      case 0x54:
        accumulator = (accumulator & value) >>> 0
        break
      case 0x06:
        return value
      default:
        assert.fail('no instruction that it should have')
    }
  }
}

const HIGH = 1n << 32n

/** Name, numbers on x64 and arm64, arguments, answer. */
const cases: readonly (readonly [string, readonly [number, number], readonly bigint[], number])[] = [
  ['read', [0, 63], [], ALLOW],
  ['execve', [59, 221], [], ALLOW],
  ['memfd_create', [319, 279], [], ALLOW],
  ['ptrace', [101, 117], [], EPERM],
  ['mount', [165, 40], [], EPERM],
  ['unshare', [272, 97], [], EPERM],
  ['setns', [308, 268], [], EPERM],
  ['bpf', [321, 280], [], EPERM],
  ['io_uring_setup', [425, 425], [], EPERM],
  ['shmget', [29, 194], [], EPERM],
  ['process_vm_readv', [310, 270], [], EPERM],
  ['process_vm_writev', [311, 271], [], EPERM],
  ['pidfd_getfd', [438, 438], [], EPERM],
  ['kcmp', [312, 272], [], EPERM],
  ['perf_event_open', [298, 241], [], EPERM],
  ['userfaultfd', [323, 282], [], EPERM],
  ['keyctl', [250, 219], [], EPERM],
  ['add_key', [248, 217], [], EPERM],
  ['umount2', [166, 39], [], EPERM],
  ['pivot_root', [155, 41], [], EPERM],
  ['chroot', [161, 51], [], EPERM],
  ['open_tree', [428, 428], [], EPERM],
  ['fsopen', [430, 430], [], EPERM],
  ['init_module', [175, 105], [], EPERM],
  ['kexec_load', [246, 104], [], EPERM],
  ['reboot', [169, 142], [], EPERM],
  ['open_by_handle_at', [304, 265], [], EPERM],
  ['syslog', [103, 116], [], EPERM],
  ['msgget', [68, 186], [], EPERM],
  ['io_setup', [206, 0], [], EPERM],
  ['mbind', [237, 235], [], EPERM],
  ['clone3', [435, 435], [], ENOSYS],
  ['one that is newer', [463, 463], [], ENOSYS],
  ['one of x32', [0x40000000, 0x40000000], [], ENOSYS],
  ['-1', [0xffffffff, 0xffffffff], [], ENOSYS],
  ['clone of a thread', [56, 220], [0x3d0f00n], ALLOW],
  ['clone into a user namespace', [56, 220], [0x10000011n], EPERM],
  ['clone into a network namespace', [56, 220], [0x40000011n], EPERM],
  ['clone with other bits above', [56, 220], [HIGH | 0x11n], ALLOW],
  ['fchmod', [91, 52], [3n, 0o1755n], ALLOW],
  ['fchmod with set-group-id', [91, 52], [3n, 0o2755n], EPERM],
  ['fchmod with set-user-id', [91, 52], [3n, 0o4755n], EPERM],
  ['fchmodat with set-user-id', [268, 53], [0n, 0n, 0o104700n], EPERM],
  ['fchmodat2 with set-user-id', [452, 452], [0n, 0n, 0o4000n, 0n], EPERM],
  ['fchmodat with set-group-id', [268, 53], [0n, 0n, 0o102700n], EPERM],
  ['openat of a new file with set-group-id', [257, 56], [0n, 0n, 0o101n, 0o2755n], EPERM],
  ['mknodat with set-user-id', [259, 33], [0n, 0n, 0o104755n, 0n], EPERM],
  ['mknodat of a pipe', [259, 33], [0n, 0n, 0o010644n, 0n], ALLOW],
  ['openat of what is there', [257, 56], [0n, 0n, 0o2000000n, 0o4777n], ALLOW],
  ['openat of a new file', [257, 56], [0n, 0n, 0o101n, 0o666n], ALLOW],
  ['openat of a new file with set-user-id', [257, 56], [0n, 0n, 0o101n, HIGH | 0o4755n], EPERM],
  ['openat of a file without a name with set-user-id', [257, 56], [0n, 0n, 0o20200002n, 0o4755n], EPERM],
  ['openat2', [437, 437], [], ENOSYS],
  ['a socket of AF_UNIX', [41, 198], [1n, 1n, 0n], ALLOW],
  ['a socket of AF_INET6', [41, 198], [10n, 1n, 0n], ALLOW],
  ['a socket for routes', [41, 198], [16n, 3n, 0n], ALLOW],
  ['a socket for netfilter', [41, 198], [16n, 3n, 12n], EAFNOSUPPORT],
  ['a socket of AF_VSOCK', [41, 198], [40n, 1n, 0n], EAFNOSUPPORT],
  ['a socket of AF_VSOCK with bits above', [41, 198], [HIGH | 40n, 1n, 0n], EAFNOSUPPORT],
  ['a socket of MPTCP', [41, 198], [2n, 1n, 262n], EPROTONOSUPPORT],
  ['a socket of UDPLITE', [41, 198], [2n, 2n, 136n], EPROTONOSUPPORT],
  ['a socket of SCTP', [41, 198], [2n, 1n, 132n], EPROTONOSUPPORT],
  ['a pair of AF_TIPC', [53, 199], [30n, 1n, 0n], EAFNOSUPPORT],
  ['TIOCGWINSZ', [16, 29], [0n, 0x5413n], ALLOW],
  ['TIOCSTI', [16, 29], [0n, 0x5412n], EPERM],
  ['TIOCSTI with bits above', [16, 29], [0n, HIGH | 0x5412n], EPERM],
  ['TIOCLINUX', [16, 29], [0n, 0x541cn], EPERM],
  ['a limit on files', [160, 164], [7n, 1n], ALLOW],
  ['a limit on core dumps', [160, 164], [4n, 1n], PRETEND],
  ['another limit on core dumps', [302, 261], [0n, 4n, 1n], PRETEND],
  ['a limit on core dumps, far above', [302, 261], [0n, 4n, HIGH], PRETEND],
  ['the question for the limit on core dumps', [302, 261], [0n, 4n, 0n, 1n], ALLOW],
  ['a limit on files by the newer call', [302, 261], [0n, 7n, 1n], ALLOW],
  ['the question for the personality', [135, 92], [0xffffffffn], ALLOW],
  ['no random addresses', [135, 92], [0x0040000n], EPERM],
]

const [AUDIT_X64, AUDIT_ARM64] = [0xc000003e, 0xc00000b7]

for (const [index, [name, audit, other]] of (
  [
    ['x64', AUDIT_X64, AUDIT_ARM64],
    ['arm64', AUDIT_ARM64, AUDIT_X64],
  ] as const
).entries()) {
  describe(`the filter for ${name}`, () => {
    const filter = seccompFilter(name) ?? assert.fail()

    for (const [title, numbers, args, want] of cases)
      test(title, () => assert.equal(judged(filter, audit, numbers[index] ?? -1, args), want))

    test('ends whoever calls as another processor', () => {
      assert.equal(judged(filter, other, numbersOf('read', index)), KILL)
      assert.equal(judged(filter, 0x40000003, numbersOf('read', index)), KILL)
    })

    test('comes to an answer for every number', () => {
      for (let number = 0; number < 600; number++) judged(filter, audit, number, [~0n & (HIGH - 1n)])
    })

    test('is no longer than the kernel takes', () => assert(filter.length / 8 <= 4096))
  })
}

const older: readonly (readonly [title: string, number: number, args: readonly bigint[]])[] = [
  ['open', 2, [0n, 0o101n, 0o4755n]],
  ['creat', 85, [0n, 0o4755n]],
  ['mknod', 133, [0n, 0o104755n]],
  ['chmod', 90, [0n, 0o4755n]],
]

const filter = seccompFilter('x64') ?? assert.fail()
for (const [title, number, args] of older)
  test(`${title}, which only x64 has, makes no file with set-user-id`, () => {
    assert.equal(judged(filter, AUDIT_X64, number, args), EPERM)
    const plain = args.map((arg) => arg & ~0o4000n)
    assert.equal(judged(filter, AUDIT_X64, number, plain), ALLOW)
  })

function numbersOf(title: string, index: number): number {
  return cases.find(([name]) => name === title)?.[1][index] ?? -1
}
