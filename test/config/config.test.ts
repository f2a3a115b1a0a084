import { strict as assert } from 'node:assert'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join, resolve, sep } from 'node:path'
import { after, describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { ConfigError } from '../../src/config/problems.js'
import { loadConfig, resolveConfig, secretsIn, selectSchema } from '../../src/config/config.js'
import type { Configuration, Environment } from '../../src/config/configuration.js'
import { needsToken } from '../../src/config/front.js'
import { configJsonSchema } from '../../src/config/json-schema.js'
import { latestStateless } from '../../src/mcp/revisions.js'
import { readJson } from '../../src/config/json-syntax.js'
import type { ServerConfig } from '../../src/upstream/contracts/server-config.js'

const folder = mkdtempSync(join(tmpdir(), 'mcps-config-'))
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))

function read(value: unknown, env: Environment = {}): Configuration {
  return resolveConfig(value, { source: 'memory', folder: '/work', env, home: '/home/me' })
}

const hash = 'ab'.repeat(32)

function failureOf(run: () => unknown): ConfigError {
  try {
    run()
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  return assert.fail('expected a ConfigError')
}

function problemsOf(value: unknown, env: Environment = {}): string[] {
  return failureOf(() => read(value, env)).problems.map(
    ({ path, problem, hint }) => `${path}|${problem}|${hint}`,
  )
}

function warningsOf(value: unknown, env: Environment = {}): string[] {
  return read(value, env).warnings.map(({ path, message }) => `${path}|${message}`)
}

function server(value: unknown, env: Environment = {}): ServerConfig {
  const [only] = read({ mcpServers: { s: value } }, env).schemas.get('default')?.servers ?? []
  return only ?? assert.fail('no server')
}

function stdioServer(value: unknown, env: Environment = {}): ServerConfig & { kind: 'stdio' } {
  const found = server(value, env)
  return found.kind === 'stdio' ? found : assert.fail(`a ${found.kind} server`)
}

function httpServer(value: unknown, env: Environment = {}): ServerConfig & { kind: 'http' | 'sse' } {
  const found = server(value, env)
  return found.kind === 'http' || found.kind === 'sse' ? found : assert.fail(`a ${found.kind} server`)
}

const file = (name: string, text: string | Uint8Array, mode = 0o600): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  chmodSync(path, mode)
  return path
}

const one = { command: 'x' }
const full = {
  $schema: './config.schema.json',
  server: {
    port: 8080,
    host: '0.0.0.0',
    name: 'gate',
    version: '7.0.0',
    allowedHosts: ['mcp.example.com', '[::1]:8080'],
    clientAddressField: 'X-Forwarded-For',
    drainTimeout: 9000,
    token: 'the-token',
    tokens: [{ name: 'ci', sha256: hash, profiles: ['review'], expires: '2027-01-01' }],
    publicUrl: 'https://mcp.example.com/gate',
    auth: {
      issuers: [
        {
          issuer: 'https://auth.example.com',
          audience: ['api://mcp'],
          algorithms: ['PS256'],
          jwksUri: 'http://localhost:8080/keys?a=b',
          introspection: {
            url: 'https://auth.example.com/ask',
            clientId: 'front',
            clientSecret: 'of-the-front',
          },
        },
      ],
      rules: [{ scope: 'mcp:read', claim: undefined, value: undefined, profiles: ['review'] }],
      scopes: ['api://mcp/mcp:read'],
      login: { issuer: 'https://auth.example.com', clientId: 'pages', clientSecret: 'of-the-pages' },
    },
    stateKey: 'a key of sixteen and more',
    metrics: { port: 9464, host: '0.0.0.0', open: true, tools: true },
    previousStateKey: 'the key of before it',
    cors: {
      enabled: false,
      origins: ['https://a.example'],
      methods: ['POST'],
      credentials: true,
      allowedHeaders: ['X-A'],
    },
    ui: { remote: true, redact: false, history: '1 MB' },
  },
  cli: { stdio: { encoding: 'utf8', delimiter: '\n', timeout: 5000 } },
  schemas: {
    default: { enabled: true, mcpServers: { a: one, b: { url: 'https://b.example/mcp', confirm: [] } } },
    workspace: {
      enabled: false,
      prefix: false,
      confirm: ['a_*'],
      mcpServers: { a: { ...one, describe: false } },
    },
  },
  profiles: {
    review: {
      servers: ['a'],
      tools: { allow: ['a__get_*'], rename: { a__x: 'y' }, set: { a__get_x: { n: 1.5, o: { p: [null] } } } },
      prompts: { deny: ['*'] },
      prefix: false,
    },
  },
  audit: { file: '~/audit', payloads: true, methods: ['*'], maxSize: '1 KB', maxFiles: 2, onError: 'refuse' },
  limits: [{ principal: 'ci', tools: ['a__*', 'b__x'], perMinute: 60, burst: 5, each: true }],
  logging: { level: 'debug', file: '~/logs/p.log', maxSize: '2.5 MB', maxFiles: 3, console: false },
  startupGraceMs: 50,
  processesMax: 7,
  describe: true,
  confirm: ['*__x', { annotations: 'destructive' }],
}

