// Which members of an object have names that somebody acts on.
//
// Nearly every object has none or one of them. To be told while it is scanned costs less than to search its bytes for the
// names, or to keep the places of all members.

import { BACKSLASH } from '../ascii.js'
import type { MemberSink, Span } from '../scan.js'
import { isKey } from '../text.js'

/** Those of one object; spans count from the start of the message. */
export class NamedMembers implements MemberSink {
  readonly #bytes: Buffer
  readonly #names: readonly string[]
  /** Of each that stands here, its place among the names, and where its value begins and ends. */
  #found: number[] | undefined
  /** A name stands twice, or a key has escapes and may be any: then somebody has to look at all members. */
  isOdd = false

  constructor(bytes: Buffer, names: readonly string[]) {
    this.#bytes = bytes
    this.#names = names
  }

  /** Whether none of the names stands here. */
  get isEmpty(): boolean {
    return this.#found === undefined && !this.isOdd
  }

  inside(): undefined {
    return undefined
  }

  add(key: number, keyEnd: number, value: number, end: number): boolean {
    const names = this.#names
    for (let name = 0; name < names.length; name++)
      if (isKey(this.#bytes, key, keyEnd, names[name] ?? '')) return this.#note(name, value, end)
    for (let at = key; at < keyEnd; at++) if (this.#bytes[at] === BACKSLASH) this.isOdd = true
    return true
  }

  /** The value of the member called `name`, which is one of the names. */
  span(name: string): Span | undefined {
    const found = this.#found
    if (found === undefined) return undefined
    for (let i = 0; i < found.length; i += 3)
      if (this.#names[found[i] ?? -1] === name) return { start: found[i + 1] ?? 0, end: found[i + 2] ?? 0 }
    return undefined
  }

  #note(name: number, value: number, end: number): true {
    const found = this.#found
    if (found === undefined) this.#found = [name, value, end]
    else {
      for (let i = 0; i < found.length; i += 3) if (found[i] === name) this.isOdd = true
      found.push(name, value, end)
    }
    return true
  }
}
