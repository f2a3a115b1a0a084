// Which members of an object have names that somebody acts on.
//
// Nearly every object has none or one of them. To be told while it is scanned costs less than to search its bytes for the
// names, or to keep the places of all members.

import { BACKSLASH } from '../ascii.js'
import { type RoutedNames, indexOfName } from '../routed-names.js'
import type { MemberSink, Span } from '../scan.js'
import { isKey } from '../text.js'

const FIELDS = 4

/** Those of one object; spans count from the start of the message. */
export class NamedMembers implements MemberSink {
  readonly #bytes: Buffer
  readonly #routed: RoutedNames
  /** Of each that stands here, its place among the names, where its key begins, and where its value begins and ends. */
  #found: number[] | undefined
  /** A name stands twice, or a key has escapes and may be any: then somebody has to look at all members. */
  isOdd = false

  constructor(bytes: Buffer, routed: RoutedNames) {
    this.#bytes = bytes
    this.#routed = routed
  }

  /** Whether none of the names stands here. */
  get isEmpty(): boolean {
    return this.#found === undefined && !this.isOdd
  }

  inside(): undefined {
    return undefined
  }

  add(key: number, keyEnd: number, value: number, end: number): boolean {
    const name = indexOfName(this.#bytes, key, keyEnd, this.#routed.exact)
    if (name >= 0) return this.#note(name, key, value, end)
    for (let at = key; at < keyEnd; at++) if (this.#bytes[at] === BACKSLASH) this.isOdd = true
    return true
  }

  /** The value of the member called `name`, which is one of the names. */
  span(name: string): Span | undefined {
    const at = this.#find(name)
    return at === undefined ? undefined : { start: this.#field(at + 2), end: this.#field(at + 3) }
  }

  /** Whether the member called `name` is this text, and there is no other of that name. */
  says(name: string, text: string): boolean {
    const at = this.#find(name)
    if (at === undefined || this.isOdd) return false
    return isKey(this.#bytes, this.#field(at + 2), this.#field(at + 3), text)
  }

  /** Where its key begins. */
  keyOf(name: string): number | undefined {
    const at = this.#find(name)
    return at === undefined ? undefined : this.#field(at + 1)
  }

  #find(name: string): number | undefined {
    const found = this.#found
    if (found === undefined) return undefined
    const { names } = this.#routed
    for (let i = 0; i < found.length; i += FIELDS) if (names[found[i] ?? 0] === name) return i
    return undefined
  }

  #field(at: number): number {
    return this.#found?.[at] ?? 0
  }

  #note(name: number, key: number, value: number, end: number): true {
    const found = this.#found
    if (found === undefined) this.#found = [name, key, value, end]
    else {
      for (let i = 0; i < found.length; i += FIELDS) if (found[i] === name) this.isOdd = true
      found.push(name, key, value, end)
    }
    return true
  }
}
