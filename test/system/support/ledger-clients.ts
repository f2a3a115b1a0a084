// Official clients of both versions, with sessions over Streamable HTTP, that call a ledger server all the time.

import { setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema, ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { at, textAt } from '../../integration/support/json.js'
import { clientLibrary } from '../../integration/support/sdk-v2.js'
import type { Scope } from '../../integration/support/spawned.js'
import type { Noted } from './ledger.js'

export interface ClientOptions {
  readonly name: string
  readonly version: 1 | 2
  /** Whether the client declares roots, sampling and elicitation, so that it gets a separate process. */
  readonly isAskable: boolean
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** Between two calls. */
  readonly pauseMs: number
}

interface Progress {
  readonly message?: string | undefined
}

interface CallOptions {
  readonly timeout: number
  readonly onprogress: (progress: Progress) => void
}

/** The common interface of both libraries. */
interface Library {
  call(name: string, args: Record<string, unknown>, options: CallOptions): Promise<unknown>
  close(): Promise<void>
}

type Answer = { action: 'accept'; content: { value: string } }

/** Longer than any wait that a fault causes; a call that is not over then hangs. */
const CALL_MS = 60_000
/** An answer to a question that is lost on its way is not sent again by these clients, so that the call ends with this time. */
const ASK_MS = 15_000
const PAUSE_MS = 40
/** A client tries again until the gateway is back. These pauses are shorter than the usual ones. */
const reconnectionOptions = {
  initialReconnectionDelay: 100,
  maxReconnectionDelay: 1000,
  reconnectionDelayGrowFactor: 1.2,
  maxRetries: 40,
}
const askable = { roots: {}, sampling: {}, elicitation: { form: {} } }

/** The value that a client answers a question with. */
export const valueOf = (n: string): string => `value-of-${n}`

type Asked = (message: string) => Answer

async function ofVersion1({ name, isAskable, url, headers }: ClientOptions, asked: Asked): Promise<Library> {
  const client = new Client({ name, version: '1' }, { capabilities: isAskable ? askable : {} })
  if (isAskable) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => asked(params.message))
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [] }))
  }
  await client.connect(
    new StreamableHTTPClientTransport(url, { requestInit: { headers }, reconnectionOptions }),
  )
  return {
    call: (tool, args, options) => client.callTool({ name: tool, arguments: args }, undefined, options),
    close: () => client.close(),
  }
}

async function ofVersion2({ name, isAskable, url, headers }: ClientOptions, asked: Asked): Promise<Library> {
  const library = await clientLibrary()
  const options = { capabilities: isAskable ? askable : {}, versionNegotiation: { mode: 'legacy' } }
  const client = new library.Client({ name, version: '2' }, options)
  if (isAskable) {
    client.setRequestHandler('elicitation/create', (request) => asked(textAt(request, 'params', 'message')))
    client.setRequestHandler('roots/list', () => ({ roots: [] }))
  }
  await client.connect(
    new library.StreamableHTTPClientTransport(url, { requestInit: { headers }, reconnectionOptions }),
  )
  return {
    call: (tool, args, more) => client.callTool({ name: tool, arguments: args }, more),
    close: () => client.close(),
  }
}

/** One client, and its notes. */
export class LedgerClient {
  readonly name: string
  readonly calls: Noted[] = []
  /** Messages that were not for this client. */
  readonly foreign: string[] = []
  readonly #isAskable: boolean
  readonly #pauseMs: number
  readonly #open = new Set<string>()
  /** Its calls whose question it has answered. */
  readonly #answeredTo = new Set<string>()
  #library: Library | undefined
  #count = 0
  #isStopped = false
  #ran: Promise<void> | undefined

  constructor({ name, isAskable, pauseMs }: ClientOptions) {
    this.name = name
    this.#pauseMs = pauseMs
    this.#isAskable = isAskable
  }

