// The limits of a schema from a server, each with its reason.
//
// Compiling and running are each to block the process for less than 50 ms. The
// numbers keep the worst shape found for each of them under half of that when
// the code is still cold, so that a slower machine stays below it too.

export const schemaLimits = {
  /** A tool's schema as JSON. Parsing more takes longer than all that follows. */
  schemaBytesMax: 262_144,
  /** Nested subschemas. ajv recurses several frames a level and overflows somewhere past 100. */
  depthMax: 32,
  /** Keywords and subschemas together. ajv takes 0.1 to 0.2 ms for each while its code is cold. */
  weightMax: 200,
  /** Steps of one run; a step is about one keyword applied to one value, 10 to 100 ns. */
  stepsMax: 100_000,
  /** Calls that may run out of steps before the schema is no longer run at all. */
  overrunsMax: 3,
  /** Arguments as JSON once long strings are shortened: parsing takes 10 to 20 ms at worst, for many names. */
  argumentBytesMax: 524_288,
  /** Arguments as they came: looking for the ends of long strings takes 1 to 3 ms a MiB at worst. */
  longArgumentBytesMax: 8_388_608,
  /** One pattern's source, and all of a schema's: the engine compiles on first use, at up to 40 us a character. */
  patternLengthMax: 512,
  patternLengthsMax: 1024,
  /** Uses of \p in a schema's patterns: each is a table of some hundred ranges, 0.1 ms to compile. */
  propertyEscapesMax: 32,
  /** Steps of the regular expression engine in one run, 2 to 5 ns each. */
  patternStepsMax: 4_000_000,
} as const
