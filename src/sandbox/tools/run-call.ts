// What both tools that run something do: find the session, run, and measure.

import type { SandboxSettings } from '../../upstream/contracts/sandbox-config.js'
import type { CallResult, CallTerms, SandboxSession } from '../sandbox-session.js'
import type { Arguments } from '../arguments.js'
import { type Ran } from './run-result.js'
import type { ToolCall } from './sandbox-tool.js'
import { flavorNames } from '../../upstream/contracts/sandbox-config.js'

/** Other names of a template, as older clients write them. */
const aliases: ReadonlyMap<string, string> = new Map([
  ['nodejs', 'node'],
  ['javascript', 'node'],
])

/** @throws SandboxError */
export async function runInSession(
  call: ToolCall,
  run: (session: SandboxSession, terms: CallTerms) => Promise<CallResult>,
): Promise<Ran> {
  const { args, settings, sessions, owner, runtime, signal, heard } = call
  const template = templateIn(args, settings)
  const flavor = args.choice('flavor', flavorNames)
  const seconds = args.integer('timeout', 1, settings.executionTimeoutMsMax / 1000)
  const id = args.optionalText('session_id')
  const { session, isCreated } = sessions.open({ id, owner, template, flavor })
  const timeoutMs = seconds === undefined ? settings.executionTimeoutMs : seconds * 1000
  const beganAt = runtime.now()
  const result = await run(session, { timeoutMs, signal, heard })
  return { session, isCreated, ms: runtime.now() - beganAt, result }
}

function templateIn(args: Arguments, { templates }: SandboxSettings): string | undefined {
  const names = templates.map(({ name }) => name)
  const given = args.optionalText('template')
  const meant = aliases.get(given ?? '')
  return meant !== undefined && names.includes(meant) ? meant : args.choice('template', names)
}
