// What mends a server that `doctor` has tried.

import type { Trial } from '../proxy/trial.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import { sandboxMends } from './sandbox-mends.js'

/** One sentence for each failure that has a usual cause. */
export function mendsOf(
  server: ServerConfig,
  { failure = '', warnings, lastWords }: Pick<Trial, 'failure' | 'warnings' | 'lastWords'>,
): string[] {
  const { name, kind } = server
  if (server.kind === 'stdio' && server.sandbox !== undefined)
    return sandboxMends(server, server.sandbox, [failure, ...lastWords], warnings)
  const [, variable] = /^variable (\S+) is not set$/.exec(failure) ?? []
  if (variable !== undefined)
    return [`set it where the proxy starts, or write a default: \${${variable}:-value}`]
  const hasPrinted = warnings.some((warning) => warning.startsWith('stdout has a line'))
  if (hasPrinted && failure.includes('did not answer'))
    return [`it may be no MCP server on stdin and stdout: check "command" and "args" of '${name}'`]
  if (hasPrinted)
    return ['a server writes its log to stderr: look for its option for quiet output; the line is skipped']
  if (kind === 'http' && /\b401\b/.test(failure))
    return [`it wants a login: set "headers": { "Authorization": "Bearer …" } of '${name}'`]
  if (kind === 'http' && /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|cannot be reached/.test(failure))
    return [`nothing answers there: check "url" of '${name}', and that the server runs`]
  return []
}
