// node build/test/faults/main.js SCENARIO [COUNT] [--seed N] [--proxy FILE]
//
// Causes one fault COUNT times while the proxy works, and says in its last line
// what came of it. Exit code 0: the promise holds; 1: it does not.

import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { scenarios } from './scenarios.js'
import type { Scenario } from './support/scenario.js'

const usage = `usage: node build/test/faults/main.js SCENARIO [COUNT] [--seed N] [--proxy FILE]

scenarios, with the count that each has normally:
${[...scenarios].map(([name, { promise, countDefault }]) => `  ${name} (${countDefault})  ${promise}`).join('\n')}\n`

interface CommandLine {
  readonly name: string
  readonly scenario: Scenario
  readonly count: number
  readonly seed: number
  readonly cli: string
}

/** @throws Error that says what is wrong with it */
function commandLine(): CommandLine | 'help' {
  const options = {
    help: { type: 'boolean', short: 'h', default: false },
    proxy: { type: 'string', default: 'dist/cli.js' },
    seed: { type: 'string', default: '1' },
  } as const
  const { values, positionals } = parseArgs({ allowPositionals: true, options })
  const [name = '', count, ...more] = positionals
  const scenario = scenarios.get(name)
  if (values.help) return 'help'
  if (name === '') throw new Error('no scenario is named')
  if (scenario === undefined) throw new Error(`no scenario '${name}'`)
  if (more.length > 0) throw new Error(`one scenario at a time: '${more.join(' ')}' is too much`)
  const faults = count === undefined ? scenario.countDefault : Number(count)
  if (!Number.isInteger(faults) || faults < 1)
    throw new Error(`COUNT must be a whole number from 1, not '${count}'`)
  const seed = Number(values.seed)
  if (!Number.isInteger(seed)) throw new Error(`--seed must be a whole number, not '${values.seed}'`)
  return { name, scenario, count: faults, seed, cli: resolve(values.proxy) }
}

function progress(line: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\u001B[K${line}` : `${line}\n`)
}

async function main(): Promise<number> {
  let asked: CommandLine | 'help'
  try {
    asked = commandLine()
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`)
    return 2
  }
  if (asked === 'help') {
    process.stdout.write(usage)
    return 0
  }
  return run(asked)
}

async function run({ name, scenario, count, seed, cli }: CommandLine): Promise<number> {
  const { line, holds } = await scenario.run({ count, seed, cli, say: progress })
  process.stdout.write(`${process.stderr.isTTY ? '\n' : ''}${name}: ${line}${holds ? '' : ' (FAILED)'}\n`)
  return holds ? 0 : 1
}

process.exit(await main())
