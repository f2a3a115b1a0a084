// The types of a written configuration agree with the validator.
// Each line under `@ts-expect-error` must be wrong to the compiler, or this file does not compile.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConfigError } from '../../src/config/problems.js'
import { resolveConfig } from '../../src/config/config.js'
import { type ConfigurationJson, type ServerJson } from '../../src/index.js'

const context = { source: 'test', folder: '/', env: {}, home: '/nowhere' }

/** Every section, and every kind of value. */
const right: Readonly<Record<string, ConfigurationJson>> = {
  'the servers of most clients': { mcpServers: { a: { command: 'a', args: ['b'], env: { C: 'd' } } } },
  'the servers of editors': { servers: { a: { type: 'stdio', command: 'a' } } },
  'named groups': {
    $schema: './config.schema.json',
    server: {
      port: 0,
      allowedHosts: ['h.example'],
      token: undefined,
      cors: { origins: ['https://a.example'] },
    },
    cli: { stdio: { timeout: 1000, encoding: 'utf-8', delimiter: '\n' } },
    logging: { level: 'debug', file: 'f.log', maxSize: '10MB', console: false },
    startupGraceMs: 1,
    prefix: false,
    schemas: { default: { mcpServers: {} }, other: { enabled: false, describe: false, mcpServers: {} } },
  },
  'a program': {
    mcpServers: {
      a: {
        $comment: 'why',
        command: 'a',
        inheritEnv: true,
        memoryLimitMB: 512,
        isolation: 'session',
        onTimeout: 'restart',
        argumentChecks: 'off',
        tools: { allow: ['x'], rename: { x: 'y' } },
      },
      b: { command: 'b', inheritEnv: ['HOME_OF_B'], lazy: true, keep: false },
    },
  },
  'remote servers': {
    mcpServers: {
      a: { url: 'https://a.example/mcp', headers: { 'X-Key': 'k' }, proxy: false, auth: { type: 'none' } },
      b: {
        type: 'streamable-http',
        url: 'https://b.example/mcp',
        retries: 1,
        tls: { servername: 'c.example' },
      },
      c: { type: 'sse', url: 'https://c.example/sse', reconnectInterval: 5 },
      d: { serverUrl: 'https://d.example/mcp' },
      e: { httpUrl: 'https://e.example/mcp' },
    },
  },
}

for (const [title, config] of Object.entries(right))
  test(`a configuration that compiles is taken as it is: ${title}`, () => {
    const { warnings } = resolveConfig(config, context)
    const unknownKeys = warnings.filter(({ message }) => message.includes('not a known key'))
    assert.deepEqual(unknownKeys, [])
  })

// @ts-expect-error -- no servers
const noServers: ConfigurationJson = { startupGraceMs: 5 }
// @ts-expect-error -- text for a number
const textForNumber: ConfigurationJson = { mcpServers: {}, startupGraceMs: '5' }
// @ts-expect-error -- a choice that there is not
const noSuchLevel: ConfigurationJson = { mcpServers: {}, logging: { level: 'loud' } }
// @ts-expect-error -- no schema
const noSchema: ConfigurationJson = { schemas: { default: { enabled: true } } }
// @ts-expect-error -- neither a command nor an address
const nothingToReach: ServerJson = { lazy: true }
// @ts-expect-error -- text for a list
const textForList: ServerJson = { command: 'a', args: 'b' }
// @ts-expect-error -- a number for text in a map
const numberInMap: ServerJson = { command: 'a', env: { B: 1 } }
// @ts-expect-error -- a type that there is not
const noSuchType: ServerJson = { type: 'websocket', url: 'https://a.example' }
// @ts-expect-error -- a type that needs a command
const noCommand: ServerJson = { type: 'stdio' }
// @ts-expect-error -- credentials without a type
const noAuthType: ServerJson = { url: 'https://a.example', auth: { audience: 'b' } }
// @ts-expect-error -- text in a block
const textForTools: ServerJson = { command: 'a', tools: { allow: 'x' } }
// @ts-expect-error -- a key that there is not
const unknownKey: ServerJson = { command: 'a', memoryLimit: 5 }

const wrong: Readonly<Record<string, ConfigurationJson>> = { noServers, textForNumber, noSuchLevel, noSchema }

const wrongServers: Readonly<Record<string, ServerJson>> = {
  nothingToReach,
  textForList,
  numberInMap,
  noSuchType,
  noCommand,
  noAuthType,
  textForTools,
}

describe('a configuration that does not compile', () => {
  for (const [title, config] of Object.entries(wrong))
    test(`is refused: ${title}`, () => assert.throws(() => resolveConfig(config, context), ConfigError))

  for (const [title, a] of Object.entries(wrongServers))
    test(`is refused: ${title}`, () =>
      assert.throws(() => resolveConfig({ mcpServers: { a } }, context), ConfigError))

  test('is warned of, where a key is not known', () => {
    const { warnings } = resolveConfig({ mcpServers: { a: unknownKey } }, context)
    assert.match(JSON.stringify(warnings), /memoryLimit.*not a known key/)
  })
})
