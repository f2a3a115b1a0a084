// The table of methods, by name.

/** A method's row says where it goes; what else it says is its protocol's business. */
export interface NamedRow {
  readonly method: string
}

/** Rows by method. */
export type MethodTable<R extends NamedRow> = ReadonlyMap<string, R>

/** @throws TypeError where a method stands twice */
export function methodTable<R extends NamedRow>(families: readonly (readonly R[])[]): MethodTable<R> {
  const rows = new Map<string, R>()
  for (const row of families.flat()) {
    if (rows.has(row.method)) throw new TypeError(`method '${row.method}' has two rows`)
    rows.set(row.method, row)
  }
  return rows
}
