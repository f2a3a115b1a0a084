// The tool that ends a session.

import type { SandboxTool } from './sandbox-tool.js'
import { objectSchema } from './schemas.js'

const name = 'stop_session'

export const stopSession: SandboxTool = {
  name,
  describe: () => ({
    name,
    description: 'Stop a specific sandbox session and clean up its resources',
    inputSchema: objectSchema({ session_id: { type: 'string', description: 'ID of the session to stop' } }, [
      'session_id',
    ]),
    outputSchema: objectSchema({ success: { type: 'boolean' }, session_id: { type: 'string' } }, [
      'success',
      'session_id',
    ]),
  }),
  call: async ({ args, sessions, owner }) => {
    const id = args.text('session_id')
    const success = await sessions.stop(id, owner)
    const text = success ? `Session ${id} stopped successfully` : `Session ${id} not found`
    return { content: [{ type: 'text', text }], isError: false, facts: { success, session_id: id } }
  },
}
