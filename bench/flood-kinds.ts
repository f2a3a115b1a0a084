// The floods of which there are figures.

/** Each with what it is. */
export const FLOOD_KINDS = {
  ordinary: 'ordinary calls',
  sets: 'lists, each with other capabilities',
  listens: 'streams that nobody reads',
  parked: 'calls that wait, and nobody comes back',
  states: 'invented states',
  closed: 'calls whose responses are closed at once',
} as const

export type FloodKind = keyof typeof FLOOD_KINDS

export function isFloodKind(text: string): text is FloodKind {
  return Object.hasOwn(FLOOD_KINDS, text)
}
