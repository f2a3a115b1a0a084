// What a sandbox is configured with: a file, and variables for what the file leaves out.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConfigError } from '../../src/config/problems.js'
import { resolveConfig } from '../../src/config/config.js'
import type { SandboxServerConfig } from '../../src/upstream/contracts/server-config.js'

type Env = Readonly<Record<string, string>>

function sandbox(section: object, env: Env = {}, more: object = {}): SandboxServerConfig {
  const config = resolveConfig(
    { ...more, mcpServers: { s: { type: 'sandbox', ...section } } },
    { source: 'test', folder: '/folder', env, home: '/home/ann' },
  )
  const [server] = config.schemas.get('default')?.servers ?? []
  assert(server?.kind === 'sandbox')
  return server
}

function problems(section: object, env: Env = {}): string[] {
  try {
    sandbox(section, env)
    return []
  } catch (error) {
    assert(error instanceof ConfigError)
    return error.problems.map(({ path, problem, hint }) => `${path} ${problem}; ${hint}`)
  }
}

const wrongHosts = [
  'localhost',
  '*',
  '*.com',
  'a.*.example',
  'x*.example.com',
  '127.0.0.1',
  '10.0x7f',
  '::1',
  'https://a.example',
  'a.example/path',
  'a.example:',
  'a.example:0',
  'a.example:65536',
  'user@a.example',
  'bücher.example',
  `${'a.'.repeat(130)}example`,
]

