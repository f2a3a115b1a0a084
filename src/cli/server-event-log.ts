// The log of servers, clients and calls, which the command makes from the events of its proxies.

import type {
  CallEvent,
  ClientEvent,
  EventSource,
  ProxyEvents,
  ProxyListeners,
  Runtime,
  ServerEvent,
} from '../index.js'
import type { LogLevel, LogRecord, LogSink } from '../runtime/runtime.js'
import type { Logger } from '../log/log.js'
import { counted } from '../text/counted.js'
import { definedIn } from '../text/json-object.js'
import { evidenceInWords } from '../upstream/contracts/upstream.js'

type StopCause = Extract<ServerEvent, { state: 'stopped' }>['cause']

const causes: Readonly<Record<Exclude<StopCause, 'retired'>, string>> = {
  idle: 'it was idle',
  'client-gone': 'its client has disconnected',
  restart: 'it will be restarted',
  closing: 'the proxy is closing',
}

/** The longest part of a server's message in a log line, in UTF-16 units: a message may fill a whole page. */
const messageLengthMax = 500

/** The log shows this many failed starts of a server in a row, with all output, and no further ones. */
const failuresLoggedMax = 10

export class ServerEventLog {
  readonly listeners: ProxyListeners
  /** The log for the proxies, without the lines of servers that fail again and again. */
  readonly sink: LogSink
  readonly #logger: Logger
  readonly #limited: LimitedLog
  /** The failed starts of each server since its last good start. */
  readonly #failures = new Map<string, number>()
  #source: EventSource<ProxyEvents> | undefined
  #endCalls: (() => void) | undefined

  constructor(logger: Logger, runtime: Pick<Runtime, 'now'>) {
    this.#logger = logger
    this.sink = (record) => {
      if (!this.#keepsFailing(record.service)) logger.sink(record)
    }
    this.#limited = new LimitedLog(logger.sink, runtime)
    this.listeners = {
      server: (event) => this.#server(event),
      client: (event) => this.#client(event),
      failure: (event) => this.#failure(event),
    }
  }

  /** Logs every call if the level wants that. At other levels, calls cost nothing. */
  watchCalls(source: EventSource<ProxyEvents>): void {
    this.#source = source
    this.levelChanged()
  }

  levelChanged(): void {
    if (!this.#logger.isVerbose) {
      this.#endCalls?.()
      this.#endCalls = undefined
    } else this.#endCalls ??= this.#source?.on('call', (event) => this.#call(event))
  }

  close(): void {
    this.#limited.close()
  }

  #server(event: ServerEvent): void {
    this.#countFailures(event)
    const message = wordsOf(event)
    if (message === undefined) return
    const { server: service, pid, client } = event
    const details = (pid || client) && { details: { ...(pid && { pid }), ...(client && { client }) } }
    this.sink({ level: 'info', service, message, ...details })
  }

  #keepsFailing(server: string | undefined): boolean {
    if (server === undefined || this.#logger.isVerbose) return false
    return (this.#failures.get(server) ?? 0) >= failuresLoggedMax
  }

  #countFailures({ server, ...event }: ServerEvent): void {
    if (event.state === 'ready') this.#failures.delete(server)
    if (event.state !== 'failed') return
    const count = (this.#failures.get(server) ?? 0) + 1
    this.#failures.set(server, count)
    if (count !== failuresLoggedMax || !this.#keepsFailing(server)) return
    const message = `${count} starts in a row have failed, and further ones are not logged: ${event.message}`
    this.#logger.sink({ level: 'error', service: server, message })
  }

  #client(event: ClientEvent): void {
    const { client, name } = event
    // A client that calls without `initialize` may be gone after one request.
    const level = name === undefined ? 'debug' : 'info'
    const who = `client ${client}${name === undefined ? '' : ` (${name})`}`
    if (event.state === 'gone')
      return this.#logger.sink({ level, message: `${who} is gone after ${inTime(event.ms)}` })
    const version = event.version === undefined ? '' : `version ${event.version}, `
    this.#logger.sink({ level, message: `${who} attached: ${version}protocol version ${event.revision}` })
  }

  #failure(event: CallEvent): void {
    const { schema, server, outcome, reason, code } = event
    const kind = [schema, server, outcome, reason ?? code].join(' ')
    const record = this.#recordOf('warn', event)
    if (this.#logger.isVerbose) this.#logger.sink(record)
    else this.#limited.take(kind, record)
  }

  #call(event: CallEvent): void {
    if (event.outcome === 'answered' || event.outcome === 'cancelled')
      this.#logger.sink(this.#recordOf('debug', event))
  }

  #recordOf(level: LogLevel, event: CallEvent): LogRecord {
    const { server, method, name, outcome, ms, message, client, reason, code, status } = event
    const what = name === undefined ? method : `${method} '${name}'`
    const why = message === undefined ? '' : `: ${this.#logger.clean(message, messageLengthMax, server)}`
    return {
      level,
      message: `${what} ${outcome} after ${inTime(ms)}${why}`,
      ...(server !== undefined && { service: server }),
      details: definedIn({ client, reason, code, status }),
    }
  }
}

/** Undefined for a failure, which is logged where it is found. */
function wordsOf(event: ServerEvent): string | undefined {
  switch (event.state) {
    case 'starting':
      return 'starting'
    case 'ready': {
      const again = event.restarts === 0 ? '' : 'again '
      const version = `protocol version ${event.revision} (${evidenceInWords[event.evidence]})`
      return `ready ${again}after ${inTime(event.ms)}: ${version}, ${counted(event.tools, 'tool')}`
    }
    case 'late':
      return `not ready after ${inTime(event.ms)}, still starting`
    case 'failed':
      return undefined
    case 'stopped': {
      if (event.cause === 'retired') return `stopped: ${event.message}`
      const why = event.cause === 'restart' ? ` (${event.message})` : ''
      return `stopped: ${causes[event.cause]}${why}`
    }
  }
}

function inTime(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`
  return ms < 9950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`
}

const linesMax = 5
const windowMs = 60_000
/** The limit of distinguished kinds; further kinds count as one. */
const kindsMax = 200

/** Passes the first lines of each kind in a minute, and logs a count of the others after the minute. */
export class LimitedLog {
  readonly #log: LogSink
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #kinds = new Map<string, { readonly first: LogRecord; lines: number }>()
  #endsAt = 0

  constructor(log: LogSink, runtime: Pick<Runtime, 'now'>) {
    this.#log = log
    this.#runtime = runtime
  }

  take(kind: string, record: LogRecord): void {
    const now = this.#runtime.now()
    if (now >= this.#endsAt) this.close()
    if (this.#kinds.size === 0) this.#endsAt = now + windowMs
    const key = this.#kinds.has(kind) || this.#kinds.size < kindsMax ? kind : ''
    const lines = this.#kinds.get(key) ?? { first: record, lines: 0 }
    this.#kinds.set(key, lines)
    if (++lines.lines <= linesMax) this.#log(record)
  }

  close(): void {
    for (const { first, lines } of this.#kinds.values())
      if (lines > linesMax)
        this.#log({
          ...first,
          message: `left out: ${counted(lines - linesMax, 'more line')} like "${first.message}"`,
          details: {},
        })
    this.#kinds.clear()
  }
}
