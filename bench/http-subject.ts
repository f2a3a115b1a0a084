// The ways over HTTP: how each is started, checked and stopped.

import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { createServer, connect } from 'node:net'
import { join } from 'node:path'

import { HttpClient } from './http-client.js'
import {
  type Place,
  SERVER_NAME,
  type SubjectSpec,
  TOOLS,
  type Way,
  compare,
  comparisons,
  countTools,
  directSpec,
  emptyHome,
  exited,
  program,
  serverArgv,
  writeConfig,
} from './subject.js'
import { LINE_HEAD, withId } from './wire.js'

const ASK_LIMIT_MS = 15_000
const READY_LIMIT_MS = 15_000
const TOOLS_LIMIT_MS = 60_000
const TOOLS_POLL_MS = 100
/** A refused connection on loopback costs next to nothing, so a start is seen to the millisecond. */
const READY_POLL_MS = 1
const EXIT_LIMIT_MS = 5_000
const KILL_LIMIT_MS = 2_000
const STDERR_SHOWN_BYTES = 600

/** What the proxy stands between. */
export type Leg = (typeof LEGS)[number]
export const LEGS = ['HTTP -> stdio', 'stdio -> HTTP', 'HTTP -> HTTP'] as const

/** A program that listens, with what a call has to say to reach the bench server through it. */
export interface HttpSpec {
  readonly way: Way
  /** Its command line on that port. */
  readonly argv: (port: number) => readonly string[]
  readonly toolPrefix: string
}

/** A port of loopback that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

export const httpServerSpec: HttpSpec = {
  way: 'direct',
  argv: (port) => [process.execPath, program('http-server.js'), '--port', String(port)],
  toolPrefix: '',
}

/** In front of the stdio server, or of the HTTP server at `url`. */
export function httpForwarderSpec(url: string | undefined): HttpSpec {
  return referenceSpec('forwarder', 'http-forwarder.js', url)
}

/** Likewise, with sockets of its own and without `node:http`. */
export function httpRawSpec(url: string | undefined): HttpSpec {
  return referenceSpec('raw sockets', 'http-raw.js', url)
}

function referenceSpec(way: Way, file: string, url: string | undefined): HttpSpec {
  const to = url === undefined ? ['--', ...serverArgv(TOOLS)] : ['--to', url]
  const argv = (port: number) => [process.execPath, program(file), '--port', String(port), ...to]
  return { way, argv, toolPrefix: '' }
}

/** Likewise. */
export function httpProxySpec(place: Place, url: string | undefined): HttpSpec {
  const config = proxyConfig(place, url)
  const argv = (port: number) => [
    process.execPath,
    place.cli,
    '--http',
    '--port',
    String(port),
    '--config',
    config,
  ]
  return { way: 'proxy', argv, toolPrefix: `${SERVER_NAME}__` }
}

/** The proxy, and the other build of it where one is asked for. */
export function httpProxySpecs(place: Place, url: string | undefined): HttpSpec[] {
  const { other } = place
  const others =
    other === undefined
      ? []
      : [{ ...httpProxySpec({ ...place, cli: other }, url), way: 'other build' as const }]
  return [httpProxySpec(place, url), ...others]
}

function proxyConfig(place: Place, url: string | undefined): string {
  const [command, ...args] = serverArgv(TOOLS)
  const server = url === undefined ? { command, args } : { type: 'http', url }
  return writeConfig(place, url === undefined ? 'http-stdio' : `http-${new URL(url).port}`, {
    [SERVER_NAME]: server,
  })
}

/** The ways of stdio -> HTTP: commands on pipes, as in the figures without HTTP. */
export function lineSpecs(place: Place, url: string): SubjectSpec[] {
  const direct = directSpec()
  const forwarder: SubjectSpec = {
    ...direct,
    way: 'forwarder',
    argv: [process.execPath, program('http-forwarder.js'), '--to', url],
  }
  const config = proxyConfig(place, url)
  const built = (way: Way, cli: string): SubjectSpec => ({
    ...direct,
    way,
    argv: [process.execPath, cli, '--stdio', '--config', config],
    toolPrefix: `${SERVER_NAME}__`,
  })
  const others = place.other === undefined ? [] : [built('other build', place.other)]
  return [direct, forwarder, built('proxy', place.cli), ...others]
}

/** A proxy on HTTP does not end with its stdin, so whatever ends the bench ends these first. */
const living = new Set<ChildProcess>()

function endLiving(): void {
  for (const child of living) child.kill('SIGKILL')
}
process.once('exit', endLiving)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1))
}

let started = 0

