// Sessions that are kept under a name: they do not go, and their files outlive the service.

import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { realRuntime } from '../../src/real-runtime.js'
import type { Pin } from '../../src/sandbox/runtime.js'
import { type SandboxService, openService } from '../../src/sandbox/service.js'
import { StateFolder } from '../../src/sandbox/state-folder.js'
import { memoryPair } from '../../src/index.js'
import { clientOf } from '../integration/support/library.js'
import { at, listAt } from '../integration/support/json.js'
import { SandboxClient, openSandbox, settingsOf } from './support/sandbox.js'

const section = { runtime: 'unsafe-local', pins: true }

interface Scope {
  after(fn: () => Promise<void> | void): void
}

/** Services on one state folder, one after the other or beside each other. */
function host(scope: Scope): {
  readonly root: string
  readonly open: (more?: object, name?: string) => Promise<{ service: SandboxService; client: SandboxClient }>
} {
  const root = mkdtempSync(join(tmpdir(), 'mcps-pins-'))
  const runtime = realRuntime()
  const services: SandboxService[] = []
  scope.after(async () => {
    await Promise.all(services.map((service) => service.close()))
    await runtime.close()
    rmSync(root, { recursive: true, force: true })
  })
  const open = async (
    more: object = {},
    name = 'box',
  ): Promise<{ service: SandboxService; client: SandboxClient }> => {
    const settings = settingsOf({ ...section, ...more })
    const service = await openService({ name, settings, runtime, log: () => undefined, stateFolder: root })
    services.push(service)
    const [near, far] = memoryPair()
    service.connect(far, 'ann')
    return { service, client: new SandboxClient(clientOf(near)) }
  }
  return { root, open }
}

const pin = (
  client: SandboxClient,
  session_id: string,
  pinned_name: string,
): ReturnType<SandboxClient['call']> => client.call('pin_sandbox', { session_id, pinned_name })

const attach = (client: SandboxClient, pinned_name: string): ReturnType<SandboxClient['call']> =>
  client.call('attach_sandbox_by_name', { pinned_name })

const names = async (client: SandboxClient): Promise<unknown[]> =>
  listAt((await client.raw.request('tools/list')).value, 'result', 'tools').map((tool) => at(tool, 'name'))

