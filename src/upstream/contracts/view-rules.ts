// The rules for the part of the servers that some clients see.

/** `*` stands for any characters. */
export interface NamePatterns {
  /** Undefined for all. */
  readonly allow: readonly string[] | undefined
  readonly deny: readonly string[]
}

/** The rules of a profile. Names and patterns are the public names that clients without a profile see. */
export interface ViewRules {
  /** Undefined for all. */
  readonly servers: readonly string[] | undefined
  readonly tools: NamePatterns & {
    /** Maps a name to the complete new name. */
    readonly rename: ReadonlyMap<string, string>
    /** Maps a name to the arguments that the profile sets, as raw JSON. */
    readonly set: ReadonlyMap<string, ReadonlyMap<string, string>>
  }
  readonly prompts: NamePatterns
  readonly resources: NamePatterns
  /** Undefined for the settings of the servers. */
  readonly prefix: boolean | undefined
  readonly describe: boolean | undefined
}
