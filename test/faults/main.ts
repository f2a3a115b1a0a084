// npm run faults -- SCENARIO [COUNT] [--seed N] [--proxy FILE]
//
// Causes one fault COUNT times while the proxy works, and says in its last line
// what came of it. Exit code 0: the promise holds; 1: it does not.

import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Scenario } from './scenario.js'
import { scenarios } from './scenarios.js'

const usage = `usage: npm run faults -- SCENARIO [COUNT] [--seed N] [--proxy FILE]
${[...scenarios].map(([name, { promise, countDefault }]) => `  ${name} (${countDefault})  ${promise}`).join('\n')}\n`

interface CommandLine {
  readonly name: string
  readonly scenario: Scenario
  readonly count: number
  readonly seed: number
  readonly cli: string
}

function commandLine(): CommandLine | undefined {
  const options = {
    proxy: { type: 'string', default: 'dist/cli.js' },
    seed: { type: 'string', default: '1' },
  } as const
  const { values, positionals } = parseArgs({ allowPositionals: true, options })
  const [name = '', count, ...more] = positionals
  const scenario = scenarios.get(name)
  if (scenario === undefined || more.length > 0) return undefined
  const faults = count === undefined ? scenario.countDefault : Number(count)
  if (!Number.isInteger(faults) || faults < 1) return undefined
  const seed = Number(values.seed)
  if (!Number.isInteger(seed)) return undefined
  return { name, scenario, count: faults, seed, cli: resolve(values.proxy) }
}

function progress(line: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\u001B[K${line}` : `${line}\n`)
}

async function main(): Promise<number> {
  const asked = commandLine()
  if (asked === undefined) {
    process.stderr.write(usage)
    return 2
  }
  const { name, scenario, count, seed, cli } = asked
  const { line, holds } = await scenario.run({ count, seed, cli, progress })
  process.stdout.write(`${process.stderr.isTTY ? '\n' : ''}${name}: ${line}${holds ? '' : ' (FAILED)'}\n`)
  return holds ? 0 : 1
}

process.exit(await main())
