// Embeds the proxy, watches a session with real servers, and proves two things:
//
//  1. Every message that the proxy forwarded is what came in with the edits that
//     it names, and nothing else; and that is what went out on the wire.
//  2. The arguments of every call, and the result of every answer, have the same
//     sha256 at the client and at the server.
//
// usage: node build/examples/audit.js (after `npm run build && npm run compile`)
//
// Prints a report; the exit code is 1 when anything differs.

import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { createProxy, editReasons, memoryPair } from 'mcps-proxy'
import type { Edit, ForwardEvent, McpProxy, MemoryConnection, WireEvent } from 'mcps-proxy'
import { readFrame, splice, toLine } from 'mcps-proxy/jsonrpc'
import type { Frame, Line, Span } from 'mcps-proxy/jsonrpc'

/** Spellings that a JSON parser would lose: big numbers, spellings of numbers, duplicate members, escapes. */
const odd = '"big":9007199254740993,"one":1.0,"much":1E400,"twice":1,"twice":-0,"__proto__":"caf\\u00e9 é"'

interface ToolCall {
  readonly service: string
  readonly tool: string
  /** Raw JSON. */
  readonly input: string
}

const timeCalls: readonly ToolCall[] = [
  { service: 'Time', tool: 'get_current_time', input: `{ "timezone":"Asia\\/Shanghai", ${odd} }` },
  {
    service: 'Time',
    tool: 'convert_time',
    input: '{"time":"12:30","source_timezone":"UTC","target_timezone":"Asia/Kolkata"}',
  },
  // A result that says no is a result.
  { service: 'Time', tool: 'get_current_time', input: '{"timezone":"Nowhere/Land"}' },
]

const everythingCalls: readonly ToolCall[] = [
  { service: 'everything', tool: 'echo', input: `{"message":"\\ud83d\\ude00 / é \\u0000",${odd}}` },
  { service: 'everything', tool: 'get-sum', input: '{"a":1.0,"b":2E0}' },
  { service: 'everything', tool: 'get-tiny-image', input: '{}' },
  { service: 'everything', tool: 'get-structured-content', input: '{"location":"New York"}' },
]

/** Recomputes what is forwarded, without the code of the proxy. */
class ForwardAudit {
  count = 0
  readonly edits = new Map<string, number>()
  readonly failures: string[] = []
  readonly #outputs: { readonly to: string; readonly text: string }[] = []

  /** The bytes are views that hold for this call only. */
  take({ to, input, edits, output }: ForwardEvent): void {
    this.count++
    for (const { why } of edits) this.edits.set(why, (this.edits.get(why) ?? 0) + 1)
    if (!recompute(input, edits).equals(output)) this.failures.push(`a message to ${to.hop} is not its input`)
    if (edits.some(({ why }) => !editReasons.includes(why))) this.failures.push('an edit has no known reason')
    const text = Buffer.from(output).toString('latin1')
    // Items of lists are forwarded as parts of an answer that the proxy puts together.
    if (isMessage(output)) this.#outputs.push({ to: `${to.hop} ${to.connection}`, text })
  }

  /** Whether every forwarded message was written to the connection that it was forwarded to. */
  compareWith(wire: WireLog): number {
    for (const { to, text } of this.#outputs) {
      if (!wire.wrote(to, text)) this.failures.push(`a message to ${to} is not on its wire`)
    }
    return this.#outputs.length
  }
}

function recompute(input: Uint8Array, edits: readonly Edit[]): Buffer {
  const parts: Uint8Array[] = []
  let from = 0
  for (const { start, end, bytes } of edits) {
    parts.push(input.subarray(from, start), bytes)
    from = end
  }
  return Buffer.concat([...parts, input.subarray(from)])
}

function isMessage(bytes: Uint8Array): boolean {
  return bytes[0] === 0x7b && Buffer.from(bytes).includes('"jsonrpc"')
}

/** Everything that was read and written, cut into messages by the line feed. */
class WireLog {
  readonly #written = new Map<string, Set<string>>()
  readonly #unfinished = new Map<string, string>()
  #recent: { readonly service: string; readonly direction: 'in' | 'out'; readonly frame: Frame }[] = []

  take({ hop, service, connection, direction, bytes }: WireEvent): void {
    const to = `${hop} ${connection}`
    const key = `${to} ${direction}`
    // A memory connection carries whole messages, without line feeds.
    const whole = (this.#unfinished.get(key) ?? '') + Buffer.from(bytes).toString('latin1')
    const lines = (hop === 'client' ? `${whole}\n` : whole).split('\n')
    this.#unfinished.set(key, lines.pop() ?? '')
    const written = this.#written.get(to) ?? new Set()
    this.#written.set(to, written)
    for (const line of lines) {
      if (direction === 'out') written.add(line)
      if (service === undefined) continue
      this.#recent.push({ service, direction, frame: readFrame(toLine(Buffer.from(line, 'latin1'))) })
    }
  }

  wrote(to: string, text: string): boolean {
    return this.#written.get(to)?.has(text) ?? false
  }

  /** The call that reached this server since the last time, and its answer. */
  takeCall(service: string): { readonly asked: Frame; readonly answered: Frame } | undefined {
    const recent = this.#recent.filter((each) => each.service === service)
    this.#recent = []
    const asked = recent.find(({ frame }) => frame.kind === 'request' && frame.method === 'tools/call')?.frame
    if (asked?.kind !== 'request') return undefined
    const answered = recent.find(
      ({ direction, frame }) => direction === 'in' && frame.kind === 'result' && frame.id === asked.id,
    )
    return answered && { asked, answered: answered.frame }
  }
}

/** The smallest client: one question at a time, every byte its own. */
class Client {
  readonly #connection: MemoryConnection
  #lastId = 0
  #answered: (line: Line) => void = () => undefined

