// Clients that share a server share the tables of its names: what one of them is shown is what the next one is.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { memoryPair } from '../../src/index.js'
import { toLine } from '../../src/jsonrpc/line.js'
import { splice } from '../../src/jsonrpc/splice.js'
import { said } from './support/client.js'
import { at, numberAt, parsed, textAt } from './support/json.js'
import { type TestProxy, libraryProxy } from './support/library.js'
import { itServer } from './support/programs.js'
import type { Scope } from './support/spawned.js'
import { until } from './support/waiting.js'

const nothing = (): void => undefined

/** A server in this process whose tools the test chooses. */
class Toolbox {
  tools: readonly string[] = ['old', 'kept']
  readonly #tell: (message: object) => void

  constructor({ proxy }: TestProxy) {
    const [ours, theirs] = memoryPair()
    this.#tell = (message) => ours.send(splice(toLine(JSON.stringify({ jsonrpc: '2.0', ...message })), []))
    ours.start({
      message: (line) => this.#answer(parsed(line.toString())),
      oversize: nothing,
      drained: nothing,
      ended: nothing,
      closed: nothing,
    })
    assert(proxy.adopt('s', theirs))
  }

  change(...tools: readonly string[]): void {
    this.tools = tools
    this.#tell({ method: 'notifications/tools/list_changed' })
  }

  #answer(request: unknown): void {
    const id = at(request, 'id')
    if (id !== undefined) this.#tell({ id, result: this.#result(textAt(request, 'method'), request) })
  }

  #result(method: string, request: unknown): object {
    switch (method) {
      case 'initialize':
        return {
          protocolVersion: '2025-06-18',
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'toolbox', version: '1' },
        }
      case 'tools/list':
        return { tools: this.tools.map((name) => ({ name, inputSchema: { type: 'object' } })) }
      default:
        return { content: [{ type: 'text', text: JSON.stringify(textAt(request, 'params', 'name')) }] }
    }
  }
}

async function served(t: Scope): Promise<{ readonly it: TestProxy; readonly server: Toolbox }> {
  const it = await libraryProxy(t, { s: { ...itServer(), lazy: true } })
  return { it, server: new Toolbox(it) }
}

const toolsOf = ({ proxy }: TestProxy): number => proxy.status()[0]?.tools ?? 0

test('a client is shown what a server lists now, though it changed while nobody was there', async (t) => {
  const { it, server } = await served(t)
  const first = await it.attach()
  await first.client.open()
  assert.deepEqual(await first.client.toolNames(), ['s__old', 's__kept'])
  await first.connection.close()
  await first.session.ended
  server.change('kept', 'new', 'newer')
  await until(() => toolsOf(it) === 3)
  const second = await it.attach()
  await second.client.open()
  assert.equal(said(await second.client.call('s__new', {})), 'new')
  assert.equal(numberAt((await second.client.call('s__old', {})).value, 'error', 'code'), -32601)
  assert.deepEqual(await second.client.toolNames(), ['s__kept', 's__new', 's__newer'])
})

test('a change is seen by every client that is there, and by the next', async (t) => {
  const { it, server } = await served(t)
  const [one, two] = [await it.attach(), await it.attach()]
  for (const { client } of [one, two]) {
    await client.open()
    assert.deepEqual(await client.toolNames(), ['s__old', 's__kept'])
  }
  server.change('new')
  const three = await it.attach()
  await three.client.open()
  await until(() => toolsOf(it) === 1)
  for (const { client } of [one, two, three]) {
    assert.equal(said(await client.call('s__new', {})), 'new')
    assert.deepEqual(await client.toolNames(), ['s__new'])
  }
})
