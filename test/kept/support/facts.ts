// Facts of servers, to be kept.

import type { ListKind } from '../../../src/mcp/methods.js'
import type { KeptFacts } from '../../../src/upstream/contracts/kept.js'
import { resolveConfig } from '../../../src/config/config.js'
import type { ServerConfig } from '../../../src/upstream/contracts/server-config.js'

/** A server that has said what it is, with these tools and nothing else. */
export function factsOf(...tools: string[]): KeptFacts {
  return {
    failure: undefined,
    description: {
      handshake: Buffer.from('{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}'),
      lists: new Map<ListKind, readonly Uint8Array[]>([
        ['tools', tools.map((name) => Buffer.from(`{"name":"${name}"}`))],
      ]),
      probeFailed: false,
    },
  }
}

/** The names of its tools, as far as they are known. */
export function toolsOf(facts: KeptFacts | undefined): string[] | undefined {
  return facts?.description?.lists.get('tools')?.map((item) => {
    const tool: unknown = JSON.parse(Buffer.from(item).toString())
    return String(typeof tool === 'object' && tool !== null && 'name' in tool ? tool.name : tool)
  })
}

/** A server as a configuration has it. */
export function serverOf(
  entry: Record<string, unknown>,
  env: Record<string, string> = {},
  name = 's',
): ServerConfig {
  const value = { mcpServers: { [name]: entry } }
  const config = resolveConfig(value, { source: 'test', folder: '/work', env, home: '/home/it' })
  const [server] = config.schemas.get('default')?.servers ?? []
  if (server === undefined) throw new Error('there is no server')
  return server
}
