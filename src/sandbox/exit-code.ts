// The exit code of a program in the convention of shells.

import { constants } from 'node:os'

/** The number that a shell adds to a signal to make an exit code. */
export const SIGNALLED = 128

/** The code of a program that has ended by itself or by a signal. */
export function exitCodeOf(code: number | null | undefined, signal: string | null | undefined): number {
  if (code !== null && code !== undefined) return code
  const [, number = 0] = Object.entries(constants.signals).find(([name]) => name === signal) ?? []
  return SIGNALLED + number
}
