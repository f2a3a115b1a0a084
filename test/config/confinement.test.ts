// How the confinement of one server affects its start, and other servers.

import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Configuration } from '../../src/config/configuration.js'
import { loadConfig } from '../../src/config/config.js'
import type { StdioServerConfig } from '../../src/upstream/contracts/server-config.js'
import { type Scope, scratch } from '../integration/support/spawned.js'

const skip = process.platform !== 'linux' && 'it is for Linux'

/** A home with a project that contains the configuration. */
function loaded(t: Scope, servers: object, more: object = {}, path = ''): Configuration & { top: string } {
  const top = scratch(t)
  for (const folder of ['project/conf', 'project/src', 'bin', 'out'])
    mkdirSync(join(top, folder), { recursive: true })
  symlinkSync('project', join(top, 'alias'))
  const file = join(top, 'project/conf/mcp.json')
  writeFileSync(file, JSON.stringify({ mcpServers: servers, ...more }).replaceAll('$TOP', top))
  const env = { HOME: top, PATH: path.replaceAll('$TOP', top) }
  return { ...loadConfig({ path: file, env, home: top, cwd: top }), top }
}

function serverOf(config: Configuration, name: string): StdioServerConfig {
  const server = config.schemas.get('default')?.servers.find((each) => each.name === name)
  assert(server?.kind === 'stdio')
  return server
}

describe('a server whose sandbox is open to what the proxy obeys', { skip }, () => {
  const cases: readonly (readonly [
    title: string,
    write: string,
    read: string | undefined,
    reached: string | undefined,
  ])[] = [
    ['another folder', '$TOP/out', undefined, undefined],
    ['the folder of the configuration', '$TOP/project/conf', undefined, 'project/conf/mcp.json'],
    ['a folder above it', '$TOP/project', undefined, 'project/conf/mcp.json'],
    ['a link to one', '$TOP/alias', undefined, 'project/conf/mcp.json'],
    ['a folder beside it', '$TOP/project/src', undefined, undefined],
    ['a folder above it, and reads that itself', '$TOP/project', '$TOP/project/conf', undefined],
    [
      'a folder above it, and reads the file alone',
      '$TOP/project',
      '$TOP/project/conf/mcp.json',
      'project/conf/mcp.json',
    ],
    ['a folder far above it, and reads that itself', '$TOP', '$TOP/project/conf', '.mcps-proxy/config.json'],
    ['the place of the lock', '$TOP/named/locks', undefined, 'named/locks/deep/mcps.lock'],
    ['the file of its variables', '$TOP/named/env', undefined, 'named/env/.env'],
    ['the file of a secret', '$TOP/named/key', undefined, 'named/key/file'],
    ['the program of a secret', '$TOP/named/cmd', undefined, 'named/cmd/get'],
    ['the program of another server', '$TOP/named/bin', undefined, 'named/bin/serve'],
    ['its own program', '$TOP/own', undefined, undefined],
    ['the homes of others', '~/.mcps-proxy/sandboxed', undefined, '.mcps-proxy/sandboxed'],
    ['the home of one', '~/.mcps-proxy/sandboxed/x', undefined, '.mcps-proxy/sandboxed'],
    ['kept lists', '~/.mcps-proxy/kept', undefined, '.mcps-proxy/kept'],
  ]
  for (const [title, write, read, reached] of cases)
    test(`${title}: ${reached === undefined ? 'starts' : 'is refused'}`, (t) => {
      const filesystem = { write: [write], ...(read !== undefined && { read: [read] }) }
      const other = {
        command: '$TOP/named/bin/serve',
        envFile: '$TOP/named/env/.env',
        env: { A: '${file:$TOP/named/key/file}', B: '${cmd:"$TOP/named/cmd/get" x}' },
      }
      const lock = { file: '$TOP/named/locks/deep/mcps.lock' }
      const s = { command: '$TOP/own/x', sandbox: { filesystem } }
      const config = loaded(t, { s, other }, { lock })
      const { unavailable } = serverOf(config, 's')
      if (reached === undefined) return assert.equal(unavailable, undefined)
      const folder = write.replace('~', config.top).replace('$TOP', config.top)
      assert(
        unavailable?.startsWith(
          `what it runs may write ${folder}, and could replace ${join(config.top, reached)}`,
        ),
        unavailable,
      )
      assert(config.warnings.some(({ message }) => message === `is disabled: ${unavailable}`))
    })

  const volumes: readonly (readonly [volume: string, isRefused: boolean])[] = [
    ['$TOP/project:/data', true],
    ['$TOP/project:/data:ro', false],
    ['$TOP/out:/data', false],
  ]
  for (const [volume, isRefused] of volumes)
    test(`the volume ${volume}`, (t) => {
      const [server] =
        loaded(t, { box: { type: 'sandbox', volumes: [volume] } }).schemas.get('default')?.servers ?? []
      assert.equal(server?.unavailable?.includes('add :ro to'), isRefused || undefined)
    })
})

test('a folder of PATH that a confined server may write is skipped for the others', { skip }, (t) => {
  const sandbox = { filesystem: { write: ['$TOP/bin'] } }
  const servers = {
    writer: { command: 'x', sandbox },
    other: { command: 'x' },
    own: { command: 'x', env: { PATH: '$TOP/bin/deep:/bin' } },
  }
  const config = loaded(t, servers, {}, '/usr/bin:$TOP/bin:$TOP/project')
  assert.equal(serverOf(config, 'other').env['PATH'], `/usr/bin:${config.top}/project`)
  assert.equal(serverOf(config, 'own').env['PATH'], '/bin')
  assert.equal(serverOf(config, 'writer').env['PATH'], undefined)
  const [warning] = config.warnings
  assert.equal(warning?.path, 'mcpServers.writer')
  assert(
    warning.message.startsWith(`may write ${config.top}/bin, ${config.top}/bin/deep of PATH`),
    warning.message,
  )
})

test('a home belongs to the name of a server in one schema of one file', { skip }, (t) => {
  const server = { command: 'x', sandbox: {} }
  const one = loaded(t, { s: server, other: server })
  const homes = [one, loaded(t, { s: server })].flatMap((config) =>
    [...config.schemas.values()].flatMap(({ servers }) =>
      servers.map((each) => each.kind === 'stdio' && each.sandbox?.home.slice(config.top.length)),
    ),
  )
  assert.equal(new Set(homes).size, 3)
})
