import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { once } from 'node:events'
import { type TestContext, describe, test } from 'node:test'
import { ChangedMeanwhile, applyChanges, undoNewest } from '../../../src/cli/clients/import-record.js'
import type { OwnLaunch } from '../../../src/cli/clients/launch.js'
import { type ImportPlan, planImport } from '../../../src/cli/clients/plan.js'
import { type Client, type UserMachine, clientNames, clients } from '../../../src/cli/clients/table.js'
import { parseServersFile } from '../../../src/cli/clients/servers-file.js'
import { readText } from '../../../src/cli/import.js'
import { cli, memoryArgs } from '../../integration/support/programs.js'
import { type Ran, ran, scratch } from '../../integration/support/spawned.js'
import { runCommand } from '../support/in-process.js'

/** A file of a client in the form of the client's own documentation, and the result of `import`. */
interface Fixture {
  readonly client: string
  /** The title and the address of the page that shows the form. */
  readonly source: string
  readonly before: string
  /** The servers in our file afterwards. */
  readonly servers: Readonly<Record<string, unknown>>
  readonly after: string
  /** The servers that stay, with a pattern for the reason. */
  readonly stays: Readonly<Record<string, string>>
}

const fixturesFolder = 'test/cli/clients/fixtures'

const fixtures: readonly Fixture[] = readdirSync(fixturesFolder).map((client) => {
  const { format } = clientOf(client)
  const textOf = (name: string): string | undefined =>
    readText(join(fixturesFolder, client, `${name}.${format}`))
  const [before = assert.fail(), after = assert.fail()] = [textOf('before'), textOf('after')]
  const {
    source,
    servers,
    stays = {},
  } = Object(JSON.parse(readFileSync(join(fixturesFolder, client, 'fixture.json'), 'utf8')))
  return { client, source, servers, stays, before, after }
})

const launch: OwnLaunch = { short: ['mcps-proxy'], whole: ['/opt/node', '/opt/cli.js'], config: undefined }

function clientOf(name: string): Client {
  return clients.find((client) => client.name === name) ?? assert.fail(`no client ${name}`)
}

/** Moves a file to a name that is too long for a draft next to it, even for root. The result moves it back. */
function blockDrafts(path: string): () => void {
  const long = 'f'.repeat(240)
  renameSync(path, join(dirname(path), long))
  symlinkSync(long, path)
  return () => renameSync(join(dirname(path), long), path)
}

class Home {
  readonly machine: UserMachine
  readonly own: string

  constructor(t: TestContext, platform: NodeJS.Platform = 'linux') {
    const home = scratch(t)
    this.machine = { platform, home, env: { HOME: home } }
    this.own = join(home, '.mcps-proxy', 'config.json')
  }

  get imports(): string {
    return join(this.machine.home, '.mcps-proxy', 'imports')
  }

  put(path: string, text: string): string {
    const whole = join(this.machine.home, path)
    mkdirSync(dirname(whole), { recursive: true })
    writeFileSync(whole, text)
    return whole
  }

  putClient(name: string, text: string): string {
    const path = clientOf(name).path(this.machine)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    return path
  }

  plan(names: readonly string[] = clientNames, profiles = false, own = this.own): ImportPlan {
    const files = names.flatMap((name) => {
      const client = clientOf(name)
      const path = client.path(this.machine)
      const text = readText(path)
      return text === undefined ? [] : [{ client, path, text }]
    })
    const named = own === this.own ? launch : { ...launch, config: own }
    const { machine } = this
    return planImport(files, own, { profiles, stored: undefined, launch: named, machine, read: readText })
  }

  import(names?: readonly string[], profiles?: boolean): ImportPlan {
    const plan = this.plan(names, profiles)
    applyChanges(plan.changes, this.imports)
    return plan
  }

  servers(): unknown {
    return Object(JSON.parse(readFileSync(this.own, 'utf8'))).mcpServers
  }

