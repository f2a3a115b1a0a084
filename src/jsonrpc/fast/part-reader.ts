// Ranges of a message that lies in several parts.

/** Reads ranges in order, each behind the one before, without a copy. */
export class PartReader {
  readonly #parts: readonly Buffer[]
  #index = 0
  /** Where the part at `#index` begins in the message. */
  #offset = 0

  constructor(parts: readonly Buffer[]) {
    this.#parts = parts
  }

  /** Adds the bytes from `from` to `to` as views on the parts. */
  read(from: number, to: number, into: Uint8Array[]): void {
    for (let part = this.#parts[this.#index]; part !== undefined; part = this.#parts[this.#index]) {
      const end = this.#offset + part.length
      const first = Math.max(from, this.#offset)
      const last = Math.min(to, end)
      const isWhole = last - first === part.length
      if (last > first) into.push(isWhole ? part : part.subarray(first - this.#offset, last - this.#offset))
      if (to <= end) return
      this.#offset = end
      this.#index++
    }
  }
}
