// What `sandbox.js` does: serves one client on stdio, says which runtimes can be used, or confines one other program.
//
// Its settings come from the proxy that starts it, in one variable, or else from the variables `MSB_*`.

import { writeSync } from 'node:fs'
import process from 'node:process'
import type { LogRecord, LogSink } from '../runtime/runtime.js'
import { realRuntime } from '../real-runtime.js'
import { stdio } from '../transports/stdio/stdio.js'
import { type SandboxSettings, settingsVariable } from '../upstream/contracts/sandbox-config.js'
import { confine } from './confine.js'
import { runtimeReport } from './readiness.js'
import { NoRuntimeError } from './runtimes.js'
import { openService } from './service.js'

const USAGE = `usage: sandbox.js                                 serves MCP on stdin and stdout
       sandbox.js --check                         says which runtimes can be used
       sandbox.js exec --policy FD -- COMMAND …   confines one program
`

/** Gives the exit code. */
export async function runProgram(args: readonly string[]): Promise<number> {
  if (args.length === 0) return serve()
  if (args.length === 1 && args[0] === '--check') return check()
  if (args[0] === 'exec') return confine(args.slice(1))
  process.stderr.write(USAGE)
  return 2
}

/** Serves until its client leaves, or a signal comes; 1 where nothing can run code. */
async function serve(): Promise<number> {
  const runtime = realRuntime(log)
  const signal = new Promise<void>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, () => resolve())
  })
  try {
    const service = await openService({ settings: await readSettings(), runtime, log })
    const client = service.serve(stdio())
    await Promise.race([client, signal])
    await service.close()
    return 0
  } catch (error) {
    if (!(error instanceof NoRuntimeError)) throw error
    process.stderr.write(`${error.message}\n`)
    return 1
  } finally {
    await runtime.close()
  }
}

async function check(): Promise<number> {
  const runtime = realRuntime()
  try {
    const { text, isUsable } = await runtimeReport(await readSettings(), { runtime, log: () => undefined })
    // In this mode no protocol is spoken on stdout.
    writeSync(1, text)
    return isUsable ? 0 : 1
  } finally {
    await runtime.close()
  }
}

async function readSettings(): Promise<SandboxSettings> {
  const given = process.env[settingsVariable]
  // Programs of sessions get variables of their own; these are for this process alone.
  delete process.env[settingsVariable]
  const { settingsFromEnvironment, settingsFromText } = await import('./settings.js')
  return given === undefined ? settingsFromEnvironment(process.env) : settingsFromText(given)
}

/** The proxy logs what its servers write to stderr. */
const log: LogSink = ({ level, message, details }: LogRecord) => {
  if (level === 'debug') return
  const more = details === undefined ? '' : ` (${detailsInWords(details)})`
  process.stderr.write(`${level === 'info' ? '' : `${level}: `}${message}${more}\n`)
}

function detailsInWords(details: Readonly<Record<string, unknown>>): string {
  return Object.values(details)
    .map((value) => (value instanceof Error ? value.message : String(value)))
    .join(', ')
}