  /** The bytes of every file but the records, by path. */
  snapshot(): Record<string, string> {
    const { home } = this.machine
    const paths = readdirSync(home, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
    return Object.fromEntries(
      paths
        .filter((path) => !path.startsWith(this.imports))
        .sort()
        .map((path) => [relative(home, path), readFileSync(path, 'latin1')]),
    )
  }

  command(...args: readonly string[]): Promise<Ran> {
    return runCommand(['import', ...args], { ...process.env, HOME: this.machine.home })
  }
}

test('there is a fixture for every client', () =>
  assert.deepEqual(fixtures.map(({ client }) => client).sort(), [...clientNames].sort()))

for (const fixture of fixtures)
  test(`${fixture.client}, as in "${fixture.source}", moves in and out`, (t) => movesInAndOut(t, fixture))

function movesInAndOut(t: TestContext, { client, before: text, servers, after, stays }: Fixture): void {
  const home = new Home(t)
  const path = home.putClient(client, text)
  const before = home.snapshot()
  const plan = home.import()
  assert.equal(readFileSync(path, 'utf8'), after)
  assert.deepEqual(home.servers(), servers)
  const [{ stays: left, refused } = assert.fail()] = plan.clients
  assert.equal(refused, undefined)
  assert.deepEqual(left.map(({ name }) => name).sort(), Object.keys(stays).sort())
  for (const { name, why } of left) assert.match(why, new RegExp(stays[name] ?? 'never'))
  // A second import finds its own entry and does nothing.
  assert.deepEqual(home.plan().changes, [])
  const notes = undoNewest(home.imports)?.map(({ note }) => note)
  assert.deepEqual(notes, [undefined, undefined])
  assert.deepEqual(home.snapshot(), before)
}

const entry = (command: string): string => `{ "command": "${command}" }`
const file = (servers: Readonly<Record<string, string>>, key = 'mcpServers'): string =>
  `{ "${key}": { ${Object.entries(servers)
    .map(([name, text]) => `"${name}": ${text}`)
    .join(', ')} } }`

describe('servers of several clients', () => {
  const cases: [string, Record<string, string>, string | undefined, unknown][] = [
    [
      'the same server is there once',
      { cursor: file({ a: entry('a') }), windsurf: file({ a: '{ "args": [], "command": "a" }' }) },
      undefined,
      { a: { command: 'a' } },
    ],
    [
      'the same server under two names is there once',
      { cursor: file({ a: entry('a') }), gemini: file({ b: entry('a') }) },
      undefined,
      { a: { command: 'a' } },
    ],
    [
      'two servers of one client stay two',
      { cursor: file({ a: entry('a'), b: entry('a') }) },
      undefined,
      { a: { command: 'a' }, b: { command: 'a' } },
    ],
    [
      'another server of the same name gets the name of its client',
      { cursor: file({ a: entry('a') }), gemini: file({ a: entry('b') }) },
      undefined,
      { a: { command: 'a' }, 'a-gemini': { command: 'b' } },
    ],
    [
      'what our file has is not written again',
      { cursor: file({ a: entry('a'), b: entry('b') }) },
      file({ a: entry('a'), b: entry('x') }),
      { a: { command: 'a' }, b: { command: 'x' }, 'b-cursor': { command: 'b' } },
    ],
  ]
  for (const [title, files, own, wanted] of cases)
    test(title, (t) => {
      const home = new Home(t)
      if (own !== undefined) home.put('.mcps-proxy/config.json', own)
      for (const [name, text] of Object.entries(files)) home.putClient(name, text)
      home.import()
      assert.deepEqual(home.servers(), wanted)
    })

  test('nothing moves into a configuration that a start refuses', (t) => {
    const home = new Home(t)
    home.put('.mcps-proxy/config.json', file({ x: '{ "command": 5 }' }))
    home.putClient('cursor', file({ a: entry('a') }))
    assert.throws(() => home.plan(), /mcpServers\.x\.command is 5/)
    home.put('.mcps-proxy/config.json', '{"mcpServers":{"x":{"command":"y"},"x":{"command":"z"}}}')
    assert.throws(() => home.plan(), /mcpServers\.x is there twice/)
  })

  test('a server that a start would refuse stays', (t) => {
    const home = new Home(t)
    const path = home.putClient('cursor', file({ a: entry('a'), b: '{ "command": "" }', c: '5' }))
    const [{ stays } = assert.fail()] = home.import().clients
    const leftNames = stays.map(({ name }) => name)
    assert.deepEqual(leftNames, ['b', 'c'])
    assert.match(readFileSync(path, 'utf8'), /"b": \{ "command": "" \}, "c": 5/)
  })

  test('a file that is not understood is named and left', (t) => {
    const home = new Home(t)
    home.putClient('cursor', '{ "mcpServers": { "a": ')
    home.putClient('gemini', file({ a: entry('a') }, 'mcpServers').replace('}', '}, "a": {}'))
    home.putClient('zed', '[]')
    const { clients: plans, changes } = home.plan()
    const refusals = plans.map(({ refused }) => refused)
    assert.deepEqual(refusals, [
      'is not JSON at line 1, column 24: expected a value, but the file ends',
      'is no JSON object',
      'has mcpServers.a twice',
    ])
    assert.deepEqual(changes, [])
  })

  test('a byte order mark and CRLF stay', (t) => {
    const home = new Home(t)
    const path = home.putClient(
      'cursor',
      '\ufeff{\r\n  "mcpServers": {\r\n    "a": { "command": "a" }\r\n  }\r\n}\r\n',
    )
    home.import()
    const now = readFileSync(path, 'utf8')
    assert(now.startsWith('\ufeff{\r\n  "mcpServers": {\r\n    "mcps": {\r\n'), JSON.stringify(now))
    assert.equal(now.match(/(?<!\r)\n/), null)
  })

  test('our entry has the configuration that is no usual one, and whole paths where PATH is not known', (t) => {
    const home = new Home(t, 'darwin')
    home.putClient('claude', file({ a: entry('a') }))
    const own = join(home.machine.home, 'other.json')
    const { changes } = home.plan(['claude'], false, own)
    const { mcpServers } = Object(JSON.parse(changes[1]?.after ?? ''))
    assert.deepEqual(mcpServers, {
      mcps: { command: '/opt/node', args: ['/opt/cli.js', 'stdio', '--config', own] },
    })
  })
})

const at = (platform: NodeJS.Platform, name: string, env = {}): string =>
  clientOf(name).path({ platform, home: platform === 'win32' ? 'C:\\u' : '/u', env })

test('files are where each system has them', () => {
  const cases: [string, string][] = [
    [at('darwin', 'claude'), '/u/Library/Application Support/Claude/claude_desktop_config.json'],
    [at('win32', 'claude', { APPDATA: 'D:\\r' }), 'D:\\r\\Claude\\claude_desktop_config.json'],
    [at('linux', 'vscode'), '/u/.config/Code/User/mcp.json'],
    [at('win32', 'vscode'), 'C:\\u\\AppData\\Roaming\\Code\\User\\mcp.json'],
    [at('win32', 'cursor'), 'C:\\u\\.cursor\\mcp.json'],
    [at('darwin', 'zed'), '/u/.config/zed/settings.json'],
    [at('linux', 'zed', { XDG_CONFIG_HOME: '/x' }), '/x/zed/settings.json'],
    [at('linux', 'codex', { CODEX_HOME: '/c' }), '/c/config.toml'],
    [at('linux', 'claude-code'), '/u/.claude.json'],
    [at('linux', 'claude-code', { CLAUDE_CONFIG_DIR: '/d' }), '/d/.claude.json'],
    [
      at('darwin', 'cline'),
      '/u/Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json',
    ],
  ]
  for (const [path, wanted] of cases) assert.equal(path, wanted)
})

const servers = '"mcpServers": { "a": { "command": "a" }, "b": { "command": "b" } }'
const cases: [title: string, lists: string, after: unknown, off: string[]][] = [
  ['none', '', undefined, []],
  ['allowed', '"mcp": { "allowed": ["a"] },', { allowed: ['a', 'mcps'] }, ['b']],
  ['excluded', '"mcp": { "excluded": ["b"] },', { excluded: ['b'] }, ['b']],
]
for (const [title, lists, after, off] of cases)
  test(`the lists of Gemini CLI: ${title}: our entry may start, and what was blocked is disabled`, (t) => {
    const home = new Home(t)
    const path = home.putClient('gemini', `{ ${lists} ${servers} }`)
    const read = (): { mcp: unknown } => Object(JSON.parse(readFileSync(path, 'utf8')))
    home.import()
    assert.deepEqual(read().mcp, after)
    const disabled = Object.entries(Object(home.servers())).filter(([, each]) => Object(each).disabled)
    const disabledNames = disabled.map(([name]) => name)
    assert.deepEqual(disabledNames, off)
    writeFileSync(path, `${readFileSync(path, 'utf8')}\n`)
    undoNewest(home.imports)
    assert.deepEqual(read(), JSON.parse(`{ ${lists} ${servers} }`))
  })

test('with profiles, each client sees its own servers', (t) => {
  const home = new Home(t)
  const path = home.putClient('cursor', file({ a: entry('a') }))
  home.putClient('gemini', file({ a: entry('a'), b: entry('b') }))
  const before = home.snapshot()
  home.import(clientNames, true)
  const { profiles } = Object(JSON.parse(readFileSync(home.own, 'utf8')))
  assert.deepEqual(profiles, { cursor: { servers: ['a'] }, gemini: { servers: ['a', 'b'] } })
  assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), {
    mcpServers: { mcps: { command: 'mcps-proxy', args: ['stdio', '--profile', 'cursor'] } },
  })
  undoNewest(home.imports)
  assert.deepEqual(home.snapshot(), before)
})

