// How often tools were called, by whom, how long that took, and what it cost in bytes.

import type { CallEvent } from '../events/proxy-events.js'
import type { UsageRow } from './protocol.js'
import type { MessageRedactor } from './redaction.js'

/** Clients choose names, so the rows are limited; calls under further names count in one row. */
const ROWS_MAX = 2000

/** Times are counted in classes. The first ends at a quarter of a millisecond, and the end doubles every three classes. */
const CLASS_FACTOR = 2 ** (1 / 3)
const FIRST_CLASS_MS = 0.25
const CLASSES = 64

interface Counted extends Pick<UsageRow, 'schema' | 'server' | 'what' | 'client' | 'view'> {
  calls: number
  errors: number
  argumentBytes: number
  resultBytes: number
  readonly times: Uint32Array
}

/** Counts calls. */
export class Usage {
  readonly #redactor: MessageRedactor
  readonly #rows = new Map<string, Counted>()

  constructor(redactor: MessageRedactor) {
    this.#redactor = redactor
  }

  count(event: CallEvent): void {
    const row = this.#rowOf(event)
    row.calls++
    if (isFailure(event)) row.errors++
    row.argumentBytes += event.argumentBytes
    row.resultBytes += event.resultBytes
    const at = classOf(event.ms)
    row.times[at] = (row.times[at] ?? 0) + 1
  }

  report(): UsageRow[] {
    return [...this.#rows.values()].map(({ times, ...row }) => ({
      ...row,
      what: this.#redactor.cleanText(row.what),
      times: Array.from(times).flatMap((count, at) => (count > 0 ? [[endOfClass(at), count] as const] : [])),
    }))
  }

  #rowOf({ schema, server = '', method, name, clientName = '', view = '' }: CallEvent): Counted {
    const what = method === 'tools/call' && name !== undefined ? name : method
    const key = `${schema}\n${server}\n${what}\n${clientName}\n${view}`
    const known = this.#rows.get(key)
    if (known !== undefined) return known
    const isFull = this.#rows.size >= ROWS_MAX
    if (isFull && key !== OTHERS) return this.#rowOfOthers()
    return this.#add(key, { schema, server, what, client: clientName, view })
  }

  #rowOfOthers(): Counted {
    const others = { schema: '', server: '', what: 'others', client: '', view: '' }
    return this.#rows.get(OTHERS) ?? this.#add(OTHERS, others)
  }

  #add(key: string, names: Pick<UsageRow, 'schema' | 'server' | 'what' | 'client' | 'view'>): Counted {
    const row = {
      ...names,
      calls: 0,
      errors: 0,
      argumentBytes: 0,
      resultBytes: 0,
      times: new Uint32Array(CLASSES),
    }
    this.#rows.set(key, row)
    return row
  }
}

/** The key of the row for further names; no call has this key, since those of calls contain line breaks. */
const OTHERS = 'others'

/** Cancelled calls do not count as errors. */
function isFailure({ outcome, isToolError }: CallEvent): boolean {
  return isToolError || (outcome !== 'answered' && outcome !== 'cancelled')
}

function classOf(ms: number): number {
  const at = Math.ceil(Math.log(ms / FIRST_CLASS_MS) / Math.log(CLASS_FACTOR))
  return Math.max(0, Math.min(CLASSES - 1, at))
}

/** The longest time in a class, in milliseconds. */
function endOfClass(at: number): number {
  return FIRST_CLASS_MS * CLASS_FACTOR ** at
}
