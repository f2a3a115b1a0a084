// A whole configuration and its file. `tables.test.ts` covers the keys and their values.

import { strict as assert } from 'node:assert'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { ConfigError } from '../../src/config/problems.js'
import { loadConfig, resolveConfig, secretsIn, selectSchema } from '../../src/config/config.js'
import type { Configuration, Environment } from '../../src/config/configuration.js'
import { configJsonSchema } from '../../src/config/json-schema.js'
import { readJson } from '../../src/config/json-syntax.js'

const folder = mkdtempSync(join(tmpdir(), 'mcps-config-'))
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))

const read = (value: unknown, env: Environment = {}): Configuration =>
  resolveConfig(value, { source: 'memory', folder: '/work', env, home: '/home/me' })

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

const problemsOf = (value: unknown, env: Environment = {}): string[] =>
  failureOf(() => read(value, env)).problems.map(({ path, problem, hint }) => `${path}|${problem}|${hint}`)

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
    drainDelay: 2000,
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
    instance: 'web-1',
    sessionMaxAge: 3_600_000,
    store: 'rediss://ann:of-the-store@store.example.com:6380',
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
    const validate = new Ajv2020({ strict: true, strictRequired: false }).compile({ ...configJsonSchema() })
    assert.ok(validate(full), JSON.stringify(validate.errors))
    const { drainTimeout, drainDelay, sessionMaxAge, stateKey, previousStateKey, ...server } = full.server
    assert.deepEqual(config.server, {
      ...server,
      drainTimeoutMs: drainTimeout,
      drainDelayMs: drainDelay,
      sessionMaxAgeMs: sessionMaxAge,
      tokens: [{ name: 'ci', sha256: hash, profiles: ['review'], expiresAtMs: Date.UTC(2027, 0, 1) }],
      ui: { remote: true, redact: false, historyBytes: 1024 ** 2 },
      stateKeys: [stateKey, previousStateKey],
      secrets: [
        full.server.token,
        stateKey,
        previousStateKey,
        full.server.store,
        'of-the-store',
        Buffer.from('ann:of-the-store').toString('base64'),
        'of-the-front',
        'of-the-pages',
      ],
    })
    assert.equal(config.schemas.get('default')?.servers.find(({ name }) => name === 'b')?.timeoutMs, 5000)
    assert.deepEqual(config.logging, {
      level: 'debug',
      file: '/home/me/logs/p.log',
      maxSizeBytes: 2_621_440,
      maxFiles: 3,
      console: false,
    })
    assert.deepEqual([config.startupGraceMs, config.processesMax, config.limits], [50, 7, full.limits])
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
    const enabled = [...config.schemas.values()].map(({ enabled, servers }) => [
      enabled,
      servers.map(({ name }) => name),
    ])
    assert.deepEqual(enabled, [
      [true, ['a', 'b']],
      [false, ['a']],
    ])
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
    assert.deepEqual([config.server.port, config.server.host], [3095, '127.0.0.1'])
    assert.equal(config.server.name, 'mcps-proxy')
    assert.deepEqual([config.server.drainTimeoutMs, config.processesMax], [undefined, undefined])
    assert.equal(config.startupGraceMs, undefined)
    assert.equal(config.schemas.get('default')?.servers[0]?.timeoutMs, 30_000)
    assert.deepEqual(config.logging, {
      level: 'info',
      file: undefined,
      maxSizeBytes: 10 * 1024 ** 2,
      maxFiles: 5,
      console: true,
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

  test('has keys for states that cannot be guessed', () => {
    const [now, before] = ['k'.repeat(16), 'b'.repeat(16)]
    const value = { mcpServers: { s: one }, server: { stateKey: '${K}', previousStateKey: before } }
    assert.deepEqual(read(value, { K: now }).server.stateKeys, [now, before])
    const overridden = read(value, { K: now, MCPS_PROXY_STATE_KEY: 'e'.repeat(16) }).server.stateKeys
    assert.deepEqual(overridden, ['e'.repeat(16), before])
    assert.deepEqual(read({ mcpServers: { s: one } }).server.stateKeys, [])
    assert.deepEqual(problemsOf(value), [
      'server.stateKey|has no value: variable K is not set|set it, or remove the key',
    ])
    assert.deepEqual(problemsOf(value, { K: 'short' }), [
      'server.stateKey|has a value that cannot be used after its variables are replaced|must be a text of at least 16 characters',
    ])
  })

  test('whose names are those of built-in members does no harm', () => {
    const text = `{"mcpServers":{"__proto__":{"command":"p","env":{"__proto__":"v","constructor":"w"}},
      "constructor":{"url":"http://h","headers":{"__proto__":"x"}}},"__proto__":{"prefix":false}}`
    const result = readJson(text)
    const config = read(result.kind === 'value' ? result.value : undefined)
    const servers = config.schemas.get('default')?.servers ?? []
    const named = servers.map(({ name, prefix }) => [name, prefix])
    assert.deepEqual(named, [
      ['__proto__', true],
      ['constructor', true],
    ])
    const [first] = servers
    assert.deepEqual(first?.kind === 'stdio' && Object.entries(first.env), [
      ['__proto__', 'v'],
      ['constructor', 'w'],
    ])
    assert.equal(Reflect.get({}, 'command'), undefined)
  })
})

