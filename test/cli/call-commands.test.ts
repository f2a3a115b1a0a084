import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { text as whole } from 'node:stream/consumers'
import { type TestContext, describe, test } from 'node:test'
import { argumentsOf } from '../../src/cli/call-commands.js'
import { Failure } from '../../src/cli/console.js'
import { toolResult } from '../../src/ask/content.js'
import { type JsonValue, readTree } from '../../src/ask/json-value.js'
import { personOf } from '../../src/ask/terminal.js'
import { at, parsed, textAt } from '../integration/support/json.js'
import { cli, everything, itEcho, memoryArgs, nodeProgram, program } from '../integration/support/programs.js'
import { type Ran, type Servers, configFile, scratch } from '../integration/support/spawned.js'
import { listening } from '../support/listening.js'
import { runCommand } from './support/in-process.js'

const memory = { command: process.execPath, args: memoryArgs }

const run = (t: TestContext, servers: Servers, ...args: string[]): Promise<Ran> =>
  runOf(t, configFile(t, servers), ...args)

const runOf = (t: TestContext, config: string, ...args: string[]): Promise<Ran> =>
  runCommand([...args, '--config', config], { ...process.env, HOME: scratch(t) })

const types: Readonly<Record<string, string>> = { s: 'string', n: 'number', i: 'integer', o: 'object' }
const read = (...words: string[]): string => argumentsOf(words, (key) => types[key])
for (const [words, json] of [
  [[], '{}'],
  [['s=1'], '{"s":"1"}'],
  [['n=1.50'], '{"n":1.50}'],
  [['n=12345678901234567890'], '{"n":12345678901234567890}'],
  [['o={"a":1}', 's=a=b'], '{"o":{"a":1},"s":"a=b"}'],
  [['other=5', 'text=five', 'yes=true'], '{"other":5,"text":"five","yes":true}'],
  [['other=007'], '{"other":"007"}'],
  [['{"a": 1}'], '{"a": 1}'],
] as const)
  test(`arguments: ${words.join(' ')}`, () => assert.equal(read(...words), json))

