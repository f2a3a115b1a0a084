// Writes one JSON line for each call of a client, in a file or on stderr.
//
// The audit listens to `call` events. They fire when the answer is on its way, so no call waits for the audit.

import { createHash } from 'node:crypto'
import type { AuditConfig } from '../config/configuration.js'
import type { CallEvent } from '../events/proxy-events.js'
import type { ErrorBody } from '../jsonrpc/build.js'
import { write } from '../jsonrpc/text.js'
import { auditFailed } from '../mcp/error-codes.js'
import type { CallGate } from '../calls/call.js'
import { type LogStream, LineStream } from '../log/log.js'
import { RotatingFile, type RotatingFileOptions } from '../log/rotating-file.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import { escapeJson } from '../text/escape.js'
import { matcherOf } from '../text/name-patterns.js'
import { withoutSecretMembers } from '../text/secret-names.js'
import { TOKEN_BYTES } from '../text/tokens.js'

/** The most bytes of arguments or of a result in one line. */
const PAYLOAD_BYTES_MAX = 64 * 1024
/** The longest name or URI, in UTF-16 units. */
const NAME_LENGTH_MAX = 2048

const PROFILE = 'profile:'

export interface AuditSink {
  /** Takes a line with its line end, or counts the line as lost. */
  write(line: string): void
  /** False if the next line would be lost; absent if no line can be lost. */
  readonly isWritable?: boolean
  /** How many lines are lost; absent if no line can be lost. */
  readonly lost?: number
  /** Resolves when all lines are written, or after a bounded time. */
  close(): Promise<void>
}

/** The clock, and the redactor of the log. */
export interface AuditContext {
  wallNow(): number
  /** Returns the text without secrets, cut after about `lengthMax` UTF-16 units. */
  clean(text: string, lengthMax: number): string
}

/** `methods` are patterns of the methods whose calls get a line. */
type AuditOptions = Pick<AuditConfig, 'payloads' | 'methods' | 'onError'>

export class Audit implements CallGate {
  readonly #sink: AuditSink
  readonly #refuses: boolean
  readonly #context: AuditContext
  readonly #hasPayloads: boolean
  readonly #isAudited: (method: string) => boolean

  /** The number of the last line of this process. */
  #seq = 0

  constructor(sink: AuditSink, { payloads, methods, onError }: AuditOptions, context: AuditContext) {
    this.#sink = sink
    this.#context = context
    this.#refuses = onError === 'refuse'
    this.#hasPayloads = payloads
    this.#isAudited = matcherOf(methods)
  }

  /** Handles a `call` event. A refused call gets a line also if no pattern matches its method. */
  readonly onCall = (event: CallEvent): void => {
    if (event.outcome === 'refused' || this.#isAudited(event.method)) this.#sink.write(this.#line(event))
  }

  refusal(method: string): ErrorBody | undefined {
    const passes = !this.#refuses || !this.#isAudited(method) || this.#sink.isWritable !== false
    return passes ? undefined : auditFailed()
  }

  get lostLines(): number {
    return this.#sink.lost ?? 0
  }

  close(): Promise<void> {
    return this.#sink.close()
  }

  #line(event: CallEvent): string {
    const { view, code, reason, resultBytes, isToolError, outcome, isAsked } = event
    const sent = event.bytes('arguments')
    return lineOf(this.#context, 'call', {
      seq: ++this.#seq,
      schema: event.schema,
      client: event.client,
      clientName: this.#cleanName(event.clientName),
      principal: this.#cleanName(event.principal),
      address: event.address,
      traceId: event.traceId,
      profile: view?.startsWith(PROFILE) === true ? view.slice(PROFILE.length) : undefined,
      transport: event.transport,
      revision: event.revision,
      method: event.method,
      name: this.#cleanName(event.name),
      server: event.server,
      item: event.item,
      argumentsSha256: sent && createHash('sha256').update(sent).digest('hex'),
      argumentsBytes: event.argumentBytes,
      confirmed: event.isConfirmed || undefined,
      outcome: isAsked ? 'asked' : outcome,
      isToolError: isToolError || undefined,
      code,
      reason,
      ms: Math.round(event.ms),
      resultBytes,
      resultTokens: Math.ceil(resultBytes / TOKEN_BYTES),
      ...(this.#hasPayloads && {
        arguments: this.#payload(sent),
        result: this.#payload(event.bytes('result')),
      }),
    })
  }

  #cleanName(name: string | undefined): string | undefined {
    return name === undefined ? undefined : this.#context.clean(name, NAME_LENGTH_MAX)
  }

  /** Returns a string and no JSON value, because JSON that is cut or redacted may be invalid. */
  #payload(bytes: Uint8Array | undefined): string | undefined {
    if (bytes === undefined) return undefined
    const isCut = bytes.length > PAYLOAD_BYTES_MAX
    const text = Buffer.from(bytes.subarray(0, PAYLOAD_BYTES_MAX)).toString()
    // A limit below the length makes the redactor remove also the beginning of a secret at the cut.
    const clean = this.#context.clean(text, isCut ? text.length - 1 : Infinity)
    return withoutSecretMembers(clean) + (isCut ? `… (${bytes.length} bytes)` : '')
  }
}

interface AuditParts {
  readonly log: LogSink
  readonly stderr: LogStream
  readonly mayBeStdout?: boolean
  readonly clean: AuditContext['clean']
  readonly runtime: Pick<Runtime, 'now' | 'wallNow' | 'setTimer'>
  /** Replaces the file system in tests. */
  readonly append?: RotatingFileOptions['append']
}

/** Opens the audit, and creates its file with mode 0600. A file that cannot be written is an error in the log. */
export function openAudit({ file, ...config }: AuditConfig, parts: AuditParts): Audit {
  const { runtime, clean, log, append, mayBeStdout = false } = parts
  const context = { wallNow: () => runtime.wallNow(), clean }
  const lost = (lines: number): string => lineOf(context, 'audit-gap', { lost: lines })
  if (file === undefined) return new Audit(new LineStream(parts.stderr, lost), config, context)
  const sink = new RotatingFile({
    path: file,
    what: 'audit file',
    maxSizeBytes: config.maxSizeBytes,
    maxFiles: config.maxFiles,
    mayBeStdout,
    onTrouble: (message) => log({ level: 'error', message }),
    gapLine: lost,
    append,
    clock: runtime,
  })
  return new Audit(sink, config, context)
}

function lineOf({ wallNow }: Pick<AuditContext, 'wallNow'>, kind: string, members: object): string {
  return `${escapeJson(write({ time: new Date(wallNow()).toISOString(), kind, ...members }))}\n`
}
