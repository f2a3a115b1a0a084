import { Buffer } from 'node:buffer'
import type { KeptFacts, SelfDescription } from '../upstream/contracts/kept.js'

/** Whether both are the same, byte by byte. */
export function isSameFacts(one: KeptFacts, other: KeptFacts): boolean {
  if (one.answered !== other.answered) return false
  if (one.description === undefined || other.description === undefined)
    return one.description === other.description
  return isSameDescription(one.description, other.description)
}

function isSameDescription(one: SelfDescription, other: SelfDescription): boolean {
  return (
    Buffer.compare(one.handshake, other.handshake) === 0 &&
    one.lists.size === other.lists.size &&
    [...one.lists].every(([kind, items]) => isSameItems(items, other.lists.get(kind)))
  )
}

function isSameItems(one: readonly Uint8Array[], other: readonly Uint8Array[] | undefined): boolean {
  return (
    one.length === other?.length &&
    one.every((item, at) => Buffer.compare(item, other[at] ?? Buffer.alloc(0)) === 0)
  )
}