/** Files of which one is new, one is a link, and one has another mode. */
function prepared(t: TestContext) {
  const home = new Home(t)
  home.putClient('cursor', '{ "mcpServers": { "a": { "command": "a" } } }')
  const real = home.put('dotfiles/claude.json', '{ "mcpServers": { "b": { "command": "b" } } }')
  chmodSync(real, 0o640)
  const link = clientOf('claude').path(home.machine)
  mkdirSync(dirname(link), { recursive: true })
  symlinkSync(real, link)
  return { home, before: home.snapshot(), link }
}

describe('an import that is cut short', () => {
  test('writes nothing when a file was changed since it was read', (t) => {
    const { home } = prepared(t)
    const { changes } = home.plan()
    writeFileSync(clientOf('cursor').path(home.machine), '{}')
    const before = home.snapshot()
    assert.throws(() => applyChanges(changes, home.imports), ChangedMeanwhile)
    assert.deepEqual(home.snapshot(), before)
  })

  test('is taken back where a file cannot be written, and the import before it stays', (t) => {
    const { home, before, link } = prepared(t)
    home.import(['claude'])
    const imported = home.snapshot()
    // The draft of the client's file cannot be made after our own file was written.
    const unblock = blockDrafts(clientOf('cursor').path(home.machine))
    assert.throws(() => applyChanges(home.plan().changes, home.imports), { code: 'ENAMETOOLONG' })
    unblock()
    assert.deepEqual(home.snapshot(), imported)
    undoNewest(home.imports)
    assert.deepEqual(home.snapshot(), before)
    assert(lstatSync(link).isSymbolicLink())
    assert.equal(statSync(link).mode & 0o777, 0o640)
  })

  for (const { client, before: text } of fixtures)
    test(`the file of ${client}, which it has written since, gets its servers back`, (t) => {
      const home = new Home(t)
      const path = home.putClient(client, text)
      const read = (): unknown => {
        const reading = parseServersFile(clientOf(client), readFileSync(path, 'utf8'))
        return reading.kind === 'refused' ? reading.why : Object.fromEntries(reading.servers)
      }
      const before = read()
      home.import()
      const { format } = clientOf(client)
      const mark = format === 'json' ? '// since' : '# since'
      writeFileSync(path, `${readFileSync(path, 'utf8')}${mark}\n`)
      const notes = undoNewest(home.imports)?.map(({ note }) => note) ?? []
      assert.match(notes[0] ?? '', /changed since, so that only the servers are as they were/)
      assert.deepEqual(read(), before)
      assert(readFileSync(path, 'utf8').endsWith(`${mark}\n`))
      // Our file is no longer needed.
      assert.equal(readText(home.own), undefined)
      assert.equal(undoNewest(home.imports), undefined)
    })

  test('what a person has added since stays', (t) => {
    const home = new Home(t)
    const path = home.putClient('cursor', file({ a: entry('a'), b: entry('b') }))
    home.import()
    writeFileSync(path, file({ mcps: entry('mcps-proxy'), b: entry('mine') }))
    writeFileSync(home.own, file({ a: entry('a'), b: entry('changed'), c: entry('mine') }))
    const [client] = undoNewest(home.imports) ?? []
    assert.match(client?.note ?? '', /; b: another server has that name now/)
    const servers: unknown = JSON.parse(readFileSync(path, 'utf8')).mcpServers
    assert.deepEqual(servers, { a: { command: 'a' }, b: { command: 'mine' } })
    const kept = { a: { command: 'a' }, b: { command: 'changed' }, c: { command: 'mine' } }
    assert.deepEqual(home.servers(), kept)
  })

  test('files that are gone since, with their folders, are written again as they were', (t) => {
    const home = new Home(t)
    const path = home.putClient('cursor', file({ a: entry('a') }))
    home.put('.mcps-proxy/config.json', file({ b: entry('b') }))
    const before = home.snapshot()
    home.import()
    rmSync(dirname(path), { recursive: true })
    rmSync(home.own)
    const outcomes = undoNewest(home.imports)?.map(({ isDone, note }) => [isDone, note])
    assert.deepEqual(outcomes, [
      [true, undefined],
      [true, undefined],
    ])
    assert.deepEqual(home.snapshot(), before)
  })

  test('a record of an earlier version is refused by its name', (t) => {
    const home = new Home(t)
    home.put('.mcps-proxy/imports/2026-11-29T17-54-28.json', '{ "format": 1, "changes": [] }')
    const refused = /2026-11-29T17-54-28\.json is no record that this version of mcps-proxy can read/
    assert.throws(() => undoNewest(home.imports), refused)
  })

  test('our file stays while a file is refused, and a second undo completes the first', (t) => {
    const { home, before } = prepared(t)
    home.import()
    const unblock = blockDrafts(clientOf('cursor').path(home.machine))
    const first = undoNewest(home.imports)?.map(({ isDone }) => isDone)
    assert.deepEqual(first, [false, true, false])
    assert.notEqual(readText(home.own), undefined)
    unblock()
    const again = undoNewest(home.imports)?.map(({ isDone, note }) => [isDone, note])
    const done = [true, undefined]
    assert.deepEqual(again, [done, done, done])
    assert.deepEqual(home.snapshot(), before)
  })

  test('a link to a file that is not there yet stays one', (t) => {
    const { home } = prepared(t)
    mkdirSync(dirname(home.own), { recursive: true })
    symlinkSync('../dotfiles/mcps/config.json', home.own)
    home.import()
    assert(lstatSync(home.own).isSymbolicLink())
    assert.deepEqual(Object.keys(Object(home.servers())), ['b', 'a'])
    undoNewest(home.imports)
    assert(lstatSync(home.own).isSymbolicLink())
    assert.equal(readText(home.own), undefined)
  })

  test('imports are undone from the last to the first', (t) => {
    const { home, before } = prepared(t)
    home.import(['claude'])
    home.import(['cursor'])
    undoNewest(home.imports)
    assert.deepEqual(home.servers(), { b: { command: 'b' } })
    undoNewest(home.imports)
    assert.deepEqual(home.snapshot(), before)
  })
})

