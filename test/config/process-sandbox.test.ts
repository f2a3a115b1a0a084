// `sandbox` of a server that is started as a program.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Configuration } from '../../src/config/configuration.js'
import { ConfigError } from '../../src/config/problems.js'
import { resolveConfig } from '../../src/config/config.js'
import type { ProcessSandbox } from '../../src/upstream/contracts/server-config.js'

const home = '/home/ann'

function resolved(server: object): Configuration {
  const value = { mcpServers: { 'a b': { command: 'x', ...server } } }
  return resolveConfig(value, { source: 'f.json', folder: '/srv/project', env: { DATA: '/data' }, home })
}

function sandboxOf(config: Configuration): ProcessSandbox | undefined {
  const [server] = config.schemas.get('default')?.servers ?? []
  assert(server?.kind === 'stdio')
  return server.sandbox
}

const none = {
  home: '/home/ann/.mcps-proxy/sandboxed/a%20b-827ce11009e8',
  network: 'none',
  read: [],
  write: [],
  programs: [],
  untrusted: [],
}

describe('the sandbox of a server', { skip: process.platform !== 'linux' && 'it is for Linux' }, () => {
  const cases: readonly [string, object, ProcessSandbox | object | undefined][] = [
    ['absent', {}, undefined],
    ['empty', { sandbox: {} }, none],
    [
      'hosts',
      { sandbox: { network: ['a.example', '*.b.example:8443'] } },
      { ...none, network: ['a.example', '*.b.example:8443'] },
    ],
    ['no hosts', { sandbox: { network: [] } }, none],
    ['the network of the host', { sandbox: { network: 'host' } }, { ...none, network: 'host' }],
    [
      'paths',
      { sandbox: { filesystem: { read: ['${DATA}/in', 'docs'], write: ['~/out'] } } },
      { ...none, read: ['/data/in', '/srv/project/docs'], write: ['/home/ann/out'] },
    ],
  ]
  for (const [title, server, wanted] of cases)
    test(title, () => assert.deepEqual(sandboxOf(resolved(server)), wanted))

  const mistakes: readonly [unknown, RegExp][] = [
    [true, /\.sandbox is true; must be an object like/],
    [{ network: 'some' }, /sandbox\.network is "some"; must be one of "none", "host", or a list of hosts/],
    [{ network: ['localhost'] }, /sandbox\.network\[0\] is "localhost"; must be a name with a dot/],
    [
      { network: { allowedDomains: [] } },
      /sandbox\.network is an object; must be one of .* or a list of hosts/,
    ],
    [
      { filesystem: { allowRead: [] } },
      /sandbox\.filesystem\.allowRead is not a known key here; write "read"/,
    ],
    [{ filesystem: [] }, /sandbox\.filesystem is a list; must be an object like/],
    [
      { filesystem: { denyRead: ['/'] } },
      /sandbox\.filesystem\.denyRead is not a known key here; keys here are/,
    ],
    [{ write: ['/srv'] }, /sandbox\.write is not a known key here; write "filesystem": \{ "write": \[…\] \}/],
    [{ filesystem: { read: '/srv' } }, /sandbox\.filesystem\.read is a string; must be a list/],
  ]
  for (const [sandbox, wanted] of mistakes)
    test(`refuses ${JSON.stringify(sandbox)}`, () => {
      assert.throws(
        () => resolved({ sandbox }),
        (error) => error instanceof ConfigError && wanted.test(error.message),
      )
    })

  test('warns of the network of the host', () =>
    assert.match(
      String(resolved({ sandbox: { network: 'host' } }).warnings.map(({ message }) => message)),
      /^has the network "host"/,
    ))
})
