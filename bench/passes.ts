// npm run passes [-- --list]
//
// Through how many files, functions and calls of functions of the proxy one warm small `tools/call`
// passes, to the bundled Time server: the compiled sources, which are not bundled, under the engine's own
// count. What follows the answer in the same process belongs to the call. The same on stdio for clients and servers of
// either era, with a server of the bench.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { Client } from './client.js'
import {
  type Cell,
  DISCOVER_PARAMS,
  ERA_PAIRS,
  call as eraCall,
  message as eraMessage,
} from './era-messages.js'
import { HttpClient } from './http-client.js'
import { HttpProcess, type HttpSpec, freePort } from './http-subject.js'
import type { PassedScript } from './passes-probe.js'
import { INITIALIZE, INITIALIZED, type Place, exited, program } from './subject.js'

const ASK_LIMIT_MS = 15_000
const EXIT_LIMIT_MS = 5_000
/** Calls before the first that is counted: what is made once has been made then. */
const WARM_CALLS = 50
const COUNTED_CALLS = 9
/** What follows an answer is over by then. */
const SETTLE_MS = 30

const SOURCES = new URL('../src/', import.meta.url)
const CLI = fileURLToPath(new URL('cli.js', SOURCES))

/** The tool as it is called through one proxy, and through two. */
const TOOL = 'Time__get_current_time'

/** Something that takes one message and gives its answer. */
type Ask = (message: string) => Promise<Buffer>

/** A proxy whose calls of functions are counted. */
class CountedProxy {
  readonly child: ChildProcess

  constructor(args: readonly string[], home: string) {
    const { PATH } = process.env
    this.child = spawn(process.execPath, ['--import', program('passes-probe.js'), CLI, ...args], {
      env: { PATH, HOME: home, NO_COLOR: '1' },
      stdio: ['pipe', 'pipe', 'ignore', 'ipc'],
    })
  }

  /** What has run since it was last asked. */
  async taken(): Promise<readonly PassedScript[]> {
    const answered = once(this.child, 'message', { signal: AbortSignal.timeout(ASK_LIMIT_MS) })
    this.child.send('take')
    const [scripts]: readonly (readonly PassedScript[])[] = await answered
    return (scripts ?? []).filter(({ url }) => url.startsWith(SOURCES.href))
  }

  async close(): Promise<void> {
    this.child.kill('SIGTERM')
    if (!(await exited(this.child, EXIT_LIMIT_MS))) this.child.kill('SIGKILL')
  }
}

function timeCall(id: number): string {
  return `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${TOOL}","arguments":{"timezone":"Europe/Paris"}}}`
}

async function countCalls(
  proxy: CountedProxy,
  ask: Ask,
  messageOf: (id: number) => string,
): Promise<readonly PassedScript[]> {
  let id = 100
  const call = async () => {
    id += 1
    const answer = await ask(messageOf(id))
    if (!answer.includes('"result"') || answer.includes('"isError":true'))
      throw new Error(`the call failed: ${answer.toString('utf8', 0, 300)}`)
  }
  for (let n = 0; n < WARM_CALLS; n += 1) await call()
  const counts: (readonly PassedScript[])[] = []
  for (let n = 0; n < COUNTED_CALLS; n += 1) {
    await settle()
    await proxy.taken()
    await call()
    await settle()
    counts.push(await proxy.taken())
  }
  // A timer of the proxy may come between, so the middle of all is what a call passes.
  const ordered = counts.toSorted((a, b) => callsIn(a) - callsIn(b))
  return ordered[COUNTED_CALLS >> 1] ?? []
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
}

async function overStdio(folder: string, cell?: Cell): Promise<readonly PassedScript[]> {
  const args = cell === undefined ? [] : ['--no-kept-lists', '--config', eraConfig(folder, cell)]
  const proxy = new CountedProxy(['--stdio', ...args], folder)
  const { stdin, stdout } = proxy.child
  try {
    if (stdin === null || stdout === null) throw new Error('a child without pipes')
    const client = new Client(stdout, stdin)
    const ask: Ask = (message) => client.ask(`${message}\n`, ASK_LIMIT_MS)
    if (cell?.isNewClient === true) await ask(eraMessage(1, 'server/discover', DISCOVER_PARAMS))
    else {
      await client.ask(INITIALIZE, ASK_LIMIT_MS)
      client.tell(INITIALIZED)
    }
    return await countCalls(proxy, ask, cell === undefined ? timeCall : (id) => eraCall(cell, id))
  } finally {
    await proxy.close()
  }
}