  constructor(connection: MemoryConnection) {
    this.#connection = connection
    connection.start({
      // Notifications are not what is audited here, and a client without capabilities is asked nothing.
      message: (line) => (readFrame(line).kind === 'notification' ? undefined : this.#answered(line)),
      oversize: nothing,
      failed: nothing,
      drained: nothing,
      ended: nothing,
      closed: nothing,
    })
  }

  /** `params` is raw JSON. Gives both messages as this end saw them. */
  async ask(method: string, params: string): Promise<{ readonly asked: Frame; readonly answered: Frame }> {
    const asked = toLine(`{"jsonrpc":"2.0","id":${++this.#lastId},"method":"${method}","params":${params}}`)
    const answer = new Promise<Line>((resolve) => {
      this.#answered = resolve
    })
    this.#connection.send(splice(asked, []))
    return { asked: readFrame(asked), answered: readFrame(await answer) }
  }

  async tell(method: string): Promise<void> {
    this.#connection.send(splice(toLine(`{"jsonrpc":"2.0","method":"${method}"}`), []))
  }

  async open(): Promise<void> {
    const info = '{"name":"audit","version":"1.0.0"}'
    await this.ask('initialize', `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":${info}}`)
    await this.tell('notifications/initialized')
    await this.ask('tools/list', '{}')
  }
}

function nothing(): void {}

async function openClient(proxy: McpProxy): Promise<Client> {
  const [ours, theirs] = memoryPair()
  await proxy.attach(theirs)
  const client = new Client(ours)
  await client.open()
  return client
}

interface Sums {
  readonly input: string
  readonly result: string
}

/** sha256 of the bytes of `params.arguments` and of `result`. */
function sumsOf({ asked, answered }: { readonly asked: Frame; readonly answered: Frame }): Sums {
  const input = asked.kind === 'request' ? asked.params.members.span('arguments') : undefined
  return {
    input: sumOf(asked.line, input),
    result: sumOf(answered.line, answered.kind === 'result' ? answered.result : undefined),
  }
}

const missing = 'missing'

function sumOf(line: Line, span: Span | undefined): string {
  if (span === undefined) return missing
  return createHash('sha256').update(line.subarray(span.start, span.end)).digest('hex')
}

function find(specifier: string): string | undefined {
  try {
    return fileURLToPath(import.meta.resolve(specifier))
  } catch {
    return undefined
  }
}

/** The bundled Time server, and the reference server with everything where it is installed. */
function servers(): Record<string, { command: string; args: string[] }> {
  const time = fileURLToPath(new URL('./servers/time.js', import.meta.resolve('mcps-proxy')))
  const everything = find('@modelcontextprotocol/server-everything/dist/index.js')
  return {
    Time: { command: process.execPath, args: [time] },
    ...(everything !== undefined && {
      everything: { command: process.execPath, args: [everything, 'stdio'] },
    }),
  }
}

async function main(): Promise<number> {
  const forward = new ForwardAudit()
  const wire = new WireLog()
  const mcpServers = servers()
  const proxy = await createProxy(
    { mcpServers, startupGraceMs: 30_000 },
    { tap: { wire: (event) => wire.take(event), forward: (event) => forward.take(event) } },
  )
  // Two clients with the same ids on the same processes: the proxy must use its own ids.
  const clients = [await openClient(proxy), await openClient(proxy)]
  const calls = [...timeCalls, ...('everything' in mcpServers ? everythingCalls : [])]
  const failures = forward.failures
  let equal = 0
  for (const { service, tool, input } of calls) {
    for (const client of clients) {
      wire.takeCall(service)
      const here = sumsOf(
        await client.ask('tools/call', `{"name":"${service}__${tool}","arguments":${input}}`),
      )
      const seen = wire.takeCall(service)
      const there = seen && sumsOf(seen)
      if (there === undefined) failures.push(`${service} ${tool}: the server saw no such call, or no result`)
      else if (here.result === missing) failures.push(`${service} ${tool}: the client got no result`)
      else if (here.input !== there.input) failures.push(`${service} ${tool}: its arguments differ`)
      else if (here.result !== there.result) failures.push(`${service} ${tool}: its results differ`)
      else equal += 2
    }
  }
  await proxy.close()

  const messages = forward.compareWith(wire)
  const edits = [...forward.edits].map(([why, count]) => `${why} ${count}`).join(', ')
  process.stdout.write(`servers      ${Object.keys(mcpServers).join(', ')}
forwarded    ${forward.count} messages and list items; edits: ${edits}
recomputed   ${forward.count} outputs from their inputs and edits; ${messages} messages found on the wire
end to end   ${calls.length * clients.length} calls, ${equal} of ${calls.length * clients.length * 2} sha256 sums equal
${failures.length === 0 ? 'nothing differs' : failures.join('\n')}
`)
  return failures.length === 0 && forward.count > 0 && messages > 0 && equal > 0 ? 0 : 1
}

process.exitCode = await main()
