// Loaded before the command: who does not come back is forgotten soon.

import { limits } from '../../../src/limits.js'

/** Long enough for a busy machine to come to every limit before. */
const LIFE_MS = 20_000
const IDLE_MS = 5000

Object.assign(limits.pendingInput, { lifeMs: LIFE_MS })
Object.assign(limits.guests, { guestIdleMs: IDLE_MS })
