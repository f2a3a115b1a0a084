// `lock`: lists every server once, compares the lists with `mcps.lock`, and writes new and accepted items.

import { isAbsolute } from 'node:path'
import { enabledSchemas, selectSchema } from '../config/config.js'
import type { Configuration, SchemaConfig } from '../config/configuration.js'
import {
  type Change,
  changesOf,
  contentsOf,
  differences,
  lockedAs,
  type ListedServer,
  subjectOf,
  unseenLines,
  withAccepted,
} from '../lock/changes.js'
import {
  type Contents,
  LockError,
  lockedKinds,
  type LockedSchemas,
  type LockedServer,
} from '../lock/lock-file.js'
import { LockStore, withServer } from '../lock/store.js'
import type { Runtime } from '../runtime/runtime.js'
import { errorText } from '../text/error-text.js'
import type { Listed, ListGuard } from '../upstream/contracts/list-guard.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import { counted } from '../text/counted.js'
import { loadWithSecrets } from './load.js'
import { type Given, command, flag, repeated } from './command-line.js'
import { config, schema } from './common-options.js'
import { Failure, print } from './console.js'
import { eachAtOnce } from '../runtime/deferred.js'
import {
  type Candidate,
  TRIALS_AT_ONCE_MAX,
  candidatesOf,
  refusesAll,
  tryServer,
  withChildren,
} from './server-trials.js'

const options = {
  schema,
  config,
  check: flag('Compare and write nothing; exit 0 or 1'),
  accept: repeated('SERVER[/TOOL]', 'What it lists now is right; may be given again'),
}

type LockTask = Given<typeof options>

/** `write` records servers that are not locked yet, and `check` writes nothing. */
type Mode = 'write' | 'check' | 'accept'

export const lockCommand = command({
  name: 'lock',
  about: 'what servers list against mcps.lock, which git keeps',
  group: 'SET UP',
  details: `Starts every server and compares its tools, prompts and instructions with mcps.lock, which
stands beside the configuration file. A server that is not locked yet is locked with what it lists;
each other change is printed, with what differs. --accept takes over what a server or a tool is now,
and --check writes nothing. The exit code is 1 where a server differs from the lock or cannot be
listed. Invisible characters are always named.`,
  examples: ['mcps-proxy lock', 'mcps-proxy lock --check', 'mcps-proxy lock --accept files/read_file'],
  options,
  conflicts: [['check', 'accept']],
  run: runLock,
})

interface Meant extends Candidate {
  /** Names of tools and prompts; empty means all. */
  readonly items: readonly string[]
}

interface Tried extends Meant {
  readonly failure: string | undefined
  readonly listed: ListedServer | undefined
}

interface Found extends Tried {
  /** The changes that remain after the command. */
  readonly changes: readonly Change[]
  readonly done: string | undefined
  /** The lock of the server after the command; undefined if the server has none. */
  readonly after: LockedServer | undefined
}

/** @returns the exit code: 1 if a server differs from the lock or was not compared; 2 if the command cannot apply */
async function runLock(command: LockTask): Promise<number> {
  const config = await loadWithSecrets(
    { path: command.config, servesHttp: false },
    { schema: command.schema, asks: true },
  )
  if (!isAbsolute(config.source))
    throw new Failure('there is no configuration file whose servers could be locked', 2)
  const names = command.schema === undefined ? enabledSchemas(config) : [command.schema]
  const schemas = names.map((name) => selectSchema(config, name))
  const candidates = meantBy(schemas, command.accept)
  const mode = command.check ? 'check' : command.accept.length > 0 ? 'accept' : 'write'
  return withChildren(config, names, async ({ runtime, logger, interrupted }) => {
    const store = new LockStore(config.lock.path, runtime, () => {})
    if (store.problem !== undefined) throw new Failure(store.problem)
    const listed = await Promise.race([listAll(config, candidates, runtime), interrupted])
    if (typeof listed === 'number') return listed
    let found = listed.map((each) => judged(mode, store.schemas, each))
    try {
      if (mode !== 'check')
        await store.update((fresh) => {
          found = listed.map((each) => judged(mode, fresh, each))
          const all = written(fresh, found)
          return mode === 'write' ? pruned(schemas, all) : all
        })
    } catch (error) {
      throw new Failure(
        `${config.lock.path} ${error instanceof LockError ? '' : 'cannot be written: '}${errorText(error)}`,
      )
    }
    const lines = found.flatMap((each) => linesOf(each).map((line) => logger.clean(line)))
    await print(...lines, summary(config, found))
    return found.some(({ failure, changes }) => failure !== undefined || changes.length > 0) ? 1 : 0
  })
}

function meantBy(schemas: readonly SchemaConfig[], names: readonly string[]): Meant[] {
  const all = candidatesOf(schemas).filter(({ server }) => server.lock !== false)
  const unknown = names.find((name) => !all.some(({ server }) => means(name, server.name)))
  if (unknown !== undefined)
    throw new Failure(`no server that is locked is called "${unknown}"; write SERVER or SERVER/TOOL`, 2)
  return all.flatMap((each) => {
    const own = names.filter((name) => means(name, each.server.name))
    const items = own.map((name) => name.slice(each.server.name.length + 1))
    if (names.length > 0 && own.length === 0) return []
    return [{ ...each, items: items.includes('') ? [] : items }]
  })
}

