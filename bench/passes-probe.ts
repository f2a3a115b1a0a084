// Loaded into a program before its own modules: says which functions have run since it was last asked.
//
//   node --import ./passes-probe.js PROGRAM [ARG…]
//
// Precise coverage has the engine count every call of every function, inlined ones too.
// A message on the channel to the parent process takes the counts and sets them to zero.

import { type Profiler, Session } from 'node:inspector'

/** How often the functions of one script ran. */
export interface PassedScript {
  readonly url: string
  readonly functions: readonly { readonly name: string; readonly calls: number }[]
}

const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

process.on('message', () => {
  session.post('Profiler.takePreciseCoverage', (_error, { result }) => {
    process.send?.(result.map(passed).filter(({ functions }) => functions.length > 0))
  })
})
// The program ends when it would end without this.
process.channel?.unref()

function passed({ url, functions }: Profiler.ScriptCoverage): PassedScript {
  const all = functions.map(({ functionName, ranges: [range] }) => ({
    name: functionName,
    calls: range?.count ?? 0,
  }))
  return { url, functions: all.filter(({ calls }) => calls > 0) }
}
