// The messages between the service and the agent in a machine: one line of JSON each.
//
// They contain no bytes of a program. Its streams are named pipes in a folder that only the service can change:
// `1.0`, `1.1` and `1.2` are the input, the output and the errors of program 1. The agent runs beside foreign code,
// which can write its memory. The service therefore accepts only the reports that a program of the session can cause.

import { Buffer } from 'node:buffer'

export type AgentOrder =
  | {
      readonly kind: 'start'
      readonly id: number
      readonly program: string
      readonly args: readonly string[]
      readonly env: Readonly<Record<string, string>>
    }
  /** `abandon`: the service no longer reads the output. */
  | { readonly kind: 'interrupt' | 'kill' | 'abandon'; readonly id: number }

export type AgentReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'started'; readonly id: number }
  | {
      readonly kind: 'exit'
      readonly id: number
      readonly code: number | null
      readonly signal: string | null
    }
  | { readonly kind: 'failed'; readonly id: number; readonly why: string }

/** The variable that marks the processes of one call. It also finds processes whose parents have ended. */
export const callMark = 'SANDBOX_CALL'

/** The folder of the pipes, as programs in the machine see it. */
export const PIPES_PATH = '/.pipes'

/** The socket in that folder that leads to the proxy of the service. */
export const WAY_OUT = 'out'

export function pipeName(id: number, stream: number): string {
  return `${id}.${stream}`
}

const LF = 0x0a

export class LineReader {
  readonly #bytesMax: number
  #remaining: Buffer = Buffer.alloc(0)

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Returns the complete lines. Returns undefined if one is too long; the reader must not be used after that. */
  push(chunk: Buffer): string[] | undefined {
    let bytes = this.#remaining.length === 0 ? chunk : Buffer.concat([this.#remaining, chunk])
    const lines: string[] = []
    for (let end = bytes.indexOf(LF); end !== -1 && end <= this.#bytesMax; end = bytes.indexOf(LF)) {
      lines.push(bytes.toString('utf8', 0, end))
      bytes = bytes.subarray(end + 1)
    }
    this.#remaining = bytes
    return bytes.length > this.#bytesMax ? undefined : lines
  }
}
