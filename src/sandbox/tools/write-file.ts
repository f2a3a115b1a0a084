// The tool that writes a file of a session, which it opens where there is none.

import { Buffer } from 'node:buffer'
import { wrongArgument } from '../errors.js'
import { fileBytesMax, writeFile } from '../files.js'
import { fileArguments, onFiles } from './file-call.js'
import type { SandboxTool } from './sandbox-tool.js'
import { objectSchema } from './schemas.js'

const name = 'write_file'

export const writeFileTool: SandboxTool = {
  name,
  describe: () => ({
    name,
    description: 'Write a file of a sandbox session; folders on the way are made',
    inputSchema: objectSchema(
      {
        ...fileArguments,
        content: { type: 'string', description: 'Content of the file' },
        encoding: {
          type: 'string',
          description: 'How content is written',
          enum: ['utf8', 'base64'],
          default: 'utf8',
        },
      },
      ['session_id', 'path', 'content'],
    ),
    outputSchema: objectSchema(
      {
        session_id: { type: 'string' },
        session_created: { type: 'boolean' },
        path: { type: 'string' },
        size: { type: 'integer' },
      },
      ['session_id', 'session_created', 'path', 'size'],
    ),
  }),
  call: async (call) => {
    const { args, sessions, owner } = call
    const id = args.text('session_id')
    const path = args.text('path')
    const bytes = Buffer.from(args.text('content'), args.choice('encoding', ['utf8', 'base64']) ?? 'utf8')
    if (bytes.length > fileBytesMax)
      throw wrongArgument(`Parameter 'content' must have at most ${fileBytesMax} bytes`, 'content')
    const { session, isCreated } = sessions.open({ id, owner, template: undefined, flavor: undefined })
    await onFiles(session, call, (where) => writeFile(where, path, bytes))
    const text = `Wrote ${bytes.length} bytes to ${path}`
    const facts = { session_id: id, session_created: isCreated, path, size: bytes.length }
    return { content: [{ type: 'text', text }], isError: false, facts }
  },
}
