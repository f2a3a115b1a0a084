// Times of the configuration, which are in milliseconds.

import type { Section } from './section.js'

/** Other programs count time-outs in seconds. */
export function warnOfSeconds(section: Section, key: string, ms: number | undefined): void {
  if (ms !== undefined && ms < 1000 && section.has(key))
    section.warn(key, `is ${ms} milliseconds; did you mean ${ms * 1000}?`)
}