describe('a pinned session', () => {
  test('is found by its name, with its variables as long as it runs', async (t) => {
    const { client } = await host(t).open()
    await client.code('let x = 1', { session_id: 's', template: 'node' })
    const pinned = await pin(client, 's', 'work')
    assert.deepEqual(
      [pinned.text, pinned.of('session_id'), pinned.of('pinned_name')],
      ["Successfully pinned session s as 'work'", 's', 'work'],
    )
    assert.equal((await pin(client, 's', 'work')).code, undefined, 'again is the same')
    const found = await attach(client, 'work')
    assert.equal(found.text, "Successfully attached to pinned sandbox 'work'. Session ID: s")
    assert.deepEqual(
      [found.of('session_id'), found.of('template'), found.of('session_created')],
      ['s', 'node', false],
    )
    assert.equal((await client.code('x', { session_id: 's' })).text, '1\n')
    const [listed] = listAt((await client.call('get_sessions')).of('sessions'))
    assert.equal(at(listed, 'pinned_name'), 'work')
  })

  test('neither expires nor makes room', async (t) => {
    let ahead = 0
    const { client: connect } = await openSandbox(
      t,
      { ...section, maxSessions: 2, sessionTimeout: 60 },
      (runtime) => ({ ...runtime, wallNow: () => runtime.wallNow() + ahead }),
    )
    const client = connect()
    await client.command('echo kept > file', { session_id: 'kept' })
    await pin(client, 'kept', 'work')
    await client.command('true', { session_id: 'other' })
    ahead = 3_600_000
    await client.command('true', { session_id: 'third' })
    await client.command('true', { session_id: 'fourth' })
    assert.equal((await client.command('cat file', { session_id: 'kept' })).text, 'kept\n')
    await pin(client, 'fourth', 'also')
    const refused = await client.command('true', { session_id: 'fifth' })
    assert.equal(refused.code, -32600)
  })

  test('leaves its files to the next service, in a session of its template and flavor', async (t) => {
    const { root, open } = host(t)
    const first = await open()
    await first.client.command('echo kept > file; mkdir d; chmod 500 .', {
      session_id: 's',
      template: 'node',
      flavor: 'medium',
    })
    await pin(first.client, 's', 'work')
    await first.client.command('echo not kept > file', { session_id: 'other' })
    await first.service.close()
    assert.deepEqual(readdirSync(root), ['pins'])
    const { client } = await open()
    const found = await attach(client, 'work')
    const session_id = String(found.of('session_id'))
    assert.equal(found.of('session_created'), true)
    assert.notEqual(session_id, 's')
    assert.equal((await client.command('cat file', { session_id })).text, 'kept\n')
    const [listed] = listAt((await client.call('get_sessions')).of('sessions'))
    assert.deepEqual([at(listed, 'template'), at(listed, 'flavor')], ['node', 'medium'])
    assert.equal((await attach(client, 'work')).of('session_id'), session_id, 'there is one')
  })

  test('leaves its files when it is stopped, unless they are to be removed', async (t) => {
    const { root, open } = host(t)
    const { client } = await open()
    await client.command('echo kept > file', { session_id: 's' })
    await pin(client, 's', 'work')
    await client.call('stop_session', { session_id: 's' })
    const [one, two] = await Promise.all([attach(client, 'work'), attach(client, 'work')])
    const session_id = String(one.of('session_id'))
    assert.equal(two.of('session_id'), session_id, 'of two at once both have the same')
    assert.equal((await client.command('cat file', { session_id })).text, 'kept\n')
    const wrong = await client.call('stop_session', { session_id, unpin: 'yes' })
    assert.equal(wrong.message, "Parameter 'unpin' must be true or false")
    await client.call('stop_session', { session_id, unpin: true })
    assert.deepEqual(readdirSync(join(root, 'pins')), [])
    const gone = await attach(client, 'work')
    assert.deepEqual([gone.code, gone.message], [-32602, 'Pinned sandbox not found: work; there is none'])
  })

  test('of a service that was killed is nobody’s after a sweep, wherever the move was broken off', async (t) => {
    const { root, open } = host(t)
    const { client } = await open()
    // Between these two moves a service may be killed, on the way to the pins and on the way back.
    const broken = (name: string, hasFolder: boolean): void => {
      const dead = join(root, `${name}0`.padStart(16, '0'))
      const key = name.padStart(16, 'a')
      const facts = { sandbox: 'box unsafe-local', owner: 'ann', name, template: 'node', flavor: 'small' }
      mkdirSync(join(root, 'pins'), { recursive: true })
      for (const folder of [dead, hasFolder ? join(dead, key) : join(root, 'pins', key)]) mkdirSync(folder)
      writeFileSync(join(hasFolder ? dead : join(root, 'pins'), key, 'file'), `${name}\n`)
      writeFileSync(join(dead, `${key}.pin`), JSON.stringify(facts))
      writeFileSync(join(dead, 'owner'), '1 1 another-boot -')
    }
    broken('b1', true)
    broken('b2', false)
    for (const name of ['b1', 'b2']) {
      const found = await attach(client, name)
      const session_id = String(found.of('session_id'))
      assert.equal((await client.command('cat file', { session_id })).text, `${name}\n`, found.message)
    }
    assert.deepEqual(readdirSync(join(root, 'pins')), [])
  })

  test('of a service that lives is in use', async (t) => {
    const { open } = host(t)
    const [first, second] = [await open(), await open()]
    await first.client.command('echo kept > file', { session_id: 's' })
    await pin(first.client, 's', 'work')
    const used = await attach(second.client, 'work')
    assert.deepEqual(
      [used.code, used.message],
      [-32603, "Pinned sandbox: 'work' is in use by another service"],
    )
    await second.client.command('true', { session_id: 's' })
    const taken = await pin(second.client, 's', 'work')
    assert.deepEqual(
      [taken.code, taken.message],
      [-32602, "The name 'work' is taken by another pinned sandbox"],
    )
    await first.service.close()
    assert.equal((await attach(second.client, 'work')).code, undefined)
  })

  test('is nothing of another sandbox, nor of another owner', async (t) => {
    const { open } = host(t)
    const { service, client } = await open()
    await client.command('true', { session_id: 's' })
    await pin(client, 's', 'work')
    const [near, far] = memoryPair()
    service.connect(far, 'bob')
    const bob = new SandboxClient(clientOf(near))
    assert.match((await attach(bob, 'work')).message, /not found: work; there is none/)
    await client.call('stop_session', { session_id: 's' })
    assert.match((await attach(bob, 'work')).message, /not found: work; there is none/)
    const other = await open({}, 'other')
    assert.match((await attach(other.client, 'work')).message, /not found: work; there is none/)
  })

  test('is one of as many as there may be sessions', async (t) => {
    const { open } = host(t)
    const { client } = await open({ maxSessions: 2 })
    for (const session_id of ['a', 'b']) {
      await client.command('true', { session_id })
      await pin(client, session_id, session_id)
      await client.call('stop_session', { session_id })
    }
    await client.command('true', { session_id: 'c' })
    const refused = await pin(client, 'c', 'c')
    assert.deepEqual(
      [refused.code, refused.message],
      [-32600, 'Resource limit exceeded: Pins limit exceeded: 2 >= 2'],
    )
    assert.match((await attach(client, 'd')).message, /^Pinned sandbox not found: d; there are: [ab], [ab]$/)
  })

  test('has to be there, with a name and a template that can be used', async (t) => {
    const { open } = host(t)
    const first = await open({ templates: { js: { language: 'node' } } })
    const cases: readonly (readonly [answer: Promise<{ readonly message: string }>, message: string])[] = [
      [pin(first.client, 'none', 'x'), 'Session not found: none'],
      [
        pin(first.client, 'none', 'a/b'),
        "Parameter 'pinned_name' must be 1 to 128 letters, digits, '.', '_' or '-'",
      ],
      [attach(first.client, 'none'), 'Pinned sandbox not found: none; there is none'],
    ]
    for (const [answer, message] of cases) assert.equal((await answer).message, message)
    await first.client.command('true', { session_id: 's', template: 'js' })
    await pin(first.client, 's', 'work')
    await pin(first.client, 's', 'renamed')
    await first.service.close()
    const { client } = await open()
    const gone = await attach(client, 'renamed')
    assert.equal(
      gone.message,
      "Pinned sandbox: 'renamed' has the template 'js', which is not configured any more",
    )
    assert.match((await attach(client, 'work')).message, /there are: renamed$/)
    assert.equal(listAt((await client.call('get_sessions')).of('sessions')).length, 0)
  })

  test('is refused at the start by a runtime that keeps no files', async (t) => {
    const { open } = host(t)
    const why =
      /^wasm: it keeps no files of sessions, and pins is true; set pins to false, or runtime to bubblewrap/m
    await assert.rejects(
      open({ runtime: 'wasm' }),
      (error) => error instanceof Error && why.test(error.message),
    )
    await assert.rejects(open({ runtime: 'microsandbox-server' }), /it keeps no files of sessions/)
    const { client } = await open({ runtime: 'wasm', pins: false })
    assert.equal((await client.code('6 * 7')).text, '42\n')
  })

  test('is offered only where the configuration says so', async (t) => {
    const { open } = host(t)
    const { client } = await open({ pins: false })
    assert(!(await names(client)).includes('pin_sandbox'))
    assert.equal((await pin(client, 's', 'x')).code, -32601)
    const all = await names((await open()).client)
    assert.deepEqual(all.slice(-2), ['pin_sandbox', 'attach_sandbox_by_name'])
  })
})

