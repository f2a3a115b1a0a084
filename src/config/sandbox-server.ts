// A server of the file that runs code in sandboxes.

import { plainNames } from './kinds.js'
import { resolve } from 'node:path'
import type { SandboxServerConfig, ServerCommon } from '../upstream/contracts/server-config.js'
import {
  type SandboxSettings,
  type SandboxTemplate,
  type SandboxVolume,
  olderToolNames,
  sandboxFlavors,
} from '../upstream/contracts/sandbox-config.js'
import type { Environment } from './configuration.js'
import type { Expanded, Expansion } from './expand.js'
import { readJson } from './json-syntax.js'
import { type PathBase, absolute } from './paths.js'
import { type Findings, switchOf } from './problems.js'
import {
  type SandboxValues,
  ownTemplates,
  sandboxFields,
  sandboxVariables,
  templateFields,
  templateRules,
  sandboxNetwork,
} from './sandbox-fields.js'
import { isPublicValue, secretsOfEnv, secretsOfUrl } from './secrets.js'
import { type Section, readNamed } from './section.js'

/** The sources of the values of a sandbox, in addition to its section. */
export interface SandboxContext extends PathBase {
  /** Of the file. */
  readonly programs: readonly string[] | undefined
  readonly env: Environment
  /** Whether clients of the HTTP front show who they are. */
  readonly isGuarded: boolean
  /** The time of a call that the file or the command line gives. */
  readonly timeoutMs: number | undefined
}

/** Time of a call in addition to the start of a session and the code. */
const marginMs = 10_000

/** Seconds between two looks for sessions that have expired. */
const cleanupIntervalDefault = 60

/** Default of the longest time that a call may name, in seconds. */
const maxTimeoutDefault = 300

export function readSandbox(
  section: Section,
  common: Omit<ServerCommon, keyof Expanded>,
  expansion: Expansion,
  context: SandboxContext,
): SandboxServerConfig {
  const values = section.readAll(sandboxFields, readSandboxVariables(section, context.env))
  const sandbox = settingsOf(section, values, expansion, context)
  const secrets = [
    ...secretsOfUrl(sandbox.serverUrl ?? ''),
    ...[sandbox.apiKey ?? ''].filter((key) => !isPublicValue(key)),
    ...sandbox.templates.flatMap(({ env }) => secretsOfEnv(new Map(Object.entries(env)))),
  ]
  return {
    kind: 'sandbox',
    ...common,
    olderNames: olderToolNames,
    ...timesOf(sandbox, context),
    ...expansion.result(secrets, undefined),
    sandbox,
  }
}

/** A call may begin with the start of a session. */
function timesOf(
  { machineStartTimeoutMs, executionTimeoutMsMax }: SandboxSettings,
  { timeoutMs }: SandboxContext,
): Pick<ServerCommon, 'timeoutMs' | 'totalTimeoutMs' | 'settableIn'> | undefined {
  if (timeoutMs !== undefined) return undefined
  const wholeMs = machineStartTimeoutMs + executionTimeoutMsMax + marginMs
  return { timeoutMs: wholeMs, totalTimeoutMs: wholeMs, settableIn: undefined }
}

function settingsOf(
  section: Section,
  values: SandboxValues,
  expansion: Expansion,
  context: SandboxContext,
): SandboxSettings {
  const executionTimeoutMsMax = maxTimeoutOf(section, values) * 1000
  return {
    runtime: values.runtime,
    serverUrl: expanded(values.serverUrl, expansion),
    apiKey: expanded(values.apiKey, expansion),
    sessionTimeoutMs: values.sessionTimeout * 1000,
    cleanupIntervalMs: cleanupIntervalOf(section, values) * 1000,
    orphanCleanupIntervalMs: values.orphanCleanupInterval * 1000,
    sessionsMax: values.maxSessions,
    evictsIdle: values.enableLruEviction,
    memoryMiBMax: memoryMaxOf(section, values),
    defaultFlavor: values.defaultFlavor,
    machineStartTimeoutMs: values.sandboxStartTimeout * 1000,
    executionTimeoutMs: values.executionTimeout * 1000,
    executionTimeoutMsMax,
    programs: (context.programs ?? []).map((path) => absolute(expansion.text(path), context)),
    volumes: values.volumes.map((written) => volumeOf(expansion.text(written), context)),
    runAs: values.runAs,
    network: sandboxNetwork(section, values),
    templates: readTemplates(section, expansion, context),
    files: values.files,
    outputBytesMax: values.outputMax,
    sessions: values.sessions ?? (context.isGuarded ? 'client' : 'shared'),
  }
}

