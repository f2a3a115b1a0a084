// A map whose entries come and go many thousand times a second.
//
// When a `Map` has no room left between deleted entries, the engine allocates a new table, and the old table
// keeps a pointer to the new one. Once an old table has reached the old generation, every value of the later
// tables stays in memory until the next full collection. So these tables hold small cells, and a cell drops
// its value when the entry is removed. Without cells, a busy connection spent a fifth of its CPU time on
// this.

interface Cell<V> {
  value: V | undefined
}

/** A map for short-lived entries. It keeps no reference to a removed value. */
export class ChurnMap<K, V> {
  readonly #cells = new Map<K, Cell<V>>()

  get size(): number {
    return this.#cells.size
  }

  get(key: K): V | undefined {
    return this.#cells.get(key)?.value
  }

  set(key: K, value: V): void {
    this.#cells.set(key, { value })
  }

  take(key: K): V | undefined {
    const cell = this.#cells.get(key)
    if (cell === undefined) return undefined
    this.#cells.delete(key)
    const { value } = cell
    cell.value = undefined
    return value
  }

  /** Removes and returns all values. */
  drain(): V[] {
    const values = [...this.values()]
    for (const cell of this.#cells.values()) cell.value = undefined
    this.#cells.clear()
    return values
  }

  keys(): IterableIterator<K> {
    return this.#cells.keys()
  }

  *values(): IterableIterator<V> {
    for (const { value } of this.#cells.values()) if (value !== undefined) yield value
  }
}