const staying = (members: object): string => JSON.stringify({ args: ['${workspaceFolder}/s'], ...members })

describe('the command', () => {
  const secret = 'sk-0123456789abcdef'
  const text = `{ "mcpServers": { "memory": ${JSON.stringify({
    command: process.execPath,
    args: [...memoryArgs, '--token', 'tok-0123456789'],
    env: { API_KEY: secret },
  })} } }`

  test('changes nothing without a terminal, and shows no secret', async (t) => {
    const home = new Home(t)
    home.putClient('cursor', text)
    const before = home.snapshot()
    for (const [args, status] of [
      [[], 2],
      [['--dry-run'], 0],
      [['claude'], 0],
      [['--undo'], 1],
      [['cursro'], 2],
    ] as const) {
      const done = await home.command(...args)
      assert.equal(done.code, status, done.err)
      assert(!`${done.out}${done.err}`.includes(secret) && !done.out.includes('tok-0123456789'), done.out)
      assert.deepEqual(home.snapshot(), before)
    }
    const { out } = await home.command()
    assert.match(out, /memory: \S+ \S+memory\S+ --token \[redacted\]\n {4}API_KEY looks like a secret/)
  })

  const hidden = 'ghp_staysecret123456789'
  const places: readonly [title: string, client: string, entry: string][] = [
    ['variables', 'cursor', staying({ command: 'node', env: { SETTING: hidden } })],
    [
      'variables, and has a member that is not understood',
      'cursor',
      `{ "x": 1, "env": { "S": "${hidden}" } }`,
    ],
    ['a header', 'cursor', staying({ url: 'https://h/mcp', headers: { 'X-Access': hidden } })],
    ['arguments', 'cursor', `{ "command": "./s", "args": ["--api-key", "${hidden}"] }`],
    ['an address', 'cursor', staying({ url: `https://h/mcp?key=${hidden}` })],
    ['a login', 'claude-code', staying({ url: 'https://h/mcp', oauth: { clientSecret: hidden } })],
  ]
  for (const [title, client, stays] of places)
    for (const gap of ['\n', ' '])
      test(`shows no secret of a server that stays: ${title}, ${gap === ' ' ? 'one line' : 'lines'}`, async (t) => {
        const home = new Home(t)
        home.putClient(client, `{"mcpServers":{${gap}"mv": {"command":"node"},${gap}"stay": ${stays}${gap}}}`)
        const { out } = await home.command(client, '--dry-run')
        assert.match(out, /^ {2}stay stays: .*\n[^]*"stay".*\[redacted\]/m)
        assert(!out.includes(hidden), out)
      })

  test('shows no secret of a server that our file has already, and the names of variables', async (t) => {
    const home = new Home(t)
    home.putClient('cursor', text)
    home.putClient('gemini', text)
    assert.equal((await home.command('cursor', '--secrets', '--yes')).code, 0)
    const { out } = await home.command('gemini', '--dry-run')
    assert.match(out, /has it already[^]*API_KEY.*\[redacted\]/)
    assert(!out.includes(secret), out)
    home.putClient('codex', '[mcp_servers.a]\nurl = "https://h/mcp"\nbearer_token_env_var = "A_TOKEN"\n')
    home.putClient('vscode', '{"servers":{"b":{"command":"b","env":{"B_TOKEN":"${env:OTHER_TOKEN}"}}}}')
    const named = (await home.command('--dry-run')).out
    assert.match(named, /^- bearer_token_env_var = "A_TOKEN"$/m)
    assert.match(named, /"B_TOKEN":"\$\{env:OTHER_TOKEN\}"/)
  })

  test('a file that cannot be read is a failure where nothing else moves', async (t) => {
    const home = new Home(t)
    home.putClient('cursor', 'no JSON')
    const { code, out } = await home.command('cursor', '--yes')
    assert.equal(code, 1)
    assert.match(out, /nothing of it is changed/)
  })

  test('names the members of VS Code that are left out, and its rules', async (t) => {
    const home = new Home(t)
    const dev = { watch: 'src/**/*.ts' }
    home.putClient('vscode', JSON.stringify({ servers: { a: { command: 'b', dev, version: '1' } } }))
    const { out } = await home.command('--dry-run')
    assert.match(
      out,
      /^ {2}rules that name a tool SERVER\/TOOL, .* must name mcps\/SERVER__TOOL from now on$/m,
    )
    assert.match(out, /^ {4}not taken over: dev, version$/m)
  })

  test('moves in with an answer through the client’s own file, and out again', async (t) => {
    const home = new Home(t)
    const path = home.putClient('cursor', text)
    const before = home.snapshot()
    // The entry starts the program that has written it.
    const env = { ...process.env, HOME: home.machine.home }
    assert.equal(ran(['import', '--yes'], env).code, 0)
    const { command, args } = Object(JSON.parse(readFileSync(path, 'utf8'))).mcpServers.mcps
    const input = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    assert.match(spawnSync(command, args, { env, input, encoding: 'utf8' }).stdout, /"memory__read_graph"/)
    assert.equal((await home.command('--undo')).code, 0)
    const { '.mcps-proxy/imports': _, ...now } = home.snapshot()
    const kept = Object.fromEntries(Object.entries(now).filter(([name]) => !name.startsWith('.mcps-proxy/')))
    assert.deepEqual(kept, before)
  })

  test('keeps secrets in the store, and not in our file, with --secrets', async (t) => {
    const home = new Home(t)
    home.putClient('cursor', text)
    home.putClient('gemini', text)
    const done = await home.command('--yes', '--secrets')
    assert.equal(done.code, 0, done.err)
    assert(!done.out.includes(secret), done.out)
    assert.match(done.out, /the store of secrets gets memory\.API_KEY/)
    const { memory, ...others } = Object(home.servers())
    assert.deepEqual([memory.env, others], [{ API_KEY: '${keyring:memory.API_KEY}' }, {}])
    const env = { ...process.env, HOME: home.machine.home }
    assert.match((await runCommand(['secret', 'list'], env)).out, /^memory\.API_KEY/)
    const kept = readFileSync(join(home.machine.home, '.mcps-proxy/secrets.json'), 'utf8')
    assert.match(kept, new RegExp(secret))
  })

  test('a secret that the store has already is used, and another value gets another name', async (t) => {
    const home = new Home(t)
    home.putClient('cursor', text)
    assert.equal((await home.command('--yes', '--secrets')).code, 0)
    const envOf = (): unknown => Object(home.servers()).memory.env
    for (const [key, line, name] of [
      [secret, 'has memory.API_KEY,', 'memory.API_KEY'],
      ['sk-another-123456', 'gets memory.API_KEY-2', 'memory.API_KEY-2'],
    ] as const) {
      assert.equal((await home.command('--undo')).code, 0)
      home.putClient('cursor', text.replace(secret, key))
      const done = await home.command('--yes', '--secrets')
      assert(done.out.includes(`the store of secrets ${line}`), done.out)
      assert.deepEqual(envOf(), { API_KEY: `\${keyring:${name}}` })
    }
    assert.deepEqual(JSON.parse(readFileSync(join(home.machine.home, '.mcps-proxy/secrets.json'), 'utf8')), {
      format: 1,
      secrets: { 'memory.API_KEY': secret, 'memory.API_KEY-2': 'sk-another-123456' },
    })
  })

  test('runs beside another one', async (t) => {
    const home = new Home(t)
    home.putClient('cursor', text)
    home.putClient('gemini', text.replace('"memory"', '"other"').replace(secret, 'another-secret'))
    const before = home.snapshot()
    const env = { ...process.env, HOME: home.machine.home }
    const both = ['cursor', 'gemini'].map((name) =>
      spawn(process.execPath, [cli, 'import', name, '--yes'], { env, stdio: 'ignore' }),
    )
    const codes = await Promise.all(both.map((child) => once(child, 'exit').then(([code]) => Number(code))))
    assert.deepEqual(codes, [0, 0])
    assert.deepEqual(Object.keys(Object(home.servers())).sort(), ['memory', 'other'])
    undoNewest(home.imports)
    undoNewest(home.imports)
    assert.deepEqual(home.snapshot(), before)
  })
})
