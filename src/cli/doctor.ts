// `doctor` and `list`: the result of starting every server, and what the user can change where one fails.
//
// A server's own output is shown and never turned into advice, because a server could ask for a variable, a host or a file
// in it. Advice follows from the configuration and from what the proxy itself observed.

import type { Configuration, Environment, SchemaConfig } from '../config/configuration.js'
import { hasUsers } from '../config/front.js'
import { escapeText, inShell } from '../text/escape.js'
import { unknownName } from '../text/nearest.js'
import { TOKEN_BYTES } from '../text/tokens.js'
import { type ServerConfig, isRemote } from '../upstream/contracts/server-config.js'
import { type Command, type Given, command } from './command-line.js'
import { type View, json, viewConflict, viewOptions } from './common-options.js'
import { counted } from '../text/counted.js'
import { apartUri } from '../mcp/apart-uris.js'
import { startTrouble, hiddenArgument } from './start-troubles.js'
import { loadView } from './load.js'
import { evidenceInWords } from '../upstream/contracts/upstream.js'
import { Failure, say } from './console.js'
import { UnmatchedPatterns } from './unmatched-patterns.js'
import { eachAtOnce } from '../runtime/each-at-once.js'
import {
  TRIALS_AT_ONCE_MAX,
  type Candidate,
  candidatesOf,
  lateWords,
  withChildren,
  type Trial,
  tryServer,
} from './server-trials.js'

/** The server of a view that is named, or all; one line a server where that is enough. */
export interface DoctorTask extends View {
  readonly name: string | undefined
  readonly isBrief: boolean
  readonly json: boolean
}

const options = { ...viewOptions, json }

function doctorCommand(
  more: Pick<Command, 'name' | 'about' | 'group' | 'details' | 'examples'>,
): Command<Given<typeof options>> {
  return command({
    ...more,
    takes: '[NAME]',
    options,
    conflicts: [viewConflict],
    wordsMax: 1,
    run: (given) => runDoctor({ ...given, name: given.words[0], isBrief: more.name === 'list' }),
  })
}

export const doctorCommands = {
  doctor: doctorCommand({
    name: 'doctor',
    about: 'starts each server once: why it fails, what mends it',
    group: 'SET UP',
    details: `Starts every server of a schema at the same time, or the one that is named, and says for each how
long it took, what it speaks, how many tools it has and about how many tokens their definitions
cost a model; or why it failed, with its last words and what mends that. What it learns is kept:
the first client sees the lists at once. The exit code is 1 when a server failed.`,
    examples: ['mcps-proxy doctor', 'mcps-proxy doctor github --json', 'mcps-proxy list --profile review'],
  }),
  list: doctorCommand({
    name: 'list',
    about: 'servers, their state and their tools',
    group: 'LOOK',
    details: `Starts every server of a schema at the same time, or the one that is named, and prints one line
for each. The exit code is 1 when a server failed; doctor says what mends that.`,
    examples: ['mcps-proxy list', 'mcps-proxy list --json'],
  }),
}

export interface CheckedConfig {
  readonly config: Configuration
  readonly schemas: readonly SchemaConfig[]
}

/** A lock that cannot be used compares nothing, or blocks servers. */
async function tryLock({ lock }: Configuration, json: boolean): Promise<number> {
  const problem = lock.isOn ? (await import('../lock/store.js')).lockProblem(lock.path) : undefined
  if (problem === undefined) return 0
  await tell(json, { lock: problem }, problem)
  return 1
}

/** @returns the exit code: 1 when a server failed */
export async function runDoctor(task: DoctorTask): Promise<number> {
  const { name, isBrief, json, profile } = task
  const { config, schema } = await loadView(task)
  const { servers } = schema
  const chosen = servers.filter((server) => name === undefined || server.name === name)
  if (chosen.length === 0 && name !== undefined) {
    const names = servers.map((server) => server.name)
    throw new Failure(unknownName('server', name, names), 2)
  }
  const [only] = chosen
  // A server that was disabled on purpose is no failure.
  if (name !== undefined && only?.disabled === true)
    return tell(json, { name, disabled: true }, `${name}  ${disabledWords(name, schema.name)}`).then(() => 0)
  const checked = { config, schemas: [{ ...schema, servers: chosen }], profile }
  const form = json ? 'json' : isBrief ? 'line' : 'detail'
  const ofServers = await tryAll(checked, form, Math.max(1, chosen.length))
  if (!json) await nameDisabled(chosen)
  return isBrief ? ofServers : (await tryLock(config, json)) || ofServers
}

