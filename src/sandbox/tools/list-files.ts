// The tool that lists a folder of a session.

import { type FileEntry, listFiles } from '../files.js'
import { fileArguments, inSession } from './file-call.js'
import type { SandboxTool } from './sandbox-tool.js'
import { objectSchema } from './schemas.js'

const name = 'list_files'
const text = { type: 'string' }

export const listFilesTool: SandboxTool = {
  name,
  describe: () => ({
    name,
    description: 'List a folder of a sandbox session',
    inputSchema: objectSchema(
      {
        session_id: fileArguments.session_id,
        path: {
          type: 'string',
          description: 'Path of the folder, from the working folder of the session',
          default: '.',
        },
      },
      ['session_id'],
    ),
    outputSchema: objectSchema(
      {
        path: text,
        entries: {
          type: 'array',
          items: objectSchema(
            {
              name: text,
              type: { enum: ['file', 'folder', 'link', 'other'] },
              size: { type: 'integer' },
              modified: text,
            },
            ['name', 'type', 'size', 'modified'],
          ),
        },
        truncated: { type: 'boolean' },
      },
      ['path', 'entries', 'truncated'],
    ),
  }),
  call: async (call) => {
    const path = call.args.optionalText('path') ?? '.'
    const listing = await inSession(call, (where) => listFiles(where, path))
    const { entries: found, isCut: truncated } = listing
    const lines = [...found.map(lineOf), ...(truncated ? ['… and more, which are not shown'] : [])].join('\n')
    const entries = found.map(({ name: entry, type, size, modifiedMs }) => {
      return { name: entry, type, size, modified: new Date(modifiedMs).toISOString() }
    })
    return {
      content: [{ type: 'text', text: lines }],
      isError: false,
      facts: { path, entries, truncated },
    }
  },
}

function lineOf({ name: entry, type, size }: FileEntry): string {
  return type === 'folder' ? `${entry}/` : `${entry} (${size} bytes)`
}
