// The reference server of the conformance runs, both ways, and a gateway in front of a server.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { type Gateway } from '../../../src/gateway/gateway.js'
import { root } from './programs.js'
import type { Scope } from './spawned.js'
import { gatewayOf } from './gateway.js'

const program = resolve(root, 'test/programs/reference.mjs')

/** Starts the reference over Streamable HTTP; gives its address. */
export async function referenceUrl(scope: Scope): Promise<string> {
  const child = spawn(process.execPath, [program, '--http', '0'], { stdio: ['ignore', 'pipe', 'inherit'] })
  scope.after(() => void child.kill('SIGKILL'))
  const [url]: unknown[] = await once(createInterface({ input: child.stdout }), 'line')
  if (typeof url !== 'string') throw new Error(`${program} does not say where it is`)
  return url
}

/** The reference as a configuration names it. */
export const references = {
  stdio: (): Promise<object> => Promise.resolve({ command: process.execPath, args: [program] }),
  'Streamable HTTP': async (scope: Scope): Promise<object> => ({
    type: 'http',
    url: await referenceUrl(scope),
  }),
}

/** A gateway in front of one server, which is seen as it is. */
export async function gatewayTo(scope: Scope, server: object): Promise<Gateway> {
  const entry = { ...server, prefix: false, describe: false }
  const gateway = await gatewayOf(scope, { mcpServers: { reference: entry } })
  return gateway
}
