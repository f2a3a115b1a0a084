// The tool that ends a session.

import type { SandboxTool } from './sandbox-tool.js'
import { objectSchema } from './schemas.js'

const name = 'stop_session'

const unpin = {
  type: 'boolean',
  description: 'Whether the files of a pinned sandbox are removed too',
  default: false,
}

export const stopSession: SandboxTool = {
  name,
  describe: ({ pins }) => ({
    name,
    description: 'Stop a specific sandbox session and clean up its resources',
    inputSchema: objectSchema(
      { session_id: { type: 'string', description: 'ID of the session to stop' }, ...(pins && { unpin }) },
      ['session_id'],
    ),
    outputSchema: objectSchema({ success: { type: 'boolean' }, session_id: { type: 'string' } }, [
      'success',
      'session_id',
    ]),
  }),
  call: async ({ args, sessions, pins, owner }) => {
    const id = args.text('session_id')
    if (args.flag('unpin')) await pins.unpin(id, owner)
    const success = await sessions.stop(id, owner)
    const text = success ? `Session ${id} stopped successfully` : `Session ${id} not found`
    return { content: [{ type: 'text', text }], isError: false, facts: { success, session_id: id } }
  },
}
