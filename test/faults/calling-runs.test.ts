// Every load run in which the calls are the fault, with few of them, and those of a machine that has no more to give;
// `node build/test/faults/main.js NAME` causes as many as it takes.

import { loadRuns } from './support/load-runs.js'

loadRuns('load runs of many calls', [
  ['sessions', 100],
  ['long-session', 8000],
  ['identical-ids', 8000],
  ['fuzz-client', 2000],
  ['fuzz-server', 2000],
  ['http-soak', 2],
  ['cancel-races', 500],
  ['deadlines', 200],
  ['clock-jumps', 2],
  ['enospc', 4],
  ['emfile', 3],
])
