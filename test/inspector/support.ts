// Frames for tests of the inspector, as taps see them.

import { Buffer } from 'node:buffer'
import type { Hop, WireEvent } from '../../src/index.js'
import { Capture } from '../../src/inspector/capture.js'
import type { FrameRow } from '../../src/inspector/protocol.js'
import { MessageRedactor } from '../../src/inspector/redaction.js'
import type { RecordingInvocation } from '../../src/inspector/recording.js'
import { type CapturedFrame, Ring, type RingLimits } from '../../src/inspector/ring.js'
import { rowOf } from '../../src/inspector/rows.js'
import { toLine } from '../../src/jsonrpc/line.js'
import type { Edit } from '../../src/jsonrpc/splice.js'

export const client: Hop = { hop: 'client', service: undefined, schema: 'default', connection: 1 }
export const server: Hop = { hop: 'upstream', service: 'files', schema: 'default', connection: 2 }

export const invocation: RecordingInvocation = { command: 'mcps-proxy --stdio', args: ['--stdio'] }

/** A ring with its tap. */
export class Scene {
  readonly redactor: MessageRedactor = new MessageRedactor(true)
  readonly ring: Ring
  readonly capture: Capture

  constructor(limits?: RingLimits) {
    this.ring = new Ring(limits)
    this.capture = new Capture(this.ring)
  }

  wire(hop: Hop, direction: 'in' | 'out', text: string | Buffer, more: Partial<WireEvent> = {}): void {
    this.capture.wire(hop, direction, Buffer.from(text), more.whole ?? false, 0)
  }

  forward(to: Hop, input: string, ...edits: Edit[]): void {
    this.capture.forward(to, toLine(input), edits)
  }

  rowOf(frame: CapturedFrame): FrameRow {
    return rowOf(frame, this.ring, this.redactor)
  }

  get frames(): string[] {
    return this.#all.map(({ bytes }) => bytes.toString())
  }

  get #all(): { bytes: Buffer }[] {
    const found: { bytes: Buffer }[] = []
    for (let n = this.ring.first; n < this.ring.next; n++) {
      const frame = this.ring.get(n)
      if (frame !== undefined) found.push(frame)
    }
    return found
  }
}

/** Replaces `old`, which stands once in the text. */
export function edit(text: string, old: string, by: string, why: Edit['why']): Edit {
  const start = Buffer.from(text.slice(0, text.indexOf(old))).length
  return { start, end: start + Buffer.byteLength(old), bytes: Buffer.from(by), why }
}
