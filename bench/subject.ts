// The ways between the same two processes: how each is started, checked and stopped.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { Client } from './client.js'
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

const HANDSHAKE_LIMIT_MS = 15_000
const TOOLS_LIMIT_MS = 60_000
const TOOLS_POLL_MS = 200
const EXIT_LIMIT_MS = 3_000
const KILL_LIMIT_MS = 2_000
const STDERR_SHOWN_BYTES = 600
const CHECKED_BLOB_BYTES = 5_000

export const SERVER_NAME = 'bench'

/** What stands between the client and the server. */
export type Way =
  | 'direct'
  | 'relay'
  | 'forwarder'
  | 'raw sockets'
  | 'proxy'
  | 'other build'
  | 'proxy, 1 server'
  | 'proxy, 200 servers'

/** A command to measure, with what a call has to say to reach the bench server through it. */
export interface SubjectSpec {
  readonly way: Way
  readonly argv: readonly string[]
  /** Put before a tool's own name. */
  readonly toolPrefix: string
  /** `tools/list` must have this many tools before a run begins. */
  readonly toolCount: number
}

/** Where a bench run keeps its files and what it measures. */
export interface Place {
  /** A temporary folder of this run. */
  readonly folder: string
  readonly cli: string
  /** Another build of the proxy, to be compared with. */
  readonly other: string | undefined
  /** The orders of a message's members that calls have, in turn. */
  readonly envelopes: readonly Envelope[]
}

export const INITIALIZE: string =
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
export const TOOLS = 3

export function directSpec(): SubjectSpec {
  return { way: 'direct', argv: serverArgv(TOOLS), toolPrefix: '', toolCount: TOOLS }
}

export function relaySpec(): SubjectSpec {
  const argv = [process.execPath, program('relay.js'), ...serverArgv(TOOLS)]
  return { way: 'relay', argv, toolPrefix: '', toolCount: TOOLS }
}

/** The proxy in front of the bench server alone. */
export function proxySpec(place: Place): SubjectSpec {
  const [command, ...args] = serverArgv(TOOLS)
  const config = writeConfig(place, 'stdio', { [SERVER_NAME]: { command, args } })
  return {
    way: 'proxy',
    argv: [process.execPath, place.cli, '--stdio', '--config', config],
    toolPrefix: `${SERVER_NAME}__`,
    toolCount: TOOLS,
  }
}

