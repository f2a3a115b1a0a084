// A client of revision 2026-07-28 over HTTP, of which every request can say something else of itself.

import type { IncomingMessage } from 'node:http'
import { message, messageIn, open, read } from '../../transports/support/http.js'

const PREFIX = 'io.modelcontextprotocol'
const VERSION = '2026-07-28'

/** What a request says of its client. */
export interface Said {
  readonly capabilities?: object
  readonly clientInfo?: object
}

/** A response whose head is there. */
export interface Begun {
  readonly response: IncomingMessage
  readonly isStream: boolean
}

/** Each request has a connection of its own. */
export class StatelessCaller {
  readonly #port: number
  #last = 0

  constructor(port: number) {
    this.#port = port
  }

  async open(method: string, params: Readonly<Record<string, unknown>>, said: Said = {}): Promise<Begun> {
    const { capabilities = {}, clientInfo = { name: 'floods', version: '1' } } = said
    const _meta = {
      [`${PREFIX}/protocolVersion`]: VERSION,
      [`${PREFIX}/clientCapabilities`]: capabilities,
      [`${PREFIX}/clientInfo`]: clientInfo,
    }
    const { name } = params
    const headers = {
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    }
    const response = await open(this.#port, {
      headers,
      body: message(method, ++this.#last, { ...params, _meta }),
    })
    return { response, isStream: response.headers['content-type'] === 'text/event-stream' }
  }

  async request(method: string, params: Readonly<Record<string, unknown>>, said?: Said): Promise<unknown> {
    const { response } = await this.open(method, params, said)
    return messageIn((await read(response)).body)
  }

  call(name: string, args: object = {}, said?: Said): Promise<unknown> {
    return this.request('tools/call', { name, arguments: args }, said)
  }
}

/** Does so many things, a few of them at a time. */
export async function few(
  count: number,
  atOnce: number,
  act: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0
  const one = async (): Promise<void> => {
    while (next < count) await act(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, one))
}