function expanded(value: string | undefined, expansion: Expansion): string | undefined {
  return value === undefined ? undefined : expansion.text(value)
}

function maxTimeoutOf(section: Section, { executionTimeout, maxTimeout }: SandboxValues): number {
  const most = maxTimeout ?? Math.max(maxTimeoutDefault, executionTimeout)
  if (executionTimeout > most)
    section.problem(
      'maxTimeout',
      `is ${most}`,
      `must not be less than executionTimeout, which is ${executionTimeout}`,
    )
  return most
}

/** Sessions are looked at at least as often as they may expire; the default follows a shorter time. */
function cleanupIntervalOf(section: Section, { cleanupInterval, sessionTimeout }: SandboxValues): number {
  if (cleanupInterval === undefined) return Math.min(cleanupIntervalDefault, sessionTimeout)
  if (cleanupInterval > sessionTimeout)
    section.problem(
      'cleanupInterval',
      `is ${cleanupInterval}`,
      `must not be more than sessionTimeout, which is ${sessionTimeout}`,
    )
  return cleanupInterval
}

function memoryMaxOf(
  section: Section,
  { maxTotalMemoryMb, defaultFlavor }: SandboxValues,
): number | undefined {
  const { memoryMiB } = sandboxFlavors[defaultFlavor]
  if (maxTotalMemoryMb !== undefined && maxTotalMemoryMb < memoryMiB)
    section.problem(
      'maxTotalMemoryMb',
      `is ${maxTotalMemoryMb}`,
      `must be at least ${memoryMiB}, the memory of one session of the flavor ${defaultFlavor}`,
    )
  return maxTotalMemoryMb
}

/** `host:guest`, `host:guest:ro`. */
function volumeOf(written: string, base: PathBase): SandboxVolume {
  const [host = '', guest = '', access] = written.split(':')
  return { hostPath: absolute(host, base), guestPath: resolve('/', guest), isReadOnly: access === 'ro' }
}

function readTemplates(section: Section, expansion: Expansion, base: PathBase): readonly SandboxTemplate[] {
  const plain = { interpreter: undefined, image: undefined, env: {} }
  const templates = new Map<string, SandboxTemplate>(
    ownTemplates.map((name) => [name, { name, language: name, ...plain }]),
  )
  const own = readNamed(section, 'templates', plainNames, (name, each) =>
    readTemplate(name, each, expansion, base),
  )
  return [...new Map([...templates, ...own]).values()]
}

function readTemplate(name: string, section: Section, expansion: Expansion, base: PathBase): SandboxTemplate {
  const { language, interpreter, image, env } = section.readOnly(templateFields)
  const own = ownTemplates.find((each) => each === name)
  if (own === undefined) section.check(templateRules, templateFields)
  return {
    name,
    language: language ?? own ?? 'python',
    interpreter: interpreter === undefined ? undefined : absolute(expansion.text(interpreter), base),
    image,
    env: Object.fromEntries(expansion.map(env)),
  }
}

// The environment variables of a sandbox, for what its section does not say.

interface Variable {
  readonly name: string
  readonly written: string
  readonly findings: Findings
}

/** The values of the variables whose keys the section does not have. */
function readSandboxVariables(section: Section, env: Environment): Partial<SandboxValues> {
  const values: Partial<SandboxValues> = {}
  for (const [key, name] of sandboxVariables) {
    const written = env[name]?.trim() ?? ''
    if (section.has(key) || written === '') continue
    const value = valueOf(key, { name, written, findings: section.findings })
    const spot = { path: `$${name}`, findings: section.findings }
    const read = value === undefined ? undefined : sandboxFields[key].kind.read(value, spot)
    if (read !== undefined) Object.assign(values, { [key]: read })
  }
  return values
}

/** The value of a variable, as JSON would have it. */
function valueOf(key: keyof SandboxValues, { name, written, findings }: Variable): unknown {
  if (key === 'volumes') return volumesOf(written)
  if (key === 'enableLruEviction') return switchOf(name, written, findings)
  return key !== 'apiKey' && /^-?\d+(?:\.\d+)?$/.test(written) ? Number(written) : written
}

/** A JSON array, a list with commas, or one folder. */
function volumesOf(written: string): unknown {
  if (!/^[[{"]/.test(written)) return written.split(',').map((part) => part.trim())
  const json = readJson(written)
  return json.kind === 'value' ? json.value : written
}
