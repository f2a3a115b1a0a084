// The part of the servers that one client sees: which servers, which of their items, and under which names.
//
// Lists, calls, prompts, resources, completions, subscriptions and notifications of changes all go through the tables that
// `Catalog` makes of the lanes and the view of a client, so another view is one class that implements `CatalogView`. Clients
// with the same view object share these tables.

import { type Edit, NO_EDITS } from '../../jsonrpc/splice.js'
import type { Call } from '../../calls/call.js'
import type { ListItem } from '../../mcp/list-items.js'
import type { ListKind } from '../../mcp/methods.js'
import { publicName } from '../../mcp/names.js'
import type { ServerConfig } from '../../upstream/contracts/server-config.js'

export interface CatalogView {
  /** Separates it from all other views of the proxy. */
  readonly name: string
  /** Whether it is a profile, which may hide items of servers. */
  readonly isProfile: boolean
  /** Whether the client reaches this server at all; no process is started for a server that it does not reach. */
  hasServer(server: ServerConfig): boolean
  /** The name of an item, unless another item has it; of a resource, its URI. */
  nameOf(server: ServerConfig, kind: ListKind, own: string): string
  /** Whether a name reads as one of this server's; undefined where every name does, as the names have no prefix. */
  claims(server: ServerConfig, name: string): boolean | undefined
  /** Whether the description of a tool begins with the name of the server. */
  marks(server: ServerConfig): boolean
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
  nameOf: (server, kind, own) => prefixedName(server, kind, own, server.prefix),
  claims: ({ name: service, prefix }, name) => (prefix ? name.startsWith(`${service}__`) : undefined),
  marks: ({ describe }) => describe,
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

/** The name of an item of this server with or without the prefix; of a resource, its URI. */
export function prefixedName(
  { name: service, tools }: ServerConfig,
  kind: ListKind,
  own: string,
  hasPrefix: boolean,
): string {
  if (kind === 'resources' || kind === 'templates') return own
  const short = kind === 'tools' ? (tools.rename.get(own) ?? own) : own
  return hasPrefix ? publicName(service, short) : short
}
