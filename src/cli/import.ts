// `import`: moves the servers of clients into the proxy's file, and leaves one entry. `--undo` restores the files.

import { isUtf8 } from 'node:buffer'
import process from 'node:process'
import { askLine, isAtTerminal } from '../ask/terminal.js'
import { homeOf, ownPath } from '../config/file.js'
import { changedLines } from '../text/changed-lines.js'
import { readFileBytes } from '../runtime/read-file.js'
import { type SecretStore, SecretStoreError } from '../secrets/store.js'
import { errorCode, errorText } from '../text/error-text.js'
import { escapeText, inShell } from '../text/escape.js'
import { Redactor } from '../text/redactor.js'
import {
  ChangedMeanwhile,
  type FileChange,
  applyChanges,
  assertUnchanged,
  undoNewest,
} from './clients/import-record.js'
import { launchOf, commandWords } from './clients/launch.js'
import { type ClientPlan, type ImportPlan, type MovedServer, planImport } from './clients/plan.js'
import { referencesIn, secretNamesIn } from './clients/secrets.js'
import { clientNames, clients } from './clients/table.js'
import { counted } from '../text/counted.js'
import { alone, editing, offerStart, ownSecrets, storedSecrets, withSecretsStored } from './edit-file.js'
import { type Given, UsageError, command, flag } from './command-line.js'
import { config } from './common-options.js'
import { namesHint } from '../text/nearest.js'
import { Failure, say } from './console.js'

const DECLINED = 1
/** A client's file cannot be read, and nothing moves. */
const REFUSED = 1
const NOT_ASKED = 2

