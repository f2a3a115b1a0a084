// Every load run in which processes end, with few faults; `node build/test/faults/main.js NAME` causes as many as it takes.

import { loadRuns } from './support/load-runs.js'

loadRuns('load runs in which processes end', [
  ['internal-error', 2],
  ['stop-trees', 4],
  ['kill-children', 20],
  ['reload', 8],
  ['drain', 3],
  ['crashes', 4],
])