function eraConfig(folder: string, { name, isNewServer }: Cell): string {
  const args = [program('era-server.js'), ...(isNewServer ? ['--stateless'] : [])]
  const config = join(folder, `${name.replaceAll(/\W+/g, '-')}.json`)
  writeFileSync(config, JSON.stringify({ mcpServers: { era: { command: process.execPath, args } } }))
  return config
}

/** The Time server stands behind a proxy of its own, which is not counted: it speaks stdio only. */
async function overHttp(folder: string): Promise<readonly PassedScript[]> {
  const argv = (port: number) => [process.execPath, CLI, '--http', '--port', String(port)]
  const place: Place = {
    folder,
    cli: CLI,
    other: undefined,
    payload: 'text',
    envelopes: ['id first'],
    parsingEnds: false,
  }
  const spec: HttpSpec = { way: 'direct', argv, toolPrefix: '', payload: place.payload }
  const remote = HttpProcess.start(spec.argv, place, await freePort())
  try {
    await remote.healthy()
    const config = join(folder, 'remote.json')
    // As the client speaks, so that both ways have one era.
    const server = { type: 'http', url: remote.url, prefix: false, protocol: 'legacy' }
    writeFileSync(config, JSON.stringify({ mcpServers: { remote: server } }))
    return await countedOverHttp(folder, config)
  } finally {
    await remote.close()
  }
}

async function countedOverHttp(folder: string, config: string): Promise<readonly PassedScript[]> {
  const port = await freePort()
  const proxy = new CountedProxy(['--http', '--port', String(port), '--config', config], folder)
  const client = new HttpClient(port)
  try {
    await listening(client)
    return await countCalls(proxy, (message) => client.ask(message, ASK_LIMIT_MS), timeCall)
  } finally {
    client.end(new Error('closed'))
    await proxy.close()
  }
}

async function listening(client: HttpClient): Promise<void> {
  const deadline = performance.now() + ASK_LIMIT_MS
  for (;;) {
    try {
      await client.ask('{"jsonrpc":"2.0","id":99,"method":"tools/list"}', ASK_LIMIT_MS)
      return
    } catch (error) {
      if (performance.now() > deadline) throw error
      await settle()
    }
  }
}

function callsIn(scripts: readonly PassedScript[]): number {
  return sum(scripts.flatMap(({ functions }) => functions.map(({ calls }) => calls)))
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0)
}

function tell(way: string, scripts: readonly PassedScript[], isListed: boolean): void {
  const functions = sum(scripts.map((script) => script.functions.length))
  process.stdout.write(
    `${way}: ${scripts.length} files, ${functions} functions, ${callsIn(scripts)} function calls\n`,
  )
  if (!isListed) return
  for (const script of scripts.toSorted((a, b) => a.url.localeCompare(b.url))) {
    const names = script.functions.map(({ name, calls }) => `${name || '(anonymous)'} ${calls}`)
    const path = script.url.slice(SOURCES.href.length).replace(/\.js$/, '.ts')
    process.stdout.write(
      `  ${path}: ${script.functions.length}, ${callsIn([script])} (${names.join(', ')})\n`,
    )
  }
}

const { values } = parseArgs({ options: { list: { type: 'boolean', default: false } } })
const folder = mkdtempSync(join(tmpdir(), 'mcps-proxy-passes-'))
try {
  tell('stdio -> stdio', await overStdio(folder), values.list)
  tell('HTTP -> HTTP', await overHttp(folder), values.list)
  for (const pair of ERA_PAIRS)
    tell(`stdio, ${pair.name}`, await overStdio(folder, { ...pair, extra: 'nothing' }), values.list)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
