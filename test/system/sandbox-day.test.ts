// A day of a language model: the command `sandbox` with the runtime bubblewrap, through the official client.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { at, listAt } from '../integration/support/json.js'

const program = join(import.meta.dirname, '../../../dist/cli.js')
const args = ['sandbox', '--runtime', 'bubblewrap']

interface Service {
  connect(): Promise<Client>
  close(): Promise<void>
}

async function overHttp(): Promise<Service> {
  const child = spawn(process.execPath, [program, ...args, '--port', '0'], {
    env: process.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString()
      const [, found] = /POST to (http:\/\/[^\s",]+)/.exec(said) ?? []
      if (found !== undefined) resolve(found)
    })
    child.once('close', () => reject(new Error(said)))
  })
  const clients: Client[] = []
  return {
    connect: async () => {
      const client = new Client({ name: 'day', version: '1' })
      await client.connect(new StreamableHTTPClientTransport(new URL(url)))
      clients.push(client)
      return client
    },
    close: async () => {
      await Promise.all(clients.map((client) => client.close()))
      const over = once(child, 'close')
      child.kill('SIGTERM')
      assert.deepEqual((await over)[0], 0)
    },
  }
}

type Args = Readonly<Record<string, unknown>>

/** The text of a result. */
async function text(client: Client, name: string, given: Args): Promise<string> {
  const result: unknown = await client.callTool({ name, arguments: given })
  return String(at(result, 'content', 0, 'text'))
}

const draw = `import os
os.makedirs("artifacts", exist_ok=True)
points = " ".join(f"{i},{50 - v}" for i, v in enumerate(values))
open("artifacts/plot.svg", "w").write(f'<svg viewBox="0 0 9 50"><polyline points="{points}"/></svg>')
print("drawn")`

describe('a day', () => {
  test('goes well', async (t) => {
    const service = await overHttp()
    t.after(() => service.close())
    const client = await service.connect()
    assert.equal((await client.listTools()).tools.length, 8)
    const session_id = 'day'
    await client.callTool({
      name: 'write_file',
      arguments: { session_id, path: 'data.csv', content: 'n,v\n0,1\n1,4\n2,9\n3,16\n' },
    })
    const load =
      'import csv\nvalues = [int(row["v"]) for row in csv.DictReader(open("data.csv"))]\nsum(values)'
    assert.equal(await text(client, 'execute_code', { session_id, code: load }), '30\n')
    const middle = 'import statistics\nstatistics.median(values)'
    assert.equal(await text(client, 'execute_code', { session_id, code: middle }), '6.5\n')
    const drawn: unknown = await client.callTool({
      name: 'execute_code',
      arguments: { session_id, code: draw },
    })
    const uri = `sandbox://${session_id}/artifacts/plot.svg`
    assert.deepEqual(
      listAt(drawn, 'content').map((block) => at(block, 'type')),
      ['text', 'resource_link', 'image', 'text'],
    )
    assert.equal(at(drawn, 'content', 1, 'uri'), uri)
    const { contents } = await client.readResource({ uri })
    assert.match(String(at(contents, 0, 'text')), /^<svg .*points="0,49 1,46 2,41 3,34"/)

    const node = { session_id: `${session_id}-node`, template: 'node' }
    await text(client, 'execute_code', { ...node, code: 'const values = [1, 2, 3]' })
    const mapped = await text(client, 'execute_code', { ...node, code: 'values.map((v) => v ** 2)' })
    assert.equal(mapped, '[ 1, 4, 9 ]\n')

    const serve =
      'python3 -m http.server 8000 > server.log 2>&1 & for i in $(seq 50); do sleep 0.1; python3 -c "import socket; socket.create_connection((\'127.0.0.1\', 8000))" 2>/dev/null && break; done; echo up'
    assert.equal(await text(client, 'execute_command', { session_id, command: serve }), 'up\n')
    const fetched =
      'python3 -c "import urllib.request as u; print(u.urlopen(\'http://127.0.0.1:8000/data.csv\').read())"'
    assert.equal(
      await text(client, 'execute_command', { session_id, command: fetched }),
      "b'n,v\\n0,1\\n1,4\\n2,9\\n3,16\\n'\n",
    )
    await assert.rejects(
      client.callTool({
        name: 'execute_code',
        arguments: { session_id, code: 'print("here")\nwhile True: pass', timeout: 3 },
      }),
      /timed out after 3 s; variables are kept; its output until then ends with:\nhere/,
    )
    assert.equal(await text(client, 'execute_code', { session_id, code: 'sum(values)' }), '30\n')
    const reached = 'import socket\nsocket.create_connection(("192.0.2.1", 80), 2)'
    assert.match(await text(client, 'execute_code', { session_id, code: reached }), /unreachable/)
    const stopped = await text(client, 'stop_session', { session_id })
    assert.equal(stopped, `Session ${session_id} stopped successfully`)
  })
})