describe('a configuration', () => {
  test('of every key is read whole and without a warning', () => {
    const config = read(full)
    assert.deepEqual(config.warnings, [])
    const { drainTimeout, stateKey, previousStateKey, ...server } = full.server
    assert.deepEqual(config.server, {
      ...server,
      drainTimeoutMs: drainTimeout,
      tokens: [{ name: 'ci', sha256: hash, profiles: ['review'], expiresAtMs: Date.UTC(2027, 0, 1) }],
      ui: { remote: true, redact: false, historyBytes: 1024 ** 2 },
      stateKeys: [stateKey, previousStateKey],
    })
    assert.deepEqual(config.stdio, { timeoutMs: 5000, encoding: 'utf8', delimiter: '\n' })
    assert.deepEqual(config.logging, {
      level: 'debug',
      file: '/home/me/logs/p.log',
      maxSizeBytes: 2_621_440,
      maxFiles: 3,
      console: false,
    })
    assert.deepEqual([config.startupGraceMs, config.processesMax], [50, 7])
    assert.deepEqual(config.limits, full.limits)
    const { payloads, methods, onError, maxFiles } = full.audit
    assert.deepEqual(config.audit, {
      payloads,
      methods,
      onError,
      maxFiles,
      file: '/home/me/audit',
      maxSizeBytes: 1024,
    })
    assert.deepEqual(config.profiles.get('review'), {
      name: 'review',
      schema: 'default',
      servers: ['a'],
      tools: {
        allow: ['a__get_*'],
        deny: [],
        rename: new Map([['a__x', 'y']]),
        set: new Map([
          [
            'a__get_x',
            new Map([
              ['n', '1.5'],
              ['o', '{"p":[null]}'],
            ]),
          ],
        ]),
      },
      prompts: { allow: undefined, deny: ['*'] },
      resources: { allow: undefined, deny: [] },
      prefix: false,
      describe: undefined,
    })
    assert.deepEqual([...config.schemas.keys()], ['default', 'workspace'])
    assert.deepEqual(
      [...config.schemas.values()].map(({ enabled, servers }) => [enabled, servers.map(({ name }) => name)]),
      [
        [true, ['a', 'b']],
        [false, ['a']],
      ],
    )
    const rules = [...config.schemas.values()].map(({ servers }) => servers.map(({ confirm }) => confirm))
    assert.deepEqual(rules, [[full.confirm, []], [['a_*']]])
    const [shared] = config.schemas.get('workspace')?.servers ?? []
    assert.deepEqual([shared?.prefix, shared?.describe, shared?.timeoutMs], [false, false, 5000])
  })

  for (const key of ['mcpServers', 'servers'])
    test(`with ${key} becomes the schema "default"`, () => {
      const config = read({
        [key]: { a: one, b: { ...one, argumentChecks: 'lenient' } },
        prefix: false,
        argumentChecks: 'off',
      })
      assert.deepEqual([...config.schemas.keys()], ['default'])
      const [a, b] = config.schemas.get('default')?.servers ?? []
      assert.deepEqual([a?.prefix, a?.describe], [false, true])
      assert.deepEqual([a?.argumentChecks, b?.argumentChecks], ['off', 'on'])
    })

  test('has the documented defaults', () => {
    const config = read({ mcpServers: { s: one } })
    assert.equal(config.server.port, 3095)
    assert.equal(config.server.host, '127.0.0.1')
    assert.equal(config.server.name, 'mcps-proxy')
    assert.deepEqual([config.server.drainTimeoutMs, config.processesMax], [undefined, undefined])
    assert.equal(config.startupGraceMs, undefined)
    assert.deepEqual(config.stdio, { timeoutMs: 30_000, encoding: 'utf8', delimiter: '\n' })
    assert.deepEqual(config.logging, {
      level: 'info',
      file: undefined,
      maxSizeBytes: 10 * 1024 ** 2,
      maxFiles: 5,
      console: true,
    })
    assert.deepEqual(stdioServer(one), {
      kind: 'stdio',
      name: 's',
      disabled: false,
      lazy: false,
      keep: true,
      protocol: 'auto',
      revision: undefined,
      unavailable: undefined,
      tools: { allow: undefined, deny: [], rename: new Map() },
      prefix: true,
      describe: true,
      argumentChecks: 'on',
      confirm: [],
      variables: [],
      secrets: [],
      startTimeoutMs: 30_000,
      firstStartTimeoutMs: 120_000,
      listTimeoutMs: 30_000,
      timeoutMs: 30_000,
      totalTimeoutMs: 600_000,
      settableIn: "'s' in memory",
      command: 'x',
      args: [],
      env: {},
      inheritEnv: [],
      crashesMax: undefined,
      sandbox: undefined,
      cwd: '/work',
      restart: true,
      restartDelayMs: 1000,
      concurrency: 64,
      processes: 1,
      isolation: 'auto',
      idleTimeoutMs: undefined,
      stopTimeoutMs: 5000,
      memoryLimitBytes: undefined,
      onTimeout: 'cancel',
    })
  })

  test('takes the name of the program and the time-out of the command line', () => {
    const options = {
      source: 'm',
      folder: '/',
      env: {},
      defaults: { 'server.name': 'mcp-all-in-one' },
      timeoutMs: 7,
    }
    const config = resolveConfig({ mcpServers: { s: { ...one, timeout: 9 } } }, options)
    assert.equal(config.server.name, 'mcp-all-in-one')
    assert.equal(config.stdio.timeoutMs, 7)
    assert.equal(config.schemas.get('default')?.servers[0]?.timeoutMs, 7)
    assert.equal(resolveConfig({ ...full }, options).server.name, 'gate')
  })

  test('is overridden by the environment', () => {
    const env = {
      MCP_SERVER_HOST: 'h',
      MCP_SERVER_PORT: '1',
      MCP_ENABLE_CORS: 'FALSE',
      MCPS_PROXY_TOKEN: 'from-env',
    }
    const { host, port, cors, token } = read({ mcpServers: { s: one } }, env).server
    assert.deepEqual([host, port, cors.enabled, token], ['h', 1, false, 'from-env'])
    const empty = read(full, { MCP_SERVER_HOST: '', MCP_SERVER_PORT: '', MCP_ENABLE_CORS: '' }).server
    assert.deepEqual([empty.host, empty.port, empty.cors.enabled], ['0.0.0.0', 8080, false])
    const pages = (more: Record<string, string>): unknown => {
      const { origins, localPages } = read({ mcpServers: { s: one } }, more).server.cors
      return [origins, localPages]
    }
    assert.deepEqual(pages({}), [['*'], undefined])
    assert.deepEqual(pages({ MCP_ENABLE_CORS: 'true' }), [['*'], true])
    const named = { MCP_ENABLE_CORS: 'true', MCP_CORS_ORIGINS: 'https://a.example, https://b.example' }
    assert.deepEqual(pages(named), [['https://a.example', 'https://b.example'], undefined])
  })

  test('is not checked against the environment where it is not served', () => {
    const value = { mcpServers: { s: one }, server: { token: '${NONE}', stateKey: '${NONE}' } }
    const env = { MCP_SERVER_PORT: 'abc', MCP_ENABLE_CORS: 'maybe' }
    const { server } = resolveConfig(value, { source: 'm', folder: '/', env, servesHttp: false })
    assert.deepEqual([server.port, server.token, server.stateKeys], [3095, undefined, []])
    assert.equal(problemsOf(value, env).length, 4)
  })

  test('names what is wrong with logins of clients', () => {
    const issuer = 'https://auth.example.com'
    const publicUrl = 'https://mcp.example.com'
    const of = (change: object): object => ({ publicUrl, auth: { issuers: [{ issuer, ...change }] } })
    const asymmetric =
      /algorithms\[0\]\|is "\w+"\|.*the front takes no token that is unsigned or signed with a shared secret/
    const cases: [server: object, problem: RegExp][] = [
      [
        { auth: { issuers: [{ issuer }] } },
        /^server\.publicUrl\|is missing\|.*"https:\/\/mcp\.example\.com"/,
      ],
      [
        { publicUrl, auth: {} },
        /^server\.auth\.issuers\|is missing\|must be a list of objects like \[\{ "issuer": … \}\]$/,
      ],
      [{ publicUrl, auth: { issuers: [] } }, /^server\.auth\.issuers\|is empty\|must be a list/],
      [{ publicUrl, auth: { issuers: [{ issuer }, { issuer }] } }, /^server\.auth\.issuers\|has ".*" twice/],
      [
        of({ issuer: 'http://auth.example.com' }),
        /issuers\[0\]\.issuer\|is ".*must be the issuer as its tokens name it/,
      ],
      [of({ issuer: `${issuer}?a` }), /issuers\[0\]\.issuer\|/],
      [
        { ...of({}), publicUrl: 'https://a"b/' },
        /^server\.publicUrl\|is "https:\/\/a"b\/"\|must be the address under/,
      ],
      [of({ issuer: 'https://[/' }), /issuers\[0\]\.issuer\|is "https:\/\/\[\/"\|must be the issuer/],
      [of({ jwksUri: 'http://auth.example.com/keys' }), /jwksUri\|is ".*begins with https/],
      [of({ algorithms: ['none'] }), asymmetric],
      [of({ algorithms: ['HS256'] }), asymmetric],
      [of({ algorithms: [] }), /algorithms\|is empty/],
      [of({ introspection: { url: issuer } }), /introspection\.clientId\|is missing/],
      [
        of({ introspection: { url: issuer, clientId: 'a', clientSecret: '${NONE}' } }),
        /clientSecret\|has no value: variable NONE/,
      ],
      [
        { publicUrl, auth: { issuers: [{ issuer }], login: { clientId: 'a' } } },
        /^server\.auth\.login\.clientSecret\|is missing/m,
      ],
      [
        {
          publicUrl,
          auth: {
            issuers: [{ issuer }],
            login: { issuer: 'https://o.example', clientId: 'a', clientSecret: 'b' },
          },
        },
        /^server\.auth\.login\.issuer\|is "https:\/\/o\.example"\|must be one of/,
      ],
      [{ publicUrl, auth: { issuers: [{ issuer }], rules: [{}] } }, /rules\[0\]\.scope\|is missing/],
      [
        { publicUrl, auth: { issuers: [{ issuer }], rules: [{ claim: 'groups' }] } },
        /rules\[0\]\.value\|is missing/,
      ],
      [
        { publicUrl, auth: { issuers: [{ issuer }], rules: [{ scope: 'a', profiles: ['b'] }] } },
        /^server\.auth\.rules\[0\]\.profiles\[0\]\|is "b", which is no profile/,
      ],
    ]
    for (const [server, problem] of cases)
      assert.match(problemsOf({ mcpServers: { s: one }, server }).join('\n'), problem)
    const introspection = { url: issuer, clientId: 'a', clientSecret: '${NONE}' }
    const value = { mcpServers: { s: one }, server: of({ introspection }) }
    resolveConfig(value, { source: 'm', folder: '/', env: {}, servesHttp: false })
    const warned = ['http://mcp.example.com', 'http://localhost', publicUrl].map((url) =>
      warningsOf({ mcpServers: { s: one }, server: { ...of({}), publicUrl: url } }).join(),
    )
    assert.match(
      warned.join(),
      /^server\.publicUrl\|is "http:\/\/mcp\S+: .* no browser keeps the cookie .*; use https,,$/,
    )
  })

  test('has no token that no client can send', () => {
    const must = 'must be letters, digits and signs of ASCII, without spaces'
    for (const token of ['two words', ' ', 'schl\u00fcssel', 'line\n', '${T}']) {
      const value = { mcpServers: { s: one }, server: { token } }
      const when = token === '${T}' ? ' once its variables are put in' : ''
      const wanted = [`server.token|has a value that cannot be used${when}|${must}`]
      assert.deepEqual(problemsOf(value, { T: 'two words' }), wanted, token)
    }
    for (const MCPS_PROXY_TOKEN of [' ', '${T} x']) {
      const named = problemsOf({ mcpServers: { s: one } }, { MCPS_PROXY_TOKEN })
      assert.deepEqual(named, [`$MCPS_PROXY_TOKEN|has a value that cannot be used|${must}`])
    }
  })

  test('has keys for states that nobody guesses', () => {
    const [now, before] = ['k'.repeat(16), 'b'.repeat(16)]
    const value = { mcpServers: { s: one }, server: { stateKey: '${K}', previousStateKey: before } }
    assert.deepEqual(read(value, { K: now }).server.stateKeys, [now, before])
    assert.deepEqual(read(value, { K: now, MCPS_PROXY_STATE_KEY: 'e'.repeat(16) }).server.stateKeys, [
      'e'.repeat(16),
      before,
    ])
    assert.deepEqual(read({ mcpServers: { s: one } }).server.stateKeys, [])
    assert.deepEqual(problemsOf(value), [
      'server.stateKey|has no value: variable K is not set|set it, or take the key out',
    ])
    assert.deepEqual(problemsOf(value, { K: 'short' }), [
      'server.stateKey|has a value that cannot be used once its variables are put in|must be a text of at least 16 characters',
    ])
  })

  test('warns of origins that no page has', () => {
    const origins = ['*', 'null', 'https://a.example', 'http://[::1]:80/', 'vscode-webview://x', 'localhost']
    const more = ['*.example.com', 'http://localhost:*', 'https://a.example/app']
    const warnings = warningsOf({
      mcpServers: { s: one },
      server: { cors: { origins: [...origins, ...more] } },
    })
    assert.deepEqual(
      warnings.map((warning) => warning.split(',', 1)[0]),
      ['localhost', ...more].map((each, index) => `server.cors.origins[${index + 5}]|is "${each}"`),
    )
  })

  test('whose names are those of built-in members does no harm', () => {
    const text = `{"mcpServers":{"__proto__":{"command":"p","env":{"__proto__":"v","constructor":"w"}},
      "constructor":{"url":"http://h","headers":{"__proto__":"x"}}},"__proto__":{"prefix":false}}`
    const result = readJson(text)
    const config = read(result.kind === 'value' ? result.value : undefined)
    const servers = config.schemas.get('default')?.servers ?? []
    assert.deepEqual(
      servers.map(({ name, prefix }) => [name, prefix]),
      [
        ['__proto__', true],
        ['constructor', true],
      ],
    )
    const [first] = servers
    assert.deepEqual(first?.kind === 'stdio' && Object.entries(first.env), [
      ['__proto__', 'v'],
      ['constructor', 'w'],
    ])
    assert.equal(Reflect.get({}, 'command'), undefined)
  })
})

describe('a server', () => {
  const kinds: [string, unknown, string][] = [
    ['no type and a command', one, 'stdio'],
    ['no type and a url', { url: 'http://h' }, 'http'],
    ['type stdio', { type: 'stdio', ...one }, 'stdio'],
    ['type http', { type: 'http', url: 'http://h' }, 'http'],
    ['type streamable-http', { type: 'streamable-http', url: 'http://h' }, 'http'],
    ['type streamableHttp', { type: 'streamableHttp', url: 'http://h' }, 'http'],
    ['type sse', { type: 'sse', url: 'http://h' }, 'sse'],
  ]
  for (const [title, value, kind] of kinds)
    test(`with ${title} is of kind ${kind}`, () => assert.equal(server(value).kind, kind))

  test('on stdio takes every key', () => {
    const found = stdioServer({
      command: '~/bin/s',
      args: ['-a', ''],
      env: { A: '1' },
      inheritEnv: ['SSH_AUTH_SOCK'],
      cwd: 'sub',
      startTimeout: 3,
      timeout: 1,
      totalTimeout: 5,
      restart: false,
      restartDelay: 0,
      concurrency: 1,
      processes: 4,
      isolation: 'session',
      idleTimeout: 60_000,
      memoryLimitMB: 512,
      onTimeout: 'restart',
      disabled: true,
      lazy: true,
      tools: {
        allow: ['a'],
        deny: ['b'],
        rename: { a: 'c' },
      },
      prefix: false,
      describe: false,
    })
    assert.equal(found.command, '/home/me/bin/s')
    assert.deepEqual(found.args, ['-a', ''])
    assert.equal(found.cwd, '/work/sub')
    assert.deepEqual(found.inheritEnv, ['SSH_AUTH_SOCK'])
    assert.equal(found.memoryLimitBytes, 512 * 1024 ** 2)
    assert.equal(found.idleTimeoutMs, 60_000)
    assert.deepEqual(found.tools, { allow: ['a'], deny: ['b'], rename: new Map([['a', 'c']]) })
    assert.deepEqual(
      [found.restart, found.restartDelayMs, found.concurrency, found.processes, found.isolation],
      [false, 0, 1, 4, 'session'],
    )
    assert.deepEqual(
      [found.onTimeout, found.disabled, found.prefix, found.describe, found.timeoutMs],
      ['restart', true, false, false, 1],
    )
    assert(found.lazy)
    assert.deepEqual([found.startTimeoutMs, found.listTimeoutMs, found.totalTimeoutMs], [3, 3, 5])
  })

  test('the total is at least as long as the time that progress extends, unless it is said', () => {
    assert.equal(stdioServer({ ...one, timeout: 700_000 }).totalTimeoutMs, 700_000)
    assert.equal(httpServer({ url: 'http://h', totalTimeout: 7 }).totalTimeoutMs, 7)
  })

  test('a time for all stands above those of servers', () => {
    const value = { mcpServers: { s: { ...one, timeout: 5 } } }
    const config = resolveConfig(value, { source: 'm', folder: '/', env: {}, timeoutMs: 7 })
    assert.equal(config.schemas.get('default')?.servers[0]?.timeoutMs, 7)
  })

  const cwds: [unknown, string][] = [
    ['/abs', '/abs'],
    ['~', '/home/me'],
    ['~/x', '/home/me/x'],
    ['../up', '/up'],
    ['~other', '/work/~other'],
    ['${NONE:-}', '/work'],
  ]
  for (const [cwd, want] of cwds)
    test(`with cwd ${String(cwd)} runs in ${want}`, () =>
      assert.equal(stdioServer({ ...one, cwd }).cwd, want))

  test('over http and sse takes every key', () => {
    const http = httpServer({
      url: 'https://h/mcp',
      headers: { A: 'b' },
      retries: 1,
      retryDelay: 2,
      auth: { type: 'google', audience: 'https://a', impersonateServiceAccount: 'a@b.iam' },
    })
    const auth = { type: 'google', audience: 'https://a', impersonateServiceAccount: 'a@b.iam' }
    assert.deepEqual([http.retries, http.retryDelayMs, http.auth], [1, 2, auth])
    assert.deepEqual(httpServer({ url: 'https://h/mcp' }).retries, 3)
    const sse = { type: 'sse', url: 'https://h/sse' }
    assert.deepEqual([httpServer(sse).retries, httpServer(sse).reconnectIntervalMs], [5, 1000])
    assert.equal(httpServer({ ...sse, maxRetries: 7, retries: 2 }).retries, 7)
    assert.equal(httpServer({ ...sse, retries: 2, reconnectInterval: 9 }).retries, 2)
  })
})

describe('variables', () => {
  const env = { A: 'aaa', EMPTY: '', KEY: 'sk-123456', NEST: '${A}' }
  const cases: [string, string][] = [
    ['${A}', 'aaa'],
    ['x${A}y${A}', 'xaaayaaa'],
    ['${EMPTY}', ''],
    ['${EMPTY:-f}', 'f'],
    ['${NONE:-f g}', 'f g'],
    ['${NONE:-}', ''],
    ['${NONE:-${A}}', 'aaa'],
    ['${NONE:-x${ALSO:-y}z}', 'xyz'],
    ['${NEST}', '${A}'],
    ['$${A}', '${A}'],
    ['${/}$${/}', sep + '${/}'],
    ['$A and $', '$A and $'],
  ]
  for (const [text, want] of cases)
    test(`${text} is ${JSON.stringify(want)}`, () =>
      assert.deepEqual(stdioServer({ ...one, args: [text] }, env).args, [want]))

  test('expand in command, env, cwd, url and headers, not in keys', () => {
    const stdio = stdioServer({ command: '${A}', env: { '${A}': '${A}' }, cwd: '/${A}' }, env)
    assert.deepEqual([stdio.command, stdio.env, stdio.cwd], ['aaa', { '${A}': 'aaa' }, '/aaa'])
    const http = httpServer({ url: 'http://${A}/', headers: { Authorization: 'Bearer ${KEY}' } }, env)
    assert.deepEqual([http.url, http.headers], ['http://aaa/', { Authorization: 'Bearer sk-123456' }])
    assert.deepEqual(http.variables, ['A', 'KEY'])
    assert.deepEqual(http.secrets.toSorted(), ['Bearer sk-123456', 'sk-123456'])
  })

  const unavailable: [string, unknown, string][] = [
    ['one unset', { ...one, args: ['${NONE}'] }, 'variable NONE is not set'],
    ['two unset', { ...one, env: { A: '${NONE}${ALSO}' } }, 'variables NONE, ALSO are not set'],
    ['one unset in cwd', { ...one, cwd: '${NONE}/work' }, 'variable NONE is not set'],
    [
      'one unset in a file of tls',
      { url: 'https://h', tls: { ca: '${NONE}/ca.pem' } },
      'variable NONE is not set',
    ],
    [
      'an empty command',
      { command: '${EMPTY}' },
      'command is empty once its variables are put in; it must be the program to start',
    ],
    [
      'a url gone wrong',
      { url: '${A}' },
      'url is wrong once its variables are put in; it must be an http:// or https:// address, such as "https://mcp.example.com/mcp"',
    ],
    [
      'a header of two lines',
      { url: 'http://h', headers: { H: '${LINES}' } },
      'headers.H is wrong once its variables are put in; it must be one line of text',
    ],
  ]
  for (const [title, value, why] of unavailable)
    test(`${title}: only that server is disabled`, () => {
      const config = read({ mcpServers: { bad: value, good: one } }, { ...env, LINES: 'a\nb' })
      const [bad, good] = config.schemas.get('default')?.servers ?? []
      assert.deepEqual([bad?.unavailable, good?.unavailable], [why, undefined])
      assert.deepEqual(config.warnings, [{ path: 'mcpServers.bad', message: `is disabled: ${why}` }])
    })

  test('a disabled server does not complain of its variables', () => {
    assert.deepEqual(
      warningsOf({ mcpServers: { a: { ...one, args: ['${NONE}'], disabled: true }, b: one } }),
      [],
    )
  })

  test('what an editor would fill in is left alone with a warning', () => {
    const found = stdioServer({ ...one, args: ['${command:x}', '${file}x'] }, { file: 'f' })
    assert.deepEqual([found.args, found.unavailable], [['${command:x}', 'fx'], undefined])
    assert.match(
      warningsOf({ mcpServers: { s: { ...one, args: ['${command:x}'] } } })[0] ?? '',
      /not a variable/,
    )
  })

  const shown = {
    HOME: '/home/me',
    FOLDER: folder,
    NOWHERE: '/nowhere/at/all',
    COUNT: '123456789012',
    DB: 'db.internal.example:5432',
    DB_HOST: 'DB.internal',
    DOTS: 'abc.DEF.ghi123',
  }
  const secrets: [string, unknown, string[]][] = [
    ['values of env', { ...one, env: { KEY: 'literal-key' } }, ['literal-key']],
    ['short ones are not', { ...one, env: { KEY: 'short' } }, []],
    ['numbers and switches are not', { ...one, env: { A: '12345678', B: 'true' } }, []],
    [
      'public names are not',
      { ...one, env: { NODE_ENV: 'production', DATA_DIR: '/var/data', LC_ALL: 'C.UTF-8' } },
      [],
    ],
    ['a variable in args', { ...one, args: ['--key=${KEY}'] }, ['sk-123456']],
    ['a variable with a public name', { ...one, args: ['${HOME}'] }, []],
    ['a variable with a path that exists', { ...one, args: ['${FOLDER}', '${FOLDER}/none'] }, []],
    ['a variable with a path that does not', { ...one, args: ['${NOWHERE}'] }, ['/nowhere/at/all']],
    ['a variable with a number', { ...one, args: ['${COUNT}'] }, []],
    ['a variable with the name of a host', { ...one, args: ['${DB}', '${DB_HOST}'] }, []],
    ['a variable with a key that has dots', { ...one, args: ['${DOTS}'] }, ['abc.DEF.ghi123']],
    [
      'what args name as a secret',
      {
        ...one,
        args: [
          '--api-key',
          'k-abcdef',
          '--token=t-abcdef',
          '-e',
          'MY_SECRET=s-abcdef',
          '--header',
          'Authorization: Bearer b-abcdef',
        ],
      },
      ['k-abcdef', 't-abcdef', 's-abcdef', 'Bearer b-abcdef', 'b-abcdef'],
    ],
    [
      'what args show as a secret',
      {
        ...one,
        args: [
          '--connection=Server=x;Password=c-abcdef',
          'A=PWD=p-abcdef;Server=x',
          '{"n":{"apiKey":"j-abcdef"}}',
          'ghp_0123456789abcdefghij',
          '--pass',
          '-d-abcdef',
        ],
      },
      ['c-abcdef', 'p-abcdef', 'j-abcdef', 'ghp_0123456789abcdefghij', '-d-abcdef'],
    ],
    [
      'other args are not',
      { ...one, args: ['--keyboard', 'qwertzu', '--token', '--verbose', 'a=bcdefgh'] },
      [],
    ],
    ['a header', { url: 'http://h', headers: { 'X-Key': 'abcdef', Accept: 'application/json' } }, ['abcdef']],
    ['a password in a url', { url: 'http://u:hunter22@h' }, ['hunter22', 'dTpodW50ZXIyMg==']],
    ['a token in place of a user', { url: 'http://ghp_token@h' }, ['ghp_token', 'Z2hwX3Rva2VuOg==']],
    [
      'a key in the query of a url',
      { url: 'http://h/sse?Authorization=sk%2B12345&v=2&mode=full-text&k=0123456789abcdef' },
      ['sk%2B12345', 'sk+12345', '0123456789abcdef'],
    ],
  ]
  for (const [title, value, want] of secrets)
    test(`secrets: ${title}`, () => assert.deepEqual(server(value, { ...env, ...shown }).secrets, want))

  test('secrets: the name of a server is none', () => {
    const env = { PGUSER: 'postgres', PGPASSWORD: 'hunter22' }
    assert.deepEqual(secretsIn(read({ mcpServers: { postgres: { ...one, env } } })), ['hunter22'])
  })
})

const badServers: [string, unknown, RegExp][] = [
  ['a server is text', 'x', /^mcpServers\.a\|is a string\|must be an object$/],
  ['neither command nor url', {}, /^mcpServers\.a\|has neither "command" nor "url"\|add "command"/],
  ['both command and url', { ...one, url: 'http://h' }, /^mcpServers\.a\|has both .*\|keep one/],
  ['an unknown type', { type: 'ftp', ...one }, /^mcpServers\.a\.type\|is "ftp"\|must be one of "stdio"/],
  ['type stdio without a command', { type: 'stdio' }, /^mcpServers\.a\.command\|is missing\|/],
  ['type http without a url', { type: 'http', ...one }, /^mcpServers\.a\.url\|is missing\|/],
  ['an empty command', { command: '' }, /command\|is ""\|must be the program to start$/],
  ['a command that is a list', { command: ['x'] }, /command\|is a list\|/],
  [
    'a NUL',
    { ...one, args: ['a\0'] },
    /args\[0\]\|has a value that cannot be used\|must be a string without NUL/,
  ],
  [
    'args are text',
    { ...one, args: '-x' },
    /args\|is a string\|must be a list of strings like .*, so put it in \[ \]$/,
  ],
  [
    'an arg is a number',
    { ...one, args: [1] },
    /args\[0\]\|is a number\|must be a string.*put it in quotes$/,
  ],
  [
    'env is a list',
    { ...one, env: ['A=1'] },
    /env\|is a list\|must be an object of strings like \{ "NAME": "value" \}$/,
  ],
  ['env has a number', { ...one, env: { P: 80 } }, /env\.P\|is a number\|.*put it in quotes$/],
  ['env has a switch', { ...one, env: { P: true } }, /env\.P\|is a boolean\|.*put it in quotes$/],
  ['env has a name with =', { ...one, env: { 'A=B': 'c' } }, /env\["A=B"\]\|has a name/],
  [
    'timeout is text',
    { ...one, timeout: '30' },
    /timeout\|is "30"\|must be an integer from 1 to 2147483647, so take the quotes away$/,
  ],
  ['timeout has a unit', { ...one, timeout: '30s' }, /timeout\|is "30s"\|.*milliseconds, such as 30000$/],
  ['timeout has minutes', { ...one, timeout: '2 min' }, /\|.*milliseconds, such as 120000$/],
  ['timeout has no such unit', { ...one, timeout: '2 weeks' }, /\|.*milliseconds, such as 30000$/],
  [
    'onChange is no action',
    { ...one, lock: { onChange: 'block' } },
    /onChange\|is "block"\|must be one of "warn", "hide", "fail"$/,
  ],
  ['timeout is zero', { ...one, timeout: 0 }, /timeout\|is 0\|must be an integer from 1/],
  ['timeout is over the limit', { ...one, timeout: 2_147_483_648 }, /timeout\|is 2147483648/],
  ['timeout is a fraction', { ...one, timeout: 1.5 }, /timeout\|is 1\.5/],
  [
    'isolation is unknown',
    { ...one, isolation: 'own' },
    /isolation\|is "own"\|must be one of "auto", "shared", "session"$/,
  ],
  ['concurrency is zero', { ...one, concurrency: 0 }, /concurrency\|is 0/],
  ['tools is a list', { ...one, tools: ['x'] }, /tools\|is a list\|must be an object like \{ "allow": … \}$/],
  [
    'argumentChecks is strict',
    { ...one, argumentChecks: 'strict' },
    /argumentChecks\|is "strict".*\|write "on"/,
  ],
  [
    'VS Code starts it in a sandbox',
    { ...one, sandboxEnabled: true },
    /sandboxEnabled\|.*\|write "sandbox": \{ … \}/,
  ],
  ['allow is text', { ...one, tools: { allow: 'x' } }, /tools\.allow\|is a string/],
  ['rename to nothing', { ...one, tools: { rename: { x: '' } } }, /tools\.rename\.x\|is ""/],
  ['a url of another kind', { url: 'ftp://h' }, /url\|has a value that cannot be used\|must be an http/],
  [
    'a header of two lines',
    { url: 'http://h', headers: { A: 'b\nc' } },
    /headers\.A\|has a value that cannot be used\|must be one line/,
  ],
  [
    'a header with a space in its name',
    { url: 'http://h', headers: { 'A B': 'c' } },
    /headers\["A B"\]\|has a name/,
  ],
  ['retries is negative', { url: 'http://h', retries: -1 }, /retries\|is -1/],
  [
    'an unknown key in auth',
    { url: 'http://h', auth: { type: 'google', audiance: 'x' } },
    /auth\.audiance\|is not a known key here\|did you mean "audience"\?$/,
  ],
  [
    'auth is text',
    { url: 'http://h', auth: 'google' },
    /auth\|is a string\|must be an object like \{ "type": … \}$/,
  ],
  [
    'auth has no type',
    { url: 'http://h', auth: { audience: 'https://h' } },
    /auth\.type\|is missing\|must be one of "google", "oauth", "none"$/,
  ],
  [
    'auth has another type',
    { url: 'http://h', auth: { type: 'basic' } },
    /auth\.type\|is "basic"\|must be one of "google", "oauth", "none"$/,
  ],
  [
    'an audience is a list',
    { url: 'http://h', auth: { type: 'google', audience: ['https://h'] } },
    /auth\.audience\|is a list\|must be a non-empty string$/,
  ],
  [
    'a service account is no email address',
    { url: 'http://h', auth: { type: 'google', impersonateServiceAccount: 'me' } },
    /auth\.impersonateServiceAccount\|is "me"\|must be the email address of a service account$/,
  ],
]

const bad: [string, unknown, RegExp][] = [
  ...badServers.map(([title, a, message]): [string, unknown, RegExp] => [
    title,
    { mcpServers: { a } },
    message,
  ]),
  ['not an object', [], /^\|is a list\|must be an object$/],
  ['no servers', {}, /^\|has no servers\|add "mcpServers"/],
  ['one server alone', { command: 'x', args: [] }, /has no servers\|this is one server: write .* "NAME"/],
  [
    'servers alone',
    { a: { url: 'http://h' } },
    /has no servers\|write \{ "mcpServers": .* around the servers$/,
  ],
  [
    'the file of an editor',
    { mcp: { servers: {} }, 'a.b': 1 },
    /has no servers\|this is a file of another program/,
  ],
  ['two shapes', { mcpServers: {}, schemas: {} }, /^\|has "schemas" and "mcpServers"\|keep one/],
  ['servers are a list', { mcpServers: [] }, /^mcpServers\|is a list\|must be an object$/],
  ['schemas are text', { schemas: 'x' }, /^schemas\|/],
  ['a schema is null', { schemas: { a: null } }, /^schemas\.a\|is null\|must be an object$/],
  [
    'a schema has no servers',
    { schemas: { a: {} } },
    /^schemas\.a\.mcpServers\|is missing\|must be an object$/,
  ],
  [
    'a schema has a name no address can carry',
    { schemas: { 'a/b': { mcpServers: {} } } },
    /^schemas\["a\/b"\]\|has a name/,
  ],
  [
    'enabled is text',
    { schemas: { a: { enabled: 'true', mcpServers: {} } } },
    /enabled\|is "true"\|must be true or false, so take/,
  ],
  ['a server has no name', { mcpServers: { '': one } }, /^mcpServers\[""\]\|has a name/],
  [
    'a server has a control character in its name',
    { mcpServers: { 'a\n': one } },
    /has a name that cannot be used/,
  ],
  ...['startTimeout', 'totalTimeout'].map((key): [string, unknown, RegExp] => [
    `${key} is longer than a timer takes`,
    { mcpServers: { a: { ...one, [key]: 2_147_483_648 } } },
    new RegExp(`${key}\\|is 2147483648\\|must be an integer from 1 to 2147483647$`),
  ]),
  ['port is out of range', { mcpServers: {}, server: { port: 65_536 } }, /^server\.port\|is 65536\|/],
  ['server is a list', { mcpServers: {}, server: [] }, /^server\|is a list/],
  [
    'origins is text',
    { mcpServers: {}, server: { cors: { origins: '*' } } },
    /^server\.cors\.origins\|is a string/,
  ],
  [
    'an allowed host is an address',
    { mcpServers: {}, server: { allowedHosts: ['https://mcp.example.com/mcp'] } },
    /^server\.allowedHosts\[0\]\|is "https:\/\/mcp[^|]*\|must be a host name .* such as "mcp\.example\.com"$/,
  ],
  [
    'the field of the address has more than addresses',
    { mcpServers: {}, server: { clientAddressField: 'Forwarded' } },
    /^server\.clientAddressField\|is "Forwarded"/,
  ],
  [
    'the field of the address is none',
    { mcpServers: {}, server: { clientAddressField: 'a b' } },
    /^server\.clientAddressField\|is "a b"[^|]*\|must be the name of a header field that lists addresses, such as "X-Forwarded-For" \(not "Forwarded"\)$/,
  ],
  ['token is empty', { mcpServers: {}, server: { token: '' } }, /^server\.token\|/],
  ...(
    [
      ['no hash', { name: 'ci' }, /sha256\|is missing\|must be the SHA-256/],
      [
        'a hash that is none',
        { name: 'ci', sha256: 'abc' },
        /sha256\|has a value that cannot be used\|must be the SHA-256/,
      ],
      ['no name', { sha256: hash }, /name\|is missing\|/],
      ['a name with a space', { name: 'c i', sha256: hash }, /name\|is "c i"\|/],
      [
        'an end that is none',
        { name: 'ci', sha256: hash, expires: 'soon' },
        /expires\|is "soon"\|must be a date/,
      ],
      ['no day of the calendar', { name: 'ci', sha256: hash, expires: '2027-02-31T' }, /expires\|/],
    ] as const
  ).map(([title, token, want]): [string, unknown, RegExp] => [
    `a token has ${title}`,
    { mcpServers: {}, server: { tokens: [token] } },
    new RegExp(`^server\\.tokens\\[0\\]\\.${want.source}`),
  ]),
  ...(
    [
      ['tools that are a list', { tools: [] }, /tools\|is a list\|must be an object/],
      ['allow that is text', { tools: { allow: 'x' } }, /tools\.allow\|is a string\|/],
      ['an empty new name', { tools: { rename: { a: '' } } }, /tools\.rename\.a\|is ""/],
      [
        'arguments that are none',
        { tools: { set: { a: 1 } } },
        /tools\.set\.a\|is a number\|must be an object/,
      ],
      ['a prefix that is text', { prefix: 'x' }, /prefix\|is "x"/],
    ] as const
  ).map(([title, profile, want]): [string, unknown, RegExp] => [
    `a profile has ${title}`,
    { mcpServers: { server: one }, profiles: { p: profile } },
    new RegExp(`^profiles\\.p\\.${want.source}`),
  ]),
  ['tokens are an object', { mcpServers: {}, server: { tokens: {} } }, /^server\.tokens\|is an object\|/],
  [
    'an allowed header is none',
    { mcpServers: {}, server: { cors: { allowedHeaders: ['X-Key', 'X\nKey'] } } },
    /^server\.cors\.allowedHeaders\[1\]\|/,
  ],
  ['level is unknown', { mcpServers: {}, logging: { level: 'trace' } }, /^logging\.level\|is "trace"/],
  ['maxSize makes no sense', { mcpServers: {}, logging: { maxSize: '10 apples' } }, /^logging\.maxSize\|/],
  ['maxSize is too small', { mcpServers: {}, logging: { maxSize: 10 } }, /^logging\.maxSize\|/],
  ['maxFiles is zero', { mcpServers: {}, logging: { maxFiles: 0 } }, /^logging\.maxFiles\|/],
  ['grace is negative', { mcpServers: {}, startupGraceMs: -1 }, /^startupGraceMs\|is -1/],
  [
    'a limit has no number',
    { mcpServers: {}, limits: [{}] },
    /^limits\[0\]\.perMinute\|is missing\|must be an int/,
  ],
  [
    'a limit is for tools by another language of patterns',
    { mcpServers: {}, limits: [{ tools: ['a', 'a__.*?'], perMinute: 1 }] },
    /^limits\[0\]\.tools\[1\]\|is "a__\.\*\?"\|must be the name of a tool, in which "\*" stands/,
  ],
  [
    'confirm is text',
    { mcpServers: {}, confirm: 'x' },
    /^confirm\|is a string\|must be a list of names .*, so put it in \[ \]$/,
  ],
  [
    'confirm has another object',
    { mcpServers: { s: { command: 'x', confirm: ['a', { annotations: 'open' }] } } },
    /^mcpServers\.s\.confirm\[1\]\|is an object\|the only one is \{ "annotations": "destructive" \}$/,
  ],
  ...(
    [
      ['audit', { audit: { file: 'a', method: ['*'] } }, 'audit\\.method.*"methods"'],
      ['limits', { limits: [{ perMinute: 1, tool: 'x' }] }, 'limits\\[0\\]\\.tool.*"tools"'],
      ['sandbox', { sandbox: { programms: [] } }, 'sandbox\\.programms.*"programs"'],
      ['lock', { lock: { onchange: 'hide' } }, 'lock\\.onchange.*"onChange"'],
      [
        'server.auth',
        {
          server: {
            publicUrl: 'https://h.example',
            auth: { issuers: [{ issuer: 'https://a.example' }], scope: [] },
          },
        },
        'server\\.auth\\.scope.*"scopes"',
      ],
    ] as const
  ).map(([block, value, want]): [string, unknown, RegExp] => [
    `an unknown key in ${block}`,
    { mcpServers: {}, ...value },
    new RegExp(`^${want.replace('.*', '\\|is not a known key here\\|did you mean ')}\\?$`),
  ]),
  ['sandbox is a number', { mcpServers: {}, sandbox: 5 }, /^sandbox\|is 5\|must be an object like/],
  [
    'programs of sandboxes are a number',
    { mcpServers: { s: { command: 'x', sandbox: {} }, t: { command: 'x' } }, sandbox: { programs: 5 } },
    /^sandbox\.programs\|is a number\|must be a list of strings/,
  ],
  ['prefix is a number', { mcpServers: {}, prefix: 1 }, /^prefix\|is 1\|must be true or false$/],
]

describe('an audit', () => {
  const cases = [
    ['stderr', undefined],
    ['/a.jsonl', '/a.jsonl'],
    [{ file: 'stderr' }, undefined],
  ] as const
  for (const [audit, wanted] of cases)
    test(`is ${JSON.stringify(audit)}`, () => {
      const { audit: config } = read({ mcpServers: {}, audit })
      const methods = ['tools/call', 'prompts/get', 'resources/read']
      assert.deepEqual(config, {
        file: wanted,
        payloads: false,
        methods,
        onError: 'continue',
        maxSizeBytes: 10_485_760,
        maxFiles: 5,
      })
    })
})

describe('a limit', () => {
  test('is for every client and every tool, and lets as many calls come at once as in a minute', () => {
    const { limits } = read({ mcpServers: {}, limits: [{ perMinute: 3 }] })
    assert.deepEqual(limits, [{ principal: undefined, tools: ['*'], perMinute: 3, burst: 3, each: false }])
  })

  test('an empty list of tokens refuses every client, which is a warning unless another token is there', () => {
    for (const [server, needs, warned] of [
      [{}, false, false],
      [{ tokens: [] }, true, true],
      [{ tokens: [], token: 'another-token' }, true, false],
      [{ tokens: [{ name: 'ci', sha256: hash }] }, true, false],
    ] as const) {
      const config = read({ mcpServers: {}, server })
      assert.equal(needsToken(config.server), needs)
      assert.equal(
        config.warnings.some(({ path }) => path === 'server.tokens'),
        warned,
      )
    }
  })

  test('warns of a principal that may be a misspelled token, and of no other', () => {
    const tokens = [{ name: 'deploy', sha256: hash }]
    const limits = ['deploi', 'deploy', 'somebody', 'dep*'].map((principal) => ({ principal, perMinute: 1 }))
    const { warnings } = read({ mcpServers: { server: one }, server: { tokens }, limits })
    assert.deepEqual(
      warnings.map(({ path, message }) => `${path} ${message}`),
      ['limits[0].principal is "deploi", which is the name of no token; did you mean "deploy"?'],
    )
  })
})

describe('problems', () => {
  test('of an audit in the log file', () => {
    const value = { mcpServers: {}, audit: '/a.log', logging: { file: '/a.log' } }
    assert.deepEqual(problemsOf(value), ['audit|is "/a.log", which is the log file|use another file'])
  })

  test('of a token for a profile that is not there', () => {
    const token = { name: 'ci', sha256: hash, profiles: ['p', 'q'] }
    const value = { mcpServers: {}, profiles: { p: {} }, server: { tokens: [token] } }
    assert.deepEqual(problemsOf(value), [
      'server.tokens[0].profiles[1]|is "q", which is no profile|there is p',
    ])
  })

  test('of a profile that names what is not there', () => {
    const profile = { servers: ['serwer'] }
    assert.deepEqual(
      problemsOf({ mcpServers: { server: one }, profiles: { p: profile, q: { schema: 'x' } } }),
      [
        'profiles.p.servers[0]|is "serwer", which is no server|did you mean "server"?',
        'profiles.q.schema|is "x"|there is default',
      ],
    )
  })

  test('of the name of a profile', () => {
    const value = { mcpServers: {}, profiles: { 'a b': {} } }
    assert.match(problemsOf(value).join(), /^profiles\["a b"\]\|has a name that cannot be used/)
  })

  test('of two tokens with one name', () => {
    const token = { name: 'ci', sha256: hash }
    assert.match(
      problemsOf({ mcpServers: {}, server: { tokens: [token, token] } }).join(),
      /^server\.tokens\[1\]\.name\|is "ci" again/,
    )
  })

  for (const [title, other, wanted] of [
    [
      'one token under two names',
      { name: 'cd', sha256: hash },
      /^server\.tokens\[1\]\.sha256\|is that of "ci"/,
    ],
    ['a token for nobody', { name: 'anybody', sha256: 'f'.repeat(64) }, /tokens\[1\]\.name\|is "anybody"/],
  ] as const)
    test(`of ${title}`, () => {
      const tokens = [{ name: 'ci', sha256: hash }, other]
      assert.match(problemsOf({ mcpServers: {}, server: { tokens } }).join(), wanted)
    })

  test('of users that the clients are not: a warning', () => {
    const mcpServers = { s: { url: 'https://h/mcp', auth: { type: 'oauth', perUser: true } } }
    const warnings = (server: object): string => JSON.stringify(read({ mcpServers, server }).warnings)
    assert.match(warnings({}), /all clients share one login at s, in spite of/)
    assert.doesNotMatch(warnings({ tokens: [{ name: 'ci', sha256: hash }] }), /in spite of/)
  })

  for (const [title, value, want] of bad) test(title, () => assert.match(problemsOf(value).join('\n'), want))

  test('are told all at once, each once', () => {
    const problems = problemsOf({
      server: { port: 'x' },
      schemas: { a: { mcpServers: { s: { ...one, timeout: 0, env: { A: 1 } }, t: {} } } },
    })
    assert.deepEqual(
      problems.map((line) => line.split('|')[0]),
      [
        'server.port',
        'schemas.a.mcpServers.s.timeout',
        'schemas.a.mcpServers.s.env.A',
        'schemas.a.mcpServers.t',
      ],
    )
  })

  test('never repeat a secret', () => {
    const error = failureOf(() =>
      read({ mcpServers: { a: { ...one, args: ['s3cret\0'], env: { K: 5551234, L: ['s3cret'] } } } }),
    )
    assert.doesNotMatch(error.message, /s3cret|5551234/)
  })

  test('cannot write to a terminal', () => {
    const error = failureOf(() =>
      read({ mcpServers: { 'a\u001b[31m\u202e': { command: '\u001b]0;x', url: 1 } } }),
    )
    // oxlint-disable-next-line no-control-regex
    assert.doesNotMatch(error.message, /[\u0000-\u0009\u000b-\u001f\u202e]/)
  })

  const environments: [string, Environment, RegExp][] = [
    ['MCP_SERVER_PORT', { MCP_SERVER_PORT: 'http' }, /^\$MCP_SERVER_PORT\|is "http"\|must be an integer/],
    [
      'MCP_ENABLE_CORS',
      { MCP_ENABLE_CORS: 'maybe' },
      /^\$MCP_ENABLE_CORS\|is "maybe"\|must be true or false/,
    ],
  ]
  for (const [name, env, want] of environments)
    test(`of ${name} name it`, () => assert.match(problemsOf({ mcpServers: { s: one } }, env).join(), want))

  test('a token whose variable is unset does not become an empty token', () => {
    assert.match(
      problemsOf({ mcpServers: {}, server: { token: '${NONE}' } }).join(),
      /^server\.token\|has no value: variable NONE is not set/,
    )
    assert.equal(read({ mcpServers: {}, server: { token: '${T}' } }, { T: 'tok' }).server.token, 'tok')
  })
})

describe('warnings', () => {
  test('beside problems name the key that was meant', () => {
    const value = {
      mcpServers: { s: { comand: 'x', args: [], headers: {}, maxRetries: 1 } },
      server: { cors: { origin: ['*'], enabled: 3 } },
    }
    const { message } = failureOf(() => read(value))
    const lines = message.split('\n').slice(1)
    assert.deepEqual(lines, [
      '  server.cors.enabled is 3; must be true or false',
      '  mcpServers.s has neither "command" nor "url"; add "command" for a program or "url" for a remote server',
      '  warning: server.cors.origin is not a known key here and is ignored; did you mean "origins"?',
      '  warning: mcpServers.s.comand is not a known key here and is ignored; did you mean "command"?',
    ])
  })

  const cases: [string, unknown, RegExp][] = [
    [
      'an unknown key at the top',
      { mcpServers: { s: one }, sever: {} },
      /^sever\|is not a known key.*"server"/,
    ],
    [
      'an unknown key of a server',
      { mcpServers: { s: { ...one, tiemout: 1 } } },
      /^mcpServers\.s\.tiemout\|.*did you mean "timeout"\?$/,
    ],
    [
      'a key of the gateway at the top',
      { mcpServers: { s: one }, token: 'x' },
      /; write "server": \{ "token": … \}$/,
    ],
    [
      'a key of the whole file in the block server',
      { mcpServers: { s: one }, server: { limits: [] } },
      /^server\.limits\|.*; it belongs at the top level of the file$/,
    ],
    [
      'a key of the whole file at a server',
      { mcpServers: { s: { ...one, audit: 'a' } } },
      /^mcpServers\.s\.audit\|.*; it belongs at the top level of the file$/,
    ],
    [
      'a pattern of a profile beside its tools',
      { mcpServers: { s: one }, profiles: { p: { deny: ['s__x'] } } },
      /^profiles\.p\.deny\|.*; write "tools": \{ "deny": \[…\] \}$/,
    ],
    [
      'the path of an endpoint in the address for clients',
      { mcpServers: { s: one }, server: { publicUrl: 'https://h.example/gate/mcp/' } },
      /^server\.publicUrl\|ends in \/mcp, so that clients connect to https:\/\/h\.example\/gate\/mcp\/mcp;/,
    ],
    [
      'the token of a login for a program',
      { mcpServers: { s: { ...one, env: { A: '${login:x}' } } } },
      /is not a variable and stays as it is; the token of a login is no variable any more; /,
    ],
    [
      'a misspelled form of a secret',
      { mcpServers: { s: { ...one, env: { A: '${keyrng:x}' } } } },
      /is not a variable and stays as it is; did you mean \$\{keyring:…\}\?$/,
    ],
    [
      'an unknown key that is like no other',
      { mcpServers: { s: one }, logging: { zzz: 1 } },
      /^logging\.zzz\|is not a known key here and is ignored; keys here are "level", "file", "maxSize", "maxFiles", "console"$/,
    ],
    [
      'a key of an earlier version in a block that takes no other',
      { mcpServers: { s: { url: 'http://h', auth: { type: 'none', pins: [] } } } },
      /^mcpServers\.s\.auth\.pins\|is a key of an earlier version and is ignored; files outlive/,
    ],
    [
      'a key of another kind',
      { mcpServers: { s: { url: 'http://h', args: [] } } },
      /^mcpServers\.s\.args\|is not a known key/,
    ],
    [
      'an unknown key of tools',
      { mcpServers: { s: { ...one, tools: { alow: [] } } } },
      /tools\.alow\|.*"allow"/,
    ],
    [
      'a key of an earlier version',
      { mcpServers: { s: { ...one, tools: { timeouts: {} } } } },
      /tools\.timeouts\|is a key of an earlier version and is ignored; write "timeout"/,
    ],
    [
      'an unknown key of a schema',
      { schemas: { a: { enable: true, mcpServers: { s: one } } } },
      /schemas\.a\.enable\|.*"enabled"/,
    ],
    [
      'an unknown key of cors',
      { mcpServers: { s: one }, server: { cors: { origin: [] } } },
      /server\.cors\.origin\|.*"origins"/,
    ],
    [
      'an unknown key of logging',
      { mcpServers: { s: one }, logging: { levels: 'x' } },
      /logging\.levels\|.*"level"/,
    ],
    [
      'a method of the audit that is misspelled',
      { mcpServers: { s: one }, audit: { file: 'stderr', methods: ['tools/*', 'tool/call'] } },
      /^audit\.methods\[1\]\|is "tool\/call", which fits no method .*; did you mean "tools\/call"\?$/,
    ],
    [
      'names equal but for case',
      { mcpServers: { time: one, Time: one } },
      /^mcpServers\.Time\|differs from "time" only in case$/,
    ],
    [
      'schemas equal but for case',
      { schemas: { a: { mcpServers: { s: one } }, A: { mcpServers: { s: one } } } },
      /schemas\.A\|differs/,
    ],
    [
      'no enabled server',
      { mcpServers: { s: { ...one, disabled: true } } },
      /^mcpServers\|has no server that is enabled$/,
    ],
    [
      'cli.stdio is wrong',
      { mcpServers: { s: one }, cli: { stdio: { timeout: -1 } } },
      /^cli\.stdio\.timeout\|is -1; must be .*; the default is used$/,
    ],
    [
      'cli.stdio has another encoding',
      { mcpServers: { s: one }, cli: { stdio: { encoding: 'latin1' } } },
      /^cli\.stdio\.encoding\|is "latin1"/,
    ],
    [
      'cli.stdio has another delimiter',
      { mcpServers: { s: one }, cli: { stdio: { delimiter: '\0' } } },
      /^cli\.stdio\.delimiter\|/,
    ],
    ['cli.stdio is a list', { mcpServers: { s: one }, cli: { stdio: [] } }, /^cli\.stdio\|is a list/],
    ['cli is null', { mcpServers: { s: one }, cli: null }, /^cli\|is null/],
    [
      'cli.stdio has an unknown key',
      { mcpServers: { s: one }, cli: { stdio: { timeoutMs: 1 } } },
      /^cli\.stdio\.timeoutMs\|.*"timeout"/,
    ],
  ]
  for (const [title, value, want] of cases)
    test(title, () => {
      const warnings = warningsOf(value)
      assert.equal(warnings.length, 1, warnings.join('\n'))
      assert.match(warnings[0] ?? '', want)
      assert.deepEqual(read(value).stdio, { timeoutMs: 30_000, encoding: 'utf8', delimiter: '\n' })
    })
})

describe('a schema by name', () => {
  test('is found', () => assert.equal(selectSchema(read(full), 'default').name, 'default'))

  const cases: [string, RegExp][] = [
    [
      'workspace',
      /group "workspace" is disabled; there is default; for example: mcps-proxy stdio --schema default$/m,
    ],
    ['defualt', /"defualt" does not exist; did you mean "default"\?; for example: /],
    ['__proto__', /does not exist/],
  ]
  for (const [name, want] of cases)
    test(`${name} is refused with the names there are`, () => {
      const error = failureOf(() => selectSchema(read(full), name))
      assert.equal(error.code, 'CONFIG_SCHEMA')
      assert.match(error.message, want)
    })
})

describe('the file', () => {
  const text = JSON.stringify({ mcpServers: { s: one } })

  test('is searched: path, $MCPS_PROXY_CONFIG, home, embedded', () => {
    const home = join(folder, 'home')
    mkdirSync(join(home, '.mcps-proxy'), { recursive: true })
    const named = file('named.json', text)
    const byEnv = file('by-env.json', text)
    const search = { home, cwd: folder, env: { MCPS_PROXY_CONFIG: byEnv } }
    assert.equal(loadConfig({ ...search, path: 'named.json' }).source, named)
    assert.equal(loadConfig(search).source, byEnv)
    assert.equal(loadConfig({ home, env: {} }).source, 'embedded')
    writeFileSync(join(home, '.mcps-proxy', 'config.json'), text, { mode: 0o600 })
    assert.equal(loadConfig({ home, env: {} }).source, join(home, '.mcps-proxy', 'config.json'))
    assert.equal(
      loadConfig({ home, env: {}, path: '~/.mcps-proxy/config.json' }).source,
      join(home, '.mcps-proxy', 'config.json'),
    )
  })

  test('is the bundled Time server when there is none', () => {
    const [time] = loadConfig({ home: folder, env: {} }).schemas.get('default')?.servers ?? []
    assert.ok(time?.kind === 'stdio')
    assert.equal(time.name, 'Time')
    assert.equal(time.command, process.execPath)
    assert.deepEqual(time.args, [resolve(import.meta.dirname, '../../src/servers/time.js')])
  })

  test('gives its folder to relative paths', () => {
    const path = file(
      'relative.json',
      JSON.stringify({ mcpServers: { s: { ...one, cwd: 'a' } }, logging: { file: 'l.log' } }),
    )
    const config = loadConfig({ path, env: {} })
    const [found] = config.schemas.get('default')?.servers ?? []
    assert.equal(found?.kind === 'stdio' && found.cwd, join(folder, 'a'))
    assert.equal(config.logging.file, join(folder, 'l.log'))
  })

  test('may begin with a byte order mark', () => {
    assert.equal(loadConfig({ path: file('bom.json', `\ufeff${text}`), env: {} }).warnings.length, 0)
  })

  const refused: [string, () => string, string, RegExp][] = [
    ['missing', () => join(folder, 'none.json'), 'CONFIG_NOT_FOUND', /is not there/],
    ['a folder', () => folder, 'CONFIG_NOT_A_FILE', /is a folder; name a JSON file/],
    [
      'empty',
      () => file('empty.json', ' \n'),
      'CONFIG_NOT_JSON',
      /is empty; write .* or run mcps-proxy add$/,
    ],
    ['a device', () => '/dev/zero', 'CONFIG_NOT_A_FILE', /not a regular file/],
    [
      'a named pipe',
      () => {
        const path = join(folder, 'pipe')
        execFileSync('mkfifo', [path])
        return path
      },
      'CONFIG_NOT_A_FILE',
      /not a regular file/,
    ],
    [
      'too large',
      () => file('big.json', `${text}${' '.repeat(1024 * 1024 + 1 - text.length)}`),
      'CONFIG_TOO_LARGE',
      /1048576/,
    ],
    ['not UTF-8', () => file('latin1.json', Buffer.from([0x22, 0xe4, 0x22])), 'CONFIG_NOT_JSON', /not UTF-8/],
    [
      'UTF-16',
      () => file('utf-16.json', Buffer.from(`\ufeff${text}`, 'utf16le')),
      'CONFIG_NOT_JSON',
      /is not UTF-8 text; save it as UTF-8/,
    ],
    [
      'not JSON',
      () => file('bad.json', '{\n  "mcpServers": {\n    "a": x\n'),
      'CONFIG_NOT_JSON',
      /line 3, column 10/,
    ],
    [
      'invalid',
      () => file('invalid.json', '{"mcpServers":{"s":{}}}'),
      'CONFIG_INVALID',
      /^ {2}line 1: mcpServers\.s has neither/m,
    ],
    [
      'invalid in several lines',
      () =>
        file(
          'lines.json',
          '{\n// one\n"mcpServers": {\n"a.b": { "command": "x",\n"args": ["y",\n3] },\n"c": { "url": "h" } },\n"serve": {} }',
        ),
      'CONFIG_INVALID',
      /^ {2}line 6: mcpServers\["a\.b"\]\.args\[1\] is a number[^]*^ {2}line 7: mcpServers\.c\.url has a value[^]*^ {2}warning: line 8: serve is not a known key/m,
    ],
    [
      'invalid in a member that is not there',
      () => file('absent.json', '{"mcpServers":{"c":{"url":"http://h"}},\n"server":{"auth":{"issuers":[]}}}'),
      'CONFIG_INVALID',
      /^ {2}line 2: server\.publicUrl is missing/m,
    ],
  ]
  for (const [title, path, code, want] of refused)
    test(`that is ${title} is refused`, () => {
      const at = path()
      const error = failureOf(() => loadConfig({ path: at, env: {} }))
      assert.equal(error.code, code)
      assert.match(error.message, want)
      assert.ok(error.message.startsWith(at))
    })

  test('of exactly the limit is read', () => {
    const path = file('limit.json', `${text}${' '.repeat(1024 * 1024 - text.length)}`)
    assert.equal(loadConfig({ path, env: {} }).source, path)
  })

  test('that $MCPS_PROXY_CONFIG names and is missing says so', () => {
    const error = failureOf(() => loadConfig({ env: { MCPS_PROXY_CONFIG: join(folder, 'gone.json') } }))
    assert.match(error.message, /\$MCPS_PROXY_CONFIG/)
  })

  for (const [mode, warns] of [
    [0o600, false],
    [0o644, false],
    [0o664, true],
    [0o646, true],
  ] as const)
    test(`of mode ${mode.toString(8)} ${warns ? 'is warned about' : 'is fine'}`, () => {
      const config = loadConfig({ path: file('mode.json', text, mode), env: {} })
      assert.equal(
        config.warnings.some(({ message }) => message.includes('others than its owner')),
        warns,
      )
    })

  test('that starts nothing may be written by all', () => {
    const path = file('open.json', '{"mcpServers":{"s":{"url":"http://h"}}}', 0o666)
    assert.deepEqual(loadConfig({ path, env: {} }).warnings, [])
  })
})

function problemsOfText(text: string): string[] {
  const path = file('twice.json', text)
  return failureOf(() => loadConfig({ path, env: {} })).problems.map((each) => `${each.path} ${each.problem}`)
}

describe('a name that stands twice in one object', () => {
  const servers = '{\n  "mcpServers": {\n    "fs": {"command": "a"},\n    "fs": {"command": "b"}\n  }\n}'

  test('is told with both places, since the first of two servers would vanish', () => {
    assert.deepEqual(problemsOfText(servers), [
      'mcpServers.fs is there twice: at line 3, column 5, and at line 4, column 5',
    ])
  })

  const cases: [string, string, string[]][] = [
    ['of a server', '{"mcpServers":{"s":{"command":"a","command":"b"}}}', ['mcpServers.s.command']],
    ['of a map', '{"mcpServers":{"s":{"command":"a","env":{"K":"1","K":"2"}}}}', ['mcpServers.s.env.K']],
    [
      'written in another way',
      '{"mcpServers":{"s":{"command":"a"},"\\u0073":{"command":"b"}}}',
      ['mcpServers.s'],
    ],
    [
      'of the file',
      '{"mcpServers":{"s":{"command":"a"}},"mcpServers":{"t":{"command":"b"}}}',
      ['mcpServers'],
    ],
    [
      'behind comments',
      '{"mcpServers":{"s":{"command":"a"}, // one\n "s":{"command":"b"},}}',
      ['mcpServers.s'],
    ],
    [
      'three times',
      '{"mcpServers":{"s":{"command":"a","args":[],"args":[],"args":[]}}}',
      Array(2).fill('mcpServers.s.args'),
    ],
  ]
  for (const [title, text, want] of cases)
    test(title, () => {
      assert.deepEqual(
        problemsOfText(text).map((problem) => problem.split(' ', 1)[0]),
        want,
      )
    })

  test('is a warning in what nobody reads, and the same names in two objects are nothing', () => {
    const path = file(
      'other.json',
      '{"theme":[{"a":1},{"a":2,"a":3}],"mcpServers":{"s":{"command":"a"},"t":{"command":"a"}}}',
    )
    const warnings = loadConfig({ path, env: {} }).warnings.filter(({ message }) => message.includes('twice'))
    assert.deepEqual(
      warnings.map((warning) => warning.path),
      ['theme[1].a'],
    )
  })
})

describe('the place of a mistake in JSON', () => {
  const cases: [string, number, number, RegExp][] = [
    ['', 1, 1, /expected \{, but the file ends/],
    ['{', 1, 2, /file ends/],
    ['{"a":1,,}', 1, 8, /a name in double quotes/],
    ['[,]', 1, 2, /a value or \]/],
    ['{"a":,}', 1, 6, /a value/],
    ['{"a" 1}', 1, 6, /expected :/],
    ['{"a":1 "b":2}', 1, 8, /expected , or }/],
    ['[1 2]', 1, 4, /expected , or ]/],
    ['{a:1}', 1, 2, /a name in double quotes/],
    ["{'a':1}", 1, 2, /a name in double quotes/],
    ['// x\n{} /* y */ z', 2, 12, /the end of the file/],
    ['{ /* x ', 1, 3, /the comment that begins here does not end/],
    ['{} /*/', 1, 4, /the comment that begins here does not end/],
    ['{"a": # x\n1}', 1, 7, /a value/],
    ['{\n\t"a": 01\n}', 2, 8, /expected , or }/],
    ['{"a":"x\ny"}', 1, 6, /does not end on its line/],
    ['{"a":"C:\\Program"}', 1, 6, /a single backslash; JSON writes a backslash as two/],
    ['{"a":"\\u12"}', 1, 6, /\\u without four hexadecimal digits/],
    ['{"a":"\t"}', 1, 6, /a tab or another control character/],
    ['{} x', 1, 4, /the end of the file/],
    ['[nulll]', 1, 2, /a value/],
    ['[1.]', 1, 2, /a value/],
    ['}', 1, 1, /expected \{/],
  ]
  for (const [text, line, column, message] of cases)
    test(JSON.stringify(text), () => {
      const result = readJson(text)
      assert.ok(result.kind === 'mistake')
      assert.deepEqual([result.mistake.line, result.mistake.column], [line, column])
      assert.match(result.mistake.message, message)
    })

  const lenient: [string, unknown][] = [
    ['{"a":1,}', { a: 1 }],
    ['[1, 2 ,\n]', [1, 2]],
    ['// first\n{ /* x, } */ "a": [1, // last\n ], }', { a: [1] }],
    [
      '{"a": "// no comment, ]", "b": "\\" /* nor this */ ,}"}',
      { a: '// no comment, ]', b: '" /* nor this */ ,}' },
    ],
  ]
  for (const [text, value] of lenient)
    test(`${JSON.stringify(text)} has none`, () =>
      assert.deepEqual(readJson(text), { kind: 'value', value, repeated: [] }))

  test('is found in time in what is made to be slow to read', () => {
    for (const piece of ['/*', '"\\"', '[1,],', '//', ', ', '"'])
      assert.equal(readJson(piece.repeat(300_000)).kind, 'mistake', piece)
  })

  test('shows one character of what it found, since that may be a secret', () => {
    const result = readJson('{"key": sk-secret}')
    assert.ok(result.kind === 'mistake')
    assert.match(result.mistake.message, /found s$/)
  })
})

