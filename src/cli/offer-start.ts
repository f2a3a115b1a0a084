// The offer of `import` and `add` to start new servers once, so that the first list of a client has their tools.

import process from 'node:process'
import { askLine } from '../ask/ask-line.js'
import { say } from './say.js'

/** Whether a person can be asked. */
export function isAtTerminal(): boolean {
  return process.stdin.isTTY && process.stderr.isTTY
}

/** Without a terminal it names the command that starts them. */
export async function offerStart(servers: {
  readonly config: string | undefined
  readonly schema: string
  /** Undefined is all servers of the schema. */
  readonly name: string | undefined
}): Promise<void> {
  const what = servers.name === undefined ? 'the servers' : 'the server'
  if (!isAtTerminal()) {
    await say('stdout', `mcps-proxy doctor starts ${what} once, so that clients see the tools at once.\n`)
    return
  }
  const answer = await askLine(`Start ${what} once now, so that clients see the tools at once? [Y/n] `)
  if (/^n/i.test(answer)) return
  const { runDoctor } = await import('./doctor.js')
  await runDoctor({ ...servers, profile: undefined, isBrief: true, json: false })
}
