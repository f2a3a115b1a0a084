// Replays a transcript against a server over HTTP.
//
// The proxy's client transport keeps the session, opens the stream of server messages, and detects the HTTP
// transport of the server. It sends only single messages, so a replay skips transcripts with batches or junk.

import type { MessageHead } from '../jsonrpc/connection.js'
import { type Frame, readFrame } from '../jsonrpc/frame.js'
import { toLine } from '../jsonrpc/line.js'
import { splice } from '../jsonrpc/splice.js'
import { requestFields } from '../mcp/http-headers.js'
import { cancelledId } from '../mcp/methods.js'
import { Redactor } from '../text/redactor.js'
import { type Dial, HttpAgent } from '../transports/http1/client.js'
import type { Runtime } from '../runtime/runtime.js'
import { type HttpTarget, defaultHttpClientLimits } from '../transports/http-client/options.js'
import { HttpLink } from '../transports/http-client/link.js'
import { DoubtfulRefusals } from '../transports/http-client/forgotten-session.js'
import { Mailbox, type ReplayedServer, type ServerOutput } from './server.js'

/** The longest message that the replay keeps. Messages of transcripts are far shorter. */
const MESSAGE_BYTES_MAX = 256 * 1024 * 1024

interface RemoteOptions {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly runtime: Runtime
  readonly timeoutMs: number
}

export function openRemote(options: RemoteOptions, dial: Dial): ReplayedServer {
  const target = targetOf(options)
  const output = new Mailbox<ServerOutput>(options.runtime)
  const agent = new HttpAgent(target.url, target.limits, dial)
  const connection = new HttpLink(target, agent, { older: 'maybe' })
  let why = 'the connection was closed'
  connection.start({
    message: (line) => output.put({ kind: 'message', bytes: line }),
    failed: (id, error) => output.put({ kind: 'failed', id, why: error.message }),
    oversize: (_id, bytes) =>
      output.put({ kind: 'message', bytes: Buffer.from(`(a message of ${bytes} bytes)`) }),
    drained: () => {},
    ended: () => {},
    closed: (cause) => {
      why = cause?.message ?? why
      output.end()
    },
  })
  return {
    output,
    send: ({ bytes }) => {
      const line = toLine(bytes)
      connection.send(splice(line, []), headOf(readFrame(line)))
    },
    closeInput: () => void connection.close(),
    exit: async () => undefined,
    endedWhy: async () => why,
    stop: async () => {
      await connection.close()
      agent.destroy()
    },
  }
}

/** Without retries, because the server would answer a repeated message twice. */
function targetOf({ url, headers, runtime, timeoutMs }: RemoteOptions): HttpTarget {
  const { sse } = defaultHttpClientLimits
  return {
    url,
    headers,
    credentials: undefined,
    // The author of the transcript knows its messages, so the replay redacts nothing.
    redactor: new Redactor([]),
    retries: 0,
    retryDelayMs: 0,
    reconnectMs: 1000,
    // Header fields repeat the method and the name, but no arguments: the replay does not read the tool list.
    mirror: (message) => requestFields(message, () => []),
    refusal: (status) => ({ message: `it refuses the request (HTTP ${status})`, remedy: REMEDY }),
    log: () => {},
    trace: undefined,
    refusals: new DoubtfulRefusals(),
    patienceMs: timeoutMs,
    timers: runtime,
    limits: {
      ...defaultHttpClientLimits,
      answerBytesMax: MESSAGE_BYTES_MAX,
      sse: { ...sse, dataBytesMax: MESSAGE_BYTES_MAX },
    },
  }
}

const REMEDY = "name credentials: --header 'Authorization: Bearer …'"

/** Returns the head of a message that is sent without a `Peer`. */
export function headOf(frame: Frame): MessageHead {
  const { kind } = frame
  if (kind === 'result' || kind === 'error') return { kind }
  const { method } = frame
  if (kind === 'request') return { kind, id: frame.id, method }
  return { kind, method, cancels: method === 'notifications/cancelled' ? cancelledId(frame) : undefined }
}
