// `import`: the servers of clients move into our file, and one entry of ours takes their place; `--undo` gives them back.

import process from 'node:process'
import { askLine, isAtTerminal } from '../ask/terminal.js'
import { homeOf, ownPath } from '../config/file.js'
import { changedLines } from '../text/changed-lines.js'
import { realRuntime } from '../real-runtime.js'
import { SecretStore, SecretStoreError } from '../secrets/store.js'
import { errorCode, errorText } from '../text/error-text.js'
import { escapeText, inShell } from '../text/escape.js'
import { isLoopback } from '../text/loopback.js'
import { Redactor } from '../text/redactor.js'
import {
  ChangedMeanwhile,
  type FileChange,
  applyChanges,
  assertUnchanged,
  undoNewest,
} from './clients/import-record.js'
import { wordsOf } from './clients/launch.js'
import { type ClientPlan, type ImportPlan, type MovedServer, planImport } from './clients/plan.js'
import { referencesIn, secretNamesIn, secretsOfEntry } from './clients/secrets.js'
import { clientNames, clients } from './clients/table.js'
import { type FoundFiles, findFiles, launchOf, readText, thisMachine } from './clients-here.js'
import { counted } from '../text/counted.js'
import { alone, editing } from './edit-file.js'
import { type Given, UsageError, command, flag } from './command-line.js'
import { config } from './common-options.js'
import { namesHint } from '../text/nearest.js'
import { Failure, say } from './console.js'
import { offerStart, storedSecrets, withSecretsStored } from './new-servers.js'

const DECLINED = 1
/** A file of a client cannot be read, and nothing moves. */
const REFUSED = 1
const NOT_ASKED = 2

const options = {
  config,
  yes: flag('Write the changes without a question', ['y']),
  'dry-run': flag('Print the changes and write nothing'),
  undo: flag('Take back the last import'),
  secrets: flag('Keep what looks like a secret in the store of secrets'),
  profiles: flag('Write a profile for each client, which shows it its own servers'),
  doors: flag('Keep one entry for each server, under its own name'),
}

type ImportTask = Given<typeof options>

export const importCommand = command({
  name: 'import',
  takes: '[CLIENT]',
  about: 'takes over the servers of Claude, Cursor, VS Code, …',
  group: 'SET UP',
  details: `Moves the servers of ${clientNames.slice(0, 6).join(', ')},
${clientNames.slice(6).join(', ')}, or of the one that is named, into the
configuration file, and leaves one entry in the client's file that starts mcps-proxy.
It prints every command that would be started and every line that changes, and asks once.
A server is moved only where every member of its entry is understood. With --profiles or
--doors each client sees its own servers; with --doors each server keeps an entry of its own,
so that the names of tools and the rules of the client stay as they are. Copies of all files
are kept beside them, and --undo gives the servers back. Without a terminal and without --yes
nothing is changed, and the exit code is 2.`,
  examples: ['mcps-proxy import cursor --dry-run', 'mcps-proxy import --yes', 'mcps-proxy import --undo'],
  options,
  wordsMax: 1,
  conflicts: [
    ['yes', 'dry-run'],
    ['doors', 'profiles'],
  ],
  check: (given) => {
    const { undo, secrets, profiles, doors, config: path } = given
    const [word] = given.words
    if (word !== undefined && !clientNames.includes(word))
      throw new UsageError(`no client is called "${word}"`, namesHint(word, clientNames))
    if (undo && (word !== undefined || doors || profiles || secrets || path !== undefined))
      throw new UsageError(
        '--undo undoes the last import as a whole',
        'for example: mcps-proxy import --undo',
      )
  },
  run: runImport,
})

async function runImport(command: ImportTask): Promise<number> {
  const folder = ownPath(homeOf(process.env), 'imports')
  return editing(command.config, async (path) => {
    if (command.undo) return alone(path, () => undo(folder, command['dry-run']))
    // Without a question the lock covers the plan too, so that two imports follow each other.
    const run = (): Promise<number> => importNow(command, path, folder)
    return command.yes ? alone(path, run) : run()
  })
}

async function importNow(command: ImportTask, path: string, folder: string): Promise<number> {
  const machine = thisMachine()
  const { files, missing } = findFiles(command.words[0], machine)
  const launch = launchOf(path)
  const store = new SecretStore(ownPath(homeOf(process.env), 'secrets.json'), realRuntime())
  const stored = command.secrets ? await storedSecrets(store) : undefined
  const { doors, profiles } = command
  const plan = planImport(files, path, { doors, profiles, stored, launch, machine, read: readText })
  const redactor = new Redactor(plan.clients.flatMap(({ entries }) => entries).flatMap(secretsOfEntry))
  await show(reportOf(plan, missing, path), redactor)
  const movers = plan.clients.filter(({ moved }) => moved.length > 0)
  if (movers.length === 0) return plan.clients.some(({ refused }) => refused !== undefined) ? REFUSED : 0
  await show(plan.changes.flatMap(diffOf), redactor)
  if (!doors && !profiles)
    await show([
      'Each client will see all servers of the configuration; with --profiles it sees its own, and with --doors under the old names.',
    ])
  if (command['dry-run']) return say('stdout', 'Nothing was changed (--dry-run).\n').then(() => 0)
  if (!command.yes && !isAtTerminal())
    throw new Failure(
      'nothing was changed, because nobody can be asked here; --yes writes these changes',
      NOT_ASKED,
    )
  const isWanted = command.yes || /^y(?:es)?$/i.test(await askLine('Write these changes? [y/N] '))
  if (!isWanted) return say('stdout', 'Nothing was changed.\n').then(() => DECLINED)
  if (command.yes) await write(plan, folder, store)
  else await alone(path, () => write(plan, folder, store))
  await offerStart({ config: command.config, schema: 'default', name: undefined })
  await show(['Restart the clients. mcps-proxy import --undo gives everything back.'])
  return 0
}

