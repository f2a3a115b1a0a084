// A process in which Python runs as WebAssembly: it has files in memory, three streams and a clock, and nothing else of the
// host.
//
// usage: node python-host.js PYTHON.wasm
//
// The first line of stdin is JSON: the driver, its environment, and how many bytes files may have. What comes behind it are
// the requests that the driver reads. Python ends when stdin does.

import { Buffer } from 'node:buffer'
import { readFileSync } from 'node:fs'
import process from 'node:process'
import {
  ConsoleStdout,
  Directory,
  File,
  Inode,
  OpenFile,
  PreopenDirectory,
  WASI,
  wasi,
} from '@bjorn3/browser_wasi_shim'
import { rest, writeFully } from '../guest/write-fully.js'
import { BoundedFiles } from './bounded-files.js'
import { Requests, tellReady } from './requests.js'

/** What is used of WebAssembly; the types of Node do not have it. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (
    module: object,
    imports: object,
  ) => { readonly exports: Readonly<Record<string, unknown>> }
}

interface Settings {
  readonly driver: string
  readonly env: readonly string[]
  readonly filesBytesMax: number
}

/** There is one descriptor of stdin, which programs of the session may read: requests come from elsewhere. */
const LOADER = `import os;os.chdir('/workspace');requests=open('/dev/requests','rb');__file__='<driver>';exec(compile(open('/dev/driver').read(),__file__,'exec'))`

/** In a millisecond. */
const NANOSECONDS = 1_000_000

/** Calls of sockets, which the package answers by throwing through the program. */
const socketCalls = ['sock_accept', 'sock_recv', 'sock_send', 'sock_shutdown']

function main([module = '']: readonly string[]): void {
  const requests = new Requests()
  const settings: Settings = JSON.parse(requests.line() ?? '')
  const system = systemOf(requests, settings)
  const compiled = new WebAssembly.Module(readFileSync(module))
  const { exports } = new WebAssembly.Instance(compiled, { wasi_snapshot_preview1: system.wasiImport })
  const { memory, _start: start } = exports
  if (typeof start !== 'function') throw new Error(`${module} is no program for WASI`)
  const program = { memory, _start: () => Reflect.apply(start, undefined, []) }
  process.exitCode = system.start({ exports: program })
}

function systemOf(requests: Requests, { driver, env, filesBytesMax }: Settings): WASI {
  const devices = new Directory([
    [
      'null',
      device(
        () => {},
        () => new Uint8Array(),
      ),
    ],
  ])
  const hidden = ['requests', 'driver']
  const source = (most: number): Uint8Array => {
    for (const name of hidden) devices.contents.delete(name)
    tellReady()
    return requests.bytes(most)
  }
  devices.contents.set(
    'requests',
    device(() => {}, source),
  )
  devices.contents.set('driver', new File(Buffer.from(driver)))
  const root = new PreopenDirectory(
    '/',
    new Map<string, Inode>([
      ['dev', devices],
      ['tmp', new Directory([])],
      ['workspace', new Directory([])],
    ]),
  )
  const outputs = [1, 2].map((descriptor) => new ConsoleStdout((chunk) => writeFully(descriptor, chunk)))
  const streams = [new OpenFile(new File([])), ...outputs, root]
  // Without it the package writes what it does to our stdout.
  const system = new WASI(['python', '-c', LOADER], [...env], streams, { debug: false })
  const files = new BoundedFiles(root.dir, filesBytesMax, () => system.fds)
  replaceCalls(system, files)
  return system
}

/** A file that is no file: what is written to it and read from it. */
function device(write: (chunk: Uint8Array) => void, read: (most: number) => Uint8Array): Inode {
  const ino = Inode.issue_ino()
  const opened = new ConsoleStdout(write)
  opened.fd_read = (most) => ({ ret: wasi.ERRNO_SUCCESS, data: read(most) })
  return {
    ino,
    path_open: () => ({ ret: wasi.ERRNO_SUCCESS, fd_obj: opened }),
    stat: () => new wasi.Filestat(ino, wasi.FILETYPE_CHARACTER_DEVICE, 0n),
  }
}

function replaceCalls(system: WASI, files: BoundedFiles): void {
  const calls = system.wasiImport
  const open = calls.path_open
  calls.path_open = (...args) => {
    const result = open(...args)
    const last = system.fds.at(-1)
    if (last instanceof OpenFile) files.bind(last)
    return result
  }
  // That of the package waits by looking at the clock.
  calls.poll_oneoff = (from, to, count, events) => {
    const view = new DataView(system.inst.exports.memory.buffer)
    const asked = wasi.Subscription.read_bytes(view, from)
    if (count !== 1 || asked.eventtype !== wasi.EVENTTYPE_CLOCK) return wasi.ERRNO_NOTSUP
    const isAbsolute = (asked.flags & wasi.SUBCLOCKFLAGS_SUBSCRIPTION_CLOCK_ABSTIME) !== 0
    const now = isAbsolute ? timeOf(system, asked.clockid, to) : 0n
    rest(Math.max(0, Number(asked.timeout - now) / NANOSECONDS))
    new wasi.Event(asked.userdata, wasi.ERRNO_SUCCESS, asked.eventtype).write_bytes(view, to)
    view.setUint32(events, 1, true)
    return wasi.ERRNO_SUCCESS
  }
  for (const name of socketCalls) calls[name] = () => wasi.ERRNO_NOTSUP
}

/** In nanoseconds; written to memory that is written again afterwards. */
function timeOf(system: WASI, clock: number, at: number): bigint {
  system.wasiImport.clock_time_get(clock, 0n, at)
  return new DataView(system.inst.exports.memory.buffer).getBigUint64(at, true)
}

main(process.argv.slice(2))