describe('a sandbox', () => {
  test('has defaults', () => {
    const { sandbox: settings, timeoutMs, totalTimeoutMs, olderNames } = sandbox({})
    assert.deepEqual(settings, {
      runtime: 'auto',
      serverUrl: undefined,
      apiKey: undefined,
      sessionTimeoutMs: 1_800_000,
      cleanupIntervalMs: 60_000,
      orphanCleanupIntervalMs: 600_000,
      sessionsMax: 10,
      evictsIdle: true,
      memoryMiBMax: undefined,
      defaultFlavor: 'small',
      machineStartTimeoutMs: 180_000,
      executionTimeoutMs: 300_000,
      executionTimeoutMsMax: 300_000,
      volumes: [],
      programs: [],
      runAs: undefined,
      network: { kind: 'none' },
      templates: ['python', 'node'].map((name) => {
        return { name, language: name, interpreter: undefined, image: undefined, env: {} }
      }),
      files: true,
      outputBytesMax: 65_536,
      sessions: 'shared',
    })
    assert.deepEqual([timeoutMs, totalTimeoutMs], [490_000, 490_000])
    assert.equal(olderNames?.get('get_volume_mappings'), 'get_volume_path')
    assert.equal(sandbox({ timeout: 5 }).timeoutMs, 5)
  })

  test('takes from the environment what the file leaves out', () => {
    const env = {
      MSB_RUNTIME: 'microsandbox-server',
      MSB_SERVER_URL: 'http://127.0.0.1:5555',
      MSB_API_KEY: 'msb_1234567',
      MSB_SESSION_TIMEOUT: '70',
      MSB_CLEANUP_INTERVAL: '8',
      MSB_ORPHAN_CLEANUP_INTERVAL: '9',
      MSB_MAX_SESSIONS: '11',
      MSB_ENABLE_LRU_EVICTION: 'false',
      MSB_MAX_TOTAL_MEMORY_MB: '4096',
      MSB_DEFAULT_FLAVOR: 'large',
      MSB_SANDBOX_START_TIMEOUT: '12',
      MSB_EXECUTION_TIMEOUT: '400',
      MSB_SHARED_VOLUME_PATH: '["/a:/b"]',
    }
    const { sandbox: settings, secrets } = sandbox({ maxSessions: 2 }, env)
    assert.deepEqual(
      [
        settings.runtime,
        settings.serverUrl,
        settings.apiKey,
        settings.sessionTimeoutMs,
        settings.cleanupIntervalMs,
        settings.orphanCleanupIntervalMs,
        settings.sessionsMax,
        settings.evictsIdle,
        settings.memoryMiBMax,
        settings.defaultFlavor,
        settings.machineStartTimeoutMs,
        settings.executionTimeoutMs,
        settings.executionTimeoutMsMax,
      ],
      [
        'microsandbox-server',
        'http://127.0.0.1:5555',
        'msb_1234567',
        70_000,
        8000,
        9000,
        2,
        false,
        4096,
        'large',
        12_000,
        400_000,
        400_000,
      ],
    )
    assert.deepEqual(settings.volumes, [{ hostPath: '/a', guestPath: '/b', isReadOnly: false }])
    assert.deepEqual(secrets, ['msb_1234567'])
  })

  test('reads volumes in each of their forms', () => {
    const forms: readonly (readonly [string, readonly string[]])[] = [
      ['["/a:/b:ro", "c:/d"]', ['/a /b true', '/folder/c /d false']],
      ['/a:/b, ~/c:/d:ro', ['/a /b false', '/home/ann/c /d true']],
      ['/a:/b:rw', ['/a /b false']],
    ]
    for (const [written, want] of forms) {
      const { volumes } = sandbox({}, { MSB_SHARED_VOLUME_PATH: written }).sandbox
      assert.deepEqual(
        volumes.map(({ hostPath, guestPath, isReadOnly }) => `${hostPath} ${guestPath} ${isReadOnly}`),
        want,
      )
    }
  })

  test('names each value that is wrong', () => {
    const wrong: readonly (readonly [section: object, env: Env, problem: string])[] = [
      [{ maxSessions: 0 }, {}, 'mcpServers.s.maxSessions is 0; must be an integer from 1 to 10000'],
      [{ runtime: 'chroot' }, {}, 'mcpServers.s.runtime is "chroot"; must be one of "auto"'],
      [
        { network: 'all' },
        {},
        'mcpServers.s.network is "all"; must be one of "none", "host", or an object like',
      ],
      [
        { network: ['a.example'] },
        {},
        'mcpServers.s.network is a list; must be one of "none", "host", or an object',
      ],
      [{ network: {} }, {}, 'mcpServers.s.network.allow is missing; must be a list of hosts'],
      [{ network: { allow: [] } }, {}, 'mcpServers.s.network.allow is empty; must be a list of hosts'],
      [{ network: { allow: 'a.example' } }, {}, 'mcpServers.s.network.allow is a string; must be a list of'],
      ...wrongHosts.map((host): readonly [object, Env, string] => [
        { network: { allow: [host, 'a.example'] } },
        {},
        `mcpServers.s.network.allow[0] is ${JSON.stringify(host).slice(0, 20)}`,
      ]),
      [{ runAs: 'a b' }, {}, 'mcpServers.s.runAs is "a b"; must be like "ann", "ann:staff" or "1000:1000"'],
      [{ volumes: ['/a'] }, {}, 'mcpServers.s.volumes[0] is "/a"; must be like "/srv/data:/data"'],
      [
        { defaultFlavor: 'medium', maxTotalMemoryMb: 2047 },
        {},
        'mcpServers.s.maxTotalMemoryMb is 2047; must be at least 2048, the memory of one session of the flavor medium',
      ],
      [{}, { MSB_MAX_TOTAL_MEMORY_MB: '512' }, 'mcpServers.s.maxTotalMemoryMb is 512; must be at least 1024'],
      [
        { cleanupInterval: 10, sessionTimeout: 9 },
        {},
        'mcpServers.s.cleanupInterval is 10; must not be more than sessionTimeout, which is 9',
      ],
      [
        {},
        { MSB_CLEANUP_INTERVAL: '100', MSB_SESSION_TIMEOUT: '60' },
        'mcpServers.s.cleanupInterval is 100; must not be more than sessionTimeout, which is 60',
      ],
      [
        { runtime: 'microsandbox-server', network: 'none' },
        {},
        'mcpServers.s.network is "none"; is not held by a microsandbox server',
      ],
      [{ executionTimeout: 9, maxTimeout: 5 }, {}, 'mcpServers.s.maxTimeout is 5; must not be less than'],
      [
        { templates: { r: {} } },
        {},
        'mcpServers.s.templates.r.language is missing; must be one of "python", "node"',
      ],
      [{}, { MSB_SESSION_TIMEOUT: '-1' }, '$MSB_SESSION_TIMEOUT is -1; must be an integer from 1 to'],
      [
        {},
        { MSB_ENABLE_LRU_EVICTION: 'maybe' },
        '$MSB_ENABLE_LRU_EVICTION is "maybe"; must be true or false',
      ],
      [
        {},
        { MSB_SHARED_VOLUME_PATH: '{}' },
        '$MSB_SHARED_VOLUME_PATH is an object; must be a list of strings',
      ],
      [
        {},
        { MSB_SHARED_VOLUME_PATH: 'x' },
        '$MSB_SHARED_VOLUME_PATH[0] is "x"; must be like "/srv/data:/data"',
      ],
    ]
    for (const [section, env, problem] of wrong) {
      const [found = '', ...others] = problems(section, env)
      assert.deepEqual([found.startsWith(problem), others], [true, []], found)
    }
    assert.deepEqual(problems({ maxSessions: 3 }, { MSB_MAX_SESSIONS: 'x' }), [], 'the file stands above it')
  })

  test('takes hosts that code may reach', () => {
    const hosts = ['Example.com', '*.example.org', 'api.example.net:8443', 'xn--bcher-kva.example:65535']
    assert.deepEqual(sandbox({ network: { allow: hosts } }).sandbox.network, { kind: 'allow', hosts })
    assert.deepEqual(sandbox({ network: 'host' }).sandbox.network, { kind: 'host' })
  })

  test('keeps sessions of clients apart behind a token, unless it says otherwise', () => {
    const guarded = { server: { token: 'secret-token' } }
    assert.equal(sandbox({}, {}, guarded).sandbox.sessions, 'client')
    assert.equal(sandbox({ sessions: 'shared' }, {}, guarded).sandbox.sessions, 'shared')
    assert.equal(sandbox({}, { MCPS_PROXY_TOKEN: 'secret-token' }).sandbox.sessions, 'client')
    assert.equal(sandbox({}).sandbox.sessions, 'shared')
  })
})