  static async connect(scope: Scope, options: ClientOptions): Promise<LedgerClient> {
    const client = new LedgerClient(options)
    const open = options.version === 1 ? ofVersion1 : ofVersion2
    // On a busy machine the store may answer too late, so that no session is opened.
    while (client.#library === undefined)
      client.#library = await open(options, (message) => client.#answer(message)).catch((error: unknown) => {
        if (endOf(error) !== '503') throw error
        return undefined
      })
    scope.after(() => {
      client.#isStopped = true
      return client.#library?.close()
    })
    return client
  }

  get answered(): number {
    return this.calls.filter(({ end }) => end === 'answered').length
  }

  /** Calls again and again until `stop`, also after errors. */
  start(): void {
    this.#ran = this.#run()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#ran
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      await this.call()
      await delay(this.#pauseMs)
    }
  }

  /** Makes the next call: most are short, some are slow and have progress, and some have a question. */
  async call(): Promise<void> {
    const kind = ++this.#count % 8
    const n = `${this.name}-${this.#count}`
    const tool = kind === 3 ? 'slow' : kind === 6 && this.#isAskable ? 'ask' : 'add'
    this.#open.add(n)
    const onprogress = ({ message }: Progress): void => this.#expect(message === n, `progress of ${message}`)
    const options = { timeout: tool === 'ask' ? ASK_MS : CALL_MS, onprogress }
    const end = await this.#library?.call(tool, { n, ms: 300 }, options).then(
      (result) => this.#endOf(result, tool === 'ask' ? valueOf(n) : n),
      (error: unknown) =>
        this.#answeredTo.has(n) && /timed out/.test(String(error)) ? 'answer-lost' : endOf(error),
    )
    this.#open.delete(n)
    this.#answeredTo.delete(n)
    this.calls.push({ n, end: end ?? 'no client' })
  }

  #endOf(result: unknown, wanted: string): string {
    const text = textAt(result, 'content', 0, 'text')
    if (at(result, 'isError') === true) return text
    this.#expect(text === wanted, `the answer ${text}`)
    return 'answered'
  }

  #answer(message: string): Answer {
    this.#expect(this.#open.has(message), `the question ${message}`)
    this.#answeredTo.add(message)
    return { action: 'accept', content: { value: valueOf(message) } }
  }

  #expect(holds: boolean, what: string): void {
    if (!holds) this.foreign.push(`${this.name} got ${what}`)
  }
}

/** The end of a call, as an error of either library reports it. */
function endOf(error: unknown): string {
  const reason = textAt(error, 'data', 'reason')
  if (reason !== '') return reason
  const text = `${String(error)} ${inspect(at(error, 'cause'))}`
  const codes = [at(error, 'code'), at(error, 'status'), at(error, 'data', 'status')].map(Number)
  const status = codes.find((code) => [502, 503, 504].includes(code))
  if (status !== undefined) return String(status)
  return /fetch failed|terminated|other side closed|ECONNRESET|ECONNREFUSED/.test(text) ? 'broken' : text
}

export interface Crowd {
  /** The number of clients of each version. */
  readonly perVersion: number
  readonly isAskable: (index: number) => boolean
  readonly headersOf?: (index: number) => Readonly<Record<string, string>>
  readonly pauseMs?: number
}

/** Clients of both versions, all with equal ids, at one address. */
export function connectAll(scope: Scope, port: number, crowd: Crowd): Promise<LedgerClient[]> {
  const { perVersion, isAskable, headersOf, pauseMs = PAUSE_MS } = crowd
  const url = new URL(`http://127.0.0.1:${port}/mcp`)
  const all = ([1, 2] as const).flatMap((version) =>
    Array.from({ length: perVersion }, (_, index) => {
      const of = { version, isAskable: isAskable(index), headers: headersOf?.(index) ?? {} }
      return LedgerClient.connect(scope, { ...of, name: `v${version}-${index}`, url, pauseMs })
    }),
  )
  return Promise.all(all)
}

/** Stops all clients, and gives their notes. */
export async function stopAll(
  clients: readonly LedgerClient[],
): Promise<{ calls: Noted[]; foreign: string[] }> {
  await Promise.all(clients.map((client) => client.stop()))
  return {
    calls: clients.flatMap((client) => client.calls),
    foreign: clients.flatMap((client) => client.foreign),
  }
}
