// Frames of texts that must be of one kind, and long lines in two parts.

import assert from 'node:assert'
import { type Frame, readFrame } from '../../../src/jsonrpc/frame.js'
import { toLine } from '../../../src/jsonrpc/line.js'
import { LongLine } from '../../../src/jsonrpc/long-line.js'
import { longStrings } from '../../../src/jsonrpc/long-strings.js'

type Kind = Frame['kind']
type Of<K extends Kind> = Extract<Frame, { readonly kind: K }>

function isOf<K extends Kind>(frame: Frame, kind: K): frame is Of<K> {
  return frame.kind === kind
}

function frameOf<K extends Kind>(text: string, kind: K): Of<K> {
  const frame = readFrame(toLine(text))
  assert(isOf(frame, kind), text)
  return frame
}

export const requestOf = (text: string): Of<'request'> => frameOf(text, 'request')
export const notificationOf = (text: string): Of<'notification'> => frameOf(text, 'notification')
export const resultOf = (text: string): Of<'result'> => frameOf(text, 'result')
export const errorOf = (text: string): Of<'error'> => frameOf(text, 'error')

/** The line of a text that arrived in two parts. */
export function inTwoParts(text: string, cut = 3000): LongLine {
  const bytes = Buffer.from(text)
  return new LongLine([bytes.subarray(0, cut)], toLine(bytes.subarray(cut)), longStrings([bytes]))
}
