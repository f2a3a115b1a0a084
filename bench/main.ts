// npm run bench -- [figure…] [--rounds N] [--quick]
//                  [--id first|last] [--proxy FILE] [--against FILE]
//
// Without names it measures all figures. It prints the tables of README.md, which defines the figures, last. Progress goes
// to stderr.

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

import {
  type Figure,
  type Settings,
  arguments1,
  calls,
  latency,
  mixed,
  results1,
  results10,
} from './figures.js'
import { eraSizes } from './era-sizes.js'
import { eras } from './eras.js'
import { http1, http10, httpCalls, httpLatency, httpSessions } from './http-figures.js'
import { many } from './many.js'
import { type Row, markdown, pageTables } from './report.js'
import { firstCall, httpMemory, httpStart, memory, start } from './start.js'
import { ENVELOPES, type Envelope } from './wire.js'

/** Each has a line in the usage and a name. */
const FIGURES = new Map<string, readonly [says: string, figure: Figure]>([
  ['calls', ['small calls over stdio, many at a time: throughput and processor time', calls]],
  ['latency', ['small calls over stdio, one at a time', latency]],
  ['results-1mb', ['results of 1 MB over stdio', results1]],
  ['results-10mb', ['results of 10 MB over stdio', results10]],
  ['arguments', ['arguments of 1 MB over stdio', arguments1]],
  ['mixed', ['small calls beside long results over stdio', mixed]],
  ['start', ['from the command to the first answer', start]],
  ['memory', ['resident memory at rest', memory]],
  ['first-call', ['the first call of a process that has just started', firstCall]],
  ['many', ['many servers behind one proxy', many]],
  ['eras', ['small calls where clients and servers speak different revisions', eras]],
  ['era-sizes', ['results of 0.25 to 16 MB where clients and servers speak different revisions', eraSizes]],
  ['http-calls', ['small calls over HTTP on 32 connections', httpCalls]],
  ['http-latency', ['small calls over HTTP, one at a time', httpLatency]],
  ['http-1mb', ['results of 1 MB over HTTP', http1]],
  ['http-10mb', ['results of 10 MB over HTTP', http10]],
  ['http-sessions', ['whole sessions over HTTP: initialize, one call, DELETE', httpSessions]],
  ['http-start', ['from the command to the first answer over HTTP', httpStart]],
  ['http-memory', ['resident memory at rest of the HTTP front', httpMemory]],
])

const ROUNDS_MAX = 1_000

const usage = `usage: npm run bench -- [figure…] [--rounds N] [--quick]
       [--id first|last] [--proxy FILE] [--against FILE]

figures; without a name, all of them:
${[...FIGURES].map(([name, [says]]) => `  ${name.padEnd(14)} ${says}`).join('\n')}\n`

interface CommandLine {
  readonly names: readonly string[]
  readonly settings: Omit<Settings, 'place'>
  readonly envelopes: readonly Envelope[]
  readonly cli: string
  readonly other: string | undefined
}

/** @throws Error that says what is wrong with it */
function readCommandLine(): CommandLine | 'help' {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      id: { type: 'string' },
      proxy: { type: 'string', default: 'dist/cli.js' },
      against: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return 'help'
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds)
  if (rounds !== undefined && !(Number.isInteger(rounds) && rounds >= 1 && rounds <= ROUNDS_MAX)) {
    throw new Error(`--rounds must be a whole number from 1 to ${ROUNDS_MAX}`)
  }
  const envelopes = ENVELOPES.filter((envelope) => values.id === undefined || envelope === `id ${values.id}`)
  if (envelopes.length === 0) throw new Error('--id must be first or last')
  const unknown = positionals.find((name) => !FIGURES.has(name))
  if (unknown !== undefined) throw new Error(`no figure '${unknown}'`)
  const cli = resolve(values.proxy)
  if (!existsSync(cli)) throw new Error(`the proxy is not built: ${cli} (npm run build)`)
  return {
    names: positionals.length === 0 ? [...FIGURES.keys()] : positionals,
    settings: { quick: values.quick, rounds },
    envelopes,
    cli,
    other: values.against === undefined ? undefined : resolve(values.against),
  }
}

function machine(): string {
  const load = loadavg()
    .map((value) => value.toFixed(2))
    .join(' ')
  return `Node ${process.version}, ${process.platform} ${process.arch}, ${availableParallelism()} cores, load ${load}`
}

async function run(folder: string): Promise<void> {
  const asked = readCommandLine()
  if (asked === 'help') return void process.stdout.write(usage)
  const { names, settings, envelopes, cli, other } = asked
  const place = { folder, cli, other, envelopes }
  process.stderr.write(`before: ${machine()}\n`)
  const rows: Row[] = []
  for (const name of names) {
    const began = performance.now()
    const made = await FIGURES.get(name)?.[1]({ ...settings, place })
    rows.push(...(made ?? []))
    process.stderr.write(`${name}: ${((performance.now() - began) / 1000).toFixed(1)} s\n`)
  }
  process.stdout.write(`${markdown(rows)}\n\nafter: ${machine()}\n\n${pageTables(rows)}`)
}

const folder = mkdtempSync(join(tmpdir(), 'mcps-proxy-bench-'))
// Also when a signal ends the bench early; what still runs in there was ended by an earlier listener.
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
try {
  await run(folder)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`)
  process.exitCode = 2
}
