// `secret set`, `secret list` and `secret remove`: the secrets that `${keyring:NAME}` and `${input:ID}` refer to.

import process from 'node:process'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { askLine } from '../ask/terminal.js'
import type { InputConfig } from '../config/configuration.js'
import { escapeText } from '../text/escape.js'
import type { SecretStore } from '../secrets/store.js'
import { unknownName } from '../text/nearest.js'
import { Failure, note, print } from './console.js'
import { ownSecrets } from './edit-file.js'
import { UsageError, assertName, command } from './command-line.js'

const secretName = /^(?!-)[^{}\p{Cc}]{1,200}$/u

export const secretCommand = command({
  name: 'secret',
  takes: 'set|list|remove NAME',
  about: 'secrets, to which the configuration refers by name',
  group: 'SET UP',
  details: `secret set asks for a value and shows nothing of it, or reads it from standard input. The
configuration refers to it as \${keyring:NAME}. The keyring of the system has the secrets where
@napi-rs/keyring is installed; otherwise it is ~/.mcps-proxy/secrets.json, which only you can read.
secret list prints names alone.`,
  examples: ['mcps-proxy secret set github', 'op read op://work/github/token | mcps-proxy secret set github'],
  options: {},
  first: ['set', 'list', 'remove'],
  wordsMax: Infinity,
  takesRest: true,
  check: ({ words: [what = '', name, stray], rest }) => {
    assertName('secret', what, name)
    // The word may be the secret, so the message does not repeat it.
    if (stray !== undefined || rest !== undefined)
      throw new UsageError(
        `secret ${what} takes one name`,
        'the value is typed, or comes from standard input',
      )
    if (name !== undefined && !secretName.test(name))
      throw new UsageError(
        'the name cannot be used',
        'it has no braces, is one line, and does not begin with -',
      )
  },
  run: async ({ words: [what = '', name = ''] }) => {
    await actions[what]?.(name, ownSecrets())
    return 0
  },
})

type Action = (name: string, store: SecretStore) => Promise<void>

const actions: Readonly<Record<string, Action>> = {
  set: async (name, store) => {
    const value = await valueOf(name)
    if (value === '') throw new Failure('the value is empty, and nothing is changed', 2)
    const place = await store.set(name, value)
    const where = place === 'keyring' ? 'the keyring of the system' : store.path
    await print(`${name} is set, in ${where}`)
    if (place === 'file')
      await note(
        'no keyring of the system can be used, so the file, which only you can read, has the value unencrypted; npm install --global @napi-rs/keyring adds one where the system has it',
      )
  },
  list: async (_, store) => {
    const names = store.names()
    if (names.length === 0) return note('there is no secret; mcps-proxy secret set NAME makes one')
    return print(...names.map(({ name, place }) => `${name}${place === 'file' ? '' : '  (keyring)'}`))
  },
  remove: async (name, store) => {
    const names = store.names().map((each) => each.name)
    if (!(await store.remove(name))) throw new Failure(unknownName('secret', name, names))
    await print(`${name} is removed`)
  },
}

/** Every process of the machine can see arguments, so the value never comes from them. */
async function valueOf(name: string): Promise<string> {
  if (process.stdin.isTTY) return askHidden(`Value of ${name}, which is not shown: `)
  return (await text(process.stdin)).replace(/\r?\n$/, '')
}

/** Reads one line, which the terminal does not show. Standard input must be a terminal. */
async function askHidden(question: string): Promise<string> {
  process.stderr.write(escapeText(question))
  const answer = await askLine('', new Writable({ write: (_chunk, _encoding, done) => done() }))
  process.stderr.write('\n')
  return answer
}

/** Asks for the value of an input, as VS Code does; undefined for an empty answer without a default. */
export async function askInput(input: InputConfig): Promise<string | undefined> {
  const about = input.description ?? input.id
  const usual = input.default === undefined ? '' : ` [${input.default}]`
  for (const [at, option] of input.options.entries())
    process.stderr.write(`${escapeText(`  ${at + 1} ${option}`)}\n`)
  const answer = await (input.password ? askHidden : askLine)(`${about}${usual}: `)
  const value = input.options[Number(answer) - 1] ?? answer
  return value === '' ? input.default : value
}
