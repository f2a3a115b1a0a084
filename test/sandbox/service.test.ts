// The service on the runtime without isolation, with Node as the interpreter, since every machine with these tests has it.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { describe, test } from 'node:test'
import { at, listAt } from '../integration/support/json.js'
import { codeContract, nodeSamples } from './code-contract.js'
import { principalKey } from '../../src/upstream/contracts/sandbox-config.js'
import { type SandboxClient, type Said, openSandbox } from './support/sandbox.js'

const section = { templates: { js: { language: 'node' } } }
const node = { template: 'node' }

/** A client of a service with these settings. */
async function client(t: Parameters<typeof openSandbox>[0], more: object = {}): Promise<SandboxClient> {
  return (await openSandbox(t, { ...section, ...more })).client()
}

/** The session of a test that needs only one. */
const session_id = 'art'
const idOf = (said: Said): string => String(said.of('session_id'))

describe('the server', () => {
  test('shakes hands, answers ping, and lists its tools with their schemas', async (t) => {
    const { raw } = await client(t)
    const opened = await raw.open({}, '2025-06-18')
    assert.equal(at(opened, 'protocolVersion'), '2025-06-18')
    assert.deepEqual(Object.keys(Object(at(opened, 'capabilities'))), ['tools', 'resources'])
    assert.deepEqual(at((await raw.request('ping')).value, 'result'), {})
    const tools = listAt((await raw.request('tools/list')).value, 'result', 'tools')
    const names = tools.map((tool) => at(tool, 'name'))
    assert.deepEqual(names, [
      'execute_code',
      'execute_command',
      'get_sessions',
      'stop_session',
      'get_volume_path',
      'read_file',
      'write_file',
      'list_files',
    ])
    assert.match(
      String(at(tools[0], 'description')),
      /^Execute code in a sandbox with automatic session management\. .*session_id.*Programs reach no network\./,
    )
    for (const tool of tools) assert.equal(at(tool, 'inputSchema', 'type'), 'object')
    assert.deepEqual(at(tools[0], 'inputSchema'), {
      type: 'object',
      properties: {
        code: { type: 'string', description: 'Code to execute' },
        template: {
          type: 'string',
          description: 'Sandbox template',
          enum: ['python', 'node', 'js'],
          default: 'python',
        },
        session_id: { type: 'string', description: 'Optional session ID for session reuse' },
        flavor: {
          type: 'string',
          description: 'Resource configuration for the sandbox',
          enum: ['small', 'medium', 'large'],
          default: 'small',
        },
        timeout: {
          type: 'integer',
          description: 'Optional execution timeout in seconds',
          minimum: 1,
          maximum: 300,
        },
      },
      required: ['code'],
    })
  })

  test('has no files where they are off', async (t) => {
    const { raw } = await client(t, { files: false })
    assert.equal(at(await raw.open(), 'capabilities', 'resources'), undefined)
    assert.equal(listAt((await raw.request('tools/list')).value, 'result', 'tools').length, 5)
    assert.equal(at((await raw.request('resources/list')).value, 'error', 'code'), -32601)
    assert.equal(at((await raw.call('read_file', {})).value, 'error', 'code'), -32601)
  })

  test('refuses methods, tools and arguments in the words that clients know', async (t) => {
    const sandbox = await client(t)
    const [run, code] = ['execute_code', '1']
    const cases: readonly (readonly [tool: string, args: object, message: string])[] = [
      ['nope', {}, 'Method not found: tool:nope'],
      [run, {}, 'Missing required parameter: code'],
      [run, { code: null }, 'Missing required parameter: code'],
      [run, { code: 5 }, "Parameter 'code' must be a string"],
      [run, { code, template: 'a' }, "Parameter 'template' must be one of: ['python', 'node', 'js']"],
      [run, { code, flavor: 'a' }, "Parameter 'flavor' must be one of: ['small', 'medium', 'large']"],
      [run, { code, timeout: 1.5 }, "Parameter 'timeout' must be an integer"],
      [run, { code, timeout: 0 }, "Parameter 'timeout' must be >= 1"],
      [run, { code, timeout: 301 }, "Parameter 'timeout' must be <= 300"],
      [
        run,
        { code, session_id: '/' },
        "Parameter 'session_id' must be 1 to 128 letters, digits, '.', '_' or '-'",
      ],
      ['execute_command', { command: 'ls', args: 'x' }, "Parameter 'args' must be an array of strings"],
      ['get_sessions', { session_id: 'x' }, 'Session not found: x'],
      ['stop_session', {}, 'Missing required parameter: session_id'],
    ]
    for (const [tool, args, message] of cases) {
      const answer = await sandbox.call(tool, args)
      assert.deepEqual([answer.code, answer.message], [tool === 'nope' ? -32601 : -32602, message])
    }
    assert.equal(at((await sandbox.raw.request('prompts/list')).value, 'error', 'code'), -32601)
    const refused = (await sandbox.call('execute_code', {})).value
    assert.deepEqual(at(refused, 'error', 'data'), {
      error_code: 'INVALID_PARAMETER',
      category: 'execution',
      severity: 'low',
      recovery_suggestions: ['Correct the parameter and call again'],
      context: { parameter: 'code' },
    })
  })
})

