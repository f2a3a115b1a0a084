// What a call asks a scripted server to do: the script stands in its arguments.

/** Spellings that somebody who reads and writes JSON again would change. */
export const ODDITIES = '"odd":1.0,"odd":[1e2,12345678901234567890,"\\u0041\\/"]'

export const workKinds = [
  'echo',
  'progress',
  'ask',
  'log',
  'big',
  'refuse',
  'hang',
  'exit-before',
  'exit-half',
  'exit-with',
  'oversize',
  'twice',
  'wrong-id',
  'junk',
] as const

/** Asks for several things at once, and again: only clients without sessions want it done, and it is drawn apart. */
const ROUNDS = 'rounds'

/** How a server goes about one call. */
export type WorkKind = (typeof workKinds)[number] | typeof ROUNDS

export interface Work {
  readonly kind: WorkKind
  /** How long it takes. */
  readonly ms: number
  /** How many steps, or KiB. */
  readonly n: number
  /** Makes the call itself long. */
  readonly padding?: string
}

/** Deeds that end with an answer which a client must be given. */
export const answeredKinds: ReadonlySet<WorkKind> = new Set(
  workKinds.filter((kind) =>
    ['echo', 'progress', 'ask', 'log', 'big', 'refuse', 'twice', 'junk'].includes(kind),
  ),
)

export function isWorkKind(text: string | undefined): text is WorkKind {
  return text === ROUNDS || workKinds.some((kind) => kind === text)
}
