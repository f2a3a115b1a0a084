// Confined servers: what each may reach, and the processes and files that a server leaves.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import { readProcFile } from '../../src/runtime/process-table.js'
import { said } from '../integration/support/client.js'
import { textAt } from '../integration/support/json.js'
import { cli, root } from '../integration/support/programs.js'
import { configFile, scratch, spawnProgram } from '../integration/support/spawned.js'
import { gone, until } from '../integration/support/waiting.js'
import { descendantsOf } from './support/sandbox-commands.js'

const packages = join(root, 'node_modules')
const filesystem = join(packages, '@modelcontextprotocol/server-filesystem/dist/index.js')
const everything = join(packages, '@modelcontextprotocol/server-everything/dist/index.js')

/** A server of files that has two folders as arguments, and may use one of them. */
function place(t: TestContext) {
  const home = scratch(t)
  const [open, closed] = [join(home, 'open'), join(home, 'closed')]
  for (const folder of [open, closed]) {
    mkdirSync(folder)
    writeFileSync(join(folder, 'file.txt'), 'of the host')
  }
  const sandbox = { filesystem: { read: [packages], write: [open] } }
  const files = { command: process.execPath, args: [filesystem, open, home], sandbox }
  return { home, open, closed, servers: { files } }
}

function textOf(answer: Parameters<typeof said>[0]): string {
  return textAt(answer.value, 'result', 'content', 0, 'text')
}

describe('a server behind walls', () => {
  test('reads and writes what is named, and sees nothing else', async (t) => {
    const { home, open, closed, servers } = place(t)
    const config = configFile(t, servers)
    const env = { ...process.env, HOME: home }
    const { client, finish } = spawned(t, config, env)
    await client.open()
    const read = (folder: string): Promise<Parameters<typeof said>[0]> =>
      client.call('files__read_text_file', { path: join(folder, 'file.txt') })
    assert.equal(textOf(await read(open)), 'of the host')
    assert.match(textOf(await read(closed)), /ENOENT|Access denied/)
    await client.call('files__write_file', { path: join(open, 'new.txt'), content: 'new' })
    assert.equal(readFileSync(join(open, 'new.txt'), 'utf8'), 'new')
    await client.call('files__write_file', { path: join(closed, 'new.txt'), content: 'new' })
    assert.equal(existsSync(join(closed, 'new.txt')), false)
    assert.equal(readdirSync(join(home, '.mcps-proxy/sandboxed')).length, 1)
    assert.equal(await finish(), 0)
  })

  test('gets its variables, which what confines it does not', async (t) => {
    const { home, open } = place(t)
    const loaded = join(open, 'loaded')
    const script = join(open, 'load.cjs')
    writeFileSync(script, `require('fs').appendFileSync(${JSON.stringify(loaded)}, process.argv[1] + '\\n')`)
    const sandbox = { filesystem: { read: [packages], write: [open] } }
    const env = { CANARY: 'sung', NODE_OPTIONS: `--require ${script}` }
    const config = configFile(t, { all: { command: process.execPath, args: [everything], sandbox, env } })
    const { client, finish } = spawned(t, config, { ...process.env, HOME: home })
    await client.open()
    const shown = textOf(await client.call('all__get-env', {}))
    assert.match(shown, /"CANARY": "sung"/)
    assert.doesNotMatch(shown, /CONFINED/)
    assert.equal(readFileSync(loaded, 'utf8'), `${everything}\n`)
    assert.equal(await finish(), 0)
  })

  test('ends with the proxy, also when the proxy is killed', async (t) => {
    const { home, open, servers } = place(t)
    const proxy = spawned(t, configFile(t, servers), { ...process.env, HOME: home })
    await proxy.client.open()
    await proxy.client.call('files__read_text_file', { path: join(open, 'file.txt') })
    const below = descendantsOf(proxy.pid).filter((pid) =>
      readProcFile(`/proc/${pid}/cmdline`).includes('server-filesystem'),
    )
    assert(below.length >= 2)
    process.kill(proxy.pid, 'SIGKILL')
    await until(() => below.every((pid) => gone(pid)))
  })

  test('reaches no host that is not named; doctor shows what was refused', async (t) => {
    const script = `
      import { connect } from 'node:net'
      const port = Number(new URL(process.env.HTTPS_PROXY).port)
      const socket = connect(port, '127.0.0.1', () => socket.write('CONNECT other.example:443 HTTP/1.1\\r\\nHost: other.example:443\\r\\n\\r\\n'))
      await new Promise((resolve) => socket.once('data', resolve))
      connect(22, '127.0.0.1').on('error', ({ code }) => console.error('direct: ' + code))
      process.argv.splice(1, 1, ${JSON.stringify(everything)})
      await import(${JSON.stringify(everything)})`
    const sandbox = { network: ['api.example.com'], filesystem: { read: [packages] } }
    const args = ['--input-type=module', '-e', script]
    const config = configFile(t, { net: { command: process.execPath, args, sandbox } })
    const out = await doctor(config, scratch(t))
    assert.match(out, /^ {2}net +ready/m)
    assert.match(
      out,
      /sandbox: the program was refused a connection: other\.example:443 is not an allowed host/,
    )
  })

  test('of which an argument is hidden fails, and doctor names the argument and the key for its folder', async (t) => {
    const config = configFile(t, { bare: { command: process.execPath, args: [everything], sandbox: {} } })
    const out = await doctor(config, scratch(t))
    assert.match(out, /^ {2}bare +failed .*Cannot find module/m)
    assert.match(out, /which its sandbox hides; add its folder, .* to "read" in "filesystem"/)
  })

  test('of which a path is not there says so', async (t) => {
    const sandbox = { filesystem: { read: ['/no/such/folder'] } }
    const config = configFile(t, { bare: { command: process.execPath, args: [everything], sandbox } })
    const found = await doctor(config, scratch(t))
    assert.match(found, /\/no\/such\/folder is in the policy, and there is no such/)
  })
})

function spawned(t: TestContext, config: string, env: NodeJS.ProcessEnv) {
  const proxy = spawnProgram(t, process.execPath, [cli, '--stdio', '--config', config], { env })
  assert(proxy.child.pid !== undefined)
  return { client: proxy.client, pid: proxy.child.pid, finish: () => proxy.finish() }
}

function doctor(config: string, home: string): Promise<string> {
  const options = { env: { ...process.env, HOME: home } }
  return new Promise((resolve) => {
    execFile(process.execPath, [cli, 'doctor', '--config', config], options, (_, stdout) => resolve(stdout))
  })
}
