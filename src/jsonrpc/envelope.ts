// The members of a message, by name.

import { Members } from './members.js'
import { MEMBERS_MAX, envelopeNames, indexOfName, paramsNames } from './routed-names.js'
import type { MemberSink, Span } from './scan.js'
import { isKey } from './text.js'

/** Where the values of the six members stand; nearly every message has no other. */
export class Envelope implements MemberSink {
  readonly #bytes: Buffer
  jsonrpc: Span | undefined
  id: Span | undefined
  method: Span | undefined
  params: Span | undefined
  result: Span | undefined
  error: Span | undefined
  /** The members of `params`; undefined where that is no object. */
  paramsMembers: Members | undefined
  /** Whether a key is none of the six, or stands twice: then somebody has to look at all of them. */
  isOdd = false
  #size = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  inside(key: number, keyEnd: number): MemberSink | undefined {
    if (!isKey(this.#bytes, key, keyEnd, 'params')) return undefined
    this.paramsMembers = new Members(this.#bytes, paramsNames)
    return this.paramsMembers
  }

  add(key: number, keyEnd: number, start: number, end: number): boolean {
    const value = { start, end }
    const name = envelopeNames.exact[indexOfName(this.#bytes, key, keyEnd, envelopeNames.exact)]
    if (name === 'id' && this.id === undefined) this.id = value
    else if (name === 'jsonrpc' && this.jsonrpc === undefined) this.jsonrpc = value
    else if (name === 'method' && this.method === undefined) this.method = value
    else if (name === 'params' && this.params === undefined) this.params = value
    else if (name === 'result' && this.result === undefined) this.result = value
    else if (name === 'error' && this.error === undefined) this.error = value
    else this.isOdd = true
    return ++this.#size <= MEMBERS_MAX
  }
}