codeContract('no isolation, Node', (t) => client(t), nodeSamples)

describe('code', () => {
  test('has a session of its own where it names none, with an id that cannot be guessed', async (t) => {
    const sandbox = await client(t)
    const ids = await Promise.all([1, 2].map(async () => idOf(await sandbox.code('1', node))))
    assert.equal(new Set(ids).size, 2)
    for (const id of ids)
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  test('has every member of its result at the top and in structuredContent', async (t) => {
    const sandbox = await client(t)
    const { value } = await sandbox.code('console.log(1); console.error(2); null.x', node)
    const { content, isError, structuredContent, ...top } = Object(at(value, 'result'))
    assert.equal(isError, true, 'code that fails')
    assert.deepEqual(Object.keys(top).sort(), [
      'artifacts',
      'code_success',
      'execution_time_ms',
      'sandbox_restarted',
      'session_created',
      'session_id',
      'template',
      'truncated',
    ])
    const { stdout, stderr, ...same } = structuredContent
    assert.deepEqual(same, top)
    assert.deepEqual([top.template, top.code_success], ['node', false])
    assert.equal(stdout, '1\n')
    assert.match(stderr, /^2\nUncaught TypeError: /)
    assert.equal(content[0].text, stdout + stderr)
  })

  test('may declare a name again, await and import anywhere, and ask for the end of its process', async (t) => {
    const sandbox = await client(t)
    const lines: readonly (readonly [code: string, text: string, isSuccess: boolean])[] = [
      ['const a = 1', '', true],
      ['const a = 2; a', '2\n', true],
      ['const b = await Promise.resolve(3); b', '3\n', true],
      ["import { sep } from 'node:path'; sep", "'/'\n", true],
      ["(await import('node:path')).posix.sep", "'/'\n", true],
      ["require('node:path').posix.sep", "'/'\n", true],
      ['process.exit(0)', '', true],
      ['process.exit(2)', '', false],
      ['a + b', '5\n', true],
      ["require('node:fs').readFileSync(0, 'utf8')", "''\n", true],
    ]
    for (const [code, text, isSuccess] of lines) {
      const result = await sandbox.code(code, { session_id, ...node })
      assert.deepEqual([code, result.text, result.of('code_success')], [code, text, isSuccess])
    }
  })

  test('says where a mistake is', async (t) => {
    const sandbox = await client(t)
    const wrong = await sandbox.code('let a\nlet b = = 3', node)
    assert.equal(wrong.text, "Uncaught SyntaxError: Unexpected token '=' (line 2, column 9)\n")
    const thrown = await sandbox.code('function f() {\n  null.x\n}\nf()', node)
    assert.match(thrown.text, /^Uncaught TypeError: .*\n\s+at f \(cell-1:2:8\)\n\s+at cell-1:4:1\n$/)
  })

  test('that is cancelled keeps its variables, and is not answered', async (t) => {
    const sandbox = await client(t)
    await sandbox.code('globalThis.x = 1', { session_id, ...node })
    const id = sandbox.raw.nextId()
    const going = sandbox.raw.notification('notifications/progress')
    sandbox.raw.send(
      JSON.stringify({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: {
          name: 'execute_code',
          arguments: { code: 'console.log("go"); while (true) {}', session_id },
          _meta: { progressToken: 'p' },
        },
      }),
    )
    await going
    sandbox.raw.notify('notifications/cancelled', { requestId: id })
    const after = await sandbox.code('x', { session_id })
    assert.deepEqual([after.text, after.of('sandbox_restarted')], ['1\n', false])
    assert.equal(sandbox.raw.answersTo(id), 0)
  })

  test('that ignores being interrupted ends with its variables, and the next call says so', async (t) => {
    const sandbox = await client(t)
    await sandbox.code('let x = 7', { session_id, ...node })
    const waiting = await sandbox.code('await new Promise(() => {})', { session_id, timeout: 1 })
    assert.match(waiting.message, /timed out after 1 s; variables are kept/)
    const code = 'await new Promise((resolve) => setTimeout(resolve, 10)); while (true) {}'
    const deaf = await sandbox.code(code, { session_id, timeout: 1 })
    assert.deepEqual(at(deaf.value, 'error', 'data', 'context'), {
      session_id,
      timeout: 1,
      variables_kept: false,
    })
    const { message } = deaf
    assert.match(message, /timed out after 1 s; variables are lost, files are kept; there was no output$/)
    const next = await sandbox.code('typeof x', { session_id })
    assert.deepEqual([next.text, next.of('sandbox_restarted')], ["'undefined'\n", true])
    assert.equal((await sandbox.code('1', { session_id })).of('sandbox_restarted'), false)
  })

  test('that ends its interpreter fails, and the next call begins anew with the same files', async (t) => {
    const sandbox = await client(t)
    const crash = `require('node:fs').writeFileSync('kept', 'k'); console.log('last'); process.reallyExit(3)`
    const ended = await sandbox.code(crash, { session_id, ...node })
    assert.match(
      ended.message,
      /^Code execution failed: the interpreter ended with code 3; variables are lost, files are kept; its output until then ends with:\nlast\n$/,
    )
    const next = await sandbox.code(`require('node:fs').readFileSync('kept', 'utf8')`, { session_id })
    assert.deepEqual([next.text, next.of('sandbox_restarted')], ["'k'\n", true])
  })

  test('leaves what it writes later to the next result', async (t) => {
    const sandbox = await client(t)
    const late = `const looking = setInterval(() => {
        if (!require('node:fs').existsSync('go')) return
        clearInterval(looking)
        console.log('late')
        globalThis.wasLate = true
      }, 5)
      undefined`
    await sandbox.code(late, { session_id, ...node })
    await sandbox.command('touch go', { session_id })
    const now =
      'while (!globalThis.wasLate) await new Promise((go) => setTimeout(go, 5)); console.log("now");'
    assert.equal((await sandbox.code(now, { session_id })).text, 'late\nnow\n')
    const failed = await sandbox.code(
      'setTimeout(() => null.x, 20); await new Promise((go) => setTimeout(go, 200));',
      { session_id },
    )
    assert.match(failed.text, /^Uncaught TypeError/)
    assert.equal((await sandbox.code('1', { session_id })).text, '1\n')
  })

  test('runs one piece after the other in a session, with sixteen that wait', async (t) => {
    const sandbox = await client(t)
    const warnings: string[] = []
    const warned = (warning: Error): void => void warnings.push(warning.message)
    process.on('warning', warned)
    t.after(() => process.off('warning', warned))
    await sandbox.code('globalThis.order = []', { session_id, ...node })
    const slow = sandbox.code('await new Promise((go) => { globalThis.go = go }); order.push("slow");', {
      session_id,
    })
    const waiting = Array.from({ length: 16 }, (_, at) => sandbox.code(`order.push(${at});`, { session_id }))
    const refused = await sandbox.code('1', { session_id })
    assert.equal(refused.code, -32600)
    assert.equal(refused.message, 'Resource limit exceeded: session art has 16 calls waiting')
    // A command runs beside the code, and lets it go on.
    assert.equal((await sandbox.command('true', { session_id })).of('exit_code'), 0)
    const stopped = sandbox.call('stop_session', { session_id })
    const answers = await Promise.all([slow, ...waiting])
    await stopped
    for (const answer of answers)
      assert.match(answer.message, /^Code execution failed: the session was stopped$/)
    assert.deepEqual(warnings, [])
  })
})

test('a command is a line for the shell, or with arguments one program', async (t) => {
  const sandbox = await client(t)
  const line = await sandbox.command('echo "$((1 + 2))"; echo e >&2; exit 3', { session_id: 's' })
  const found = [line.text, line.of('exit_code'), line.of('isError'), line.of('args')]
  assert.deepEqual(found, ['3\ne\n', 3, true, []])
  const program = await sandbox.command('printf', { args: ['[%s]', 'a b', '$(x)'], session_id: 's' })
  const facts = [program.text, program.of('exit_code'), program.of('isError'), program.of('command')]
  assert.deepEqual(facts, ['[a b][$(x)]', 0, false, 'printf'])
  assert.equal((await sandbox.command('kill -KILL $$', { session_id: 's' })).of('exit_code'), 137)
  const missing = await sandbox.command('no-such-program', { args: [], session_id: 's' })
  assert.equal(missing.code, -32603)
  assert.match(
    missing.message,
    /^Command execution failed: .*no-such-program: ENOENT, there is no such program; leave args out/,
  )
  const empty = await sandbox.command('cat', { session_id: 's' })
  assert.deepEqual([empty.text, empty.of('exit_code')], ['', 0])
})

test('a command that takes too long ends with all that it has started', async (t) => {
  const sandbox = await client(t)
  const late = await sandbox.command('echo before; trap "" INT; while true; do sleep 1; done', {
    timeout: 3,
    session_id: 's',
  })
  assert.equal(late.code, -32603)
  assert.match(
    late.message,
    /^Command execution failed: timed out after 3 s; its output until then ends with:\nbefore\n/,
  )
  assert.equal((await sandbox.command('echo on', { session_id: 's' })).text, 'on\n')
})

test('long output keeps its beginning and its end', async (t) => {
  const sandbox = await client(t, { outputMax: 2048 })
  const long = await sandbox.command('seq 10000', { session_id: 'long' })
  const { text } = long
  assert.match(text, /^1\n2\n3\n[^]*\n\[\.\.\. 46846 bytes are left out here \.\.\.\]\n[^]*9999\n10000\n$/)
  const short = await sandbox.command('seq 2', { session_id: 'long' })
  assert.deepEqual([long.of('truncated'), short.of('truncated')], [true, false])
})

test('long output comes as progress while it is written', async (t) => {
  const sandbox = await client(t)
  await sandbox.command('true', { session_id, ...node })
  const code = `const made = async (file) => {
        while (!require('node:fs').existsSync(file)) await new Promise((go) => setTimeout(go, 5))
      }
      console.log("one")
      await made('go')
      console.log("two")
      await made('end')`
  const whole = sandbox.call('execute_code', { code, session_id }, { progressToken: 7 })
  const told = async (message: string): Promise<unknown> => {
    const wants = (params: unknown): boolean => at(params, 'message') === message
    return at((await sandbox.raw.notification('notifications/progress', wants)).value, 'params')
  }
  assert.deepEqual(await told('one\n'), { progressToken: 7, progress: 4, message: 'one\n' })
  await sandbox.command('touch go', { session_id })
  assert.deepEqual(await told('two\n'), { progressToken: 7, progress: 8, message: 'two\n' })
  await sandbox.command('touch end', { session_id })
  assert.equal((await whole).text, 'one\ntwo\n')
})

describe('sessions', () => {
  test('are listed with what is known of them, and stop', async (t) => {
    const { client: connect, stateFolder } = await openSandbox(t, section)
    const sandbox = connect()
    await sandbox.command('echo x > file', { session_id: 'one', flavor: 'medium' })
    const listed = await sandbox.call('get_sessions')
    const [only] = listAt(listed.of('sessions'))
    assert.deepEqual(Object(only), {
      session_id: 'one',
      template: 'python',
      flavor: 'medium',
      created_at: at(only, 'created_at'),
      last_accessed: at(only, 'last_accessed'),
      status: 'ready',
      namespace: 'default',
      sandbox_name: 'session-one',
    })
    assert.deepEqual(JSON.parse(listed.text), [only])
    assert.match(String(at(only, 'created_at')), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
    const stopped = await sandbox.call('stop_session', { session_id: 'one' })
    assert.deepEqual([stopped.text, stopped.of('success')], ['Session one stopped successfully', true])
    const again = await sandbox.call('stop_session', { session_id: 'one' })
    assert.deepEqual([again.text, again.of('success')], ['Session one not found', false])
    assert.deepEqual((await sandbox.call('get_sessions')).of('sessions'), [])
    const left = readdirSync(stateFolder, { recursive: true }).filter((path) => String(path).endsWith('file'))
    assert.deepEqual(left, [], 'its files are gone')
  })

  test('keep their template', async (t) => {
    const sandbox = await client(t)
    await sandbox.code('1', { session_id: 's', ...node })
    const other = await sandbox.code('1', { session_id: 's', template: 'js' })
    assert.deepEqual([other.code, other.message], [-32602, "Session s has the template 'node' and not 'js'"])
    assert.equal((await sandbox.code('2', { session_id: 's' })).text, '2\n')
  })

  test('make room: the one that was not used for longest goes, reuse moves nobody, and busy ones stay', async (t) => {
    const sandbox = await client(t, { maxSessions: 2 })
    const ids = async (): Promise<unknown[]> =>
      listAt((await sandbox.call('get_sessions')).of('sessions')).map((each) => at(each, 'session_id'))
    for (const session_id of ['a', 'b', 'a']) await sandbox.code('1', { session_id, ...node })
    assert.deepEqual(await ids(), ['a', 'b'])
    await sandbox.code('1', { session_id: 'c', ...node })
    assert.deepEqual(await ids(), ['a', 'c'])
    const running = ['a', 'c'].map((session_id) =>
      sandbox.call(
        'execute_code',
        { code: 'console.log(1); await new Promise(() => {});', session_id },
        { progressToken: session_id },
      ),
    )
    for (const token of ['a', 'c'])
      await sandbox.raw.notification(
        'notifications/progress',
        (params) => at(params, 'progressToken') === token,
      )
    const refused = await sandbox.code('1', node)
    const facts = [refused.code, refused.message]
    assert.deepEqual(facts, [-32600, 'Resource limit exceeded: Sessions limit exceeded: 2 >= 2'])
    assert.equal(at(refused.value, 'error', 'data', 'category'), 'resource')
    for (const session_id of ['a', 'c']) await sandbox.call('stop_session', { session_id })
    await Promise.all(running)
  })

  test('are refused where nobody makes room, or memory is short', async (t) => {
    const strict = await client(t, { maxSessions: 1, enableLruEviction: false })
    await strict.code('1', node)
    assert.equal((await strict.code('1', node)).code, -32600)
    const small = await client(t, { maxTotalMemoryMb: 3072, enableLruEviction: false })
    await small.code('1', { ...node, flavor: 'medium' })
    const refused = await small.code('1', { ...node, flavor: 'medium' })
    assert.equal(refused.message, 'Resource limit exceeded: Memory limit exceeded: 4096 MB > 3072 MB')
    assert.equal((await small.code('1', node)).code, undefined)
  })

  test('expire when nobody uses them, and one of the same name is new', async (t) => {
    let ahead = 0
    const { client: connect } = await openSandbox(t, { ...section, sessionTimeout: 60 }, (runtime) => ({
      ...runtime,
      wallNow: () => runtime.wallNow() + ahead,
    }))
    const sandbox = connect()
    await sandbox.code('let x = 1', { session_id: 's', ...node })
    ahead = 59_000
    assert.equal((await sandbox.code('x', { session_id: 's' })).text, '1\n')
    ahead = 120_000
    const anew = await sandbox.code('typeof x', { session_id: 's', ...node })
    assert.deepEqual([anew.text, anew.of('session_created')], ["'undefined'\n", true])
  })

  test('of another owner are not there', async (t) => {
    const { client: connect } = await openSandbox(t, { ...section, sessions: 'client' })
    const [ann, bob] = [connect('ann'), connect('bob')]
    await ann.code('let x = "ann"', { session_id: 's', ...node })
    await bob.code('let x = "bob"', { session_id: 's', ...node })
    assert.equal((await ann.code('x', { session_id: 's' })).text, "'ann'\n")
    assert.equal((await bob.code('x', { session_id: 's' })).text, "'bob'\n")
    assert.equal((await bob.call('stop_session', { session_id: 's' })).of('success'), true)
    assert.equal(listAt((await ann.call('get_sessions')).of('sessions')).length, 1)
    await ann.command('touch file', { session_id: 's' })
    const eve = connect('eve')
    assert.equal(listAt((await eve.call('get_sessions')).of('sessions')).length, 0)
    for (const tool of ['read_file', 'list_files'])
      assert.equal((await eve.call(tool, { session_id: 's', path: '.' })).message, 'Session not found: s')
    const meta = { _meta: { [principalKey]: 'eve' }, uri: 'sandbox://s/file' }
    assert.equal(at((await eve.raw.request('resources/read', meta)).value, 'error', 'code'), -32002)
  })
})

describe('files', () => {
  test('are written, read in parts, and listed', async (t) => {
    const sandbox = await client(t)
    const wrote = await sandbox.call('write_file', { session_id, path: 'd/e/f.csv', content: 'a,b\n1,2\n' })
    assert.deepEqual([wrote.of('size'), wrote.of('session_created')], [8, true])
    const read = await sandbox.call('read_file', { session_id, path: 'd/e/f.csv' })
    const facts = [read.text, read.of('size'), read.of('encoding'), read.of('truncated')]
    assert.deepEqual(facts, ['a,b\n1,2\n', 8, 'utf8', false])
    const part = await sandbox.call('read_file', { session_id, path: 'd/e/f.csv', offset: 4, limit: 2 })
    assert.deepEqual([part.text, part.of('length'), part.of('truncated')], ['1,', 2, true])
    const bytes = Buffer.from([0, 255, 128, 10]).toString('base64')
    await sandbox.call('write_file', { session_id, path: 'b', content: bytes, encoding: 'base64' })
    const binary = await sandbox.call('read_file', { session_id, path: 'b' })
    assert.deepEqual([binary.text, binary.of('encoding')], [bytes, 'base64'])
    const listed = await sandbox.call('list_files', { session_id })
    const entries = listAt(listed.of('entries')).map((each) => [
      at(each, 'name'),
      at(each, 'type'),
      at(each, 'size'),
    ])
    assert.deepEqual(entries[0], ['b', 'file', 4])
    assert.deepEqual(entries[1]?.slice(0, 2), ['d', 'folder'])
    assert.equal(listed.text, 'b (4 bytes)\nd/')
  })

  test('in folders that are called like options are listed, and stay', async (t) => {
    const sandbox = await client(t)
    await sandbox.command("mkdir -- -delete '(' !; touch -- -delete/in '(/in' !/in", { session_id })
    for (const path of ['-delete', '(', '!', './-delete/'])
      assert.equal((await sandbox.call('list_files', { session_id, path })).text, 'in (0 bytes)')
    assert.equal((await sandbox.call('list_files', { session_id })).text, '!/\n(/\n-delete/')
  })

  test('of a folder with very many are listed in part, which is told', async (t) => {
    const sandbox = await client(t)
    await sandbox.command(
      "mkdir few many; (cd few; seq -w 1001 | xargs touch); name=$(head -c 240 /dev/zero | tr '\\0' n); cd many; seq 4500 | sed s/^/$name/ | xargs touch",
      { session_id },
    )
    const few = await sandbox.call('list_files', { session_id, path: 'few' })
    assert.deepEqual([listAt(few.of('entries')).length, few.of('truncated')], [1000, true])
    assert.match(few.text, /^0001 \(0 bytes\)\n[^]*\n1000 \(0 bytes\)\n… and more, which are not shown$/)
    const many = await sandbox.call('list_files', { session_id, path: 'many' })
    assert.deepEqual([listAt(many.of('entries')).length, many.of('truncated')], [1000, true], many.message)
    await sandbox.command('rm few/0500', { session_id })
    const whole = await sandbox.call('list_files', { session_id, path: 'few' })
    assert.deepEqual([listAt(whole.of('entries')).length, whole.of('truncated')], [1000, false])
  })

  test('that are none, or cannot be, are refused', async (t) => {
    const sandbox = await client(t)
    await sandbox.command('mkfifo pipe; mkdir d', { session_id })
    const cases: readonly (readonly [tool: string, args: object, message: RegExp])[] = [
      ['read_file', { path: 'nope' }, /^File access failed: nope: there is no such file$/],
      ['read_file', { path: 'pipe' }, /pipe: it is no regular file$/],
      ['read_file', { path: 'd' }, /d: it is no regular file$/],
      ['read_file', { path: '/dev/zero' }, /zero: it is no regular file$/],
      ['write_file', { path: 'pipe', content: 'x' }, /pipe: it is no regular file$/],
      ['write_file', { path: 'd', content: 'x' }, /d: it is no regular file$/],
      ['list_files', { path: 'nope' }, /nope: there is no such folder$/],
      ['read_file', { path: 'x'.repeat(5000) }, /there is no such file$/],
    ]
    for (const [tool, args, message] of cases) {
      const answer = await sandbox.call(tool, { session_id, ...args })
      assert.equal(answer.code, -32603, tool)
      assert.match(answer.message, message)
    }
    const long = { session_id, path: 'long', content: 'x'.repeat(10 * 1024 * 1024 + 1) }
    const refused = await sandbox.call('write_file', long)
    const facts = [refused.code, refused.message]
    assert.deepEqual(facts, [-32602, "Parameter 'content' must have at most 10485760 bytes"])
    const unknown = await sandbox.call('read_file', { session_id: 'other', path: 'x' })
    assert.deepEqual([unknown.code, unknown.message], [-32602, 'Session not found: other'])
    const dash = await sandbox.call('write_file', { session_id, path: '-n', content: 'dash' })
    assert.equal(dash.of('size'), 4)
    assert.equal((await sandbox.call('read_file', { session_id, path: '-n' })).text, 'dash')
    await sandbox.call('write_file', { session_id, path: '-', content: 'only a dash' })
    assert.equal((await sandbox.call('read_file', { session_id, path: '-', offset: 5 })).text, 'a dash')
  })

  test('that code leaves in artifacts come with its result, once, and are resources', async (t) => {
    const sandbox = await client(t)
    const draw = `const fs = require('node:fs'); fs.mkdirSync('artifacts', { recursive: true });
      fs.writeFileSync('artifacts/a b.svg', '<svg/>'); fs.writeFileSync('artifacts/data.bin', Buffer.from([255]));`
    const drawn = await sandbox.code(draw, { session_id, ...node })
    const uri = 'sandbox://art/artifacts/a%20b.svg'
    assert.deepEqual(listAt(drawn.of('content')).slice(1), [
      { type: 'resource_link', uri, name: 'a b.svg', mimeType: 'image/svg+xml', size: 6 },
      {
        type: 'resource_link',
        uri: 'sandbox://art/artifacts/data.bin',
        name: 'data.bin',
        mimeType: 'application/octet-stream',
        size: 1,
      },
      { type: 'image', data: Buffer.from('<svg/>').toString('base64'), mimeType: 'image/svg+xml' },
      { type: 'text', text: '[session_id: art]' },
    ])
    assert.deepEqual(at(drawn.of('artifacts'), 0), {
      uri,
      path: 'artifacts/a b.svg',
      size: 6,
      mime_type: 'image/svg+xml',
    })
    assert.deepEqual((await sandbox.code('1', { session_id })).of('artifacts'), [])
    const changed = await sandbox.command('echo more > artifacts/more.txt', { session_id })
    const shown = listAt(changed.of('artifacts')).map((each) => at(each, 'path'))
    assert.deepEqual(shown, ['artifacts/more.txt'])
    assert.deepEqual((await sandbox.code('2', { session_id })).of('artifacts'), [])
    const read = async (address: string): Promise<unknown> =>
      (await sandbox.raw.request('resources/read', { uri: address })).value
    assert.deepEqual(at(await read(uri), 'result', 'contents'), [
      { uri, mimeType: 'image/svg+xml', text: '<svg/>' },
    ])
    assert.equal(at(await read('sandbox://art/artifacts/data.bin'), 'result', 'contents', 0, 'blob'), '/w==')
    assert.equal(at(await read('sandbox://other/x'), 'error', 'code'), -32002)
    assert.equal(at(await read('file:///etc/passwd'), 'error', 'code'), -32002)
  })
})

async function names(sandbox: SandboxClient): Promise<unknown[]> {
  return listAt((await sandbox.call('get_sessions')).of('sessions')).map((each) => at(each, 'session_id'))
}

// A11: a principal with more sessions than others gives way, and every principal gets a session.
const owned = { ...section, sessions: 'client', maxSessions: 4 }
test('several principals share the places: each keeps its share, and makes room among its sessions', async (t) => {
  const { client: connect } = await openSandbox(t, owned)
  const [ann, bob] = [connect('ann'), connect('bob')]
  for (const session_id of ['1', '2', '3', '4']) await ann.command('true', { session_id })
  for (const session_id of ['1', '2', '3', '4']) await bob.command('true', { session_id })
  const facts = [await names(ann), await names(bob)]
  assert.deepEqual(facts, [
    ['3', '4'],
    ['3', '4'],
  ])
  const eve = connect('eve')
  await eve.command('true', { session_id: '1' })
  assert.deepEqual(await names(eve), ['1'])
  assert.equal((await names(ann)).length + (await names(bob)).length, 3)
})
