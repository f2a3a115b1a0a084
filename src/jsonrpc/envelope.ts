// The members of a message, by name.

import { isKey } from './members.js'
import type { Span } from './scan.js'

/** Where the values of the six members stand; nearly every message has no other. */
export class Envelope {
  jsonrpc: Span | undefined
  id: Span | undefined
  method: Span | undefined
  params: Span | undefined
  result: Span | undefined
  error: Span | undefined
  /** Whether a key is none of the six, or stands twice: then somebody has to look at all of them. */
  isOdd = false
  size = 0

  /** One member: its key from `key` to `keyEnd`, quotes included, and its value from `start` to `end`. */
  add(bytes: Buffer, key: number, keyEnd: number, start: number, end: number): void {
    this.size++
    const value = { start, end }
    if (this.id === undefined && isKey(bytes, key, keyEnd, 'id')) this.id = value
    else if (this.jsonrpc === undefined && isKey(bytes, key, keyEnd, 'jsonrpc')) this.jsonrpc = value
    else if (this.method === undefined && isKey(bytes, key, keyEnd, 'method')) this.method = value
    else if (this.params === undefined && isKey(bytes, key, keyEnd, 'params')) this.params = value
    else if (this.result === undefined && isKey(bytes, key, keyEnd, 'result')) this.result = value
    else if (this.error === undefined && isKey(bytes, key, keyEnd, 'error')) this.error = value
    else this.isOdd = true
  }
}