/** The proxy, and the other build of it where one is asked for. */
export function proxySpecs(place: Place): SubjectSpec[] {
  const { other } = place
  const others =
    other === undefined ? [] : [{ ...proxySpec({ ...place, cli: other }), way: 'other build' as const }]
  return [proxySpec(place), ...others]
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

let started = 0

/** A running subject. Only its own process id is ever signalled. */
export class Subject {
  readonly way: Way
  readonly toolPrefix: string
  readonly client: Client
  readonly #child: ChildProcess
  readonly #stderrPath: string

  private constructor(spec: SubjectSpec, child: ChildProcess, client: Client, stderrPath: string) {
    this.way = spec.way
    this.toolPrefix = spec.toolPrefix
    this.client = client
    this.#child = child
    this.#stderrPath = stderrPath
  }

  /** Starts the command without a word on its stdin. */
  static start(spec: SubjectSpec, place: Place): Subject {
    const [command = '', ...args] = spec.argv
    started += 1
    const stderrPath = join(place.folder, `${started}.stderr`)
    const stderr = openSync(stderrPath, 'w')
    const child = spawn(command, args, {
      cwd: place.folder,
      env: emptyHome(place),
      stdio: ['pipe', 'pipe', stderr],
    })
    closeSync(stderr)
    if (child.stdin === null || child.stdout === null) throw new Error('a child without pipes')
    const client = new Client(child.stdout, child.stdin)
    child.once('error', (error) => client.end(error))
    return new Subject(spec, child, client, stderrPath)
  }

  /** Starts it, shakes hands, waits for its tools and compares one answer of every tool byte for byte. */
  static async open(spec: SubjectSpec, place: Place): Promise<Subject> {
    const subject = Subject.start(spec, place)
    try {
      await subject.client.ask(INITIALIZE, HANDSHAKE_LIMIT_MS)
      subject.client.tell(INITIALIZED)
      await subject.#waitForTools(spec.toolCount)
      await subject.#compareAnswers()
      return subject
    } catch (error) {
      const reason = subject.explain(error)
      await subject.close()
      throw new Error(reason, { cause: error })
    }
  }

  /** Zero when the child never started. */
  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** All that it wrote to stderr. */
  get stderr(): string {
    return readFileSync(this.#stderrPath, 'utf8')
  }

  /** An error with the end of what the subject wrote to stderr. */
  explain(error: unknown): string {
    const stderr = this.stderr.trim().slice(-STDERR_SHOWN_BYTES)
    const message = error instanceof Error ? error.message : String(error)
    return stderr === '' ? message : `${message} (stderr: ${stderr.replaceAll('\n', ' | ')})`
  }

  tool(name: string): string {
    return this.toolPrefix + name
  }

  /** Ends its stdin and waits; only then SIGTERM, then SIGKILL. A `deaf` one is not waited for. */
  async close(deaf = false): Promise<void> {
    const child = this.#child
    this.client.end(new Error('closed'))
    if (child.pid === undefined) return
    child.stdin?.destroy()
    if (!deaf && (await exited(child, EXIT_LIMIT_MS))) return
    child.kill('SIGTERM')
    if (await exited(child, KILL_LIMIT_MS)) return
    child.kill('SIGKILL')
    await exited(child, KILL_LIMIT_MS)
  }

  async #waitForTools(want: number): Promise<void> {
    const deadline = performance.now() + TOOLS_LIMIT_MS
    for (;;) {
      const id = this.client.takeSmallIds(1)
      const count = await this.#countTools(id)
      if (count === want) return
      if (performance.now() > deadline) throw new Error(`${count} of ${want} tools listed`)
      await new Promise((resolve) => setTimeout(resolve, TOOLS_POLL_MS))
    }
  }

  async #countTools(id: number): Promise<number> {
    const answer = await this.client.ask(
      `{"jsonrpc":"2.0","id":${id},"method":"tools/list"}\n`,
      HANDSHAKE_LIMIT_MS,
    )
    return countTools(answer)
  }

  async #compareAnswers(): Promise<void> {
    for (const { call, answer } of comparisons(this.toolPrefix)) {
      const id = this.client.takeSmallIds(1)
      compare(await this.client.ask(withId(call, id), HANDSHAKE_LIMIT_MS), answer(id))
    }
  }
}

/** A call, and the whole answer that the server gives to it. */
interface Comparison {
  readonly call: AroundId
  readonly answer: (id: number) => Buffer
}

/** Calls of every tool in both orders. */
export function comparisons(prefix: string): Comparison[] {
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

/** @throws Error when a subject gave another answer than the server does */
export function compare(answer: Buffer, wanted: Buffer): void {
  if (answer.equals(wanted)) return
  throw new Error(`an answer that the server did not give: ${answer.toString('utf8', 0, 300)}`)
}

/** How many tools an answer to `tools/list` has. */
export function countTools(answer: Buffer): number {
  const message: unknown = JSON.parse(answer.toString())
  if (typeof message !== 'object' || message === null || !('result' in message)) return 0
  const { result } = message
  if (typeof result !== 'object' || result === null || !('tools' in result)) return 0
  if ('nextCursor' in result) throw new Error('a list in pages, which the bench does not follow')
  return Array.isArray(result.tools) ? result.tools.length : 0
}

/** Ends its stdin and waits; only then SIGKILL. */
export async function closeInput(child: ChildProcess, withinMs: number = EXIT_LIMIT_MS): Promise<void> {
  child.stdin?.end()
  if (await exited(child, withinMs)) return
  child.kill('SIGKILL')
  await exited(child, KILL_LIMIT_MS)
}

/** Whether it ended in time. */
export async function exited(child: ChildProcess, withinMs: number): Promise<boolean> {
  if (child.exitCode !== null || child.signalCode !== null) return true
  try {
    await once(child, 'exit', { signal: AbortSignal.timeout(withinMs) })
    return true
  } catch {
    return false
  }
}
