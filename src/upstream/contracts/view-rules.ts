// The part of a schema that some clients see.

/** `*` stands for any characters. */
export interface NamePatterns {
  /** Undefined is all. */
  readonly allow: readonly string[] | undefined
  readonly deny: readonly string[]
}

/** The rules of a profile; names and patterns are those that other clients see. */
export interface ViewRules {
  /** Undefined is all. */
  readonly servers: readonly string[] | undefined
  readonly tools: NamePatterns & {
    /** Name -> the whole name to show instead. */
    readonly rename: ReadonlyMap<string, string>
    /** Name -> its arguments that are set, as raw JSON. */
    readonly set: ReadonlyMap<string, ReadonlyMap<string, string>>
  }
  readonly prompts: NamePatterns
  readonly resources: NamePatterns
  /** Undefined is as the servers are configured. */
  readonly prefix: boolean | undefined
  readonly describe: boolean | undefined
}
