// The stdio mode: one client, which started this process, and one schema.
//
// stdout belongs to the protocol, so everything said here goes to stderr.

import { resolve } from 'node:path'
import process from 'node:process'
import { refuseLoop } from '../config/chain.js'
import { selectProfile, selectSchema } from '../config/config.js'
import type { Configuration } from '../config/configuration.js'
import type { StdioCommand } from './serve-options.js'
import { loadWithSecrets } from './load.js'
import { type Invocation, runPlan } from './run.js'

/**
 * Serves until the client leaves, says `exit`, or a signal comes; everything is flushed and closed then.
 *
 * @returns the exit code.
 * @throws ConfigError when the configuration cannot be used.
 */
export async function runStdio(command: StdioCommand, invocation: Invocation): Promise<number> {
  const config = await configOf(command, invocation)
  const schema = selectSchema(config, schemaOf(command, config))
  const isFile = command.remote === undefined
  // A process that starts no server starts no loop either.
  if (isFile) refuseLoop(config, [schema.name], process.env)
  const read = isFile
    ? (path: string | undefined) => fileConfig({ ...command, config: path }, invocation)
    : undefined
  const plan = { ...invocation, command, config, read, schemasOf: () => [schema.name] }
  const findCredentials = async (): Promise<void> => {
    // Without the credentials of the one remote server nothing is read from stdin.
    if (!isFile) await (await import('../proxy/remote.js')).checkCredentials(schema)
  }
  return runPlan(plan, findCredentials, async (run) => {
    const { serveStdio } = await import('./serve-stdio.js')
    return serveStdio(run, schema)
  })
}

/** One remote server is a configuration too. */
async function configOf(command: StdioCommand, invocation: Invocation): Promise<Configuration> {
  const { remote, timeoutMs } = command
  if (remote === undefined) return fileConfig(command, invocation, true)
  const { remoteConfig } = await import('../proxy/remote.js')
  return remoteConfig(remote, timeoutMs, invocation.program)
}

async function fileConfig(
  { config: path, timeoutMs, schema, server, profile, record }: StdioCommand,
  { program }: Invocation,
  asks = false,
): Promise<Configuration> {
  const files = record === undefined ? [] : [resolve(record)]
  const door = server === undefined ? undefined : { schema, server }
  const config = await loadWithSecrets(
    { path, timeoutMs, files, nameDefault: program, servesHttp: false, door },
    { schema: profile === undefined ? schema : undefined, asks },
  )
  // Also of a file that is read again: without its profile a client has nothing.
  if (profile !== undefined) selectProfile(config, profile)
  return config
}

function schemaOf({ schema, profile }: StdioCommand, config: Configuration): string {
  return profile === undefined ? schema : selectProfile(config, profile).schema
}
