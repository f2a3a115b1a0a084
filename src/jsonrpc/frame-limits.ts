// The limits of one message.

import type { Scanner } from './scan.js'

/** The limits of a frame; `src/limits.ts` has the values. */
export interface FrameLimits {
  readonly depthMax: number
  readonly methodBytesMax: number
}

export const defaultFrameLimits: FrameLimits = { depthMax: 128, methodBytesMax: 256 }

/** How many members an object may have whose keys are compared; no real message comes near. */
const MEMBERS_MAX = 1024

/** Refuses an object that has more members than are compared. */
export function limitMembers(scanner: Scanner, at: number, count: number): void {
  if (count > MEMBERS_MAX) scanner.fail(at, `more than ${MEMBERS_MAX} members`, 'FRAME_TOO_LARGE')
}
