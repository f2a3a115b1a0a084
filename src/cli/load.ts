// Reads the configuration of a command, with the secrets that the configuration refers to.

import { resolve } from 'node:path'
import process from 'node:process'
import type { Configuration, SchemaConfig } from '../config/configuration.js'
import { homeOf, ownPath } from '../config/file.js'
import { type LoadOptions, loadConfig, selectProfile, selectSchema } from '../config/config.js'
import type { View } from './common-options.js'
import { type AskInput, withSecrets } from '../secrets/load.js'

export interface SecretNeeds {
  /** The only schema that the command uses; undefined means every enabled schema. */
  readonly schema?: string | undefined
  /** Whether a person may be asked for inputs that have no value. */
  readonly asks?: boolean
  /** Absent: true. */
  readonly runsPrograms?: boolean
}

/** @throws ConfigError with every problem of the file */
export function loadWithSecrets(options: LoadOptions, use: SecretNeeds = {}): Promise<Configuration> {
  const { env = process.env } = options
  const { schema, asks = false, runsPrograms = true } = use
  const isTerminal = process.stdin.isTTY && process.stderr.isTTY
  return withSecrets((references) => loadConfig({ ...options, references }), {
    secretsFile: ownPath(homeOf(env), 'secrets.json'),
    schema,
    runsPrograms,
    ask: asks && isTerminal ? askOnTerminal : undefined,
  })
}

/** The configuration of a command about one view, and the servers of that view. @throws ConfigError */
export async function loadView(
  { config: path, schema: named = 'default', profile: shown }: View,
  timeoutMs?: number,
): Promise<{ readonly config: Configuration; readonly schema: SchemaConfig }> {
  const use = { schema: shown === undefined ? named : undefined, asks: true }
  const config = await loadWithSecrets({ path, servesHttp: false, timeoutMs }, use)
  const profile = shown === undefined ? undefined : selectProfile(config, shown)
  const schema = selectSchema(config, profile?.schema ?? named)
  const servers = schema.servers.filter(({ name }) => profile?.servers?.includes(name) ?? true)
  return { config, schema: { ...schema, servers } }
}

export function recordedTo(record: string | undefined): readonly string[] {
  return record === undefined ? [] : [resolve(record)]
}

const askOnTerminal: AskInput = async (input) => (await import('./secret.js')).askInput(input)
