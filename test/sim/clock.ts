// Time that passes when nothing else is left to do.

import type { Timer } from '../../src/runtime/runtime.js'

/** Whose timer it is: once the proxy has closed, none of its own may be left. */
export type TimerOwner = 'proxy' | 'world'

interface Entry {
  readonly at: number
  /** Timers of one moment fire in the order in which they were set. */
  readonly order: number
  readonly owner: TimerOwner
  fire: (() => void) | undefined
}

/** Virtual milliseconds, and what is due at them. */
export class Clock {
  readonly #heap: Entry[] = []
  readonly #pending = { proxy: 0, world: 0 }
  #now = 10_000
  #order = 0

  get now(): number {
    return this.#now
  }

  /** Timers that are set and neither fired nor cancelled. */
  pending(owner: TimerOwner): number {
    return this.#pending[owner]
  }

  after(delayMs: number, fire: () => void, owner: TimerOwner = 'world'): Timer {
    const entry: Entry = { at: this.#now + Math.max(0, delayMs), order: this.#order++, owner, fire }
    this.#pending[owner]++
    this.#push(entry)
    return { cancel: () => this.#forget(entry) }
  }

  /** Moves on to the next timer and fires it; false when none is due by `until`. */
  step(until: number): boolean {
    for (;;) {
      const entry = this.#heap[0]
      if (entry === undefined || entry.at > until) {
        this.#now = Math.max(this.#now, Math.min(until, entry?.at ?? until))
        return false
      }
      this.#pop()
      const { fire } = entry
      if (fire === undefined) continue
      this.#now = entry.at
      this.#forget(entry)
      fire()
      return true
    }
  }

  #forget(entry: Entry): void {
    if (entry.fire === undefined) return
    entry.fire = undefined
    this.#pending[entry.owner]--
  }

  #push(entry: Entry): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(entry)
    while (at > 0) {
      const up = (at - 1) >> 1
      const parent = heap[up]
      if (parent === undefined || !isBefore(entry, parent)) break
      heap[at] = parent
      at = up
    }
    heap[at] = entry
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let at = 0
    for (;;) {
      const left = 2 * at + 1
      const right = left + 1
      const least = smaller(heap, left, right)
      const child = heap[least]
      if (child === undefined || !isBefore(child, last)) break
      heap[at] = child
      at = least
    }
    heap[at] = last
  }
}

function smaller(heap: readonly Entry[], left: number, right: number): number {
  const one = heap[left]
  const other = heap[right]
  return one !== undefined && other !== undefined && isBefore(other, one) ? right : left
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order)
}
