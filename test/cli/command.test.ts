import { strict as assert } from 'node:assert'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text as whole } from 'node:stream/consumers'
import { after, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { bannerText, stdioBanner } from '../../src/cli/console.js'
import { spellingsOf } from '../../src/cli/command-line.js'
import { loadCommands, readArguments } from '../../src/cli/commands.js'
import { helpText } from '../../src/cli/help.js'
import { connectCommand, remoteOf } from '../../src/cli/serve-commands.js'
import { replyToFailure } from '../../src/cli/reply.js'
import { ConfigError } from '../../src/config/problems.js'
import { resolveConfig, selectSchema } from '../../src/config/config.js'
import { noPaint } from '../../src/log/lines.js'
import { nearest } from '../../src/text/nearest.js'
import { version } from '../../src/version.js'
import { leaveHome } from '../integration/support/home.js'
import type { Ran } from '../integration/support/spawned.js'
import { runCommand } from './support/in-process.js'

leaveHome()
const folder = mkdtempSync(join(tmpdir(), 'mcps-cli-'))
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))

const words = (line: string): string[] => (line === '' ? [] : line.split(' '))

/** The name of the command with its options and words, or the requested help or version. */
async function parsed(line: string): Promise<unknown> {
  const asked = await readArguments(words(line))
  if (asked.kind !== 'task') return asked
  const given = Object.entries(Object(asked.given)).filter(([, value]) => !isAbsent(value))
  return [asked.command.name, Object.fromEntries(given)]
}

function isAbsent(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return value === undefined || value === false
}

