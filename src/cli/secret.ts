// `secret set`, `secret list` and `secret remove`: the secrets that `${keyring:NAME}` and `${input:ID}` refer to.

import process from 'node:process'
import { text } from 'node:stream/consumers'
import { secretsFile } from '../config/file.js'
import { escapeText } from '../text/escape.js'
import { realRuntime } from '../real-runtime.js'
import { SecretStore, SecretStoreError } from '../secrets/store.js'
import { unknownName } from '../text/nearest.js'
import { askHidden } from './ask-secret.js'
import { failed, say } from './say.js'
import type { SecretCommand } from './secret-options.js'

/** @returns the exit code */
export async function runSecret(command: SecretCommand): Promise<number> {
  const store = new SecretStore(secretsFile(process.env), realRuntime())
  try {
    return await actions[command.what](command.name, store)
  } catch (error) {
    if (error instanceof SecretStoreError) return failed(error.message, 1)
    throw error
  }
}

type Action = (name: string, store: SecretStore) => Promise<number>

const actions: Readonly<Record<SecretCommand['what'], Action>> = {
  set: async (name, store) => {
    const value = await valueOf(name)
    if (value === '') return failed('the value is empty, and nothing is changed', 2)
    const place = await store.set(name, value)
    const where = place === 'keyring' ? 'the keyring of the system' : store.path
    await say('stdout', `${escapeText(name)} is set, in ${escapeText(where)}\n`)
    if (place === 'file')
      await say(
        'stderr',
        `mcps-proxy: no keyring of the system can be used, so the file has the value as it is; only you can read it.\nnpm install --global @napi-rs/keyring adds the keyring where the system has one\n`,
      )
    return 0
  },
  list: async (_, store) => {
    const lines = store
      .names()
      .map(({ name, place }) => `${escapeText(name)}${place === 'file' ? '' : '  (keyring)'}\n`)
    await say('stdout', lines.join(''))
    return 0
  },
  remove: async (name, store) => {
    if (await store.remove(name)) {
      await say('stdout', `${escapeText(name)} is removed\n`)
      return 0
    }
    const names = store.names().map((each) => each.name)
    return failed(unknownName('secret', name, names), 1)
  },
}

/** Arguments are visible to every process of the machine, so the value never comes from there. */
async function valueOf(name: string): Promise<string> {
  if (process.stdin.isTTY) return askHidden(`Value of ${name}, which is not shown: `)
  return (await text(process.stdin)).replace(/\r?\n$/, '')
}
