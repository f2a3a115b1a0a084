// Seven of eight servers hang, crash, flood or send lines of 64 MiB. The eighth
// answers as if it were alone. Alone it is behind a second proxy at the same time,
// and both are measured by turns, so that whatever else keeps the machine busy
// counts for both.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { at } from '../integration/support/json.js'
import { program } from '../integration/support/programs.js'
import { type Scope, type Servers, scratch } from '../integration/support/spawned.js'
import type { Scenario } from './scenario.js'
import { HttpCaller, answerOf } from './support/http-caller.js'
import { measured } from './support/measured.js'
import { type Findings, Promises, type Run, percentile, round } from './support/run.js'
import { type UnderTest, startUnderTest } from './support/under-test.js'

const FAULTY = 7
const modes = ['hang', 'crash', 'junk', 'long'] as const
/** How long each turn is. */
const TURN_MS = 250
const PAUSE_MS = 2

export const sevenOfEight: Scenario = measured(
  'with seven of eight servers hung, crashing or flooding, the eighth answers with a p99 under twice its own alone',
  240,
  run,
)

interface Turns {
  readonly alone: number[]
  readonly beside: number[]
  failed: number
}

/** `count` is the number of turns of each kind, for each fault. */
async function run(scope: Scope, settings: Run): Promise<Findings> {
  const promises = new Promises()
  const figures: Record<string, number> = {}
  for (const mode of modes) {
    const { alone, beside, failed } = await trial(scope, settings, mode)
    const [own, now] = [percentile(alone, 0.99), percentile(beside, 0.99)]
    Object.assign(figures, {
      [`${mode}: p99 ms`]: now,
      [`${mode}: alone`]: own,
      [`${mode}: ratio`]: now / own,
    })
    Object.assign(figures, { [`${mode}: calls`]: beside.length, [`${mode}: failed`]: failed })
    promises.equal(failed, 0, `${mode}: calls to the eighth server that failed`)
    promises.below(now / own, 2, `${mode}: p99 of the eighth server, to its own alone`)
  }
  return { figures, broken: promises.broken }
}

async function trial(scope: Scope, { count, cli, say }: Run, mode: (typeof modes)[number]): Promise<Turns> {
  const flag = join(scratch(scope), 'on')
  const faulty = { command: process.execPath, args: [program('faulty.mjs'), mode, flag], timeout: 1000 }
  const names = Array.from({ length: FAULTY }, (_, at) => `f${at}`)
  const eighth = { command: process.execPath, args: [program('nonces.mjs')] }
  const all = { eighth, ...Object.fromEntries(names.map((name) => [name, faulty])) }
  const [alone, beside] = await Promise.all([open(scope, cli, { eighth }), open(scope, cli, all)])
  let isOver = false
  const load = names.map((name) => callOn(beside.others, `${name}__nonce`, () => isOver))
  writeFileSync(flag, '')
  const turns: Turns = { alone: [], beside: [], failed: 0 }
  for (let turn = 1; turn <= count; turn++) {
    await measure(alone.caller, turns, turns.alone)
    await measure(beside.caller, turns, turns.beside)
    if (turn % 10 === 0)
      say(`${mode}: turn ${turn}, p99 ${inWords(turns.beside)} beside, ${inWords(turns.alone)} alone`)
  }
  isOver = true
  for (const { proxy } of [alone, beside]) proxy.child.kill('SIGTERM')
  await Promise.all([...load, alone.proxy.exited, beside.proxy.exited])
  return turns
}

function inWords(latencies: readonly number[]): string {
  return `${round(percentile(latencies, 0.99))} ms`
}

interface Front {
  readonly proxy: UnderTest
  readonly caller: HttpCaller
  readonly others: HttpCaller
}

async function open(scope: Scope, cli: string, servers: Servers): Promise<Front> {
  const proxy = startUnderTest(scope, '--http', servers, { cli })
  const port = await proxy.port()
  const [caller, others] = [new HttpCaller(port), new HttpCaller(port, FAULTY)]
  for (const each of [caller, others]) {
    scope.after(() => each.close())
    await each.open()
    for (const name of Object.keys(servers)) await each.call(`${name}__nonce`, { nonce: 'warm' })
  }
  return { proxy, caller, others }
}

/** Calls one after the other for one turn. */
async function measure(caller: HttpCaller, turns: Turns, latencies: number[]): Promise<void> {
  const endsAt = performance.now() + TURN_MS
  for (let from = performance.now(); from < endsAt; from = performance.now()) {
    const isGood = await call(caller, 'eighth__nonce')
    latencies.push(performance.now() - from)
    if (!isGood) turns.failed++
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

/** Somebody keeps calling what is faulty. */
async function callOn(caller: HttpCaller, tool: string, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await call(caller, tool)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function call(caller: HttpCaller, tool: string): Promise<boolean> {
  const posted = await caller.call(tool, { nonce: 'n' }).catch(() => undefined)
  return posted !== undefined && at(answerOf(posted), 'result') !== undefined
}