function disabledWords(server: string, schema: string): string {
  const where = schema === 'default' ? '' : ` --schema ${inShell(schema)}`
  return `disabled; mcps-proxy enable ${inShell(server)}${where} lets it start again`
}

function tell(isJson: boolean, facts: object, first: string, ...more: readonly string[]): Promise<void> {
  const lines = [`  ${escapeText(first)}`, ...more.map((line) => `    ${escapeText(line)}`)]
  return say('stdout', `${isJson ? JSON.stringify(facts) : lines.join('\n')}\n`)
}

async function nameDisabled(servers: readonly ServerConfig[]): Promise<void> {
  const names = servers.filter(({ disabled }) => disabled).map(({ name }) => name)
  if (names.length > 0) await say('stdout', `  disabled: ${names.map(escapeText).join(', ')}\n`)
}

/** How the servers that were tried are reported: in all that is known, in one line each, or as JSON lines. */
type Form = 'detail' | 'line' | 'json'

type Lines = (server: ServerConfig, trial: Trial, env: Environment) => string[]

const inOneLine: Lines = (server, trial) => {
  const { failure, needsLogin, revision = '' } = trial
  if (needsLogin) return [`login   ${loginWords(server)}`]
  return [failure === undefined ? `ready   ${toolCount(trial)}, ${revision}` : `failed  ${failure}`]
}

function toolCount({ tools, shown = tools }: Trial): string {
  return `${counted(tools, 'tool')}${shown < tools ? `, ${shown} shown` : ''}`
}

const inDetail: Lines = (server, trial, env) => {
  const tokens = Math.round(trial.toolBytes / TOKEN_BYTES)
  const cost = trial.tools === 0 ? [] : [`its tools cost a model about ${tokens} tokens (an estimate)`]
  const isSaid = /is not as in mcps\.lock|^Authentication failed: .* needs a login; /
  const warnings = trial.warnings.filter((warning) => !isSaid.test(warning))
  return [
    ...inWords(server, trial),
    ...cost,
    ...lockLines(trial),
    ...warnings,
    ...remediesOf(server, trial, env),
  ]
}

const CHANGES_MAX = 5

function lockLines({ changes }: Trial): string[] {
  if (changes.length === 0) return []
  const names = changes.slice(0, CHANGES_MAX).map(({ name }) => name)
  if (changes.length > CHANGES_MAX) names.push('…')
  return [`not as in mcps.lock: ${names.join(', ')}; mcps-proxy lock shows what differs`]
}

const inJson: Lines = (server, trial, env) => {
  const { failure, evidence: _, addresses: __, changes, ...facts } = trial
  const mends = remediesOf(server, trial, env)
  const differences = changes.length > 0 ? changes : undefined
  const { name } = server
  return [JSON.stringify({ name, ok: failure === undefined, failure, ...facts, mends, changes: differences })]
}

const forms: Readonly<Record<Form, Lines>> = { detail: inDetail, line: inOneLine, json: inJson }

/** Every server that is enabled, so many at a time; each result is reported when it comes. */
export async function tryAll(
  { config, schemas, profile }: CheckedConfig & { readonly profile?: string | undefined },
  form: Form = 'detail',
  atOnce: number = TRIALS_AT_ONCE_MAX,
): Promise<number> {
  const isJson = form === 'json'
  const candidates = candidatesOf(schemas)
  const trials = new Map<Candidate, Trial>()
  let isCut = false
  const width = Math.max(0, ...candidates.map(({ label }) => label.length))
  const names = schemas.map(({ name }) => name)
  const problems: string[] = []
  const { listeners: on } = new UnmatchedPatterns(config, ({ message }) => problems.push(message))
  return withChildren(config, names, async ({ runtime, logger, shutdown }) => {
    const all = eachAtOnce(candidates, atOnce, async (candidate) => {
      const { schema, server, label } = candidate
      const onLate = (ms: number, warning?: string): void =>
        void say('stderr', `  ${escapeText(logger.clean(lateWords(label, server, ms, warning)))}\n`)
      const options = { runtime, profile, on, onLate }
      const trial = await tryServer(config, schema, atOnceRefused(server), options)
      const lines = forms[form](server, trial, runtime.env).map((line) => escapeText(logger.clean(line)))
      const text = isJson
        ? `${lines.join('')}\n`
        : `  ${escapeText(label).padEnd(width)}  ${lines.join(`\n${' '.repeat(width + 4)}`)}\n`
      // The end of the command ends the servers too, which says nothing of them.
      if (isCut) return
      trials.set(candidate, trial)
      await say('stdout', text)
    })
    isCut = await Promise.race([all.then(() => false), shutdown.ended.then(() => true)])
    const results = Array.from(trials, ([{ server }, trial]) => resultOf(config, server, trial))
    if (!isJson || isCut) await say('stdout', sumOf(results, isCut ? candidates.length : 0))
    if (form !== 'line' && !isCut)
      for (const problem of [...problems, ...sharedAddresses(candidates, trials)])
        await tell(isJson, { problem }, problem)
    return isCut || results.includes('failed') ? 1 : 0
  })
}

