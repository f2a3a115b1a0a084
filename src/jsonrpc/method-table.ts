// The table of methods, by name.

/** A method's row says where it goes; what else it says is its protocol's business. */
export interface NamedRow {
  readonly method: string
}

/** Rows by method; a method stands once. */
export class MethodTable<R extends NamedRow> {
  readonly #rows: ReadonlyMap<string, R>

  constructor(families: readonly (readonly R[])[]) {
    const rows = new Map<string, R>()
    for (const row of families.flat()) {
      if (rows.has(row.method)) throw new TypeError(`method '${row.method}' has two rows`)
      rows.set(row.method, row)
    }
    this.#rows = rows
  }

  row(method: string): R | undefined {
    return this.#rows.get(method)
  }

  get methods(): readonly string[] {
    return [...this.#rows.keys()]
  }
}
