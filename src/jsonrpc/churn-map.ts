// A map whose entries come and go many thousand times a second.
//
// When a `Map` has no room left between deleted entries, the engine makes it a
// new table, and the old one keeps pointing at the new. Once such a table has
// reached the old generation, everything that the tables after it ever held
// lives on until the next full collection, and is copied on the way. So the
// tables here hold small cells, and a cell lets go of its entry when that is
// taken. Seen on a busy connection: a fifth of all CPU time.

interface Cell<V> {
  value: V | undefined
}

/** A map for entries that live shortly; it never keeps what was taken out of it. */
export class ChurnMap<K, V> {
  /** Made for the first entry: most of what a session may keep it never has. */
  #cells: Map<K, Cell<V>> | undefined

  get size(): number {
    return this.#cells?.size ?? 0
  }

  get(key: K): V | undefined {
    return this.#cells?.get(key)?.value
  }

  set(key: K, value: V): void {
    this.#cells ??= new Map()
    this.#cells.set(key, { value })
  }

  take(key: K): V | undefined {
    const cell = this.#cells?.get(key)
    if (cell === undefined) return undefined
    this.#cells?.delete(key)
    const { value } = cell
    cell.value = undefined
    return value
  }

  /** Removes every entry and gives them all. */
  drain(): V[] {
    const values = [...this.values()]
    for (const cell of this.#cells?.values() ?? []) cell.value = undefined
    this.#cells?.clear()
    return values
  }

  *keys(): IterableIterator<K> {
    if (this.#cells !== undefined) yield* this.#cells.keys()
  }

  *values(): IterableIterator<V> {
    if (this.#cells === undefined) return
    for (const { value } of this.#cells.values()) if (value !== undefined) yield value
  }
}
