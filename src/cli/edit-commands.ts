// `add`, `remove`, `enable` and `disable` change the configuration file, which a running proxy reads again.

import { type ServerEdit, editServer } from '../config/edit.js'
import { secretNamesIn, withReferences } from './clients/secrets.js'
import { type Command, type Given, UsageError, command, flag, repeated } from './command-line.js'
import { config, header, schema } from './common-options.js'
import { print } from './console.js'
import { changeFile, editing, offerStart, ownSecrets, storedSecrets, withSecretsStored } from './edit-file.js'

const editOptions = { schema, config }

const addOptions = {
  ...editOptions,
  env: repeated('NAME=VALUE', 'A variable of the server; may be given again'),
  header,
  force: flag('Replace a server of that name'),
  secrets: flag('Keep what looks like a secret in the store of secrets'),
}

const add = command({
  name: 'add',
  takes: 'NAME -- COMMAND... | URL',
  about: 'adds a server to the configuration file',
  group: 'SET UP',
  details: `Writes the server into the configuration file, which keeps its comments and its order. A running
proxy reads the file again. Nothing is written that a start would refuse, and a server of that
name is replaced only with --force.`,
  examples: [
    'mcps-proxy add files -- npx -y @modelcontextprotocol/server-filesystem /tmp',
    "mcps-proxy add linear https://mcp.linear.app/mcp --header 'Authorization: Bearer ${LINEAR_TOKEN}'",
  ],
  options: addOptions,
  first: 'the name of a server',
  wordsMax: Infinity,
  takesRest: true,
  check: (given) => void entryOf(given),
  run: (given) =>
    editing(given.config, async (path) => {
      const { words, config: named, schema: group = 'default', force: replaces, secrets } = given
      const [name = ''] = words
      const entry = entryOf(given)
      const edit = { kind: 'add', name, entry, replaces } as const
      await (secrets ? addWithSecrets(path, group, edit) : change(path, group, edit))
      await print(`${path}: added ${name}`)
      for (const each of secrets ? [] : secretNamesIn(entry))
        await print(`${each} looks like a secret; --force --secrets moves it to the store of secrets`)
      await offerStart({ config: named, schema: group, name })
      return 0
    }),
})

function editCommand(
  kind: 'remove' | 'enable' | 'disable',
  about: string,
): Command<Given<typeof editOptions>> {
  return command({
    name: kind,
    takes: 'NAME',
    about,
    group: 'SET UP',
    details: 'The file keeps its comments and its order, and a running proxy reads it again.',
    examples: [`mcps-proxy ${kind} files`],
    options: editOptions,
    first: 'the name of a server',
    wordsMax: 1,
    run: ({ words: [name = ''], config: named, schema: group = 'default' }) =>
      editing(named, async (path) => {
        await change(path, group, { kind, name })
        await print(`${path}: ${kind}d ${name}`)
        return 0
      }),
  })
}

export const editCommands = {
  add,
  remove: editCommand('remove', 'takes a server out of the configuration file'),
  enable: editCommand('enable', 'lets a server that was disabled start again'),
  disable: editCommand('disable', 'keeps a server in the file, but no longer starts it'),
}

/** The server's entry in the configuration file. @throws UsageError */
function entryOf({
  words: [, url, ...strays],
  rest: [command, ...args] = [],
  header: headers,
  env: variables,
}: Given<typeof addOptions>): Readonly<Record<string, unknown>> {
  const hasHeaders = Object.keys(headers).length > 0
  if (url !== undefined && command === undefined) {
    if (!/^https?:\/\//.test(url) || strays.length > 0)
      throw new UsageError('add needs http:// or https:// before an address, and -- before a command')
    if (variables.length > 0) throw new UsageError('--env works only with a command')
    return { url, ...(hasHeaders && { headers }) }
  }
  if (command === undefined || url !== undefined)
    throw new UsageError('add needs a command behind --, or an address')
  if (hasHeaders) throw new UsageError('--header works only with an address')
  const wrong = variables.find((each) => !/^[^=]+=/.test(each))
  if (wrong !== undefined) throw new UsageError(`--env is "${wrong}"`, 'it must be NAME=VALUE')
  const env = Object.fromEntries(
    variables.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)]),
  )
  return { command, ...(args.length > 0 && { args }), ...(variables.length > 0 && { env }) }
}

function change(path: string, group: string, edit: ServerEdit): Promise<void> {
  return changeFile(path, (text) => editServer(text, group, edit))
}

async function addWithSecrets(
  path: string,
  group: string,
  edit: ServerEdit & { readonly kind: 'add' },
): Promise<void> {
  const store = ownSecrets()
  const { entry, secrets } = withReferences(edit.name, edit.entry, await storedSecrets(store))
  await withSecretsStored(store, secrets, () => change(path, group, { ...edit, entry }))
}