describe('pins on the disk', () => {
  const facts: Pin = { sandbox: 'box', owner: '', name: 'n', template: 'node', flavor: 'small' }

  test('are read by their owner alone, and what is no pin is none', async (t) => {
    const root = mkdtempSync(join(tmpdir(), 'mcps-pins-'))
    const runtime = realRuntime()
    t.after(async () => {
      await runtime.close()
      rmSync(root, { recursive: true, force: true })
    })
    const folder = new StateFolder(root, runtime)
    const pinned = folder.pinned(() => undefined)
    const path = await folder.session('a')
    await pinned.pin('a', facts)
    assert.deepEqual(JSON.parse(readFileSync(`${path}.pin`, 'utf8')), facts)
    for (const [index, text] of ['', '[]', 'null', '{"name":5}'].entries())
      writeFileSync(join(root, folder.name, `000000000000000${index}.pin`), text)
    const [only, ...others] = await pinned.list()
    assert.deepEqual([only?.name, only?.holder, others], ['n', 'us', []])
    await assert.rejects(async () => pinned.pin('never', facts), /has no files/)
    await folder.discard('a')
    assert.deepEqual(
      (await pinned.list()).map(({ holder }) => holder),
      ['nobody'],
    )
    assert.equal(await pinned.attach('b', 'f'.repeat(16)), false)
    assert.equal(await pinned.attach('b', only?.key ?? ''), true)
    assert.equal(await pinned.attach('c', only?.key ?? ''), false, 'it was taken')
    await pinned.unpin('b')
    await folder.close()
    assert.deepEqual(readdirSync(join(root, 'pins')), [])
  })

  test('that cannot be moved stay where they are', async (t) => {
    const root = mkdtempSync(join(tmpdir(), 'mcps-pins-'))
    const runtime = realRuntime()
    t.after(async () => {
      await runtime.close()
      rmSync(root, { recursive: true, force: true })
    })
    const folder = new StateFolder(root, runtime)
    const pinned = folder.pinned(() => undefined)
    const path = await folder.session('a')
    await pinned.pin('a', facts)
    writeFileSync(join(root, 'pins'), 'in the way')
    await folder.close()
    assert(existsSync(path), 'they are not removed')
    rmSync(join(root, 'pins'))
    const dead = join(root, '00000000000000d0')
    renameSync(join(root, folder.name), dead)
    writeFileSync(join(dead, 'owner'), '1 1 another-boot -')
    chmodSync(path.replace(folder.name, '00000000000000d0'), 0o500)
    await new StateFolder(root, runtime).sweep()
    assert.deepEqual(readdirSync(root), ['pins'])
    assert.equal(readdirSync(join(root, 'pins')).length, 2)
  })
})
