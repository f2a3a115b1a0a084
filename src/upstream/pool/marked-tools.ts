// The tools of a server whose arguments header fields repeat, as it listed them last.

import type { ListItem } from '../../mcp/lists.js'
import { type ParamHeader, paramHeaders } from '../../mcp/param-headers.js'
import { markFault } from '../../mcp/param-marks.js'
import type { LogSink } from '../../runtime/runtime.js'

const NONE: readonly ParamHeader[] = []

/** Knows the marked arguments of each tool. */
export class MarkedTools {
  readonly #service: string
  readonly #log: LogSink
  readonly #marked = new Map<string, readonly ParamHeader[]>()

  constructor(service: string, log: LogSink) {
    this.#service = service
    this.#log = log
  }

  of(tool: string): readonly ParamHeader[] {
    return this.#marked.get(tool) ?? NONE
  }

  /** The server has these; gives those that can be called. */
  listed(tools: readonly ListItem[]): readonly ListItem[] {
    this.#marked.clear()
    return tools.filter((tool) => this.#isUsable(tool))
  }

  #isUsable({ line, key, schemaSpan }: ListItem): boolean {
    if (schemaSpan === undefined) return true
    const schema = line.subarray(schemaSpan.start, schemaSpan.end)
    const fault = markFault(schema)
    if (fault !== undefined) {
      this.#log({
        level: 'warn',
        service: this.#service,
        message: `its tool '${key}' is not listed: ${fault}`,
      })
      return false
    }
    const headers = paramHeaders(schema)
    if (headers.length > 0) this.#marked.set(key, headers)
    return true
  }
}
