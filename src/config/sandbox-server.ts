import { type SandboxTemplate, olderToolNames, sandboxFlavors } from '../upstream/contracts/sandbox-config.js'
import type { SandboxServerConfig, ServerCommon } from '../upstream/contracts/server-config.js'
import { ownTemplates, sandboxFields } from './server-keys.js'
import { type Location, type ValuesOf, readValues } from './values.js'

type Values = ValuesOf<typeof sandboxFields>

interface SandboxContext {
  readonly programs: readonly string[]
  readonly isGuarded: boolean
  /** The time-out of a call from the file or the command line. */
  readonly timeoutMs: number | undefined
}

const marginMs = 10_000

const cleanupIntervalMsDefault = 60_000

const maxTimeoutMsDefault = 300_000

export function readSandbox(
  at: Location,
  common: ServerCommon,
  { programs, isGuarded, timeoutMs }: SandboxContext,
): SandboxServerConfig {
  const values = readValues(sandboxFields, at)
  checkValues(at, values)
  const { executionTimeoutMs, sandboxStartTimeoutMs, sessionTimeoutMs } = values
  const maxTimeoutMs = values.maxTimeoutMs ?? Math.max(maxTimeoutMsDefault, executionTimeoutMs)
  // A call may include the start of a session.
  const wholeMs = sandboxStartTimeoutMs + maxTimeoutMs + marginMs
  return {
    kind: 'sandbox',
    ...common,
    olderNames: olderToolNames,
    ...(timeoutMs === undefined && {
      timeoutMs: wholeMs,
      totalTimeoutMs: wholeMs,
      settableIn: undefined,
    }),
    sandbox: {
      ...values,
      programs,
      maxTimeoutMs,
      // The interval of the check is not longer than the time after which sessions expire.
      cleanupIntervalMs: values.cleanupIntervalMs ?? Math.min(cleanupIntervalMsDefault, sessionTimeoutMs),
      templates: templatesOf(values.templates),
      sessions: values.sessions ?? (isGuarded ? 'client' : 'shared'),
    },
  }
}

function templatesOf(templates: Values['templates']): readonly SandboxTemplate[] {
  const plain = { interpreter: undefined, image: undefined, env: {} }
  const all = new Map<string, SandboxTemplate>(
    ownTemplates.map((name) => [name, { name, language: name, ...plain }]),
  )
  for (const [name, { language = all.get(name)?.language ?? 'python', ...each }] of templates)
    all.set(name, { name, language, ...each })
  return [...all.values()]
}

/** Reports values that contradict each other. Messages contain numbers in the units of the file. */
function checkValues(at: Location, values: Values): void {
  const { runtime, network, volumes, executionTimeoutMs, maxTimeoutMs, sessionTimeoutMs } = values
  const { cleanupIntervalMs, maxTotalMemoryMb: memoryMiB, defaultFlavor, templates } = values
  if (maxTimeoutMs !== undefined && executionTimeoutMs > maxTimeoutMs)
    at.at('maxTimeout').problem(
      `is ${maxTimeoutMs / 1000}`,
      `must not be less than executionTimeout, which is ${executionTimeoutMs / 1000}`,
    )
  if (cleanupIntervalMs !== undefined && cleanupIntervalMs > sessionTimeoutMs)
    at.at('cleanupInterval').problem(
      `is ${cleanupIntervalMs / 1000}`,
      `must not be more than sessionTimeout, which is ${sessionTimeoutMs / 1000}`,
    )
  for (const [name, { language }] of templates)
    if (language === undefined && !ownTemplates.some((own) => own === name))
      at.at('templates').at(name).at('language').problem('is missing', 'must be one of "python", "node"')
  const { memoryMiB: needed } = sandboxFlavors[defaultFlavor]
  if (memoryMiB !== undefined && memoryMiB < needed)
    at.at('maxTotalMemoryMb').problem(
      `is ${memoryMiB}`,
      `must be at least ${needed}, the memory of one session of the flavor ${defaultFlavor}`,
    )
  // The configuration of a microsandbox server controls its network, so this file cannot promise "none".
  if (runtime === 'microsandbox-server' && at.at('network').value === 'none')
    at.at('network').problem(
      'is "none"',
      'is not held by a microsandbox server: its own configuration decides; remove the key, or use another runtime',
    )
  if (runtime === 'microsandbox-server' && volumes.length > 0)
    at.at('volumes').warn('are handed to the microsandbox server unchecked: it opens them by itself')
  if (network.kind === 'host')
    at.at('network').warn('is "host": code of a session reaches whatever this machine can reach')
}
