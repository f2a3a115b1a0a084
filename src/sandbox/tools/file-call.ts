// What the tools for files have in common: a session, and a path in it.

import { fileFailed, noSuchSession } from '../errors.js'
import type { MachineUse } from '../small-run.js'
import type { SandboxSession } from '../sandbox-session.js'
import type { ToolCall } from './sandbox-tool.js'

/** Works on the files of a session that is there. @throws SandboxError */
export async function inSession<T>(call: ToolCall, use: (where: MachineUse) => Promise<T>): Promise<T> {
  const id = call.args.text('session_id')
  const session = call.sessions.find(id, call.owner)
  if (session === undefined) throw noSuchSession(id)
  return onFiles(session, call, use)
}

/** @throws SandboxError */
export async function onFiles<T>(
  session: SandboxSession,
  { signal }: ToolCall,
  use: (where: MachineUse) => Promise<T>,
): Promise<T> {
  const made = await session.useMachine(signal, async (where) => ({ value: await use(where) }))
  if (made === undefined) throw fileFailed('this runtime gives no access to files', {})
  return made.value
}

/** The members of the schemas of all three. */
export const fileArguments = {
  session_id: { type: 'string', description: 'ID of the session' },
  path: { type: 'string', description: 'Path of the file, from the working folder of the session' },
} as const
