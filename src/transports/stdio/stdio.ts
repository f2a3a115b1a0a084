// Our own stdin and stdout. Nothing else in the project writes to stdout while it serves.

import type { Connection } from '../../jsonrpc/connection.js'
import { NdjsonConnection, type NdjsonOptions, defaultNdjsonOptions } from './ndjson.js'

/** The connection to the client that started this process. */
export function stdio(options: NdjsonOptions = defaultNdjsonOptions): Connection {
  return new NdjsonConnection(process.stdin, process.stdout, {
    ...options,
    leavesOutputOpen: true,
  })
}
