// The tool that tells which folders of the host a session sees, and where.

import { writeIndented } from '../../jsonrpc/text.js'
import type { SandboxTool } from './sandbox-tool.js'
import { objectSchema } from './schemas.js'

const name = 'get_volume_path'
const text = { type: 'string' }

export const getVolumePath: SandboxTool = {
  name,
  describe: () => ({
    name,
    description: 'Get configured volume mappings between host and container paths',
    inputSchema: objectSchema({}, []),
    outputSchema: objectSchema(
      {
        volume_mappings: {
          type: 'array',
          items: objectSchema({ host_path: text, container_path: text, read_only: { type: 'boolean' } }, [
            'host_path',
            'container_path',
          ]),
        },
      },
      ['volume_mappings'],
    ),
  }),
  call: async ({ settings }) => {
    const mappings = settings.volumes.map(({ hostPath, guestPath, isReadOnly }) => {
      return { host_path: hostPath, container_path: guestPath, read_only: isReadOnly }
    })
    return {
      content: [{ type: 'text', text: writeIndented(mappings) }],
      isError: false,
      facts: { volume_mappings: mappings },
    }
  },
}
