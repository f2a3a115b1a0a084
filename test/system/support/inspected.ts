// The proxy with its inspector, and clients of it.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { StdioServerJson } from '../../../src/index.js'
import { root } from '../../integration/support/programs.js'
import { type Scope, Spawned, inspectorOf, scratch } from '../../integration/support/spawned.js'

/** A proxy with `--ui`. */
export interface Inspected {
  /** With the key. */
  readonly address: string
  readonly origin: string
  readonly process: Spawned
  connect(name: string): Promise<Client>
}

export async function startInspected(
  scope: Scope,
  mcpServers: Readonly<Record<string, StdioServerJson>>,
  more: object = {},
): Promise<Inspected> {
  const config = join(scratch(scope), 'config.json')
  writeFileSync(config, JSON.stringify({ mcpServers, ...more }))
  const args = [
    join(root, 'dist/cli.js'),
    'http',
    '--ui',
    '--port',
    '0',
    '--no-kept-lists',
    '--config',
    config,
  ]
  const process = new Spawned(globalThis.process.execPath, args)
  scope.after(() => process.kill())
  const address = await inspectorOf(process)
  const { origin } = new URL(address)
  return {
    address,
    origin,
    process,
    connect: async (name) => {
      const client = new Client({ name, version: '1' })
      await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', origin)))
      scope.after(() => client.close())
      return client
    },
  }
}
