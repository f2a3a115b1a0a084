// A set whose members come and go all the time, for the reason that `brief-map.ts` gives.

import { BriefMap } from './brief-map.js'

/** A set of objects that live shortly; it never keeps what was taken out of it. */
export class BriefSet<T extends object> implements Iterable<T> {
  readonly #members = new BriefMap<number, T>()
  readonly #numbers = new WeakMap<T, number>()
  #last = 0

  get size(): number {
    return this.#members.size
  }

  add(member: T): void {
    if (this.#numbers.has(member)) return
    this.#numbers.set(member, ++this.#last)
    this.#members.set(this.#last, member)
  }

  /** Whether it was there. */
  delete(member: T): boolean {
    const number = this.#numbers.get(member)
    if (number === undefined) return false
    this.#numbers.delete(member)
    return this.#members.take(number) !== undefined
  }

  [Symbol.iterator](): IterableIterator<T> {
    return this.#members.values()
  }
}