describe('config.schema.json', () => {
  const root = resolve(import.meta.dirname, '../../..')
  const shipped = ['.', '..'].map((up) => join(root, up, 'config.schema.json')).find(exists)
  const validate = new Ajv2020({ strict: true, strictRequired: false, allErrors: true }).compile({
    ...configJsonSchema(),
  })

  test('is what the tables say; `node scripts/config-schema.mjs` writes it', () => {
    assert.ok(shipped)
    assert.deepEqual(
      JSON.parse(readFileSync(shipped, 'utf8')),
      JSON.parse(JSON.stringify(configJsonSchema())),
    )
  })

  const good: [string, unknown][] = [
    ['every key', full],
    ['an empty group', { mcpServers: {} }],
    ['an address as Windsurf names it', { mcpServers: { s: { serverUrl: 'https://h' } } }],
    ['an address as Gemini CLI names it', { mcpServers: { s: { type: 'http', httpUrl: 'https://h' } } }],
    ['every variable', { mcpServers: { s: { command: 'x', inheritEnv: true, envFile: '.env' } } }],
    ['servers', { servers: { s: { url: 'HTTPS://h' } } }],
    ['variables', { mcpServers: { s: { url: '${H}', headers: { A: '${B}' } } } }],
    ['aliases', { mcpServers: { s: { type: 'streamable-http', url: 'http://h' } } }],
    ['comments', { $comment: 'c', mcpServers: { s: { ...one, $comment: 1 } }, server: { $comment: [] } }],
    ['sizes', { mcpServers: {}, logging: { maxSize: '10MB' } }],
    ['bytes', { mcpServers: {}, logging: { maxSize: 4096 } }],
    ['sse', { mcpServers: { s: { type: 'sse', url: 'http://h', maxRetries: 0 } } }],
    ...grants(
      {},
      { grant: 'device' },
      { grant: 'client_credentials', clientId: 'c', clientKey: 'k' },
      { grant: 'token_exchange', clientId: 'c', assertionFile: 'f' },
      { grant: 'id_jag', clientId: 'c', assertion: 'a', identityProvider: { issuer: 'https://i.example' } },
    ),
  ]
  for (const [title, value] of good)
    test(`agrees with the validator: ${title} is right`, () => {
      read(value, { H: 'http://h', B: 'b' })
      assert.ok(validate(value), JSON.stringify(validate.errors))
    })

  for (const [title, value] of bad)
    test(`agrees with the validator: ${title} is wrong`, () => assert.equal(validate(value), false))

  const crossed: [string, object][] = [
    [
      'HTTP+SSE with a revision that lacks it',
      { mcpServers: { s: { type: 'sse', url: 'http://h', protocol: latestStateless.version } } },
    ],
    ['a quotation mark in a host', { mcpServers: { s: { url: 'http://h"x/mcp' } } }],
    ['a proxy with a path', { mcpServers: { s: { url: 'https://h', proxy: 'http://p:1/path' } } }],
    ['a template without a language', { mcpServers: { s: { type: 'sandbox', templates: { data: {} } } } }],
    ['a short key for states', { server: { stateKey: 'short' } }],
    ['a token with a space', { server: { token: 'two words' } }],
    [
      'logins without the address of the front',
      { server: { auth: { issuers: [{ issuer: 'https://a.example' }] } } },
    ],
    ['a log file of one byte', { logging: { maxSize: '1B' } }],
    ...grants(
      { grant: 'jwt_bearer', assertion: 'a' },
      { grant: 'client_credentials', clientId: 'c' },
      { grant: 'token_exchange', clientId: 'c' },
      { grant: 'id_jag', clientId: 'c', assertion: 'a' },
      { grant: 'jwt_bearer', clientId: 'c', assertion: 'a', assertionFile: 'f' },
    ),
  ]
  for (const [title, value] of crossed)
    test(`agrees with the validator: ${title} is wrong`, () => {
      assert.notDeepEqual(problemsOf({ mcpServers: {}, ...value }), [])
      assert.equal(validate({ mcpServers: {}, ...value }), false)
    })

  const misspelled: [string, unknown][] = [
    ['of the file', { mcpServers: {}, loging: {} }],
    ['of a server', { mcpServers: { s: { command: 'x', argz: [] } } }],
    ['of another kind of server', { mcpServers: { s: { command: 'x', headers: {} } } }],
    ['of a section', { mcpServers: {}, server: { prot: 1 } }],
  ]
  for (const [title, value] of misspelled)
    test(`marks a misspelled key ${title}, of which a start only warns`, () => {
      assert.equal(validate(value), false)
      assert.equal(read(value).warnings.length > 0, true)
    })

  test('tells an editor what the start forgives', () => {
    assert.equal(validate({ mcpServers: {}, cli: { stdio: { encoding: 'latin1' } } }), false)
  })
})

/** Servers with these members of "auth". */
function grants(...all: readonly object[]): [string, object][] {
  return all.map((auth) => [
    JSON.stringify(auth),
    { mcpServers: { s: { url: 'https://h', auth: { type: 'oauth', ...auth } } } },
  ])
}

function exists(path: string): boolean {
  try {
    readFileSync(path)
    return true
  } catch {
    return false
  }
}