/** A process that listens. Only its own process id is ever signalled. */
export class HttpProcess {
  readonly port: number
  readonly #child: ChildProcess
  readonly #stderrPath: string

  private constructor(port: number, child: ChildProcess, stderrPath: string) {
    this.port = port
    this.#child = child
    this.#stderrPath = stderrPath
  }

  static start(argv: HttpSpec['argv'], place: Place, port: number): HttpProcess {
    const [command = '', ...args] = argv(port)
    started += 1
    const stderrPath = join(place.folder, `http-${started}.stderr`)
    const stderr = openSync(stderrPath, 'w')
    const child = spawn(command, args, {
      cwd: place.folder,
      env: emptyHome(place),
      stdio: ['pipe', 'ignore', stderr],
    })
    closeSync(stderr)
    living.add(child)
    child.once('exit', () => living.delete(child))
    child.on('error', () => living.delete(child))
    return new HttpProcess(port, child, stderrPath)
  }

  /** Zero when the child never started. */
  get pid(): number {
    return this.#child.pid ?? 0
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`
  }

  /** Waits for the first 200 of `/health`. */
  async healthy(): Promise<void> {
    const deadline = performance.now() + READY_LIMIT_MS
    while (!(await isHealthy(this.port))) {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null)
        throw new Error('ended before it listened')
      if (performance.now() > deadline) throw new Error(`not listening within ${READY_LIMIT_MS} ms`)
      await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS))
    }
  }

  /** An error with the end of what the process wrote to stderr. */
  explain(error: unknown): string {
    const stderr = readFileSync(this.#stderrPath, 'utf8').trim().slice(-STDERR_SHOWN_BYTES)
    const message = error instanceof Error ? error.message : String(error)
    return stderr === '' ? message : `${message} (stderr: ${stderr.replaceAll('\n', ' | ')})`
  }

  /** SIGTERM, then SIGKILL. */
  async close(): Promise<void> {
    const child = this.#child
    if (child.pid === undefined) return
    child.kill('SIGTERM')
    if (await exited(child, EXIT_LIMIT_MS)) return
    child.kill('SIGKILL')
    await exited(child, KILL_LIMIT_MS)
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
  const server = HttpProcess.start(httpServerSpec.argv, place, await freePort())
  try {
    await server.healthy()
    return await work(server.url)
  } finally {
    await server.close()
  }
}

/** A running way with its clients. */
export class HttpSubject {
  readonly way: Way
  readonly client: HttpClient
  readonly #spec: HttpSpec
  readonly #process: HttpProcess

  private constructor(spec: HttpSpec, running: HttpProcess) {
    this.way = spec.way
    this.client = new HttpClient(running.port)
    this.#spec = spec
    this.#process = running
  }

  /** Starts it, waits for its tools and compares answers byte for byte. */
  static async open(spec: HttpSpec, place: Place): Promise<HttpSubject> {
    const running = HttpProcess.start(spec.argv, place, await freePort())
    const subject = new HttpSubject(spec, running)
    try {
      await running.healthy()
      await subject.#waitForTools()
      await subject.#compareAnswers()
      return subject
    } catch (error) {
      const reason = subject.explain(error)
      await subject.close()
      throw new Error(reason, { cause: error })
    }
  }

  get pid(): number {
    return this.#process.pid
  }

  tool(name: string): string {
    return this.#spec.toolPrefix + name
  }

  explain(error: unknown): string {
    return this.#process.explain(error)
  }

  async close(): Promise<void> {
    this.client.end(new Error('closed'))
    await this.#process.close()
  }

  async #waitForTools(): Promise<void> {
    const deadline = performance.now() + TOOLS_LIMIT_MS
    for (;;) {
      const body = `${LINE_HEAD}${this.client.takeIds(1)},"method":"tools/list"}`
      const count = countTools(await this.client.ask(body, ASK_LIMIT_MS))
      if (count === TOOLS) return
      if (performance.now() > deadline) throw new Error(`${count} of ${TOOLS} tools listed`)
      await new Promise((resolve) => setTimeout(resolve, TOOLS_POLL_MS))
    }
  }

  async #compareAnswers(): Promise<void> {
    const { toolPrefix } = this.#spec
    for (const { call, answer } of comparisons(toolPrefix)) {
      const id = this.client.takeIds(1)
      const given = await this.client.ask(withoutLineEnd(withId(call, id)), ASK_LIMIT_MS)
      compare(given, withoutLineEnd(answer(id)))
    }
  }
}

/** Over HTTP a message is the line without its end. */
function withoutLineEnd(line: Buffer): Buffer {
  return line.subarray(0, line.length - 1)
}
