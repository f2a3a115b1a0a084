// The scenarios of `npm run faults`, by name.

import { killProxy } from './kill-proxy.js'
import type { Scenario } from './scenario.js'

export const scenarios: ReadonlyMap<string, Scenario> = new Map([['kill-proxy', killProxy]])
