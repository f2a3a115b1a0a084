// A recording that the inspector makes, and viewers beside clients, with the whole command.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { at, parsed } from '../integration/support/json.js'
import { cli, nodeProgram, patientCli } from '../integration/support/programs.js'
import { type Scope, Spawned, configFile, inspectorOf, scratch } from '../integration/support/spawned.js'
import { type Answer, send } from '../transports/support/http.js'

interface Ui {
  readonly port: number
  readonly headers: Readonly<Record<string, string>>
}

/** The page of a proxy, once its address is printed; the proxy is killed at the end of the test. */
async function uiOf(scope: Scope, proxy: Spawned): Promise<Ui> {
  scope.after(() => proxy.kill())
  const address = await inspectorOf(proxy)
  const [, port, key] = /^http:\/\/127\.0\.0\.1:(\d+)\/ui\/#key=(\S+)$/.exec(address) ?? []
  return { port: Number(port), headers: { authorization: `Bearer ${key}` } }
}

function ask({ port, headers }: Ui, method: string, path: string, body?: string): Promise<Answer> {
  return send(port, { path, method, headers, ...(body !== undefined && { body }) })
}

const headerOf = (text: string): unknown => parsed(text.split('\n')[0] ?? '')

test('an export replays without a difference where it is whole, and says what is missing where it is not', async (scope) => {
  const echo = nodeProgram('echo.mjs')
  const config = configFile(scope, { a: echo, b: echo }, { server: { ui: { history: '16MB' } } })
  const args = [patientCli, 'stdio', '--ui', '0', '--no-kept-lists', '--config', config]
  const proxy = new Spawned(process.execPath, args)
  const ui = await uiOf(scope, proxy)
  await proxy.client.open()
  for (const name of ['a__echo', 'b__echo']) await proxy.client.call(name, { message: name, password: '' })
  const { body: whole } = await ask(ui, 'POST', '/ui/export', '')
  const members = ['redacted', 'cut', 'recorded'].map((member) => at(headerOf(whole), member))
  assert.deepEqual(members, [undefined, undefined, true])
  const file = join(scratch(scope), 'session.jsonl')
  writeFileSync(file, whole)

  await proxy.client.call('a__echo', { password: 'hidden-word', message: 'x'.repeat(100_000) })
  const { body } = await ask(ui, 'POST', '/ui/export', '')
  assert.doesNotMatch(body, /hidden-word/)
  const isLess = ['redacted', 'cut'].map((member) => Number(at(headerOf(body), member)) > 0)
  assert.deepEqual(isLess, [true, true])
  assert.match(body, /^\{"comment":"The next message is cut: 65536 of its 1\d{5} bytes are here\."\}$/m)
  assert((await ask(ui, 'POST', '/ui/export', '1-3')).body.split('\n').length < 6)
  assert.equal((await ask(ui, 'POST', '/ui/export', '3-')).status, 400)
  await proxy.finish()
  const replay = new Spawned(process.execPath, [cli, 'replay', '--trust', file])
  scope.after(() => replay.kill())
  assert.equal(await replay.exited, 0, JSON.stringify(replay.client.invalid))
})
