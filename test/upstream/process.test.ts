// One child process: failures of its start, and its output at its end.

import { strict as assert } from 'node:assert'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { after, describe, test } from 'node:test'
import { resolveConfig, selectSchema } from '../../src/config/config.js'
import { buildNotification } from '../../src/jsonrpc/build.js'
import { limits } from '../../src/limits.js'
import { realRuntime } from '../../src/real-runtime.js'
import type { DialEnd } from '../../src/upstream/contracts/dialed.js'
import type { Child, ChildExit, LogRecord, Runtime } from '../../src/runtime/runtime.js'
import { Redactor } from '../../src/text/redactor.js'
import { ServerProcess } from '../../src/upstream/process/process.js'
import type { StdioServerConfig } from '../../src/upstream/contracts/server-config.js'
import { killMarked, leftAfter, markName, marked } from '../faults/support/marked.js'
import { gone, until } from '../integration/support/waiting.js'
import { numRuns } from '../properties/runs.js'

const skip = process.platform === 'win32'
const folder = mkdtempSync(join(tmpdir(), 'mcps-process-'))
const runtime = realRuntime()
const plain = join(folder, 'plain')
writeFileSync(plain, 'not executable')
after(async () => {
  await runtime.close()
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
})

type Overrides = Partial<
  Pick<StdioServerConfig, 'command' | 'args' | 'cwd' | 'env' | 'stopTimeoutMs' | 'memoryLimitBytes'>
>

/** Includes values that a file cannot contain, because this module is the last one before the kernel. */
function configOf(overrides: Overrides): StdioServerConfig {
  const from = { source: 'test', folder, env: process.env }
  const [server] = selectSchema(
    resolveConfig({ mcpServers: { s: { command: 'true' } } }, from),
    'default',
  ).servers
  assert(server?.kind === 'stdio')
  return { ...server, stopTimeoutMs: 100, ...overrides }
}

interface Around {
  readonly outputWaitMs?: number
  readonly stdinWaitMs?: number
  readonly spawn?: () => Child
  readonly memoryOf?: Runtime['memoryOf']
  /** The delays of all timers that were set. */
  readonly delays?: number[]
}

function started(
  overrides: Overrides,
  { outputWaitMs = 5000, stdinWaitMs = 100, spawn, memoryOf, delays = [] }: Around = {},
) {
  const log: LogRecord[] = []
  const lines: string[] = []
  const watched: Runtime = {
    ...runtime,
    ...(spawn !== undefined && { spawn }),
    ...(memoryOf !== undefined && { memoryOf }),
    setTimer: (delayMs, fire) => {
      delays.push(delayMs)
      return runtime.setTimer(delayMs, fire)
    },
  }
  const own = {
    memoryWatchMs: 5,
    stderr: { lineBytesMax: 8192, linesPerSecondMax: 100 },
    ladder: { stdinWaitMs, killWaitMs: 100, outputWaitMs },
    ndjson: { ...limits.upstream.ndjson, closeWaitMs: 20 },
  }
  const sink = (record: LogRecord): void => void log.push(record)
  const around = { limits: own, runtime: watched, log: sink }
  const server = new ServerProcess(configOf(overrides), around, new Redactor([]))
  const closed = new Promise((resolve) => {
    server.connection.start({
      message: (line) => lines.push(line.toString()),
      oversize: () => undefined,
      drained: () => undefined,
      ended: () => void server.connection.close(),
      closed: resolve,
    })
  })
  return { server, log, closed, lines }
}

function shell(script: string, around?: Around) {
  return started({ command: '/bin/sh', args: ['-c', script] }, around)
}

class ScriptedChild implements Child {
  readonly pid = 4711
  readonly stdin = new PassThrough()
  readonly stdout = new PassThrough()
  readonly stderr = new PassThrough()
  readonly exited: Promise<ChildExit>
  readonly signals: string[] = []
  exit: (code: number) => void = () => undefined

  constructor() {
    this.exited = new Promise((resolve) => {
      this.exit = (code) => resolve({ code, signal: undefined, spawnError: undefined })
    })
  }

  signal(name: 'SIGTERM' | 'SIGKILL'): boolean {
    this.signals.push(name)
    return true
  }
}

