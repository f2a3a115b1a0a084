// Code in a session attacks the results of its calls. The service still answers each call.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CallOutput } from '../../src/sandbox/call-output.js'
import type { RunEnd } from '../../src/sandbox/runs.js'
import { Repl } from '../../src/sandbox/repl.js'
import { listAt } from '../integration/support/json.js'
import { until } from '../integration/support/waiting.js'
import { fakeDriver } from './support/fake-driver.js'
import { SandboxClient, openSandbox } from './support/sandbox.js'
import type { Scope } from '../support/scope.js'

/** How code ends when this is behind its mark. */
async function endWith(line: string): Promise<RunEnd> {
  const driver = fakeDriver()
  const ended = new Repl(
    driver,
    () => new CallOutput(100),
    () => 'nonce',
  ).evaluate('1')
  driver.stderr.write('\0nonce\n')
  driver.stdout.write(`\0nonce${line}\n`)
  return ended
}

const cases: readonly (readonly [title: string, line: string, exitCode: number, hasArtifacts: boolean])[] = [
  ['tells of artifacts', '{"ok":true,"artifacts":true}', 0, true],
  ['has flags that are none', '{"ok":1,"artifacts":["a"]}', 1, false],
  ['is no JSON', '{"ok":true', 1, false],
  ['is deep', '['.repeat(500_000), 1, false],
  ['is long', `{"ok":true,"x":"${'x'.repeat(5000)}"}`, 1, false],
]
for (const [title, line, exitCode, hasArtifacts] of cases)
  test(`the line behind a mark ${title}`, async () => {
    const end = await endWith(line)
    assert(end.kind === 'done')
    assert.deepEqual([end.exitCode, end.hasArtifacts], [exitCode, hasArtifacts])
  })

/** A service, and the word that each interpreter gets before its code. */
async function heard(t: Scope): Promise<{ client: SandboxClient; words: string[] }> {
  const words: string[] = []
  const { client } = await openSandbox(t, { templates: { js: { language: 'node' } } }, (runtime) => ({
    ...runtime,
    spawn: (spec) => {
      const child = runtime.spawn(spec)
      const write = child.stdin.write.bind(child.stdin)
      child.stdin.write = (chunk: unknown) => {
        if (String(chunk) !== '') words.push(String(chunk).split(' ')[0] ?? '')
        return write(chunk)
      }
      return child
    },
  }))
  return { client: client(), words }
}

test('the word that ends code differs for each piece of code, and no session guesses it', async (t) => {
  const { client, words } = await heard(t)
  for (const session_id of ['one', 'one', 'two']) await client.code('1', { session_id, template: 'js' })
  assert.equal(new Set(words).size, 3)
  for (const word of words) assert.match(word, /^[\da-f]{32,}$/)
})

test('the word that ends code is believed of no other piece of code, nor without a word', async (t) => {
  const { client, words } = await heard(t)
  const session = { session_id: 's', template: 'js' }
  await client.code('1', session)
  const end = `${words[0]}{"ok":true,"artifacts":[]}\n`
  const forged = await client.code(
    `const end = ${JSON.stringify(end)}
      for (const each of ['\\0' + end, '\\0{"ok":true}\\n', '\\0\\n']) { process.stdout.write(each); process.stderr.write(each) }
      await new Promise((go) => setTimeout(go, 50))
      console.log('the end')
      throw new Error('it failed')`,
    session,
  )
  assert.equal(forged.of('code_success'), false)
  assert.match(forged.text, /the end\n[^]*it failed/)
  assert(forged.text.includes(`\0${end}`), 'what it wrote is shown as it was')
  assert.equal((await client.code('1 + 1', session)).text, '2\n')
})

describe('a session', () => {
  const section = { templates: { js: { language: 'node' } } }

  // A10: the call of a session that is stopped meanwhile must not start a machine that no list knows.
  test('that was stopped starts no machine again', async (t) => {
    const { service, client, starts } = await openSandbox(t, section)
    const sandbox = client()
    for (let at = 0; at < 20; at++) {
      const session_id = `s${at}`
      const files = Array.from({ length: 8 }, () => sandbox.call('list_files', { session_id }))
      const code = sandbox.command('mkdir -p artifacts; touch artifacts/a.png', { session_id })
      const listed = Array.from({ length: 8 }, () => sandbox.call('list_files', { session_id }))
      const stopped = sandbox.call('stop_session', { session_id })
      await Promise.all([...files, code, ...listed, stopped])
    }
    assert(starts() <= 20, `${starts()} machines for 20 sessions`)
    assert.deepEqual((await sandbox.call('get_sessions')).of('sessions'), [])
    await service.close()
  })

  // A13: reads of large files wait for each other, and too many are refused.
  test('is asked for many large files at once: a few are read at a time, and too many are refused', async (t) => {
    const sandbox = (await openSandbox(t, section)).client()
    const session_id = 's'
    await sandbox.command('head -c 300000 /dev/zero > nul', { session_id })
    const reads = await Promise.all(
      Array.from({ length: 76 }, () =>
        sandbox.call('read_file', { session_id, path: 'nul', limit: 10_485_760 }),
      ),
    )
    const read = reads.filter((each) => each.of('size') === 300_000)
    assert.deepEqual(new Set(read.map((each) => each.of('encoding'))), new Set(['base64']), 'no JSON of NULs')
    const refused = reads.filter((each) => each.code === -32600)
    assert.deepEqual([read.length, refused.length], [68, 8], 'four are read, and 64 wait')
  })

  test('reads no more large files while its client takes none, and goes on when it does', async (t) => {
    const { service, client, connection } = await openSandbox(t, section)
    const [near, far] = connection
    const sandbox = client()
    const session_id = 's'
    await sandbox.command('head -c 2000000 /dev/zero > nul', { session_id })
    near.read(false)
    const args = { session_id, path: 'nul', limit: 10_485_760 }
    const reads = Array.from({ length: 12 }, () => sandbox.call('read_file', args))
    const { largeReads } = service
    await until(() => far.congested && largeReads.size === 4)
    assert(far.backlogBytes < 5 * 2 * 2_700_000, 'four results of twice the file as base64')
    near.read(true)
    for (const each of await Promise.all(reads)) assert.equal(each.of('size'), 2_000_000)
  })

  test('tells of its artifacts where the name of one is no UTF-8', async (t) => {
    const client = (await openSandbox(t, section)).client()
    const said = await client.code(
      `const fs = require('node:fs')
      fs.mkdirSync('artifacts')
      fs.writeFileSync(Buffer.concat([Buffer.from('artifacts/'), Buffer.from([0xff])]), '')
      fs.writeFileSync('artifacts/good', '')`,
      { template: 'js' },
    )
    const found = listAt(said.value, 'result', 'artifacts').map((each) => Object(each)['path'])
    assert.deepEqual(found, ['artifacts/good'])
  })
})
