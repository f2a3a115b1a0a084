// The limits of a schema from a server, and of one check, each with its reason.

export const argumentLimits = {
  /** A tool's schema as JSON. Parsing more takes longer than all that follows. */
  schemaBytesMax: 262_144,
  /** A larger schema is not even parsed for its required names. */
  parsedBytesMax: 2_097_152,
  /** Subschemas and keywords, with each `$ref` replaced by what it refers to. ajv takes 0.1 to 0.3 ms for one while its code is cold. */
  nodesMax: 1_000,
  /** Nested subschemas. ajv recurses several frames a level and overflows somewhere past 100. */
  depthMax: 32,
  /** Steps of one run; a step is about one keyword applied to one value, 10 to 300 ns. */
  stepsMax: 100_000,
  /** Calls that may run out of steps before the schema is no longer run at all. */
  overrunsMax: 3,
  /** Arguments as JSON. Of longer ones only the names and the types of the top level are checked. */
  argumentBytesMax: 65_536,
} as const
