// `doctor` and `list`: start every server, and say what the user can change after a failure.
//
// The report shows a server's own output but never turns it into advice, because a server could ask for a
// variable, a host or a file in it. Advice follows from the configuration and the observations of the proxy.

import type { Configuration, Environment, SchemaConfig } from '../config/configuration.js'
import { hasUsers } from '../config/front.js'
import { lockProblem } from '../lock/store.js'
import { loginCommand } from '../login/login-error.js'
import { eachAtOnce } from '../runtime/deferred.js'
import { counted } from '../text/counted.js'
import { escapeText } from '../text/escape.js'
import { unknownName } from '../text/nearest.js'
import { TOKEN_BYTES } from '../text/tokens.js'
import { type ServerConfig, isRemote } from '../upstream/contracts/server-config.js'
import { evidenceInWords } from '../upstream/contracts/upstream.js'
import { type Command, type Given, command } from './command-line.js'
import { type View, viewConflict, viewOptions } from './common-options.js'
import { Failure, print, say } from './console.js'
import { loadView } from './load.js'
import {
  TRIALS_AT_ONCE_MAX,
  type Candidate,
  candidatesOf,
  disabledWords,
  lateWords,
  withChildren,
  type Trial,
  tryServer,
} from './server-trials.js'
import { hiddenArgument, startTrouble } from './start-troubles.js'
import { UnmatchedPatterns } from './unmatched-patterns.js'

function doctorCommand(
  more: Pick<Command, 'name' | 'about' | 'group' | 'details' | 'examples'>,
): Command<Given<typeof viewOptions>> {
  return command({
    ...more,
    takes: '[NAME]',
    options: viewOptions,
    conflicts: [viewConflict],
    wordsMax: 1,
    run: (given) => runDoctor(given, given.words[0], more.name === 'list'),
  })
}

export const doctorCommands = {
  doctor: doctorCommand({
    name: 'doctor',
    about: 'starts each server once: why it fails, how to fix it',
    group: 'SET UP',
    details: `Starts every server of a schema at the same time, or the one that is named, and says for each how
long it took, what it speaks, how many tools it has and about how many tokens their definitions
cost a model; or why it failed, with the last lines of its stderr and how to fix that. The proxy
caches the lists, so that the first client sees them immediately. The exit code is 1 when a server
failed.`,
    examples: ['mcps-proxy doctor', 'mcps-proxy doctor github', 'mcps-proxy list --profile review'],
  }),
  list: doctorCommand({
    name: 'list',
    about: 'servers, their state and their tools',
    group: 'LOOK',
    details: `Starts every server of a schema at the same time, or the one that is named, and prints one line
for each. The exit code is 1 when a server failed; doctor says how to fix that.`,
    examples: ['mcps-proxy list'],
  }),
}

/** @returns the exit code: 1 if a server failed, or if the lock cannot be used */
export async function runDoctor(view: View, name: string | undefined, isBrief: boolean): Promise<number> {
  const { config, schema } = await loadView(view)
  const servers = schema.servers.filter((server) => name === undefined || server.name === name)
  if (servers.length === 0 && name !== undefined) {
    const names = schema.servers.map((server) => server.name)
    throw new Failure(unknownName(`server of ${config.source}`, name, names), 2)
  }
  const checked = { config, schemas: [{ ...schema, servers }], profile: view.profile }
  const exitCode = await tryAll(checked, isBrief ? inOneLine : inDetail, Math.max(1, servers.length))
  const disabled = disabledWords(servers)
  if (disabled !== undefined) await print(`  ${disabled}`)
  const problem = isBrief || !config.lock.isOn ? undefined : lockProblem(config.lock.path)
  if (problem !== undefined) await print(`  ${problem}`)
  return problem === undefined ? exitCode : 1
}

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
  const isSaid = /is not as it was accepted|^Authentication failed: .* needs a login; /
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

export interface CheckedConfig {
  readonly config: Configuration
  readonly schemas: readonly SchemaConfig[]
  readonly profile?: string | undefined
}

/** Tries every enabled server, `atOnce` at a time, and reports each result when it is ready. */
export async function tryAll(
  { config, schemas, profile }: CheckedConfig,
  inLines: Lines = inDetail,
  atOnce: number = TRIALS_AT_ONCE_MAX,
): Promise<number> {
  const candidates = candidatesOf(schemas)
  const trials = new Map<Candidate, Trial>()
  const width = Math.max(0, ...candidates.map(({ label }) => label.length))
  const names = schemas.map(({ name }) => name)
  const problems: string[] = []
  const { listeners: on } = new UnmatchedPatterns(config, ({ message }) => problems.push(message))
  return withChildren(config, names, async ({ runtime, logger, interrupted }) => {
    const all = eachAtOnce(candidates, atOnce, async (candidate) => {
      const { schema, server, label } = candidate
      // A person waits, so the first refusal of a remote server counts.
      const once = isRemote(server) ? { ...server, retries: 0 } : server
      const trial = await tryServer(config, schema, once, {
        runtime,
        profile,
        on,
        onLate: (event, warning) =>
          void say('stderr', `  ${escapeText(logger.clean(lateWords(label, event, warning)))}\n`),
      })
      trials.set(candidate, trial)
      const lines = inLines(server, trial, runtime.env).map((line) => escapeText(logger.clean(line)))
      const text = lines.join(`\n${' '.repeat(width + 4)}`)
      await say('stdout', `  ${escapeText(label).padEnd(width)}  ${text}\n`)
    })
    const interruption = await Promise.race([all, interrupted])
    if (typeof interruption === 'number') return interruption
    const failures = [...trials].filter(([, { failure }]) => failure !== undefined)
    const { length: failed } = failures.filter(([{ server }, trial]) => !isOfUsers(config, server, trial))
    await print(`  started: ${trials.size - failures.length} ready, ${failed} failed`)
    if (inLines === inDetail) await print(...problems.map((line) => `  ${line}`))
    return failed > 0 ? 1 : 0
  })
}

/** A login that each user of the front needs is no failure, but nothing more can be tried without it. */
function isOfUsers({ server: front }: Configuration, server: ServerConfig, { needsLogin }: Trial): boolean {
  return needsLogin && isPerUser(server) && hasUsers(front)
}

function isPerUser(server: ServerConfig): boolean {
  return isRemote(server) && server.login?.isPerUser === true
}

function loginWords(server: ServerConfig): string {
  const command = loginCommand(server.name)
  const users = isPerUser(server) ? `; each user of the HTTP front needs one: ${command} --user NAME` : ''
  return `it needs a login; run: ${command}${users}`
}

/** The reason of a failure is often only on the server's stderr. */
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