for (const [words, problem] of [
  [['n=x'], /"n" takes JSON of the type number, not "x"/],
  [['i='], /"i" takes JSON of the type integer, not ""/],
  [['word'], /"word" is no argument; write key=value/],
  [['=x'], /"=x" is no argument/],
  [['{"a":'], /the arguments are not JSON: \{"a":; write \{"key":"value"\}/],
  [['{}', 'a=1'], /no other argument may follow the JSON object/],
] as const)
  test(`arguments: ${words.join(' ')} is refused`, () =>
    assert.throws(
      () => read(...words),
      (error) => error instanceof Failure && error.exitCode === 2 && problem.test(error.message),
    ))

function raw(value: unknown): JsonValue {
  return readTree(Buffer.from(JSON.stringify(value)))
}

const text = (said: string): object => ({ type: 'text', text: said })

const asked = async (method: string, params: object, ...answers: string[]): Promise<unknown> => {
  const dialog = { tell: () => undefined, ask: () => Promise.resolve(answers.shift() ?? '') }
  const said = await personOf(dialog).answer(method, raw(params))
  return said === undefined ? undefined : parsed(said)
}
const form = (properties: object): object => ({
  message: 'Who?',
  requestedSchema: { type: 'object', properties },
})

const kept: number[] = []
const shown = (value: unknown): string =>
  toolResult(raw(value), (bytes, type) => {
    kept.push(bytes.length)
    return `/tmp/${type.length}`
  })
for (const [title, value, wanted] of [
  ['texts', { content: [text('a'), text('b\n')] }, 'a\nb\n'],
  [
    'structured content and the same as text',
    { content: [text('{ "n": 1 }')], structuredContent: { n: 1 } },
    '{ "n": 1 }\n',
  ],
  [
    'structured content that holds the text',
    { content: [text('one\n')], structuredContent: { content: 'one\n' } },
    'one\n',
  ],
  [
    'structured content beside what is no text',
    { content: [{ type: 'resource_link', name: 'n', uri: 'u:1' }], structuredContent: { n: 1 } },
    'n  u:1\n{"n":1}\n',
  ],
  [
    'a sound',
    { content: [{ type: 'audio', mimeType: 'audio/wav', data: 'AAAA' }] },
    'audio (audio/wav, 3 bytes): /tmp/9\n',
  ],
  ['a link', { content: [{ type: 'resource_link', name: 'n', uri: 'u:1' }] }, 'n  u:1\n'],
  ['an embedded text', { content: [{ type: 'resource', resource: { uri: 'u:1', text: 'held' } }] }, 'held\n'],
  ['a type that is not known', { content: [{ type: 'new', x: 1 }] }, '{"type":"new","x":1}\n'],
  ['nothing', { content: [] }, ''],
] as const)
  test(`what a server answers: ${title}`, () => assert.equal(shown(value), wanted))

test('what a server answers: numbers of structured content stay as they were written', () => {
  const line = Buffer.from('{"content":[],"structuredContent":{"n":1.50,"big":12345678901234567890}}')
  const result = toolResult(readTree(line), () => '')
  assert.equal(result, '{"n":1.50,"big":12345678901234567890}\n')
})

describe('what a person is asked', () => {
  test('a form with fields, or an address that is not opened, declines', async () => {
    const declined = { action: 'decline' }
    assert.deepEqual(await asked('elicitation/create', form({ name: {} }), 'Ann'), declined)
    assert.deepEqual(await asked('elicitation/create', { mode: 'url', url: 'https://h' }, 'n'), declined)
    assert.deepEqual(await asked('elicitation/create', { mode: 'url', url: 'https://h' }, 'y'), {
      action: 'accept',
    })
  })

  test('a form without fields asks for consent', async () => {
    const [consent, yes, ...others] = ['elicitation/create', 'y', 'n', '', 'no'] as const
    assert.deepEqual(await asked(consent, form({}), yes), { action: 'accept', content: {} })
    for (const said of others) assert.deepEqual(await asked(consent, form({}), said), { action: 'decline' })
  })

  test('no other question', () =>
    assert.equal(
      personOf({ tell: () => undefined, ask: () => Promise.resolve('') }).answer('roots/list', raw({})),
      undefined,
    ))
})

describe('a server that others wrote', () => {
  const servers = { every: everything }

  test('its tools, all and those that a pattern fits', async (t) => {
    const { out, code } = await run(t, servers, 'tools')
    assert.equal(code, 0)
    assert.match(out, /^every__echo {2,}\[every\] Echoes back the input string$/m)
    assert.match(out, /^every__simulate-research-query {2,}\(only as a task\) \[every\] /m)
    const some: unknown = JSON.parse((await run(t, servers, 'tools', 'every__get-*m', '--json')).out)
    assert.deepEqual(Array.isArray(some) && some.map((tool) => textAt(tool, 'name')), ['every__get-sum'])
    const none = await run(t, { e: itEcho() }, 'tools', 'nothing')
    assert.deepEqual([none.code, none.out], [1, ''])
    assert.match(none.err, /no tool fits "nothing"; there are \d+ tools/)
  })

  test('text is printed as text, structured content once, and JSON as the server wrote it', async (t) => {
    assert.equal((await run(t, servers, 'call', 'every__echo', 'message=12')).out, 'Echo: 12\n')
    const place = ['call', 'every__get-structured-content', 'location=New York']
    const structured = await run(t, servers, ...place)
    assert.deepEqual(Object.keys(Object(parsed(structured.out))), ['temperature', 'conditions', 'humidity'])
    assert.notEqual(at(parsed((await run(t, servers, ...place, '--json')).out), 'content'), undefined)
  })

  test('an image is a file that is named', async (t) => {
    const { out } = await run(t, servers, 'call', 'every__get-tiny-image')
    const [, path = ''] = /^image \(image\/png, \d+ bytes\): (.*)$/m.exec(out) ?? []
    assert.deepEqual([...readFileSync(path).subarray(1, 4)], [...Buffer.from('PNG')])
  })

  test('what is wrong is said on stderr, and by the exit code', async (t) => {
    const near = await run(t, { e: itEcho() }, 'call', 'e__tak')
    assert.deepEqual([near.code, near.out], [1, ''])
    assert.match(near.err, /no tool is called "e__tak"; did you mean e__take\?/)
    const typed = await run(t, servers, 'call', 'every__get-sum', 'a=x', 'b=1')
    assert.equal(typed.code, 2)
    assert.match(typed.err, /"a" takes JSON of the type number, not "x"/)
  })
})

describe('a server of ours', () => {
  test('a result with isError is printed, and the exit code is 1', async (t) => {
    const { code, out } = await run(t, { s: nodeProgram('typed.mjs') }, 'call', 's__fails')
    assert.deepEqual([code, out], [1, 'it failed\n'])
  })

  test('every page of a list is shown', async (t) => {
    const { out } = await run(t, { s: nodeProgram('small.mjs hinted', { HINTED_MS: '0' }, {}) }, 'tools')
    const firstWords = out.split('\n').map((line) => line.split(' ')[0])
    assert.deepEqual(firstWords, ['s__one', 's__two', ''])
  })

  test('a list names the servers that it lacks, and a call of one of their tools says why', async (t) => {
    const servers = { s: nodeProgram('typed.mjs'), gone: { command: 'no-such-program' } }
    const { code, err } = await run(t, servers, 'tools')
    assert.deepEqual([code, err], [0, 'mcps-proxy: no tools of gone; mcps-proxy doctor says why\n'])
    const gone = (await run(t, servers, 'call', 'gone__x', 'a=1')).err
    assert.match(gone, /'gone' cannot be started: no-such-program/)
  })

  for (const [title, servers, exitCode, want] of [
    [
      'no server is reached',
      { a: { command: 'no-such-program' }, b: { url: 'http://127.0.0.1:9/mcp' } },
      1,
      /no tools of a, b; mcps-proxy doctor says why\n$/,
    ],
    [
      'a server has prompts only',
      { p: nodeProgram('small.mjs prompts') },
      0,
      /^mcps-proxy: no server lists a tool\n$/,
    ],
  ] as const)
    test(`a list is empty, and ${title}`, async (t) => {
      const { code, err } = await run(t, servers, 'tools')
      assert.equal(code, exitCode)
      assert.match(err, want)
    })

  test('a server that cannot be started is named with the reason', async (t) => {
    const { code, err } = await run(t, { s: { command: 'no-such-program' } }, 'tools')
    assert.equal(code, 1)
    assert.match(err, /'s' cannot be started: .*no-such-program/)
  })
})

const node = (script: string): Servers[string] => ({ command: process.execPath, args: ['-e', script] })

test('a server that takes long to start is named to who waits for it', async (t) => {
  const s = { ...node('process.stdin.resume()'), startTimeout: 11_000 }
  const { err } = await run(t, { s }, 'tools')
  assert.match(err, /^mcps-proxy: s is not ready after 10 s, and may take 11 s \(startTimeout\)$/m)
  assert.equal(err.split('not ready').length, 2)
})

const silent = node("process.kill(process.ppid, 'SIGINT'); setInterval(() => {}, 1000)")
for (const words of [['call', 's__x'], ['doctor'], ['lock']])
  test(`an interrupt ends: ${words.join(' ')}`, async (t) => {
    const args = [cli, ...words, '--config', configFile(t, { s: silent })]
    const child = spawn(process.execPath, args, { env: { ...process.env, HOME: scratch(t) } })
    const said = await Promise.all([whole(child.stdout), whole(child.stderr), once(child, 'close')])
    assert.deepEqual(said, ['', '', [130, null]])
  })

test('a fault of the command itself gives the exit code 70', async (t) => {
  const signals = node("process.kill(process.ppid, 'SIGUSR2'); setInterval(() => {}, 1000)")
  const faulty = { FAULT_AT: 'timer', NODE_OPTIONS: `--import ${program('injected-fault.mjs')}` }
  const args = [cli, 'tools', '--config', configFile(t, { s: signals })]
  const child = spawn(process.execPath, args, { env: { ...process.env, ...faulty, HOME: scratch(t) } })
  assert.deepEqual(await once(child, 'close'), [70, null])
})

test('a tool that is listed only after the handshake can be called', async (t) => {
  const late = node(`import('${program('serve.mjs')}').then(({ notify, serve, text, tool }) => {
    const tools = []
    serve({
      name: 'late',
      capabilities: { tools: { listChanged: true } },
      requests: {
        'tools/list': () => {
          if (tools.length === 0) setTimeout(() => {
            tools.push({ ...tool('grown', ''), inputSchema: { type: 'object', properties: { n: { type: 'string' } } } })
            notify('notifications/tools/list_changed')
          }, 50)
          return { tools: [...tools] }
        },
        'tools/call': ({ arguments: { n } }) => text(typeof n + n),
      },
    })
  })`)
  const called = await run(t, { late }, 'call', 'late__grown', 'n=1')
  assert.deepEqual(called, { code: 0, out: 'string1\n', err: '' })
})

test('a call of one server starts no other one, which may be silent', async (t) => {
  const silent = { ...node('process.stdin.resume()'), startTimeout: 600_000 }
  const { code, out } = await run(t, { silent, m: itEcho() }, 'call', 'm__take')
  assert.deepEqual([code, out.length > 10], [0, true])
})

describe('doctor', () => {
  test('asks a remote server that fails once', async (t) => {
    let requests = 0
    const server = createServer((_, response) => {
      requests++
      response.writeHead(503).end()
    })
    const far = { url: `http://127.0.0.1:${await listening(t, server)}/mcp`, protocol: 'legacy' }
    const { code, out } = await run(t, { far }, 'doctor')
    assert.match(out, /far {2}failed after .*HTTP 503/)
    assert.deepEqual([code, requests], [1, 1])
  })

  const servers: Servers = {
    good: itEcho(),
    missing: { command: 'no-such-program' },
    needs: node(
      'if(!process.env.IT_DOCTOR_KEY){console.error("Error: IT_DOCTOR_KEY is not set");process.exit(1)}',
    ),
    junk: { command: 'sh', args: ['-c', `echo hello; exec ${process.execPath} ${program('it-echo.mjs')}`] },
    down: { url: 'http://127.0.0.1:9/mcp' },
    unset: { command: '${IT_SURELY_NOT_SET}' },
    wants: { ...node('process.exit(4)'), inheritEnv: ['IT_SURELY_NOT_SET'] },
  }

  test('names the cause of each failure and what mends it', async (t) => {
    process.env['IT_DOCTOR_KEY'] = 'x'
    const { code, out } = await run(t, servers, 'doctor')
    assert.equal(code, 1)
    for (const line of [
      /^ {2}good +ready in \d+ ms: 2 tools, revision 2025-11-25/m,
      /^ +its tools cost a model about \d+ tokens \(an estimate\)$/m,
      /^ {2}missing +failed .*no such program; install it, check PATH, or write its whole path as "command"$/m,
      /^ {2}needs +failed .*exited with code 1: Error: IT_DOCTOR_KEY is not set$/m,
      /^ +stdout has a line that is no JSON-RPC message: hello$/m,
      /^ {2}unset +failed .*variable IT_SURELY_NOT_SET is not set$/m,
      /^ +set it where the proxy starts, or write a default: \$\{IT_SURELY_NOT_SET:-value\}$/m,
      /^ {2}down +failed .*127\.0\.0\.1:9/m,
      /^ {2}wants +failed .*exited with code 4/m,
      /^ +"inheritEnv" names IT_SURELY_NOT_SET, which is not set where the proxy starts$/m,
      /^ {2}started: 2 ready, 5 failed$/m,
    ])
      assert.match(out, line)
    // A server could name a secret variable in its output, so that the user sets it.
    assert.doesNotMatch(out, /IT_DOCTOR_KEY(?! is not set$)/m)
  })

  test('list has one line for each', async (t) => {
    const { code, out } = await run(t, servers, 'list')
    assert.equal(code, 1)
    assert.match(out, /^ {2}good {5}ready {3}2 tools, 2025-11-25$/m)
    assert.match(out, /^ {2}missing {2}failed {2}'missing' cannot be started: /m)
    assert.equal(out.split('\n').length, Object.keys(servers).length + 2)
    const off = await run(t, { s: { command: 'x', disabled: true } }, 'list')
    assert.deepEqual(
      [off.code, off.out],
      [0, '  started: 0 ready, 0 failed\n  disabled: s; mcps-proxy enable NAME lets one start again\n'],
    )
  })

  test('a disabled server has no tools', async (t) => {
    const off = { s: { command: 'x', disabled: true } }
    const named = 'mcps-proxy: disabled: s; mcps-proxy enable NAME lets one start again\n'
    const none = `mcps-proxy: no server lists a tool\n${named}`
    assert.deepEqual(await run(t, off, 'tools'), { code: 0, out: '', err: none })
    const on = { ...off, m: itEcho() }
    const fits = await run(t, on, 'tools', 's__x')
    assert.deepEqual([fits.code, fits.err.endsWith(named)], [1, true], fits.err)
    assert((await run(t, on, 'call', 's__x')).err.endsWith(named))
    assert.equal((await run(t, on, 'call', 'm__take')).err, '')
  })

  test('a profile that shows no tool is named', async (t) => {
    const profiles = {
      none: { servers: ['good'], tools: { allow: ['gone__*'] }, resources: { allow: ['gone:*'] } },
    }
    const file = configFile(t, { good: itEcho(), other: { command: 'x' } }, { profiles })
    const shown = async (...words: string[]): Promise<string> =>
      (await runOf(t, file, ...words, '--profile', 'none')).err
    const bare = await shown('tools')
    assert.match(bare, /the profile "none" shows no tool/)
    assert.doesNotMatch(bare, /no tools of other/)
    const unknown = await shown('call', 'zzz')
    assert.match(unknown, /no tool is called "zzz"; mcps-proxy tools --profile none names them all\n/)
  })

  test('is about the servers of a profile, and counts the tools that it shows', async (t) => {
    const profiles = { part: { servers: ['good'], tools: { deny: ['good__gi*'] } } }
    const file = configFile(t, servers, { profiles })
    const { out } = await runOf(t, file, 'list', '--profile', 'part')
    assert.equal(out, '  good  ready   2 tools, 1 shown, 2025-11-25\n  started: 1 ready, 0 failed\n')
  })

  test('names patterns that fit no tool, where every server has listed its tools', async (t) => {
    const part = { tools: { deny: ['good__delete_*', 'good__remove_*'], set: { good__read_grap: { a: 1 } } } }
    const file = configFile(
      t,
      { good: { ...memory, confirm: ['delete_*', 'drop_*', { annotations: 'destructive' }] } },
      { profiles: { part }, limits: [{ tools: ['good__*', 'bad__*'], perMinute: 5 }] },
    )
    const all = 'which fits none of the tools that were listed; mcps-proxy tools names them all'
    const wanted = [
      `  configuration: profiles.part.tools.deny has "good__remove_*", ${all}`,
      '  configuration: profiles.part.tools.set has "good__read_grap", which fits none of the tools that were listed; did you mean "good__read_graph"?',
      `  configuration: limits[0].tools has "bad__*", ${all}`,
      `  configuration: "confirm" of 'good' has "drop_*", ${all}`,
    ]
    for (const command of [['doctor'], ['check', '--start']]) {
      const { out } = await runOf(t, file, ...command)
      const found = out.split('\n').filter((line) => line.includes('fits none'))
      assert.deepEqual(found.sort(), wanted.sort(), command.join(' '))
    }
  })

  test('tells of one server, and names the nearest one', async (t) => {
    const { code, out } = await run(t, servers, 'doctor', 'good')
    assert.deepEqual([code, out.endsWith('started: 1 ready, 0 failed\n')], [0, true], out)
    const near = await run(t, servers, 'doctor', 'god')
    assert.equal(near.code, 2)
    assert.match(near.err, /no server of \S+ is called "god"; did you mean "good"\?/)
  })
})
