// The common part of all formats of clients' files.

export interface ServerEdits {
  readonly removed: readonly string[]
  /** Entries that are added, or that take the place of others. */
  readonly set: ReadonlyMap<string, object>
}

export type FileReading =
  | {
      readonly kind: 'servers'
      /** The entries as the file has them, in its order. */
      readonly servers: ReadonlyMap<string, unknown>
      /** The whole file, where its format has one value. */
      readonly value: unknown
      /** The text of the file with these edits. */
      readonly edit: (edits: ServerEdits) => string
    }
  /** Why nothing of the file is changed, behind its path. */
  | { readonly kind: 'refused'; readonly why: string }

export function refuse(why: string): FileReading {
  return { kind: 'refused', why }
}
