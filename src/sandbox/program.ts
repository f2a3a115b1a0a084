// The three modes of `sandbox.js`: it serves one client on stdio, lists the usable runtimes, or confines a
// server for the proxy.
//
// The proxy that starts it passes the settings in one variable.

import { writeSync } from 'node:fs'
import process from 'node:process'
import { type JsonObject, objectIn } from '../text/json-object.js'
import { realRuntime } from '../real-runtime.js'
import type { LogRecord, LogSink, Runtime } from '../runtime/runtime.js'
import { stdio } from '../transports/stdio/ndjson.js'
import { type SandboxSettings, settingsVariable } from '../upstream/contracts/sandbox-config.js'
import { confine } from './confine.js'
import {
  NoRuntimeError,
  type RuntimeId,
  type RuntimeSurroundings,
  automaticRuntimeIds,
  probedRuntime,
  runtimeIds,
} from './runtimes.js'
import { RuntimeUnusable } from './runtime.js'
import { openService } from './service.js'

export async function runProgram(args: readonly string[]): Promise<number> {
  if (args.length === 0) return serve()
  if (args.length === 1 && args[0] === '--check') return check()
  if (args[0] === 'exec') return confine(args.slice(1))
  process.stderr.write('usage: sandbox.js [--check]\n')
  return 2
}

/** Serves until the client leaves or a signal arrives. Resolves with 1 if no runtime can run code. */
async function serve(): Promise<number> {
  const runtime = realRuntime(log)
  const signal = new Promise<void>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(name, () => resolve())
  })
  try {
    const settings = readSettings()
    const service = await openService({ settings, runtime, log })
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
    const { text, isUsable } = await runtimeReport(readSettings(), { runtime, log: () => undefined })
    // This mode carries no protocol on stdout.
    writeSync(1, text)
    return isUsable ? 0 : 1
  } finally {
    await runtime.close()
  }
}

/** The proxy logs the stderr of its servers. */
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

/** Describes for people which runtimes work on this host, and returns whether sessions can be started. */
export async function runtimeReport(
  settings: SandboxSettings,
  around: { readonly runtime: Runtime; readonly log: LogSink },
): Promise<{ readonly text: string; readonly isUsable: boolean }> {
  const { network } = settings
  const surroundings = { ...settings, ...around, stateFolder: undefined }
  const lines: string[] = []
  for (const id of runtimeIds) {
    lines.push(`  ${id.padEnd(NAME_WIDTH)} ${await usability(id, surroundings)}`)
  }
  const found = ['sandbox runtimes:', ...lines]
  try {
    const service = await openService({ settings, ...around })
    const { facts } = service
    const hosts = network.kind === 'allow' ? `: ${network.hosts.join(', ')}` : ''
    const used = `${settings.runtime}: ${facts.runtime} is used, network ${facts.network}${hosts}`
    // No trial starts sandboxes on a server elsewhere.
    const problems = automaticRuntimeIds.some((id) => id === facts.runtime) ? await service.trial() : []
    await service.close()
    const isUsable = problems.length < settings.templates.length
    return { text: `${[...found, used, ...problems].join('\n')}\n`, isUsable }
  } catch (error) {
    if (!(error instanceof NoRuntimeError)) throw error
    return { text: `${[...found, error.message].join('\n')}\n`, isUsable: false }
  }
}

async function usability(id: RuntimeId, around: RuntimeSurroundings): Promise<string> {
  try {
    const { runtime, limits } = await probedRuntime(id, around)
    await runtime.close()
    const named = automaticRuntimeIds.some((each) => each === id) ? '' : '; used only when it is named'
    return `usable: isolation ${runtime.isolation}, limits by ${limits}${named}`
  } catch (error) {
    if (error instanceof RuntimeUnusable) return `not usable: ${error.message}`
    throw error
  }
}

const NAME_WIDTH = 20

/** Reads the settings from the proxy, which has the same version. */
function readSettings(): SandboxSettings {
  const value = objectIn(process.env[settingsVariable])
  // Only this process may see this variable. Programs of sessions get other variables.
  delete process.env[settingsVariable]
  if (isSettings(value)) return value
  throw new Error(`${settingsVariable} has no settings: mcps-proxy sandbox starts this program`)
}

function isSettings(value: JsonObject | undefined): value is JsonObject & SandboxSettings {
  return value !== undefined && 'templates' in value
}
