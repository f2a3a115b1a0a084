// Which members of a result have names that the proxy acts on, and where they stand.
//
// They are found in the scan that reads the message, so that no result is scanned a second time, and a result in parts
// is not joined.

import { BACKSLASH, OPEN_OBJECT } from '../ascii.js'
import { MEMBERS_MAX, type RoutedNames, indexOfName } from '../routed-names.js'
import { type MemberSink, Scanner, type Span } from '../scan.js'
import { isKey, stringAt } from '../text.js'
import type { LongLine } from './long-line.js'

/** One of them. */
export interface NamedMember {
  readonly name: string
  /** How many members the object has before it. */
  readonly index: number
  /** Where the member before it ends. */
  readonly before: number
  /** Where its key begins. */
  readonly key: number
  readonly value: Span
  /** Where the key of the next member begins; undefined for the last member. */
  readonly next: number | undefined
}

const NONE: readonly NamedMember[] = []
const NOTHING = Buffer.alloc(0)

/** Those of one object; spans count from the start of the message. */
export class NamedMembers implements MemberSink {
  readonly #bytes: Buffer
  readonly #routed: RoutedNames
  /** The message, where it is in parts. */
  readonly #long: LongLine | undefined
  #found: NamedMember[] | undefined
  #end = 0
  /** How many members the object has, whatever their names. */
  size = 0
  /** Those of the member whose own members have such names too; of several, the last. */
  inner: NamedMembers | undefined

  constructor(bytes: Buffer, routed: RoutedNames, long?: LongLine) {
    this.#bytes = bytes
    this.#routed = routed
    this.#long = long
  }

  /** In the order in which they are written. */
  get found(): readonly NamedMember[] {
    return this.#found ?? NONE
  }

  inside(key: number, keyEnd: number): MemberSink | undefined {
    const inner = this.#routed.inner
    if (inner === undefined || !isKey(this.#bytes, key, keyEnd, inner.key)) return undefined
    this.inner = new NamedMembers(this.#bytes, inner.names)
    return this.inner
  }

  add(key: number, keyEnd: number, start: number, end: number): boolean {
    const found = this.#found
    if (found !== undefined) {
      const last = found[found.length - 1]
      if (last !== undefined && last.index === this.size - 1) found[found.length - 1] = { ...last, next: key }
    }
    const name = this.#nameOf(key, keyEnd)
    if (name !== undefined) {
      const member = {
        name,
        index: this.size,
        before: this.#end,
        key,
        value: { start, end },
        next: undefined,
      }
      if (found === undefined) this.#found = [member]
      else found.push(member)
    }
    this.size++
    this.#end = end
    return (this.#found?.length ?? 0) <= MEMBERS_MAX
  }

  /** The member called `name`: the last of several, as `JSON.parse` reads them. */
  named(name: string): NamedMember | undefined {
    const found = this.#found
    if (found === undefined) return undefined
    for (let i = found.length - 1; i >= 0; i--) if (found[i]?.name === name) return found[i]
    return undefined
  }

  /** Whether the value of a member is this text without escapes, quotes included where it is a string. */
  isWritten({ value: { start, end } }: NamedMember, raw: string): boolean {
    if (end - start !== raw.length) return false
    const bytes = this.#long === undefined ? this.#bytes : this.#long.slice(start, end)
    const at = this.#long === undefined ? start : 0
    for (let i = 0; i < raw.length; i++) if (bytes[at + i] !== raw.charCodeAt(i)) return false
    return true
  }

  /** The text of the value of a member; undefined where that is no string. */
  text({ value: { start, end } }: NamedMember): string | undefined {
    if (this.#long === undefined) return stringAt(this.#bytes, { start, end })
    return stringAt(this.#long.slice(start, end), { start: 0, end: end - start })
  }

  /** The same members in a message that is in parts; `move` gives where a byte of this one stands in that one. */
  movedInto(long: LongLine, move: (offset: number) => number): NamedMembers {
    const moved = new NamedMembers(NOTHING, this.#routed, long)
    moved.size = this.size
    moved.inner = this.inner?.movedInto(long, move)
    moved.#found = this.#found?.map(({ name, index, before, key, value, next }) => ({
      name,
      index,
      before: move(before),
      key: move(key),
      value: { start: move(value.start), end: move(value.end) },
      next: next === undefined ? undefined : move(next),
    }))
    return moved
  }

  /** A key with escapes is compared as what it spells. */
  #nameOf(key: number, keyEnd: number): string | undefined {
    const { names, exact } = this.#routed
    const index = indexOfName(this.#bytes, key, keyEnd, exact)
    if (index >= 0) return names[index]
    for (let at = key; at < keyEnd; at++)
      if (this.#bytes[at] === BACKSLASH) {
        const spelled = stringAt(this.#bytes, { start: key, end: keyEnd })
        return names.find((name) => name === spelled)
      }
    return undefined
  }
}

/** Those of the object at `span` of one JSON text that was read before; none where that is no object. */
export function namedAt(bytes: Buffer, { start, end }: Span, names: RoutedNames): NamedMembers {
  const members = new NamedMembers(bytes, names)
  if (bytes[start] === OPEN_OBJECT)
    new Scanner(bytes.subarray(0, end), Number.MAX_SAFE_INTEGER).object(start, 1, members)
  return members
}
