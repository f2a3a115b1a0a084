// One list of a server, read through every page.

import { type CacheHint, leastHint } from '../../mcp/cache-hints.js'
import { type ListItem, listShapes, readPage } from '../../mcp/lists.js'
import type { ListKind } from '../../mcp/methods/method-row.js'
import { UpstreamError } from '../contracts/errors.js'
import type { Link } from './link.js'
import type { ServerParts } from './pool-parts.js'

/** How much of what a server says instead is worth a look. */
const SHOWN_LENGTH_MAX = 200

/** A list, and how long it holds where the server says that of each page. */
export interface ReadList {
  readonly items: readonly ListItem[]
  readonly hint: CacheHint | undefined
}

/** `wasEmpty` says that nothing is known to be in the list. @throws UpstreamError */
export async function readList(
  { discretion, limits, marked, mirrors, service }: ServerParts,
  link: Link,
  kind: ListKind,
  wasEmpty: boolean,
): Promise<ReadList> {
  const { pagesMax, itemsMax } = limits.lists
  const broken = (what: string): UpstreamError => new UpstreamError(service, 'invalid-answer', what)
  const items: ListItem[] = []
  const hints: CacheHint[] = []
  const seen = new Set<string>()
  let params = '{}'
  const patience = link.own.patience('listTimeoutMs')
  for (let pages = 0; pages < pagesMax; pages++) {
    const frame = await link.ask(listShapes[kind].method, params, patience)
    if (frame.kind === 'error') {
      // A server may offer resources and know no templates: that is an empty list. One that had some is not well.
      if (kind === 'templates' && wasEmpty) return { items, hint: undefined }
      const why = frame.line.toString('utf8', frame.error.start, frame.error.end)
      throw broken(discretion.shown(why, SHOWN_LENGTH_MAX))
    }
    const page = readPage(frame, kind, itemsMax)
    if (page === undefined) throw broken('the answer holds no list')
    if (page === 'too-long' || items.length + page.items.length > itemsMax)
      throw broken(`more than ${itemsMax} items`)
    for (const item of page.items) items.push(item)
    if (page.hint !== undefined) hints.push(page.hint)
    const { cursor } = page
    if (cursor === undefined) {
      const isMarked = kind === 'tools' && mirrors && link.isTyped
      const hint = hints.length > pages ? leastHint(hints) : undefined
      return { items: isMarked ? marked.listed(items) : items, hint }
    }
    if (seen.has(cursor))
      throw broken(`the cursor ${discretion.shown(cursor, SHOWN_LENGTH_MAX)} does not advance`)
    seen.add(cursor)
    params = `{"cursor":${cursor}}`
  }
  throw broken(`more than ${pagesMax} pages`)
}