/** The addresses of apps and skills that two servers of a schema list, and what clients see of the later one. */
function sharedAddresses(candidates: readonly Candidate[], trials: ReadonlyMap<Candidate, Trial>): string[] {
  const firsts = new Map<string, string>()
  return candidates.flatMap((candidate) =>
    (trials.get(candidate)?.addresses ?? []).flatMap((uri) => {
      const shown = apartUri(candidate.server.name, uri)
      if (shown === undefined) return []
      const key = JSON.stringify([candidate.schema.name, uri])
      const first = firsts.get(key)
      if (first === undefined) firsts.set(key, candidate.label)
      if (first === undefined || first === candidate.label) return []
      return [
        `${first} and ${candidate.label} both list ${uri}; clients see that of ${candidate.label} as ${shown}`,
      ]
    }),
  )
}

/** A person waits, so that the first refusal counts: there are no retries of requests to a remote server. */
function atOnceRefused(server: ServerConfig): ServerConfig {
  return isRemote(server) ? { ...server, retries: 0 } : server
}

type TrialResult = 'ready' | 'failed' | 'of users'

/** `all` is how many servers there are where the command was cut short, else 0. */
function sumOf(results: readonly TrialResult[], all: number): string {
  const count = (result: TrialResult): number => results.filter((each) => each === result).length
  const ofUsers = count('of users') === 0 ? '' : `, ${count('of users')} at which users log in`
  const left = all === 0 ? '' : `, ${all - results.length} not tried to the end`
  return `  started: ${count('ready')} ready, ${count('failed')} failed${ofUsers}${left}\n`
}

/** That each user of the front logs in is no failure; without one of them nothing more can be tried. */
function resultOf({ server: front }: Configuration, server: ServerConfig, trial: Trial): TrialResult {
  if (trial.failure === undefined) return 'ready'
  return trial.needsLogin && isPerUser(server) && hasUsers(front) ? 'of users' : 'failed'
}

function isPerUser(server: ServerConfig): boolean {
  return isRemote(server) && server.login?.isPerUser === true
}

function loginWords(server: ServerConfig): string {
  const command = `mcps-proxy login ${inShell(server.name)}`
  const users = isPerUser(server) ? `; each user of the HTTP front needs one: ${command} --user NAME` : ''
  return `it needs a login; run: ${command}${users}`
}

/** Why a server failed is often only on its stderr. */
function inWords(server: ServerConfig, trial: Trial): string[] {
  const { failure, needsLogin, revision, evidence, ms, lastWords } = trial
  if (needsLogin) return [loginWords(server)]
  if (failure !== undefined)
    return [
      `failed after ${ms} ms: ${failure}`,
      ...lastWords.filter((line) => !failure.includes(line.trim())),
    ]
  const found = evidence === undefined ? '' : ` (${evidenceInWords[evidence]})`
  return [`ready in ${ms} ms: ${toolCount(trial)}, revision ${revision ?? 'unknown'}${found}`]
}

function remediesOf(server: ServerConfig, { failure }: Pick<Trial, 'failure'>, env: Environment): string[] {
  const [, variable] = /^variable (\S+) is not set$/.exec(server.unavailable ?? '') ?? []
  if (variable !== undefined)
    return [`set it where the proxy starts, or write a default: \${${variable}:-value}`]
  if (failure === undefined || server.kind !== 'stdio') return []
  const { inheritEnv } = server
  const absent = inheritEnv === true ? [] : inheritEnv.filter((each) => env[each] === undefined)
  return [
    ...absent.map((each) => `"inheritEnv" names ${each}, which is not set where the proxy starts`),
    startTrouble(server, env) ?? hiddenArgument(server) ?? [],
  ].flat()
}
