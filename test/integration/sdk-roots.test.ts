// Official clients with a folder each, and server-filesystem, which asks for their roots as soon as it may.

import assert from 'node:assert/strict'
import { mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { textAt } from './support/json.js'
import { cli, filesystem } from './support/programs.js'
import { clientLibrary, missing, stdioLibrary } from './support/sdk-v2.js'
import { type Scope, configFile, scratch } from './support/spawned.js'
import { gatewayOf } from './support/gateway.js'

const names = ['ann', 'bob']

/** A folder for each client, and one that the server is started with. */
function folders(t: Scope): { readonly home: string; readonly common: string; readonly server: object } {
  const home = realpathSync(scratch(t))
  for (const name of [...names, 'common']) mkdirSync(join(home, name))
  const common = join(home, 'common')
  return { home, common, server: { s: filesystem(common) } }
}

async function served(t: Scope, servers: object): Promise<URL> {
  const gateway = await gatewayOf(t, { mcpServers: servers })
  return new URL(`${gateway.origin}/mcp`)
}

const uriOf = (home: string, name: string): string => pathToFileURL(join(home, name)).href

const listFolder = (path: string): { name: string; arguments: { path: string } } => ({
  name: 's__list_directory',
  arguments: { path },
})

describe('roots of official clients', () => {
  test('reach the process of each session before its first call', async (t) => {
    const { home, server } = folders(t)
    const url = await served(t, server)
    for (const name of names) {
      const client = new Client({ name, version: '1' }, { capabilities: { roots: {} } })
      client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: uriOf(home, name), name }] }))
      await client.connect(new StreamableHTTPClientTransport(url))
      t.after(() => client.close())
      for (const folder of names) {
        const result = await client.callTool(listFolder(join(home, folder)))
        assert.equal(result.isError === true, folder !== name, JSON.stringify(result))
      }
    }
  })

  const pinned = { capabilities: { roots: {} }, versionNegotiation: { mode: { pin: '2026-07-28' } } }

  test('reach a server on stdio of a client of 2026-07-28', { skip: missing }, async (t) => {
    const { home, server } = folders(t)
    const { Client: Newer } = await clientLibrary()
    const { StdioClientTransport } = await stdioLibrary()
    const client = new Newer({ name: 'ann', version: '2' }, pinned)
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: uriOf(home, 'ann'), name: 'ann' }] }))
    const args = [cli, '--stdio', '--config', configFile(t, { ...server })]
    const env = { ...process.env, HOME: scratch(t) }
    await client.connect(new StdioClientTransport({ command: process.execPath, args, env, stderr: 'ignore' }))
    t.after(() => client.close())
    assert.equal(textAt(await client.callTool(listFolder(join(home, 'ann'))), 'content', 0, 'text'), '')
  })

  test('reach no server that clients of 2026-07-28 share', { skip: missing }, async (t) => {
    const { home, common, server } = folders(t)
    const url = await served(t, server)
    const library = await clientLibrary()
    const asked: string[] = []
    for (const name of names) {
      const client = new library.Client({ name, version: '2' }, pinned)
      client.setRequestHandler('roots/list', () => {
        asked.push(name)
        return { roots: [{ uri: uriOf(home, name), name }] }
      })
      await client.connect(new library.StreamableHTTPClientTransport(url))
      t.after(() => client.close())
      const allowed = await client.callTool({ name: 's__list_allowed_directories', arguments: {} })
      assert.equal(textAt(allowed, 'content', 0, 'text'), `Allowed directories:\n${common}`)
    }
    assert.deepEqual(asked, [])
  })
})