const options = {
  config,
  yes: flag('Write the changes without a question', ['y']),
  'dry-run': flag('Print the changes and write nothing'),
  undo: flag('Take back the last import'),
  secrets: flag('Keep what looks like a secret in the store of secrets'),
  profiles: flag('Write a profile for each client, which shows it its own servers'),
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
A server is moved only where every member of its entry is understood. With --profiles each
client sees its own servers. --undo gives all files back as they were. Without a terminal and
without --yes nothing is changed, and the exit code is 2.`,
  examples: ['mcps-proxy import cursor --dry-run', 'mcps-proxy import --yes', 'mcps-proxy import --undo'],
  options,
  wordsMax: 1,
  conflicts: [['yes', 'dry-run']],
  check: (given) => {
    const { undo, secrets, profiles, config: path } = given
    const [word] = given.words
    if (word !== undefined && !clientNames.includes(word))
      throw new UsageError(`no client is called "${word}"`, namesHint(word, clientNames))
    if (undo && (word !== undefined || profiles || secrets || path !== undefined))
      throw new UsageError('--undo undoes the last import as a whole')
  },
  run: runImport,
})

async function runImport(command: ImportTask): Promise<number> {
  const folder = ownPath(homeOf(process.env), 'imports')
  return editing(command.config, async (path) => {
    if (command.undo) return alone(path, () => undo(folder, command['dry-run']))
    // Without a question, the lock covers the plan too, so concurrent imports run one after the other.
    const run = (): Promise<number> => importNow(command, path, folder)
    return command.yes ? alone(path, run) : run()
  })
}

async function importNow(command: ImportTask, path: string, folder: string): Promise<number> {
  const machine = { platform: process.platform, home: homeOf(process.env), env: process.env }
  const [only] = command.words
  const found = clients
    .filter(({ name }) => only === undefined || name === only)
    .map((client) => ({ client, path: client.path(machine), text: readText(client.path(machine)) }))
  const files = found.flatMap(({ text, ...file }) => (text === undefined ? [] : [{ ...file, text }]))
  if (files.length === 0) {
    const titles = found.map((each) => `${each.client.title} (${each.path})`)
    await show([`No file of a client was found: ${titles.join(', ')}.`])
    return 0
  }
  const store = ownSecrets()
  const stored = command.secrets ? await storedSecrets(store) : undefined
  const { profiles } = command
  const plan = planImport(files, path, { profiles, stored, launch: launchOf(path), machine, read: readText })
  const redactor = new Redactor(plan.hidden)
  const added = new Set(plan.secrets.map(({ name }) => name))
  await show(
    plan.clients.flatMap((each) => clientReport(each, path, added)),
    redactor,
  )
  const movers = plan.clients.filter(({ moved }) => moved.length > 0)
  if (movers.length === 0) return plan.clients.some(({ refused }) => refused !== undefined) ? REFUSED : 0
  await show(plan.changes.flatMap(diffOf), redactor)
  if (!profiles)
    await show(['Each client will see all servers of the configuration; with --profiles it sees its own.'])
  if (command['dry-run']) return say('stdout', 'Nothing was changed (--dry-run).\n').then(() => 0)
  if (!command.yes && !isAtTerminal())
    throw new Failure(
      'nothing was changed, because there is no terminal to ask on; --yes writes these changes',
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
  try {
    // Another import may have used the same names for its secrets.
    assertUnchanged(changes)
    const record = await withSecretsStored(store, secrets, () => applyChanges(changes, folder))
    await show([`${counted(changes.length, 'file')} written; ${record} has them as they were.`])
  } catch (error) {
    if (error instanceof ChangedMeanwhile)
      throw new Failure(`${error.message}, so that nothing was written; run the command again`)
    if (!(error instanceof SecretStoreError) && errorCode(error) === undefined) throw error
    throw new Failure(`${errorText(error)}; no file was changed`)
  }
}

async function undo(folder: string, isDry: boolean): Promise<number> {
  const undone = undoNewest(folder, isDry)
  if (undone === undefined) throw new Failure('there is no import to undo')
  const verb = isDry ? 'would be as it was' : 'as it was'
  await show(undone.map(({ path, note }) => `${path}: ${note ?? verb}`))
  if (undone.every((each) => each.isDone)) return 0
  throw new Failure('run mcps-proxy import --undo again for what is left')
}

function clientReport(plan: ClientPlan, own: string, added: ReadonlySet<string>): string[] {
  const { client, path, moved, stays, refused, notes = [] } = plan
  if (refused !== undefined) return [`${client.title}: ${path} ${refused}; nothing of it is changed`]
  const [old, now] = client.rules ?? []
  const rules =
    old === undefined || moved.length === 0
      ? []
      : [`  rules that name a tool ${old}, also those that deny it, must name ${now} from now on`]
  return [
    `${client.title}: ${path}`,
    ...(moved.length === 0 ? ['  nothing to take over'] : []),
    ...moved.flatMap((server) => movedLines(server, own, added)),
    ...stays.map(({ name, why }) => `  ${name} stays: ${why}`),
    ...notes.map((note) => `  ${note}`),
    ...rules,
  ]
}

function movedLines(
  { name, to, entry, isNew, ignored }: MovedServer,
  file: string,
  added: ReadonlySet<string>,
): string[] {
  const words = commandWords(entry)
  const line = words === undefined ? String(entry['url']) : words.map(inShell).join(' ')
  const label = name === to ? name : `${name} (as ${to})`
  const known = isNew ? '' : `  (${file} has it already)`
  const secrets = isNew ? secretNamesIn(entry) : []
  return [
    `  ${label}: ${line}${known}`,
    ...(ignored.length === 0 ? [] : [`    not taken over: ${ignored.join(', ')}`]),
    ...secrets.map(
      (secret) => `    ${secret} looks like a secret; --secrets keeps it in the store of secrets`,
    ),
    ...referencesIn(entry).map(
      (name) =>
        `    the store of secrets ${added.has(name) ? `gets ${name}` : `has ${name}, or mcps-proxy secret set ${inShell(name)} puts it there`}`,
    ),
  ]
}

function diffOf({ path, before = '', after }: FileChange): string[] {
  const lines = changedLines(before, after).trimEnd().split('\n')
  return [`${path}:`, ...(before === '' ? lines.filter((line) => line !== '- ') : lines)]
}

async function show(lines: readonly string[], redactor?: Redactor): Promise<void> {
  const text = lines.map((line) => `${line.split('\t').map(escapeText).join('\t')}\n`).join('')
  await say('stdout', redactor?.clean(text) ?? text)
}

/** The file of Claude Code also contains its history. */
const BYTES_MAX = 256 * 1024 * 1024

/** Undefined for a file that is missing, cannot be read, or is not UTF-8. */
export function readText(path: string): string | undefined {
  const file = readFileBytes(path, BYTES_MAX)
  return file.kind === 'read' && isUtf8(file.bytes) ? file.bytes.toString('utf8') : undefined
}
