// The tool that finds a pinned session by its name, or begins one with its files.

import type { SandboxTool } from './sandbox-tool.js'
import { objectSchema } from './schemas.js'

const name = 'attach_sandbox_by_name'
const text = { type: 'string' }

export const attachSandbox: SandboxTool = {
  name,
  describe: () => ({
    name,
    description:
      'Attach to a pinned sandbox by its name and return its session ID; after a restart its files are there, its variables are not',
    inputSchema: objectSchema(
      { pinned_name: { type: 'string', description: 'Name of the pinned sandbox' } },
      ['pinned_name'],
    ),
    outputSchema: objectSchema(
      { session_id: text, pinned_name: text, template: text, session_created: { type: 'boolean' } },
      ['session_id', 'pinned_name', 'template', 'session_created'],
    ),
  }),
  call: async ({ args, pins, owner }) => {
    const pinned = args.text('pinned_name')
    const { session, isCreated } = await pins.attach(pinned, owner)
    const { id, template } = session.facts
    return {
      content: [
        { type: 'text', text: `Successfully attached to pinned sandbox '${pinned}'. Session ID: ${id}` },
      ],
      isError: false,
      facts: { session_id: id, pinned_name: pinned, template, session_created: isCreated },
    }
  },
}
