// Whether the code of a sandbox can be run on this host, before anybody is served.

import type { LogSink, Runtime } from '../runtime/runtime.js'
import type { ServerAbout } from '../upstream/contracts/upstream.js'
import type { SandboxSettings } from '../upstream/contracts/sandbox-config.js'
import {
  NoRuntimeError,
  type ProbedRuntime,
  type RuntimeSurroundings,
  automaticRuntimeIds,
  probedRuntime,
  runtimeIds,
} from './runtimes.js'
import { openService, surroundingsOf } from './service.js'

interface Around {
  readonly runtime: Runtime
  readonly log: LogSink
}

/** Which runtimes can be used here, for people; and whether the one that is configured can. */
export async function runtimeReport(
  settings: SandboxSettings,
  around: Around,
): Promise<{ readonly text: string; readonly isUsable: boolean }> {
  const surroundings = surroundingsOf(settings, around)
  const lines: string[] = []
  for (const id of runtimeIds) lines.push(lineOf(await probedOnce(id, surroundings)))
  const prepared = await openService({ settings, ...around }).catch(reasonOf)
  const isUsable = typeof prepared !== 'string'
  if (isUsable) await prepared.close()
  const used = isUsable
    ? `${settings.runtime}: ${prepared.facts.runtime} is used, network ${networkText(prepared.facts, settings)}`
    : prepared
  return { text: `sandbox runtimes:\n${lines.join('\n')}\n${used}\n`, isUsable }
}

async function probedOnce(
  id: (typeof runtimeIds)[number],
  surroundings: RuntimeSurroundings,
): Promise<ProbedRuntime> {
  const probed = await probedRuntime(id, surroundings)
  await probed.runtime.close()
  return probed
}

function reasonOf(error: unknown): string {
  if (error instanceof NoRuntimeError) return error.message
  throw error
}

function networkText({ network }: ServerAbout, settings: SandboxSettings): string {
  return settings.network.kind === 'allow' ? `${network}: ${settings.network.hosts.join(', ')}` : network
}

function lineOf({ runtime: { id, isolation }, probe }: ProbedRuntime): string {
  const name = `  ${id.padEnd(NAME_WIDTH)}`
  if (probe.kind === 'unusable') return `${name} not usable: ${probe.why}; ${probe.remedy}`
  const named = automaticRuntimeIds.some((each) => each === id) ? '' : '; used only when it is named'
  return `${name} usable: isolation ${isolation}, limits by ${probe.limits}${named}`
}

const NAME_WIDTH = 20
