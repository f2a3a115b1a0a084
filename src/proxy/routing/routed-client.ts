// A client, as the routes of its calls see it.

import type { Line } from '../../jsonrpc/line.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call, ClientPort } from '../../mcp/call.js'
import type { ListKind } from '../../mcp/methods.js'
import type { CatalogView } from './catalog-view.js'
import type { PrincipalTasks } from './tasks.js'

export interface RoutedClient extends ClientPort {
  /** Its view of the catalog. */
  readonly view: CatalogView
  /** The tasks of its principal, where it has no session. */
  readonly tasks?: PrincipalTasks
  /** Whether it has sent `initialized`, so that it gets notifications of changes. */
  readonly isReady: boolean
  /** These lists look different now. */
  tellChanges(kinds: readonly ListKind[]): void
  /** Servers that were starting, or came with a reload, have listed what they have. */
  listsRevised?(): void
  /** Sends progress of a call that the proxy answers itself; `params` is raw JSON. */
  progress(call: Call, params: string): void
  /** Splices one item of a list that this call gets; the forward tap sees it. */
  splice(call: Call, line: Line, edits: readonly Edit[]): Uint8Array
}
