// Sessions on a microsandbox server, which is a fake with the shapes of microsandbox 0.2.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { at, listAt } from '../integration/support/json.js'
import { FakeMicrosandbox, answer } from './support/fake-microsandbox.js'
import { openSandbox } from './support/sandbox.js'

async function pair(t: Parameters<typeof openSandbox>[0], section: object = {}, needsKey = false) {
  const fake = new FakeMicrosandbox(needsKey)
  const serverUrl = await fake.listen()
  const { client } = await openSandbox(t, { runtime: 'microsandbox-server', serverUrl, ...section })
  t.after(() => fake.close())
  return { fake, sandbox: client() }
}

const session_id = 's'
const portal = (code: number, message: string): object => ({
  jsonrpc: '2.0',
  error: { code, message },
  id: 1,
})

describe('a microsandbox server', () => {
  test('gets a sandbox for each session, and its code and commands', async (t) => {
    const { fake, sandbox } = await pair(t, { templates: { python: { env: { A: '1' } } } })
    await sandbox.code('x=41', { session_id, flavor: 'medium' })
    const result = await sandbox.code('x', { session_id })
    assert.deepEqual([result.text, result.of('code_success')], ['41\n', true])
    const wrong = await sandbox.code('y', { session_id })
    assert.deepEqual([wrong.text, wrong.of('code_success')], ["NameError: name 'y' is not defined\n", false])
    const warned = await sandbox.code('warn', { session_id })
    assert.deepEqual([warned.text.includes('is old'), warned.of('code_success')], [true, true])
    const failed = await sandbox.command('ls; exit 3', { session_id })
    const facts = [failed.text, failed.of('exit_code'), failed.of('isError')]
    assert.deepEqual(facts, ['ran sh -c ls; exit 3\nfailed\n', 3, true])
    const [started, ...others] = fake.calls('sandbox.start')
    assert.equal(others.length, 0)
    const name = String(at(started, 'sandbox'))
    assert.match(name, /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/)
    assert.deepEqual(started, {
      sandbox: name,
      namespace: 'default',
      config: { image: 'microsandbox/python', memory: 2048, cpus: 2, volumes: [], envs: ['A=1'] },
    })
    const common = { sandbox: name, namespace: 'default', timeout: 300 }
    const code = { ...common, code: 'x=41', language: 'python' }
    assert.deepEqual(fake.calls('sandbox.repl.run')[0], code)
    const command = { ...common, command: 'sh', args: ['-c', 'ls; exit 3'] }
    assert.deepEqual(fake.calls('sandbox.command.run')[0], command)
    await sandbox.call('stop_session', { session_id })
    assert.deepEqual(fake.calls('sandbox.stop'), [{ sandbox: name, namespace: 'default' }])
    assert.equal(fake.running.size, 0)
  })

  test('is shown the key, and refuses another one in words that name it', async (t) => {
    const good = await pair(t, { apiKey: 'msb_key' }, true)
    assert.equal((await good.sandbox.code('x=1')).code, undefined)
    const bad = await pair(t, { apiKey: 'msb_other' }, true)
    const refused = await bad.sandbox.code('x=1')
    assert.equal(refused.code, -32603)
    assert.equal(
      refused.message,
      'Connection error: the microsandbox server: it refuses the key: Invalid credentials; check MSB_API_KEY',
    )
    assert.equal(at(refused.value, 'error', 'data', 'category'), 'network')
  })

  const late = { jsonrpc: '2.0', result: 'Sandbox x timed out waiting for its portal', id: 1 }
  const [start, run, command] = ['sandbox.start', 'sandbox.repl.run', 'sandbox.command.run']
  const [missing, internal] = [
    { error: 'missing field', code: 2001 },
    { error: 'internal', code: 5002 },
  ]
  const faults: readonly (readonly [string, string, number, object, RegExp])[] = [
    ['another version', run, 404, portal(-32601, 'none'), /^Connection error: .* must be microsandbox 0\.2$/],
    ['an error of its portal', run, 400, portal(-32603, 'failed'), /^Code execution failed: failed$/],
    ['a request it does not like', command, 400, missing, /^Command execution failed: missing field$/],
    ['a start that fails', start, 500, internal, /^Sandbox creation failed: internal$/],
    ['a start that takes too long', start, 200, late, /^Sandbox creation failed: Sandbox x timed out/],
  ]
  for (const [title, method, status, body, message] of faults)
    test(`with ${title} gives an error that says so, and works again`, async (t) => {
      const { fake, sandbox } = await pair(t)
      const call = (): Promise<{ readonly message: string }> =>
        method === command ? sandbox.command('ls', { session_id }) : sandbox.code('x=1', { session_id })
      fake.misbehave = (request, response) => {
        if (request.method !== method) return false
        answer(response, status, body)
        return true
      }
      assert.match((await call()).message, message)
      fake.misbehave = () => false
      assert.equal((await call()).message, '')
    })

  test('that loses an answer is not asked again, and the next call begins anew', async (t) => {
    const { fake, sandbox } = await pair(t)
    let losing = 'sandbox.start'
    fake.misbehave = ({ method }, response) => {
      if (method !== losing) return false
      losing = ''
      response.destroy()
      return true
    }
    const lost = /^Connection error: the microsandbox server: /
    assert.match((await sandbox.code('x=1', { session_id })).message, lost)
    assert.equal(fake.calls('sandbox.start').length, 1)
    await sandbox.code('x=1', { session_id })
    losing = 'sandbox.repl.run'
    assert.match((await sandbox.code('x=2', { session_id })).message, lost)
    assert.equal(fake.calls('sandbox.repl.run').length, 2)
    const next = await sandbox.code('x', { session_id })
    assert.deepEqual([next.of('sandbox_restarted'), next.of('code_success')], [true, false])
    assert.equal(fake.calls('sandbox.start').length, 3, 'another sandbox has taken its place')
    assert.equal(fake.running.size, 1)
  })

  test('that answers too late loses the session', async (t) => {
    const { fake, sandbox } = await pair(t)
    await sandbox.code('x=1', { session_id })
    fake.misbehave = ({ method }) => method === 'sandbox.repl.run'
    const late = await sandbox.code('while True: pass', { session_id, timeout: 1 })
    assert.match(late.message, /^Code execution failed: timed out after 1 s; variables and files are lost/)
    fake.misbehave = () => false
    assert.equal((await sandbox.code('x', { session_id })).of('sandbox_restarted'), true)
    assert.equal(fake.running.size, 1)
  })

  test('gives no files, and takes no volume to read only', async (t) => {
    const { sandbox } = await pair(t)
    await sandbox.code('x=1', { session_id })
    const read = await sandbox.call('read_file', { session_id, path: 'x' })
    assert.equal(read.message, 'File access failed: this runtime gives no access to files')
    const bound = await pair(t, { volumes: ['/a:/b:ro'] })
    const refused = await bound.sandbox.code('x=1')
    const { message } = refused
    assert.match(message, /^Sandbox creation failed: a microsandbox server has no volumes to read only: \/a$/)
    const mapped = listAt((await bound.sandbox.call('get_volume_path')).of('volume_mappings'))
    assert.deepEqual(mapped, [{ host_path: '/a', container_path: '/b', read_only: true }])
  })

  test('that is not there cannot be used', async (t) => {
    await assert.rejects(
      openSandbox(t, { runtime: 'microsandbox-server', serverUrl: 'http://127.0.0.1:1' }),
      /microsandbox-server: the server cannot be reached: .*; start one with: msb server start/,
    )
  })
})
