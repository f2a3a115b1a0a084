// The tool that tells which sessions there are.

import { writeIndented } from '../../jsonrpc/text.js'
import { noSuchSession } from '../errors.js'
import type { SandboxSession } from '../sandbox-session.js'
import type { SandboxTool } from './sandbox-tool.js'
import { objectSchema } from './schemas.js'

const name = 'get_sessions'
const text = { type: 'string' }

/** How many characters of a session's id its sandbox is named by. */
const NAME_LENGTH = 8

const sessionSchema = {
  session_id: text,
  template: text,
  flavor: text,
  created_at: text,
  last_accessed: text,
  status: text,
  namespace: text,
  sandbox_name: text,
}

export const getSessions: SandboxTool = {
  name,
  describe: () => ({
    name,
    description: 'Get information about active sandbox sessions',
    inputSchema: objectSchema(
      { session_id: { type: 'string', description: 'Optional specific session ID to query' } },
      [],
    ),
    outputSchema: objectSchema(
      {
        sessions: {
          type: 'array',
          items: objectSchema(sessionSchema, Object.keys(sessionSchema)),
        },
      },
      ['sessions'],
    ),
  }),
  call: async ({ args, sessions, owner }) => {
    const id = args.optionalText('session_id')
    const all = sessions.of(owner)
    const found = id === undefined ? all : all.filter(({ facts }) => facts.id === id)
    if (id !== undefined && found.length === 0) throw noSuchSession(id)
    const shown = found.map(shownSession)
    return {
      content: [{ type: 'text', text: writeIndented(shown) }],
      isError: false,
      facts: { sessions: shown },
    }
  },
}

function shownSession({ facts, lastAccessedMs, state }: SandboxSession): Readonly<Record<string, string>> {
  const { id, template, flavor, createdAtMs } = facts
  return {
    session_id: id,
    template,
    flavor,
    created_at: new Date(createdAtMs).toISOString(),
    last_accessed: new Date(lastAccessedMs).toISOString(),
    status: state,
    namespace: 'default',
    sandbox_name: `session-${id.slice(0, NAME_LENGTH)}`,
  }
}
