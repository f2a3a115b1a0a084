// The part of the servers that one client sees: which servers, which of their items, and under which names.
//
// Lists, calls, prompts, resources, completions, subscriptions and notifications of changes all go through the tables that
// `Catalog` makes of the lanes and the view of a client, so another view is one class that implements `CatalogView`. Clients
// with the same view object share these tables.

import { type Edit, NO_EDITS } from '../../jsonrpc/splice.js'
import type { Call } from '../../mcp/call.js'
import type { ListItem } from '../../mcp/list-items.js'
import type { ListKind } from '../../mcp/methods.js'
import { publicName } from '../../mcp/names.js'
import type { ServerConfig } from '../../upstream/contracts/server-config.js'

/** How the tools and prompts of one server are shown. */
export interface Naming {
  /** Whether the public name begins with the name of the server. */
  readonly prefix: boolean
  /** Whether the description of a tool begins with the name of the server. */
  readonly describe: boolean
  /** From the server's own name of a tool to the one that is shown instead. */
  readonly rename: ReadonlyMap<string, string>
  /** Tools whose whole public names are others, if there are any. */
  readonly whole?: {
    /** Of the tool that the server calls so; undefined where the usual name stays. */
    of(own: string): string | undefined
    has(publicName: string): boolean
  }
}

export interface CatalogView {
  /** Separates it from all other views of the proxy. */
  readonly name: string
  /** Whether it is a profile, which may hide items of servers. */
  readonly isProfile: boolean
  /** Whether the client reaches this server at all; no process is started for a server that it does not reach. */
  hasServer(server: ServerConfig): boolean
  naming(server: ServerConfig): Naming
  /**
   * The item as the client sees it: undefined where it is hidden, else `item` itself or one that was read from other bytes.
   * Arguments are checked against the schema of what is returned. The same item gives the same object each time.
   */
  item(server: ServerConfig, kind: ListKind, item: ListItem): ListItem | undefined
  /** Whether the client may read or follow a resource of this server that no list has. */
  hasUri(server: ServerConfig, uri: string): boolean
  /** Edits of the arguments of a tool call, in the order of their places; `item` is what `item()` returned. */
  callEdits(server: ServerConfig, item: ListItem, call: Call): readonly Edit[]
}

/** Everything that the configuration of each server shows. */
export const wholeCatalog: CatalogView = {
  name: '',
  isProfile: false,
  hasServer: () => true,
  naming: ({ prefix, describe, tools: { rename } }) => ({ prefix, describe, rename }),
  item: ({ tools: { allow, deny } }, kind, item) => {
    if (kind !== 'tools') return item
    return (allow?.includes(item.key) ?? true) && !deny.includes(item.key) ? item : undefined
  },
  hasUri: () => true,
  callEdits: () => NO_EDITS,
}

/**
 * The only server, where the client sees all of it: a method of an extension, which may name any item, passes to it alone.
 */
export function soleServer<S extends { readonly config: ServerConfig }>(
  servers: readonly S[],
  view: CatalogView,
): S | undefined {
  const [only, other] = servers
  if (only === undefined || other !== undefined || view.isProfile) return undefined
  const { allow, deny } = only.config.tools
  return allow === undefined && deny.length === 0 ? only : undefined
}

/** The name that clients without a view see; of a resource, its URI. */
export function usualName(server: ServerConfig, kind: ListKind, own: string): string {
  return shownName(server.name, wholeCatalog.naming(server), kind, own)
}

/** The name of an item of this server under this naming, unless another item has it; of a resource, its URI. */
export function shownName(
  service: string,
  { prefix, rename, whole }: Naming,
  kind: ListKind,
  own: string,
): string {
  if (kind === 'resources' || kind === 'templates') return own
  const wholeName = kind === 'tools' ? whole?.of(own) : undefined
  if (wholeName !== undefined) return wholeName
  const short = kind === 'tools' ? (rename.get(own) ?? own) : own
  return prefix ? publicName(service, short) : short
}
