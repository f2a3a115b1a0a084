// Reads the configuration of a command, with the secrets that it refers to.

import process from 'node:process'
import type { Configuration } from '../config/configuration.js'
import { secretsFile } from '../config/file.js'
import { type LoadOptions, loadConfig } from '../config/config.js'
import { type AskInput, withSecrets } from '../secrets/load.js'

/** The secrets that a command needs. */
export interface SecretNeeds {
  /** The only schema that it uses; undefined is every enabled one. */
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
    secretsFile: secretsFile(env),
    schema,
    runsPrograms,
    ask: asks && isTerminal ? askOnTerminal : undefined,
  })
}

const askOnTerminal: AskInput = async (input) => (await import('./ask-secret.js')).askInput(input)
