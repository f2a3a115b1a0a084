// A fault of our own that nobody caught, at a random moment under calls: whoever
// waits is answered, the servers are stopped, and the exit code says it.

import { isAnswer } from '../integration/support/client.js'
import { at } from '../integration/support/json.js'
import { HANG_MS } from '../integration/support/waiting.js'
import { itServer } from '../integration/support/programs.js'
import type { Spawned } from '../integration/support/spawned.js'
import type { FaultFigure, FaultSettings, Scenario } from './scenario.js'
import { leftAfter, markName } from './support/marked.js'
import { tree, withProxy } from './support/trees.js'

/** Calls that no server will ever answer. */
const PENDING = 30

/** Longest time from the moment when they wait to the fault. */
const FAULT_MS_MAX = 200

/** What nobody catches, each as a program that runs in the proxy before it. */
const faults = {
  exception: 'setTimeout(() => { throw new Error("injected") }, MS)',
  rejection: 'setTimeout(() => Promise.reject(new Error("injected")), MS)',
  'exception in a microtask': 'setTimeout(() => queueMicrotask(() => { throw new Error("injected") }), MS)',
  'several in a row':
    'for (const ms of [0, 1, 2]) setTimeout(() => Promise.reject(new Error("injected")), MS + ms)',
  'exception while it closes':
    'process.kill(process.pid, "SIGTERM"); setTimeout(() => { throw new Error("injected") }, MS)',
} as const

export const internalError: Scenario = {
  promise:
    'after a fault of the proxy every call is answered once, no process is left, and the exit code is 70',
  countDefault: 100,
  run,
}

async function run({ count, cli, progress }: FaultSettings): Promise<FaultFigure> {
  const wrong: string[] = []
  const kinds = Object.entries(faults)
  for (let turn = 0; turn < count; turn++) {
    const [kind, code] = kinds[turn % kinds.length] ?? ['', '']
    for (const problem of await fail(cli, `internal-error-${process.pid}-${turn}`, code))
      wrong.push(`${kind}: ${problem}`)
    progress(`fault ${turn + 1} of ${count}: ${wrong.length} problems so far ${wrong.at(-1) ?? ''}`)
  }
  const line = `${count} faults with ${PENDING} calls waiting at each, ${wrong.length} problems`
  return { line: [line, ...wrong.slice(0, 5)].join('; '), holds: wrong.length === 0 }
}

/** One proxy that fails; gives what was not as promised. */
async function fail(cli: string, mark: string, code: string): Promise<string[]> {
  const ms = Math.round(Math.random() * FAULT_MS_MAX)
  // The proxy is told by a signal when the calls wait, since how long a start takes is anybody's guess.
  const program = `process.on("SIGUSR2", () => { ${code.replaceAll('MS', String(ms))} })`
  const nodeArgs = [`--import=data:text/javascript,${encodeURIComponent(program)}`]
  const servers = { s: itServer({ [markName]: mark }), tree: tree(mark) }
  return withProxy({ cli, mark, nodeArgs }, servers, async (proxy) => {
    const keys = await pending(proxy)
    proxy.child.kill('SIGUSR2')
    const exit = await proxy.exited
    return [
      ...(exit === 70 ? [] : [`exit code ${exit}`]),
      ...keys.flatMap((key) => wrongAnswers(proxy, key)),
      ...(await leftAfter(mark, HANG_MS)).map(({ pid, command }) => `survived: ${pid} ${command}`),
      ...proxy.client.invalid.map((line) => `stdout: ${line}`),
    ]
  })
}

/** Calls that wait for a server for ever, and others that come and go meanwhile; gives the ids of the former. */
async function pending({ client }: Spawned): Promise<string[]> {
  await client.open()
  const keys = Array.from({ length: PENDING }, (_, index) => `pending-${index}`)
  for (const key of keys) void client.call('s__never', {}, undefined, key).catch(() => undefined)
  await client.call('tree__nonce', { n: '1' })
  await client.call('s__nonce', { n: '1' })
  const keepCalling = async (): Promise<never> => {
    for (;;) await client.call('s__nonce', { n: '1' })
  }
  keepCalling().catch(() => undefined)
  return keys
}

function wrongAnswers({ client }: Spawned, key: string): string[] {
  const answers = client.heard.filter((heard) => isAnswer(heard, key))
  if (answers.length !== 1) return [`${key} has ${answers.length} answers`]
  return at(answers[0]?.value, 'error', 'code') === -32603 ? [] : [`${key}: ${answers[0]?.text}`]
}
