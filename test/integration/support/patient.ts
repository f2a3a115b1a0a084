// Loaded before the command: its answer to `initialize` waits for servers as long as a busy machine takes to start them.

import { limits } from '../../../src/limits.js'
import { HANG_MS } from './waiting.js'

Object.assign(limits, { initializeGraceMs: HANG_MS })