describe('the command line', () => {
  const cases: [line: string, name: string, given?: object][] = [
    ['', 'http'],
    ['--port 80', 'http', { port: 80 }],
    ['--http --host h --allow-unauthenticated', 'http', { host: 'h', 'allow-unauthenticated': true }],
    ['http --ui', 'http', { ui: true }],
    ['--stdio', 'stdio'],
    ['stdio', 'stdio'],
    ['--stdio --no-kept-lists', 'stdio', { 'no-kept-lists': true }],
    ['stdio --no-kept-lists --silent', 'stdio', { 'no-kept-lists': true, silent: true }],
    ['stdio --stdio', 'stdio'],
    ['stdio --server github', 'stdio', { server: 'github' }],
    ['--stdio --schema=workspace', 'stdio', { schema: 'workspace' }],
    ['--schema workspace --stdio', 'stdio', { schema: 'workspace' }],
    ['stdio --mcp-config mcp.json', 'stdio', { config: 'mcp.json' }],
    ['stdio -c mcp.json -l warn -s', 'stdio', { config: 'mcp.json', 'log-level': 'warn', silent: true }],
    ['--stdio --config=a=b.json', 'stdio', { config: 'a=b.json' }],
    ['--stdio --record r.jsonl --timeout 5000', 'stdio', { record: 'r.jsonl', timeout: 5000 }],
    ['--stdio --timeout 2147483647', 'stdio', { timeout: 2_147_483_647 }],
    ['--verbose --stdio', 'stdio', { verbose: true }],
    ['stdio --ui 0', 'stdio', { ui: 0 }],
    ['stdio --ui', 'stdio', { ui: 0 }],
    ['stdio --profile p', 'stdio', { profile: 'p' }],
    ['--check', 'check'],
    ['--check f.json', 'check', { words: ['f.json'] }],
    ['--check=f.json', 'check', { words: ['f.json'] }],
    ['--check --config f.json', 'check', { config: 'f.json' }],
    ['--check --stdio --schema=w', 'check', { stdio: true, schema: 'w' }],
    ['check --schema w', 'check', { schema: 'w' }],
    ['--check --http', 'check', { http: true }],
    ['stdio --check --start f.json', 'check', { stdio: true, words: ['f.json'], start: true }],
    [
      '--check --host 0.0.0.0 --allow-unauthenticated',
      'check',
      { host: '0.0.0.0', 'allow-unauthenticated': true },
    ],
    ['tools --profile p', 'tools', { profile: 'p' }],
    ['tools s__* --json --schema w', 'tools', { words: ['s__*'], json: true, schema: 'w' }],
    ['call t a=1 b=--x', 'call', { words: ['t', 'a=1', 'b=--x'] }],
    ['replay a -- node s.js --flag', 'replay', { words: ['a'], rest: ['node', 's.js', '--flag'] }],
    ['replay --portable -- node s.js', 'replay', { portable: true, rest: ['node', 's.js'] }],
    ['replay a --http --trust', 'replay', { words: ['a'], http: true, trust: true }],
    [
      'replay a --url http://h --header A:1 --header=X-B:c:d',
      'replay',
      { words: ['a'], url: 'http://h', header: { A: '1', 'X-B': 'c:d' } },
    ],
    ['replay --verbose 007 b -- x', 'replay', { words: ['007', 'b'], rest: ['x'], verbose: true }],
    [
      'replay a --timeout 5 -- x --timeout 6',
      'replay',
      { words: ['a'], rest: ['x', '--timeout', '6'], timeout: 5 },
    ],
    ['doctor files', 'doctor', { words: ['files'] }],
    ['list --profile review', 'list', { profile: 'review' }],
    [
      'sandbox --stdio --runtime bubblewrap --enable-cors',
      'sandbox',
      { stdio: true, runtime: 'bubblewrap', 'enable-cors': true },
    ],
    [
      'add s --env A=b --force -- c -x',
      'add',
      { words: ['s'], env: ['A=b'], force: true, rest: ['c', '-x'] },
    ],
    [
      'add s https://h -H A:b --secrets',
      'add',
      { words: ['s', 'https://h'], header: { A: 'b' }, secrets: true },
    ],
    ...['--config f', 'connect https://h', 'sandbox --stdio'].map((more): [string, string, object] => [
      `add s -- mcps-proxy ${more}`,
      'add',
      { words: ['s'], rest: ['mcps-proxy', ...more.split(' ')] },
    ]),
    ['remove s -c f', 'remove', { words: ['s'], config: 'f' }],
    ['connect https://h/mcp', 'connect', { words: ['https://h/mcp'] }],
    ['--stdio --url https://h/mcp', 'connect', { words: ['https://h/mcp'] }],
    [
      '--url https://h/mcp --auth none -H X-Key:abc --header=B:${c}',
      'connect',
      { words: ['https://h/mcp'], auth: 'none', header: { 'X-Key': 'abc', B: '${c}' } },
    ],
  ]
  for (const [line, name, given = {}] of cases)
    test(line === '' ? 'nothing' : line, async () => assert.deepEqual(await parsed(line), [name, given]))

  const questions: [string, object][] = [
    ['--help', { kind: 'help', about: undefined }],
    ['help', { kind: 'help', about: undefined }],
    ['replay --help', { kind: 'help', about: 'replay' }],
    ['--url https://h -h', { kind: 'help', about: 'connect' }],
    ['help call', { kind: 'help', about: 'call' }],
    ['-V', { kind: 'version' }],
  ]
  for (const [line, want] of questions) test(line, async () => assert.deepEqual(await parsed(line), want))

  const tokens: [string, boolean][] = [
    ['https://h/mcp', false],
    ['https://h.run.app/mcp', true],
    ['https://h.run.app --auth none', false],
    ['https://h --audience https://a', true],
    ['https://h --impersonate-service-account x@y', true],
  ]
  for (const [line, want] of tokens)
    test(`connect ${line} sends ${want ? 'ID tokens' : 'no ID token'}`, () =>
      assert.equal(JSON.stringify(remoteOf(connectCommand.read(words(line)))).includes('"google"'), want))

  const mistakes: [string, RegExp][] = [
    ['--stdio --http', /unknown option --http; mcps-proxy help stdio/],
    ['--schema x', /unknown option --schema; mcps-proxy help http/],
    ['--stido', /unknown option --stido; did you mean --stdio\?/],
    ['--stdio --schemas=x', /unknown option --schemas; did you mean --schema\?/],
    ['-config x', /unknown option -config; did you mean --config\?/],
    ['add', /add needs the name of a server$/],
    ['add s', /add needs a command behind --, or an address$/],
    ['add s npx p', /add needs .* -- before a command$/],
    ['add s npx -y p', /unknown option -y; .*; those of another program stand behind --/],
    ['add s h.example/mcp', /add needs http:\/\/ or https:\/\/ before an address/],
    ['add s ftp://h', /add needs http:\/\/ or https:\/\//],
    ['add s --env A -- c', /--env is "A"; it must be NAME=VALUE/],
    ['add s https://h --env A=b', /--env works only with a command/],
    ['remove s --force', /unknown option --force/],
    ['help nosuch', /unknown command "nosuch"; mcps-proxy help names them all/],
    ['help tols', /unknown command "tols"; did you mean tools\?/],
    ['disable', /disable needs the name of a server$/],
    ['call', /call needs the name of a tool$/],
    ['connect', /connect needs the address of a server$/],
    ['tools a b', /unexpected argument "b"$/],
    ['mcp.json', /is named by --config mcp.json/],
    ['https://user:secret@h', /^unknown command that is an address; mcps-proxy connect URL/],
    ['http https://user:secret@h', /^unexpected argument that is an address/],
    ['-x', /unknown option -x/],
    ['-', /unknown option -/],
    ['--__proto__=1', /unknown option --__proto__/],
    ['--stdio --no-kept-lists=yes', /--no-kept-lists takes no value/],
    ['--stdio --kept-lists', /unknown option --kept-lists; did you mean --no-kept-lists\?/],
    ['--stdio=yes', /unexpected argument "yes"/],
    ['--stdio --config', /--config needs a value; --config FILE/],
    ['--stdio --config --silent', /--config needs a value/],
    ['--stdio --schema=', /--schema needs a value; --schema NAME/],
    ['lock --accept', /--accept needs a value/],
    ['--stdio --config a --mcp-config b', /--config was given twice; keep one/],
    ['http mcp.json', /unexpected argument "mcp.json"; a configuration file is named by --config mcp.json/],
    ['--stdio extra', /unexpected argument "extra"/],
    ['stdio --ui 70000', /--ui is "70000"; it must be a number from 0 to 65535, or nothing/],
    ['--port x', /--port is "x"; it must be a number from 0 to 65535/],
    ['--url ftp://h', /no http:\/\/ or https:\/\/ address; it must be like https:/],
    ['--check a --config b', /cannot be used together; name the file once/],
    ['--url https://h -H novalue', /--header number 1 is no header field; .*Name: value/],
    ['--stdio -- x', /stdio takes nothing behind --/],
    ['replay', /replay needs a file, or --portable/],
    ['replay a --url http://h -- x', /not both/],
    ['replay a --url h', /--url is no http/],
    ['replay a --url http://h --http', /--http and --url cannot be used together/],
    ['replay a --header A:1 --header secret', /^--header number 2 is no header field/],
    ['--stdio --timeout 0', /--timeout is "0"; it must be a number of milliseconds from 1 to 2147483647/],
    ['--stdio --timeout 2147483648', /--timeout is "2147483648"/],
    ['--stdio --timeout 5s', /--timeout is "5s"/],
    ['--stdio --log-level trace', /--log-level is "trace"; it must be error, warn, info or debug/],
    ['--stdio --silent --verbose', /cannot be used together/],
    ['--stdio --verbose --log-level info', /cannot be used together/],
    ['stdio --profile p --server s', /--server and --profile cannot be used together/],
    ['sandbox --runtime chroot', /--runtime is "chroot"/],
    ['completion tcsh', /completion needs bash, zsh or fish/],
  ]
  for (const [line, wanted] of mistakes)
    test(`${line} is a mistake`, async () =>
      assert.rejects(readArguments(words(line)), { name: 'UsageError', message: wanted }))
})

const cases: [string, string[], number, string[]][] = [
  ['tiemout', ['timeout', 'port'], 1, ['timeout']],
  ['SCHEMA', ['schema'], 1, ['schema']],
  ['get_current_time', ['Time__get_current_time', 'x'], 1, ['Time__get_current_time']],
  ['abc', ['abd', 'abe', 'xyz'], 2, ['abd', 'abe']],
  ['abc', ['abx', 'abc'], 1, ['abc']],
  ['zzz', ['abc'], 3, []],
  ['', ['a'], 1, []],
  ['a'.repeat(129), ['a'.repeat(129)], 1, []],
  ['a'.repeat(128), ['a'.repeat(127)], 1, ['a'.repeat(127)]],
  ['abc', ['abc'], 0, []],
  ['b', ['a', 'B'], 1, ['B']],
  ['ab', ['a'.repeat(100_000)], 1, []],
]
for (const [word, candidates, most, want] of cases)
  test(`suggestions: ${word.slice(0, 20)} among ${candidates.length}`, () =>
    assert.deepEqual(nearest(word, candidates, most), want))

const examples: [string, string][] = [
  ['lock --accept', 'lock'],
  ['import nosuch', 'import cursor --dry-run'],
  ['call', 'call memory__search_nodes query=Berlin'],
  ['token create ci --expires tomorrow', 'token create ci --expires 30d'],
  ['stdio --record', 'stdio'],
]
for (const [line, example] of examples)
  test(`the example behind a usage mistake of ${line}`, async () => {
    const error: unknown = await readArguments(words(line)).catch((mistake: unknown) => mistake)
    const { text } = await replyToFailure(error, 'p')
    assert.equal(text.split('\n')[1], `For example: p ${example}`)
  })

test('the example behind a usage mistake of no command is missing', async () => {
  const error: unknown = await readArguments(['tols']).catch((mistake: unknown) => mistake)
  const { text } = await replyToFailure(error, 'p')
  assert.equal(text, 'p: unknown command "tols"; did you mean tools?\n')
})

const commands = await loadCommands()
const help = await helpText('mcps-proxy')
const ofCommands = await Promise.all(commands.map(({ name }) => helpText('mcps-proxy', name)))

describe('the help', () => {
  for (const part of ['--stdio --schema=workspace', '--url URL', '$MCPS_PROXY_CONFIG', 'Exit codes'])
    test(`has ${part}`, () => assert.ok(help.includes(part)))

  for (const [at, { name, takes, options }] of commands.entries())
    test(`names ${name}, and each of its options in one column`, () => {
      assert(help.includes(`\n  ${`${name} ${takes}`.trimEnd()} `))
      for (const [option, each] of Object.entries(options)) {
        const line = ofCommands[at]?.split('\n').find((text) => text.endsWith(each.about)) ?? ''
        assert.equal(line.indexOf(each.about), 29, option)
        assert(ofCommands[at]?.includes(spellingsOf(option, each)[0] ?? ''))
      }
    })

  test('fits a terminal', () => {
    for (const line of [help, ...ofCommands].join('\n').split('\n')) assert.ok(line.length <= 100, line)
  })
})

test('the completion of bash has the names of commands and of their options', async () => {
  const { out: source } = await runCommand(['completion', 'bash'])
  const completed = (line: string): string => {
    const script = `COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _mcps_proxy; echo "\${COMPREPLY[@]}"`
    return spawnSync('bash', ['-c', `${source}${script}`], { encoding: 'utf8' }).stdout
  }
  assert.equal(completed('mcps-proxy log'), 'login logins logout\n')
  assert.equal(completed('mcps-proxy import --d'), '--dry-run\n')
})

test('the completion of fish has a line for each command and option', async () => {
  const { out } = await runCommand(['completion', 'fish'])
  assert.match(out, /-n __fish_use_subcommand -f -a doctor -d 'starts each server once/)
  assert.match(out, /'__fish_seen_subcommand_from import' -l dry-run -d 'Print the changes/)
})

describe('the banner', () => {
  const value = { mcpServers: { Time: { command: 'x' }, off: { command: 'y', disabled: true } } }
  const config = resolveConfig(value, { source: '/a\u001b/c.json', folder: '/', env: {} })
  const schema = selectSchema(config, 'default')

  test('says mode, schema, servers, readiness and how to talk', () => {
    const text = bannerText(stdioBanner(config, schema, false), noPaint)
    for (const part of [
      `mcps-proxy ${version}`,
      'stdio',
      'default (1 server: Time)',
      'JSON-RPC 2.0 ready',
      'stdin',
      '"tools/list"',
    ])
      assert.ok(text.includes(part), part)
    assert.ok(!text.includes('Ctrl-D') && !text.includes('\u001b'))
  })

  test('tells a person how to end', () =>
    assert.ok(stdioBanner(config, schema, true).howToEnd.includes('Ctrl-D')))
})

const withCode = (code: string): Error => Object.assign(new Error('m'), { code })

const failures: [unknown, number][] = [
  [new ConfigError('CONFIG_INVALID', 'f', []), 2],
  [withCode('UPSTREAM_SPAWN'), 1],
  [withCode('TRANSPORT_CLOSED'), 1],
  [withCode('ENOSPC'), 1],
  [withCode('ERR_ASSERTION'), 70],
  [new TypeError('m'), 70],
  ['text', 70],
]
for (const [error, want] of failures)
  test(`the exit code of a failure: ${String(error)} is ${want}`, async () =>
    assert.equal((await replyToFailure(error, 'p')).exitCode, want))

const isWindows = process.platform === 'win32'
const program = resolve(import.meta.dirname, '../../program/cli.js')

const run = (args: readonly string[], input = '', script = program): Promise<Ran> =>
  new Promise((resolve) => {
    const options = { cwd: folder, env: { PATH: process.env['PATH'], HOME: folder } }
    const child = execFile(process.execPath, [script, ...args], options, (_, out, err) =>
      resolve({ code: child.exitCode, out, err }),
    )
    child.stdin?.on('error', () => undefined).end(input)
  })

function config(name: string, value: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
  chmodSync(path, 0o600)
  return path
}

/** The configuration of a server that creates the file `marker` when it starts. */
function marking(marker: string): string {
  const script = `const [mark, time] = process.argv.splice(1); require('fs').writeFileSync(mark, ''); import(time)`
  const time = pathToFileURL(resolve(program, '../servers/time.js')).href
  const server = { command: process.execPath, args: ['-e', script, marker, time] }
  const patience = { startupGraceMs: 60_000, server: { drainTimeout: 60_000 } }
  return config('marking.json', { ...patience, mcpServers: { s: server } })
}

describe('the program', () => {
  test('--help and --version go to stdout', async () => {
    const help = await run(['--help'])
    assert.deepEqual([help.code, help.err], [0, ''])
    assert.match(help.out, /--stdio --schema=workspace/)
    assert.deepEqual(await run(['--version']), { code: 0, out: `${version}\n`, err: '' })
  })

  test('a mistake has the exit code 2, the reason on stderr, and nothing on stdout', async () => {
    const { code, out, err } = await run(['--stdio', '--schema=defualt'])
    assert.deepEqual([code, out], [2, ''])
    assert.match(
      err,
      /"defualt" does not exist; did you mean "default"\?; for example: mcps-proxy stdio --schema default\n$/,
    )
  })

  const list = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'

  test('--stdio answers on stdout, logs on stderr, and ends with its input', async () => {
    const { code, out, err } = await run(['--stdio'], list)
    assert.equal(code, 0)
    for (const line of out.trimEnd().split('\n')) assert.equal(JSON.parse(line).jsonrpc, '2.0')
    assert.match(out, /Time__get_current_time/)
    assert.match(err, /JSON-RPC 2\.0 ready/)
    for (const line of err.trimEnd().split('\n')) assert.doesNotThrow(() => JSON.parse(line), line)
  })

  test('what is started behind it can still write to the same stdout', { skip: isWindows }, async () => {
    // Node gives a child a socket as stdout, which all programs of a shell share.
    const script = `"$0" "$1" --stdio --silent; echo behind`
    const options = { cwd: folder, env: { PATH: process.env['PATH'], HOME: folder } }
    const child = spawn('sh', ['-c', script, process.execPath, program], options)
    child.stdin.end('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert.equal(await whole(child.stdout), '{"jsonrpc":"2.0","id":1,"result":{}}\nbehind\n')
  })

  const claim = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const discover = { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: claim } }

  const beginnings: [string, string, RegExp, boolean][] = [
    ['asks what there is and leaves', `${JSON.stringify(discover)}\n`, /"supportedVersions"/, false],
    ['lists and leaves', list, /s__get_current_time/, true],
  ]
  for (const [title, input, said, starts] of beginnings)
    test(`a client that ${title} has ${starts ? 'servers' : 'no server'} started for it`, async () => {
      const marker = join(folder, 'started')
      rmSync(marker, { force: true })
      const args = ['--stdio', '--no-kept-lists', '--silent', '-c', marking(marker)]
      const { code, out, err } = await run(args, input)
      assert.deepEqual([code, err], [0, ''])
      assert.match(out, said)
      assert.equal(existsSync(marker), starts)
    })

  test('called mcp-all-in-one it has that name', async () => {
    const link = join(folder, 'mcp-all-in-one')
    symlinkSync(program, link)
    const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}\n`
    assert.match((await run(['--stdio'], hello, link)).out, /"name":"mcp-all-in-one"/)
  })
})
