// The tool that reads a file of a session.

import { fileBytesMax, inLargeTurn, isText, readFile } from '../files.js'
import { fileArguments, inSession } from './file-call.js'
import type { SandboxTool } from './sandbox-tool.js'
import { objectSchema } from './schemas.js'

const name = 'read_file'
const integer = { type: 'integer' }

export const readFileTool: SandboxTool = {
  name,
  describe: ({ outputBytesMax }) => ({
    name,
    description: 'Read a file of a sandbox session',
    inputSchema: objectSchema(
      {
        ...fileArguments,
        offset: { type: 'integer', description: 'First byte to read', minimum: 0, default: 0 },
        limit: {
          type: 'integer',
          description: 'Most bytes to read',
          minimum: 1,
          maximum: fileBytesMax,
          default: outputBytesMax,
        },
      },
      ['session_id', 'path'],
    ),
    outputSchema: objectSchema(
      {
        path: { type: 'string' },
        size: integer,
        offset: integer,
        length: integer,
        encoding: { enum: ['utf8', 'base64'] },
        truncated: { type: 'boolean' },
        data: { type: 'string' },
      },
      ['path', 'size', 'offset', 'length', 'encoding', 'truncated'],
    ),
  }),
  call: async (call) => {
    const { args, settings } = call
    const path = args.text('path')
    const offset = args.integer('offset', 0, Number.MAX_SAFE_INTEGER - 1) ?? 0
    const limit = args.integer('limit', 1, fileBytesMax) ?? settings.outputBytesMax
    const { bytes, size } = await inLargeTurn(call.largeReads, limit, call.signal, () =>
      inSession(call, (where) => readFile(where, path, offset, limit)),
    )
    const encoding = isText(bytes) ? 'utf8' : 'base64'
    const data = bytes.toString(encoding)
    const truncated = offset + bytes.length < size
    const facts = { path, size, offset, length: bytes.length, encoding, truncated }
    return { content: [{ type: 'text', text: data }], isError: false, facts, shown: { data } }
  },
}