describe('a start that fails', { skip }, () => {
  const cases: [title: string, overrides: Overrides, message: RegExp][] = [
    ['no such command', { command: join(folder, 'nothing') }, /ENOENT; no such program; install it/],
    ['a command with arguments', { command: 'npx -y p' }, /ENOENT; no such program; write its first word/],
    ['no such folder', { cwd: join(folder, 'nowhere') }, /ENOENT; the working folder .*nowhere does not/],
    ['a file as folder', { cwd: plain }, /ENOTDIR$/],
    ['a plain file', { command: plain }, /EACCES; is it a program that .* and may \S+ be entered/],
    ['by name', { command: 'plain', env: { PATH: folder } }, /EACCES; .* and every folder of PATH be/],
    ['a folder as command', { command: folder }, /EACCES; is it a program/],
    ['an argument of 200 KB', { args: ['x'.repeat(200_000)] }, /E2BIG/],
    ['a variable of 200 KB', { env: { X: 'x'.repeat(200_000) } }, /E2BIG/],
    ['a NUL in the command', { command: 'a\0b' }, /NUL/],
    ['a NUL in an argument', { args: ['a\0b'] }, /NUL/],
    ['a NUL in a variable', { env: { X: 'a\0b' } }, /NUL/],
    ['a NUL in the folder', { cwd: 'a\0b' }, /NUL/],
    ['an empty command', { command: '' }, /the command is empty/],
  ]
  for (const [title, overrides, message] of cases)
    test(`${title}: an end that says so`, async () => {
      const { server, closed } = started(overrides)
      server.connection.send(buildNotification('ping'))
      const end = await server.ended
      assert.equal(end.reason, 'spawn-failed')
      assert.match(end.message, /^'s' cannot be started: /)
      assert.match(end.message, message)
      assert.equal(server.pid, undefined)
      await server.stop()
      await server.connection.close()
      await closed
    })
})

/** Shorter than the lifetime of the processes that must be ended. */
const LEFT_MS = 30_000

/** Descendants are found in `/proc`. */
const noTree = process.platform !== 'linux'

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

function held(): string[] {
  return readdirSync('/proc/self/fd')
}

async function startAndStop(): Promise<void> {
  const { server, closed } = started({ command: 'cat' })
  await server.stop()
  await closed
}

const ended = (code: number): DialEnd => ({ reason: 'exited', message: `'s' exited with code ${code}` })

/** Without resources that vanish in the next turn of the event loop. */
const lastingResources = (): string[] =>
  process.getActiveResourcesInfo().filter((resource) => resource !== 'Immediate')

