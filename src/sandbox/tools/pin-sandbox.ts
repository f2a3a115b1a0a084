// The tool that keeps a session under a name.

import type { SandboxTool } from './sandbox-tool.js'
import { objectSchema } from './schemas.js'

const name = 'pin_sandbox'
const text = { type: 'string' }

export const pinSandbox: SandboxTool = {
  name,
  describe: () => ({
    name,
    description:
      'Pin the sandbox of a session under a name: it does not expire, and its files survive restarts of the server',
    inputSchema: objectSchema(
      {
        session_id: { type: 'string', description: 'ID of the session to pin' },
        pinned_name: { type: 'string', description: 'Name for the pinned sandbox' },
      },
      ['session_id', 'pinned_name'],
    ),
    outputSchema: objectSchema({ session_id: text, pinned_name: text }, ['session_id', 'pinned_name']),
  }),
  call: async ({ args, pins, owner }) => {
    const id = args.text('session_id')
    const pinned = args.text('pinned_name')
    await pins.pin(id, owner, pinned)
    return {
      content: [{ type: 'text', text: `Successfully pinned session ${id} as '${pinned}'` }],
      isError: false,
      facts: { session_id: id, pinned_name: pinned },
    }
  },
}
