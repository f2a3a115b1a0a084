// Reads one list of a server, page by page.

import { type ListItem, listShapes, readPage } from '../../mcp/list-items.js'
import { markFault, type ParamHeader, paramHeaders } from '../../mcp/http-headers.js'
import type { ListKind } from '../../mcp/methods.js'
import { UpstreamError } from '../contracts/upstream-error.js'
import type { ServerConnection } from './server-connection.js'
import type { ServerContext } from './context.js'

const NAMED_MAX = 10

function someOf(names: readonly string[]): string {
  const more = names.length > NAMED_MAX ? `, and ${names.length - NAMED_MAX} more` : ''
  return `${names.slice(0, NAMED_MAX).join(', ')}${more}`
}

const SHOWN_LENGTH_MAX = 200

/** A list, and how long it is fresh; infinite unless each page has a time. */
export interface ReadList {
  readonly items: readonly ListItem[]
  readonly ttlMs: number
  /** How many items the list lacks, because clients refuse them. */
  readonly leftOut: number
}

/** `wasEmpty` says that no item of the list is known. @throws UpstreamError */
export async function readList(
  { redactor, limits, marked, isRemote, service, tell }: ServerContext,
  connection: ServerConnection,
  kind: ListKind,
  wasEmpty: boolean,
): Promise<ReadList> {
  const { pagesMax, itemsMax } = limits.lists
  const broken = (what: string): UpstreamError => new UpstreamError(service, 'invalid-answer', what)
  const warn = (message: string): void => tell('warn', message)
  const shown = (text: string): string => redactor.shown(text, SHOWN_LENGTH_MAX)
  const items: ListItem[] = []
  const faults: string[] = []
  const ttls: number[] = []
  const seen = new Set<string>()
  let params = '{}'
  const patience = connection.patience('startTimeoutMs')
  for (let pages = 0; pages < pagesMax; pages++) {
    const frame = await connection.ask(listShapes[kind].method, params, patience)
    if (frame.kind === 'error') {
      // A server may have resources but no templates, which means an empty list, unless it had some before.
      if (kind === 'templates' && wasEmpty) return { items, ttlMs: Infinity, leftOut: 0 }
      const why = frame.line.toString('utf8', frame.error.start, frame.error.end)
      throw broken(shown(why))
    }
    const page = readPage(frame, kind, itemsMax, connection.outputs)
    if (page === undefined) throw broken('the answer holds no list')
    if (page === 'too-long' || items.length + page.items.length > itemsMax)
      throw broken(`more than ${itemsMax} items`)
    for (const item of page.items) items.push(item)
    faults.push(...page.faults)
    if (page.ttlMs !== undefined) ttls.push(page.ttlMs)
    const { cursor } = page
    const isLast = cursor === undefined || cursor === '""' || seen.has(cursor)
    if (cursor !== undefined && isLast)
      warn(
        `${listShapes[kind].method} ends after ${pages + 1} pages: the cursor ${shown(cursor)} does not advance`,
      )
    if (isLast) {
      if (faults.length > 0) warn(`not listed, because clients refuse such items: ${someOf(faults)}`)
      // Clients cannot call tools whose arguments no header field can repeat.
      const isMarked = kind === 'tools' && isRemote && connection.isStateless
      const ttlMs = ttls.length > pages ? Math.min(...ttls) : Infinity
      return { items: isMarked ? marked.listed(items, warn) : items, ttlMs, leftOut: faults.length }
    }
    seen.add(cursor)
    params = `{"cursor":${cursor}}`
  }
  throw broken(`more than ${pagesMax} pages`)
}

const NONE: readonly ParamHeader[] = []

export class MarkedTools {
  readonly #marked = new Map<string, readonly ParamHeader[]>()

  of(tool: string): readonly ParamHeader[] {
    return this.#marked.get(tool) ?? NONE
  }

  /** Stores the marked arguments of a new list; returns the tools that can be called. */
  listed(tools: readonly ListItem[], warn: (message: string) => void): readonly ListItem[] {
    this.#marked.clear()
    return tools.filter((tool) => this.#isUsable(tool, warn))
  }

  #isUsable({ line, key, schemaSpan }: ListItem, warn: (message: string) => void): boolean {
    if (schemaSpan === undefined) return true
    const schema = line.subarray(schemaSpan.start, schemaSpan.end)
    const fault = markFault(schema)
    if (fault !== undefined) {
      warn(`its tool '${key}' is not listed: ${fault}`)
      return false
    }
    const headers = paramHeaders(schema)
    if (headers.length > 0) this.#marked.set(key, headers)
    return true
  }
}
