// Counts calls by tool and client, with their durations and bytes.

import type { CallEvent } from '../events/proxy-events.js'
import type { UsageRow } from './protocol.js'
import type { MessageRedactor } from './redaction.js'

/** Clients choose names, so the number of rows has a limit. Calls with further names count in one row. */
const ROWS_MAX = 2000

/** Durations count in classes. The first ends at 0.25 ms, and the end doubles every three classes. */
const CLASSES_A_DOUBLING = 3
const FIRST_CLASS_MS = 0.25
const CLASSES = 64

type Names = Pick<UsageRow, 'schema' | 'server' | 'what' | 'client' | 'view'>

interface Counted extends Names {
  calls: number
  errors: number
  argumentBytes: number
  resultBytes: number
  readonly times: Uint32Array
}

export class UsageCounts {
  readonly #redactor: MessageRedactor
  /** The rows by all five names. */
  readonly #rows = new Map<string, Counted>()
  #others: Counted | undefined

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
    const rows = [...this.#rows.values(), ...(this.#others === undefined ? [] : [this.#others])]
    return rows.map(({ times, ...row }) => ({
      ...row,
      what: this.#redactor.cleanText(row.what),
      times: Array.from(times).flatMap((count, at) => (count > 0 ? [[endOfClass(at), count] as const] : [])),
    }))
  }

  #rowOf({ schema, server = '', method, name, clientName: client = '', view = '' }: CallEvent): Counted {
    const what = method === 'tools/call' && name !== undefined ? name : method
    const key = [schema, server, what, client, view].join('\n')
    const known = this.#rows.get(key)
    if (known !== undefined) return known
    if (this.#rows.size >= ROWS_MAX)
      return (this.#others ??= counted({ schema: '', server: '', what: 'others', client: '', view: '' }))
    const row = counted({ schema, server, what, client, view })
    this.#rows.set(key, row)
    return row
  }
}

function counted(names: Names): Counted {
  const times = new Uint32Array(CLASSES)
  return { ...names, calls: 0, errors: 0, argumentBytes: 0, resultBytes: 0, times }
}

/** Cancelled calls do not count as errors. */
function isFailure({ outcome, isToolError }: CallEvent): boolean {
  return isToolError || (outcome !== 'answered' && outcome !== 'cancelled')
}

function classOf(ms: number): number {
  const at = Math.ceil(Math.log2(ms / FIRST_CLASS_MS) * CLASSES_A_DOUBLING)
  return Math.max(0, Math.min(CLASSES - 1, at))
}

/** Returns the longest duration of a class, in milliseconds. */
function endOfClass(at: number): number {
  return FIRST_CLASS_MS * 2 ** (at / CLASSES_A_DOUBLING)
}