async function write({ changes, secrets }: ImportPlan, folder: string, store: SecretStore): Promise<void> {
  let backups: readonly string[]
  try {
    // Another import may have given its secrets the same names.
    assertUnchanged(changes)
    backups = await withSecretsStored(store, secrets, () => applyChanges(changes, folder, new Date()))
  } catch (error) {
    if (error instanceof ChangedMeanwhile)
      throw new Failure(`${error.message}, so that nothing was written; run the command again`)
    if (!(error instanceof SecretStoreError) && errorCode(error) === undefined) throw error
    throw new Failure(`${errorText(error)}; no file was changed`)
  }
  await show([
    `${counted(changes.length, 'file')} written; ${backups.length === 1 ? 'a copy is' : 'copies are'} beside:`,
    ...backups.map((path) => `  ${path}`),
  ])
}

async function undo(folder: string, isDry: boolean): Promise<number> {
  const undone = undoNewest(folder, isDry)
  if (undone === undefined) throw new Failure('there is no import to undo')
  const verb = isDry ? 'would be as it was' : 'as it was'
  await show(undone.map(({ path, note }) => `${path}: ${note ?? verb}`))
  if (undone.every((each) => each.isDone)) return 0
  throw new Failure('run mcps-proxy import --undo again for what is left')
}

function reportOf(
  { clients: plans, secrets }: ImportPlan,
  missing: FoundFiles['missing'],
  own: string,
): string[] {
  const nothing = plans.length === 0 && missing.length === 0
  return [
    ...(nothing ? [`No file of a client was found: ${clients.map(({ title }) => title).join(', ')}.`] : []),
    ...missing.map(({ client, path }) => `${client.title}: there is no ${path}`),
    ...plans.flatMap((plan) => clientReport(plan, own, new Set(secrets.map(({ name }) => name)))),
  ]
}

function clientReport(plan: ClientPlan, own: string, added: ReadonlySet<string>): string[] {
  const { client, path, moved, stays, rules = [], refused, notes = [] } = plan
  if (refused !== undefined) return [`${client.title}: ${path} ${refused}; nothing of it is changed`]
  const nothing = moved.length === 0 ? ['  nothing to take over'] : []
  return [
    `${client.title}: ${path}`,
    ...nothing,
    ...moved.flatMap((server) => movedLines(plan, server, own, added)),
    ...stays.map(({ name, why }) => `  ${name} stays: ${why}`),
    ...notes.map((note) => `  ${note}`),
    ...(rules.length === 0
      ? []
      : [
          '  rules that name these servers; give them the new names of the tools, or keep the names with --doors:',
        ]),
    ...rules.map(({ path: file, rule }) => `    ${rule}  ${file}`),
  ]
}

function movedLines(
  { own: ownName }: ClientPlan,
  { name, to, entry, isNew, clientMembers, ignored }: MovedServer,
  file: string,
  added: ReadonlySet<string>,
): string[] {
  const words = wordsOf(entry)
  const line = words === undefined ? String(entry['url']) : words.map(inShell).join(' ')
  const label = name === to ? name : `${name} (as ${to})`
  const lost = [...(ownName === undefined ? [] : Object.keys(clientMembers)), ...ignored]
  const known = isNew ? '' : `  (${file} has it already)`
  const secrets = isNew ? secretNamesIn(entry) : []
  const mayNeedLogin = words === undefined && entry['headers'] === undefined && !isLocal(String(entry['url']))
  return [
    `  ${label}: ${line}${known}`,
    ...(lost.length === 0 ? [] : [`    not taken over: ${lost.join(', ')}`]),
    ...(mayNeedLogin
      ? [`    a login of the client does not come along; if it wants one: mcps-proxy login ${inShell(to)}`]
      : []),
    ...secrets.map(
      (secret) => `    ${secret} looks like a secret; --secrets keeps it in the store of secrets`,
    ),
    ...referencesIn(entry).map(
      (name) => `    the store of secrets ${added.has(name) ? `gets ${name}` : `has ${name} already`}`,
    ),
  ]
}

function isLocal(url: string): boolean {
  return URL.canParse(url) && isLoopback(new URL(url).hostname)
}

function diffOf({ path, before = '', after }: FileChange): string[] {
  const lines = changedLines(before, after).trimEnd().split('\n')
  return [`${path}:`, ...(before === '' ? lines.filter((line) => line !== '- ') : lines)]
}

async function show(lines: readonly string[], redactor?: Redactor): Promise<void> {
  const text = lines.map((line) => `${line.split('\t').map(escapeText).join('\t')}\n`).join('')
  await say('stdout', redactor?.clean(text) ?? text)
}
