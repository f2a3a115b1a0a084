// The ways between the same two processes: how each is started, checked and stopped.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { type Caller, Client } from './client.js'
import { HttpClient } from './http-client.js'
import {
  type AroundId,
  ENVELOPES,
  type Envelope,
  SMALL_TEXTS,
  blobCall,
  resultLine,
  stringBody,
  textCall,
  withId,
} from './wire.js'

const ASK_LIMIT_MS = 15_000
/** A refused connection on loopback costs next to nothing, so a start is seen to the millisecond. */
const READY_POLL_MS = 1
const TOOLS_LIMIT_MS = 60_000
const TOOLS_POLL_MS = 100
const EXIT_LIMIT_MS = 5_000
const KILL_LIMIT_MS = 2_000
const STDERR_SHOWN_BYTES = 600
const CHECKED_BLOB_BYTES = 5_000

export const SERVER_NAME = 'bench'

/** The program between the client and the server. */
export type Way =
  | 'direct'
  | 'relay'
  | 'forwarder'
  | 'raw sockets'
  | 'proxy'
  | 'other build'
  | 'proxy, 1 server'
  | 'proxy, 200 servers'

/** The two ends of the proxy in the figures over HTTP. */
export type Leg = (typeof LEGS)[number]
export const LEGS = ['HTTP -> stdio', 'stdio -> HTTP', 'HTTP -> HTTP'] as const

/** A command to measure, with what a call has to say to reach the bench server through it. */
export interface SubjectSpec {
  readonly way: Way
  /** Its command line, with the port of a program that listens. */
  readonly argv: (port: number) => readonly string[]
  /** Whether it listens; else its client has its pipes. */
  readonly isHttp: boolean
  /** Put before a tool's own name. */
  readonly toolPrefix: string
  /** `tools/list` must have this many tools before a run begins; a program without tools writes a line when it has started. */
  readonly toolCount: number
}

/** The folder of a bench run, and the build that it measures. */
export interface Place {
  /** A temporary folder of this run. */
  readonly folder: string
  readonly cli: string
  /** Another build of the proxy, to be compared with. */
  readonly other: string | undefined
  /** The orders of a message's members that calls have, in turn. */
  readonly envelopes: readonly Envelope[]
}

const INITIALIZE: string =
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'bench', version: '1.0.0' },
    },
  }) + '\n'
export const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}\n'

/** A program of the bench beside this file. */
export function program(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url))
}

/** The bench server's command line, with `tools` tools. */
export function serverArgv(tools: number): string[] {
  return [process.execPath, program('server.js'), '--tools', String(tools)]
}

/** How many tools the bench server has. */
const TOOLS = 3

const server = { toolPrefix: '', toolCount: TOOLS } as const

export const directSpec: SubjectSpec = {
  ...server,
  way: 'direct',
  isHttp: false,
  argv: () => serverArgv(TOOLS),
}

export const httpServerSpec: SubjectSpec = {
  ...server,
  way: 'direct',
  isHttp: true,
  argv: (port) => [process.execPath, program('http-server.js'), '--port', String(port)],
}

export const relaySpec: SubjectSpec = {
  ...directSpec,
  way: 'relay',
  argv: () => [process.execPath, program('relay.js'), ...serverArgv(TOOLS)],
}

/** A program of the bench in front of the stdio server, or of the HTTP server at `url`. */
function referenceSpec(way: 'forwarder' | 'raw sockets', isHttp: boolean, url?: string): SubjectSpec {
  const file = program(way === 'forwarder' ? 'http-forwarder.js' : 'http-raw.js')
  const to = url === undefined ? ['--', ...serverArgv(TOOLS)] : ['--to', url]
  const argv = (port: number) => [process.execPath, file, ...(isHttp ? ['--port', String(port)] : []), ...to]
  return { ...server, way, isHttp, argv }
}

/** The proxy, and the other build of it where one is asked for, in front of one of the bench servers alone. */
export function proxySpecs(place: Place, isHttp = false, url?: string): SubjectSpec[] {
  const [command, ...args] = serverArgv(TOOLS)
  const entry = url === undefined ? { command, args } : { type: 'http', url }
  const name = url === undefined ? 'stdio' : `http-${new URL(url).port}`
  const config = writeConfig(place, name, { [SERVER_NAME]: entry })
  const built = (way: Way, cli: string): SubjectSpec => ({
    way,
    isHttp,
    argv: (port) => {
      const front = isHttp ? ['--http', '--port', String(port)] : ['--stdio']
      return [process.execPath, cli, ...front, '--config', config]
    },
    toolPrefix: `${SERVER_NAME}__`,
    toolCount: TOOLS,
  })
  const others = place.other === undefined ? [] : [built('other build', place.other)]
  return [built('proxy', place.cli), ...others]
}

