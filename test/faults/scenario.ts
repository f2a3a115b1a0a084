// What a load run under faults is, whichever fault it is about.

/** How a scenario is run. */
export interface FaultSettings {
  /** How many faults: kills, frames, rounds; what is counted is the scenario's own. */
  readonly count: number
  /** What chance follows from, where there is any; 1 unless given. */
  readonly seed?: number
  /** The command under test. */
  readonly cli: string
  /** Shows how far it is; a line is written over the one before. */
  readonly progress: (line: string) => void
}

/** What came out, in one line that can be quoted. */
export interface FaultFigure {
  readonly line: string
  readonly holds: boolean
}

/** One kind of fault, caused again and again while the proxy works. */
export interface Scenario {
  /** What has to hold. */
  readonly promise: string
  readonly countDefault: number
  run(settings: FaultSettings): Promise<FaultFigure>
}