test('the name of a server is no secret', () => {
  const env = { PGUSER: 'postgres', PGPASSWORD: 'hunter22' }
  assert.deepEqual(secretsIn(read({ mcpServers: { postgres: { ...one, env } } })), ['hunter22'])
})

const cases = [
  ['stderr', undefined],
  ['/a.jsonl', '/a.jsonl'],
  [{ file: 'stderr' }, undefined],
] as const
for (const [audit, wanted] of cases)
  test(`an audit is ${JSON.stringify(audit)}`, () => {
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

test('a limit is for every client and every tool, and lets as many calls come at once as in a minute', () => {
  const { limits } = read({ mcpServers: {}, limits: [{ perMinute: 3 }] })
  assert.deepEqual(limits, [{ principal: undefined, tools: ['*'], perMinute: 3, burst: 3, each: false }])
})

test('problems never repeat a secret', () => {
  const error = failureOf(() =>
    read({ mcpServers: { a: { ...one, args: ['s3cret\0'], env: { K: 5551234, L: ['s3cret'] } } } }),
  )
  assert.doesNotMatch(error.message, /s3cret|5551234/)
})

test('problems cannot write to a terminal', () => {
  const error = failureOf(() =>
    read({ mcpServers: { 'a\u001b[31m\u202e': { command: '\u001b]0;x', url: 1 } } }),
  )
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(error.message, /[\u0000-\u0009\u000b-\u001f\u202e]/)
})

test('a schema is found by its name', () => assert.equal(selectSchema(read(full), 'default').name, 'default'))

const unusable: [string, RegExp][] = [
  [
    'workspace',
    /group "workspace" is disabled; there is default; for example: mcps-proxy stdio --schema default$/m,
  ],
  ['defualt', /"defualt" does not exist; did you mean "default"\?; for example: /],
  ['__proto__', /does not exist/],
]
for (const [name, want] of unusable)
  test(`the schema ${name} is refused with the names there are`, () => {
    const error = failureOf(() => selectSchema(read(full), name))
    assert.equal(error.code, 'CONFIG_SCHEMA')
    assert.match(error.message, want)
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

  test('may begin with a byte order mark', () =>
    assert.equal(loadConfig({ path: file('bom.json', `\ufeff${text}`), env: {} }).warnings.length, 0))

  const refused: [string, () => string, string, RegExp][] = [
    ['missing', () => join(folder, 'none.json'), 'CONFIG_NOT_FOUND', /is not there/],
    ['a folder', () => folder, 'CONFIG_UNREADABLE', /is a folder; name a JSON file/],
    [
      'empty',
      () => file('empty.json', ' \n'),
      'CONFIG_NOT_JSON',
      /is empty; write .* or run mcps-proxy add$/,
    ],
    ['a device', () => '/dev/zero', 'CONFIG_UNREADABLE', /not a regular file/],
    [
      'a named pipe',
      () => {
        const path = join(folder, 'pipe')
        execFileSync('mkfifo', [path])
        return path
      },
      'CONFIG_UNREADABLE',
      /not a regular file/,
    ],
    [
      'too large',
      () => file('big.json', `${text}${' '.repeat(1024 * 1024 + 1 - text.length)}`),
      'CONFIG_UNREADABLE',
      /1048576/,
    ],
    [
      'not UTF-8',
      () => file('latin1.json', Buffer.from([0x22, 0xe4, 0x22])),
      'CONFIG_UNREADABLE',
      /not UTF-8/,
    ],
    [
      'UTF-16',
      () => file('utf-16.json', Buffer.from(`\ufeff${text}`, 'utf16le')),
      'CONFIG_UNREADABLE',
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
      const hasWarning = config.warnings.some(({ message }) => message.includes('other users can write it'))
      assert.equal(hasWarning, warns)
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

  test('is reported with both places, since the first of two servers would vanish', () =>
    assert.deepEqual(problemsOfText(servers), [
      'mcpServers.fs is there twice: at line 3, column 5, and at line 4, column 5',
    ]))

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
      const paths = problemsOfText(text).map((problem) => problem.split(' ', 1)[0])
      assert.deepEqual(paths, want)
    })

  test('is a warning in an unknown section, and equal names in two objects are allowed', () => {
    const path = file(
      'other.json',
      '{"theme":[{"a":1},{"a":2,"a":3}],"mcpServers":{"s":{"command":"a"},"t":{"command":"a"}}}',
    )
    const warnings = loadConfig({ path, env: {} }).warnings.filter(({ message }) => message.includes('twice'))
    const places = warnings.map((warning) => warning.path)
    assert.deepEqual(places, ['theme[1].a'])
  })
})

describe('the place of a mistake in JSON', () => {
  const cases: [string, number, number, RegExp][] = [
    ['', 1, 1, /expected a value, but the file ends/],
    ['{', 1, 2, /file ends/],
    ['{"a":1,,}', 1, 8, /a name in double quotes/],
    ['[,]', 1, 2, /a value/],
    ['{"a":,}', 1, 6, /a value/],
    ['{"a" 1}', 1, 6, /expected :/],
    ['{"a":1 "b":2}', 1, 8, /expected a comma/],
    ['[1 2]', 1, 4, /expected a comma/],
    ['{a:1}', 1, 2, /a name or text in double quotes/],
    ["{'a':1}", 1, 2, /a name or text in double quotes/],
    ['// x\n{} /* y */ {}', 2, 12, /the end of the file/],
    ['{ /* x ', 1, 3, /the comment that begins here does not end/],
    ['{} /*/', 1, 4, /the comment that begins here does not end/],
    ['{"a": # x\n1}', 1, 7, /found #/],
    ['{\n\t"a": 01\n}', 2, 8, /expected a comma/],
    ['{"a":"x\ny"}', 1, 6, /does not end on its line/],
    ['{"a":"C:\\Program"}', 1, 6, /a single backslash; JSON writes a backslash as two/],
    ['{"a":"\\u12"}', 1, 6, /\\u without four hexadecimal digits/],
    ['{"a":"\t"}', 1, 6, /a tab or another control character/],
    ['{} x', 1, 4, /found x/],
    ['[nulll]', 1, 2, /true, false or null/],
    ['[1.]', 1, 2, /a value/],
    ['}', 1, 1, /expected a value/],
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
    test(`${JSON.stringify(text)} has none`, () => {
      const result = readJson(text)
      assert.deepEqual(result.kind === 'value' && [result.value, result.repeated], [value, []])
    })

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