/** The ways of a leg; `url` is that of the bench server over HTTP. */
export function legSpecs(place: Place, leg: Leg, url: string, hasRaw: boolean): SubjectSpec[] {
  const isHttp = leg !== 'stdio -> HTTP'
  const to = leg === 'HTTP -> stdio' ? undefined : url
  return [
    isHttp ? httpServerSpec : directSpec,
    referenceSpec('forwarder', isHttp, to),
    ...(hasRaw ? [referenceSpec('raw sockets', isHttp, to)] : []),
    ...proxySpecs(place, isHttp, to),
  ]
}

export function writeConfig(place: Place, name: string, mcpServers: object): string {
  const path = join(place.folder, `${name}.config.json`)
  writeFileSync(path, JSON.stringify({ mcpServers }))
  return path
}

/** The environment of every subject: nothing of the person's own configuration. */
export function emptyHome(place: Place): NodeJS.ProcessEnv {
  const home = join(place.folder, 'home')
  mkdirSync(home, { recursive: true })
  const { PATH } = process.env
  return { PATH, HOME: home, NO_COLOR: '1' }
}

/** A port of loopback that was free a moment ago, for what listens. */
export async function portFor({ isHttp }: SubjectSpec): Promise<number> {
  if (!isHttp) return 0
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** A proxy on HTTP does not end with its stdin, so every end of the bench ends these first. */
const living = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))

let started = 0

/** A running subject. Only its own process id is ever signalled. */
export class Subject {
  readonly client: Caller
  readonly url: string
  readonly #spec: SubjectSpec
  readonly #port: number
  readonly #child: ChildProcess
  readonly #stderrPath: string

  private constructor(spec: SubjectSpec, port: number, child: ChildProcess, stderrPath: string) {
    if (child.stdin === null || child.stdout === null) throw new Error('a child without pipes')
    this.client = spec.isHttp ? new HttpClient(port) : new Client(child.stdout, child.stdin)
    this.url = `http://127.0.0.1:${port}/mcp`
    this.#spec = spec
    this.#port = port
    this.#child = child
    this.#stderrPath = stderrPath
    living.add(child)
    child.once('exit', () => living.delete(child))
    child.once('error', (error) => {
      living.delete(child)
      this.client.end(error)
    })
  }

  /** Starts the command without a word on its stdin. */
  static start(spec: SubjectSpec, place: Place, port: number): Subject {
    const [command = '', ...args] = spec.argv(port)
    started += 1
    const stderrPath = join(place.folder, `${started}.stderr`)
    const stderr = openSync(stderrPath, 'w')
    const child = spawn(command, args, {
      cwd: place.folder,
      env: emptyHome(place),
      stdio: ['pipe', 'pipe', stderr],
    })
    closeSync(stderr)
    return new Subject(spec, port, child, stderrPath)
  }

  /** Starts it, shakes hands, waits for its tools and compares one answer of every tool byte for byte. */
  static async open(spec: SubjectSpec, place: Place): Promise<Subject> {
    const subject = Subject.start(spec, place, await portFor(spec))
    try {
      await subject.initialized()
      await subject.#waitForTools()
      await subject.#compareAnswers()
      return subject
    } catch (error) {
      const reason = subject.explain(error)
      await subject.close()
      throw new Error(reason, { cause: error })
    }
  }

  get way(): Way {
    return this.#spec.way
  }

  /** Zero when the child never started. */
  get pid(): number {
    return this.#child.pid ?? 0
  }

  tool(name: string): string {
    return this.#spec.toolPrefix + name
  }