function means(name: string, server: string): boolean {
  return `${name}/`.startsWith(`${server}/`)
}

async function listAll(
  config: Configuration,
  candidates: readonly Meant[],
  runtime: Runtime,
): Promise<Tried[]> {
  const tried: Tried[] = []
  await eachAtOnce(candidates, TRIALS_AT_ONCE_MAX, async (each) => {
    tried[candidates.indexOf(each)] = await listOnce(config, each, runtime)
  })
  return tried
}

async function listOnce(config: Configuration, each: Meant, runtime: Runtime): Promise<Tried> {
  const recorder = new Recorder()
  const options = { runtime, profile: undefined, guard: recorder }
  const trial = await tryServer(config, each.schema, each.server, options)
  const isListed = recorder.listed !== undefined
  const failure = trial.failure ?? (isListed ? undefined : (trial.warnings[0] ?? 'not every list arrived'))
  if (failure !== undefined) return { ...each, failure, listed: undefined }
  await tryServer(config, each.schema, each.server, { ...options, person: refusesAll })
  return { ...each, failure, listed: recorder.listed }
}

class Recorder implements ListGuard {
  listed: ListedServer | undefined

  judge(): undefined {
    return undefined
  }

  complete(_config: ServerConfig, listed: Listed, isWhole: boolean): void {
    if (!isWhole) return
    const [before, now] = [this.listed, contentsOf(listed)]
    const all = (kind: (typeof lockedKinds)[number]): Contents =>
      new Map([...(now[kind] ?? []), ...(before?.[kind] ?? [])])
    this.listed = { instructions: all('instructions'), tools: all('tools'), prompts: all('prompts') }
  }
}

function judged(mode: Mode, schemas: LockedSchemas, tried: Tried): Found {
  const { schema, server, listed, items } = tried
  const before = schemas.get(schema.name)?.get(server.name)
  const untouched = { ...tried, changes: [], done: undefined, after: before }
  if (listed === undefined) return untouched
  if (before === undefined)
    return mode === 'check'
      ? { ...untouched, failure: 'not locked yet; mcps-proxy lock does that' }
      : { ...untouched, done: 'locked', after: lockedAs(listed) }
  const changes = changesOf(before, listed, true)
  if (mode !== 'accept') return { ...untouched, changes }
  const accepted = items.length === 0 ? changes : changes.filter(({ name }) => items.includes(name))
  const isNone = accepted.length === 0 && items.length > 0
  const done = isNone ? 'no change has that name' : `accepted ${counted(accepted.length, 'change')}`
  return {
    ...tried,
    done,
    changes: changes.filter((each) => !accepted.includes(each)),
    after: withAccepted(before, accepted),
  }
}

function written(fresh: LockedSchemas, found: readonly Found[]): LockedSchemas {
  return found.reduce(
    (schemas, { schema, server, after }) =>
      after === undefined ? schemas : withServer(schemas, schema.name, server.name, after),
    fresh,
  )
}

/** Removes the entries of servers that have left these schemas. */
function pruned(schemas: readonly SchemaConfig[], locked: LockedSchemas): LockedSchemas {
  const left = [...locked].map(([schema, servers]) => {
    const there = schemas.find(({ name }) => name === schema)?.servers.map(({ name }) => name)
    return [schema, new Map([...servers].filter(([name]) => there?.includes(name) !== false))] as const
  })
  return new Map(left.filter(([, servers]) => servers.size > 0))
}

function linesOf(found: Found): string[] {
  const { label, failure, listed, changes, done } = found
  const left = `${counted(changes.length, 'change')}${done === undefined ? '' : ' left'}`
  const words = [done ?? [], changes.length > 0 ? left : []].flat().join(', ')
  const counts = [counted(listed?.tools?.size ?? 0, 'tool'), counted(listed?.prompts?.size ?? 0, 'prompt')]
  return [
    [`${label}: ${failure ?? (words || 'unchanged')}`, ...(listed === undefined ? [] : counts)].join(', '),
    ...changes.flatMap((change) => [
      `  ${subjectOf(change)}: ${change.change}`,
      ...(change.change === 'removed' ? [] : differences(change)).map((line) => `    ${line}`),
    ]),
    ...unseenOf(found).map((line) => `  ! ${line}`),
  ]
}

/** The invisible characters of everything that is listed, also of accepted items. */
function unseenOf({ listed }: Found): string[] {
  return lockedKinds.flatMap((kind) =>
    [...(listed?.[kind] ?? [])].flatMap(([name, content]) =>
      unseenLines(content).map((line) => `${subjectOf({ kind, name })}: ${line}`),
    ),
  )
}

function summary({ lock }: Configuration, found: readonly Found[]): string {
  const differing = found.filter(({ changes }) => changes.length > 0).length
  const failed = found.filter(({ failure }) => failure !== undefined).length
  const words = [
    `${counted(found.length - differing - failed, 'server')} unchanged`,
    ...(failed === 0 ? [] : [`${failed} not compared`]),
    ...(differing === 0 ? [] : [`${differing} changed; mcps-proxy lock --accept SERVER accepts that`]),
  ]
  return `${lock.path}: ${words.join(', ')}`
}
