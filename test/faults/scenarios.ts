// The scenarios of `test/faults/main.ts`, by name.

import { emfile } from './emfile.js'
import { enospc } from './enospc.js'
import { fuzzClient } from './fuzz-client.js'
import { fuzzServer } from './fuzz-server.js'
import { hugeLine } from './huge-line.js'
import { killProxy } from './kill-proxy.js'
import { longSession } from './long-session.js'
import { sessions } from './sessions.js'
import { slowReaders } from './slow-readers.js'
import type { Scenario } from './support/scenario.js'

export const scenarios: ReadonlyMap<string, Scenario> = new Map([
  ['kill-proxy', killProxy],
  ['sessions', sessions],
  ['long-session', longSession],
  ['fuzz-client', fuzzClient],
  ['fuzz-server', fuzzServer],
  ['huge-line', hugeLine],
  ['slow-readers', slowReaders],
  ['enospc', enospc],
  ['emfile', emfile],
])