  /** Waits for its first answer: to `/health` where it listens, else to `initialize`. */
  async answered(): Promise<void> {
    const { isHttp, toolCount } = this.#spec
    if (!isHttp) return void (await this.client.ask(toolCount === 0 ? '' : INITIALIZE, ASK_LIMIT_MS))
    const deadline = performance.now() + ASK_LIMIT_MS
    while (!(await isHealthy(this.#port))) {
      if (!living.has(this.#child)) throw new Error('ended before it listened')
      if (performance.now() > deadline) throw new Error(`not listening within ${ASK_LIMIT_MS} ms`)
      await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS))
    }
  }

  /** The whole handshake; over HTTP each connection has its own later. */
  async initialized(): Promise<void> {
    await this.answered()
    if (this.client instanceof Client) this.client.tell(INITIALIZED)
  }

  /** An error with the end of what the subject wrote to stderr. */
  explain(error: unknown): string {
    const stderr = readFileSync(this.#stderrPath, 'utf8').trim().slice(-STDERR_SHOWN_BYTES)
    const message = error instanceof Error ? error.message : String(error)
    return stderr === '' ? message : `${message} (stderr: ${stderr.replaceAll('\n', ' | ')})`
  }

  /** Ends its stdin and waits, unless it would not notice; only then SIGTERM, then SIGKILL. */
  async close(): Promise<void> {
    const [child, { isHttp, toolCount }] = [this.#child, this.#spec]
    this.client.end(new Error('closed'))
    if (child.pid === undefined) return
    child.stdin?.destroy()
    if (!isHttp && toolCount > 0 && (await exited(child))) return
    child.kill('SIGTERM')
    if (await exited(child)) return
    child.kill('SIGKILL')
    await exited(child, KILL_LIMIT_MS)
  }

  async #waitForTools(): Promise<void> {
    const deadline = performance.now() + TOOLS_LIMIT_MS
    const want = this.#spec.toolCount
    for (;;) {
      const line = `{"jsonrpc":"2.0","id":${this.client.takeIds(1)},"method":"tools/list"}\n`
      const count = countTools(await this.client.ask(line, ASK_LIMIT_MS))
      if (count === want) return
      if (performance.now() > deadline) throw new Error(`${count} of ${want} tools listed`)
      await new Promise((resolve) => setTimeout(resolve, TOOLS_POLL_MS))
    }
  }

  async #compareAnswers(): Promise<void> {
    for (const { call, answer } of comparisons(this.#spec.toolPrefix)) {
      const id = this.client.takeIds(1)
      const given = await this.client.ask(withId(call, id), ASK_LIMIT_MS)
      if (!given.equals(answer(id)))
        throw new Error(`an answer that the server did not give: ${given.toString('utf8', 0, 300)}`)
    }
  }
}

/** One connection, one request, one answer. */
function isHealthy(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.setTimeout(ASK_LIMIT_MS, () => socket.destroy())
    socket.once('connect', () => socket.write(`GET /health HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`))
    socket.once('data', (chunk: Buffer) => {
      resolve(chunk.toString('latin1', 0, 12) === 'HTTP/1.1 200')
      socket.destroy()
    })
    socket.once('error', () => socket.destroy())
    socket.once('close', () => resolve(false))
  })
}

/** Runs `work` with one bench server over HTTP, which the ways share. */
export async function withHttpServer<T>(place: Place, work: (url: string) => Promise<T>): Promise<T> {
  const shared = Subject.start(httpServerSpec, place, await portFor(httpServerSpec))
  try {
    await shared.answered()
    return await work(shared.url)
  } finally {
    await shared.close()
  }
}

/** A call, and the whole answer that the server gives to it. */
interface Comparison {
  readonly call: AroundId
  readonly answer: (id: number) => Buffer
}

/** Calls of every tool in both orders. */
function comparisons(prefix: string): Comparison[] {
  const body = stringBody(CHECKED_BLOB_BYTES)
  const length = Buffer.from(String(CHECKED_BLOB_BYTES).padStart(8, '0'))
  return ENVELOPES.flatMap((envelope) => {
    const given = (call: AroundId, text: Uint8Array): Comparison => ({
      call,
      answer: (id) => resultLine(envelope, id, text),
    })
    return [
      ...SMALL_TEXTS.map((text) => given(textCall(envelope, `${prefix}echo`, text), text)),
      given(blobCall(envelope, `${prefix}blob`, CHECKED_BLOB_BYTES), body),
      given(textCall(envelope, `${prefix}swallow`, body), length),
    ]
  })
}

/** How many tools an answer to `tools/list` has. */
function countTools(answer: Buffer): number {
  const message: unknown = JSON.parse(answer.toString())
  if (typeof message !== 'object' || message === null || !('result' in message)) return 0
  const { result } = message
  if (typeof result !== 'object' || result === null || !('tools' in result)) return 0
  if ('nextCursor' in result) throw new Error('a list in pages, which the bench does not follow')
  return Array.isArray(result.tools) ? result.tools.length : 0
}

/** Ends its stdin and waits; only then SIGKILL. */
export async function closeInput(child: ChildProcess): Promise<void> {
  child.stdin?.end()
  if (await exited(child)) return
  child.kill('SIGKILL')
  await exited(child, KILL_LIMIT_MS)
}

/** Whether it ended in time. */
async function exited(child: ChildProcess, withinMs: number = EXIT_LIMIT_MS): Promise<boolean> {
  if (child.exitCode !== null || child.signalCode !== null) return true
  try {
    await once(child, 'exit', { signal: AbortSignal.timeout(withinMs) })
    return true
  } catch {
    return false
  }
}