describe('the end of a process', { skip }, () => {
  test('its last words on stderr are logged, though it has closed stdout before', async () => {
    const child = new ScriptedChild()
    const { server, log } = started({}, { spawn: () => child })
    child.stdout.end()
    child.exit(7)
    await new Promise((resolve) => setImmediate(resolve))
    child.stderr.end('words\nlast words')
    assert.deepEqual(await server.ended, { reason: 'exited', message: "'s' exited with code 7: last words" })
    const messages = log.map(({ message }) => message)
    assert.deepEqual(messages, ['words', 'last words'])
  })

  test('its last answer is read', async () => {
    for (let run = 0; run < numRuns(10); run++) {
      const { server, lines } = shell(`echo '{"id":1}'; exit 0`)
      assert.deepEqual(await server.ended, ended(0))
      assert.deepEqual(lines, ['{"id":1}'])
    }
  })

  test('what it says after the end of its stdin is read for as long as it may take to end', async () => {
    const script = `cat >/dev/null; sleep 0.2; echo '{"id":1}' && exit 0; exit 9`
    const { server, lines } = shell(script, { stdinWaitMs: 10_000 })
    await server.stop()
    assert.deepEqual(await server.ended, ended(0))
    assert.deepEqual(lines, ['{"id":1}'])
  })

  test('a child of it that holds the streams does not hold it, in its group or in one of its own', async () => {
    const ends = await shell('sleep 600 & exit 0', { outputWaitMs: 600_000 }).server.ended
    assert.deepEqual(ends, ended(0))
    // The shell exits after its child has left the process group.
    const script =
      'trap "exit 0" USR1; setsid sh -c "echo \\$\\$ >&2; kill -USR1 \\$PPID; exec sleep 30" & wait'
    const { server, closed, log } = shell(script, { outputWaitMs: 250 })
    assert.deepEqual(await server.ended, ended(0))
    const child = Number(log[0]?.message)
    assert(child > 0 && !gone(child), 'its child still sleeps')
    await closed
    process.kill(child, 'SIGKILL')
  })

  test('starts and stops leave no descriptor and no timer', { skip: noTree }, async () => {
    await startAndStop()
    await turns(3)
    const [before, resources] = [held(), lastingResources()]
    for (let run = 0; run < numRuns(20); run++) await startAndStop()
    await turns(3)
    assert.equal(held().length, before.length)
    assert.deepEqual(lastingResources(), resources)
  })

  test('one that closes its stdin immediately, or its stdout, ends no other process', async () => {
    const body = buildNotification('x', JSON.stringify({ filler: 'y'.repeat(100_000) }))
    for (let run = 0; run < numRuns(10); run++) {
      const { server, closed } = shell(
        run % 2 === 0 ? 'exec 0<&-; sleep 0.01' : 'exec >&-; exec 0<&-; exit 3',
      )
      server.connection.send(body)
      server.connection.send(body)
      const { reason } = await server.ended
      assert.equal(reason, 'exited')
      await closed
    }
  })

  test('a stop ends a tree that ignores everything but SIGKILL', async () => {
    for (let run = 0; run < numRuns(3); run++) {
      const mark = `stop-${process.pid}-${run}`
      const deep = "trap '' TERM HUP; echo deep >&2; sleep 60 >/dev/null 2>&1; :"
      const script = `trap '' TERM HUP; (trap '' TERM; (${deep}); :) & wait; :`
      const { server, log } = started({ command: '/bin/sh', args: ['-c', script], env: { [markName]: mark } })
      await until(() => log.length > 0)
      await server.stop()
      assert.deepEqual(await server.ended, { reason: 'exited', message: "'s' exited by SIGKILL" })
      assert.deepEqual(await leftAfter(mark, LEFT_MS), [])
    }
  })

  test('a stop by force takes along who has left the group', { skip: noTree }, async (t) => {
    for (const ignored of ['TERM HUP', 'HUP']) {
      const mark = `strays-${process.pid}-${ignored.length}`
      t.after(() => killMarked(mark))
      const script = `trap '' ${ignored}; setsid sh -c "trap '' TERM; echo deep >&2; exec >&- 2>&-; sleep 60; :" & wait; :`
      const { server, log } = started({ command: '/bin/sh', args: ['-c', script], env: { [markName]: mark } })
      await until(() => log.length > 0 && marked(mark).length === 3)
      await server.stop()
      assert.deepEqual(await leftAfter(mark, LEFT_MS), [])
    }
  })

  test(
    'a browser that a server leaves in a group of its own when it stops in order is ended',
    { skip: noTree },
    async (t) => {
      const mark = `browser-${process.pid}`
      t.after(() => killMarked(mark))
      const script = 'setsid sh -c "trap \'\' TERM HUP; sleep 60; :" >/dev/null 2>&1 & echo ready >&2; cat'
      const browsing = { command: '/bin/sh', args: ['-c', script], env: { [markName]: mark } }
      const { server, log } = started(browsing, { stdinWaitMs: 10_000 })
      await until(() => log.length > 0 && marked(mark).some(({ command }) => command === 'sleep 60'))
      await server.stop()
      assert.deepEqual(await server.ended, { reason: 'exited', message: "'s' exited with code 0" })
      assert.deepEqual(await leftAfter(mark, LEFT_MS), [])
    },
  )

  test('a daemon whose parents have ended stays', { skip: noTree }, async (t) => {
    const mark = `daemon-${process.pid}`
    t.after(() => killMarked(mark))
    const script = "sh -c 'setsid sleep 60 >/dev/null 2>&1 & exit'; echo ready >&2; cat"
    const { server, log } = started({ command: '/bin/sh', args: ['-c', script], env: { [markName]: mark } })
    await until(() => log.length > 0 && marked(mark).some(({ command }) => command === 'sleep 60'))
    await server.stop()
    const commands = marked(mark).map(({ command }) => command)
    assert.deepEqual(commands, ['sleep 60'])
  })

  test('one that ignores SIGTERM has stopTimeout until SIGKILL, and is left after a while with a line in the log', async () => {
    const child = new ScriptedChild()
    const delays: number[] = []
    const { server, log } = started({ stopTimeoutMs: 70 }, { spawn: () => child, delays })
    await server.stop()
    const facts = [child.signals, delays]
    assert.deepEqual(facts, [
      ['SIGTERM', 'SIGKILL'],
      [100, 70, 100],
    ])
    assert.match(log.at(-1)?.message ?? '', /process 4711 does not end/)
  })
})

/** The end of a process with these measurements, in MB of 100, and the log until then. */
async function measured(...usedMB: (number | undefined)[]): Promise<[DialEnd, string[]]> {
  const child = new ScriptedChild()
  const memoryOf = async (): Promise<number | undefined> => {
    const isLast = usedMB.length === 1
    const used = usedMB.shift()
    if (isLast) setImmediate(() => child.exit(0))
    return used === undefined ? undefined : used * 2 ** 20
  }
  child.stdout.end().resume()
  child.stderr.end()
  const { server, log } = started({ memoryLimitBytes: 100 * 2 ** 20 }, { spawn: () => child, memoryOf })
  const end = await server.ended
  return [end, log.map(({ message }) => message)]
}

describe('the memory of a process with a limit', () => {
  test('up to the limit leaves it alone', async () => {
    assert.deepEqual(await measured(10, 79, 100, 10), [ended(0), []])
  })

  test('above the limit ends it', async () => {
    const message = "'s' used 101 MB of the 100 MB of memoryLimitMB and was ended"
    assert.deepEqual(await measured(10, 101), [{ reason: 'memory-limit', message }, []])
  })

  test('that the system does not tell is said once', async () => {
    const [, log] = await measured(undefined)
    assert.match(log.join(), /^'s' cannot be watched for memoryLimitMB: [^,]+$/)
  })
})
