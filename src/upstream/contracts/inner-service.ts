// A server inside this process, which several connections share.

import type { Connection } from '../../jsonrpc/connection.js'
import type { ServerAbout } from './upstream.js'

/** Serves connections until it is closed. */
export interface InnerService {
  readonly facts: ServerAbout
  /** Serves one client; `owner` is whose sessions it may use. */
  connect(connection: Connection, owner: string): void
  close(): Promise<void>
}
