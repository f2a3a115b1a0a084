// Keeps the rows of the page, relates answers to requests, and applies the filter.

import type { FeedLine, FrameRow } from '../inspector/protocol.js'

/** With more rows, the page drops the oldest. */
const ROWS_MAX = 50_000

/** How many rows the page drops together, because each removal moves all other rows. */
const DROPPED = 5000

const columns = ['schema', 'service', 'client', 'method'] as const
type Column = (typeof columns)[number]

/** The most choices of a filter. A person does not read more. */
const VALUES_MAX = 500

/** A frame with the facts that the page adds. */
export interface Row extends FrameRow {
  /** The milliseconds from the request to this answer. */
  ms?: number
  /** The method and the name of the request that this row answers. */
  about?: string
  /** The number and the name of the client, on a client hop. */
  client?: string
}

export interface Filter {
  readonly schema: string
  readonly server: string
  readonly client: string
  readonly method: string
  readonly errors: boolean
  readonly text: string
}

export const noFilter: Filter = { schema: '', server: '', client: '', method: '', errors: false, text: '' }

export class RowsStore {
  rows: Row[] = []
  shown: Row[] = []
  filter: Filter = noFilter
  skipped = 0
  errors = 0
  readonly #values: Readonly<Record<Column, Set<string>>> = {
    schema: new Set(),
    service: new Set(),
    client: new Set(),
    method: new Set(),
  }
  readonly #open = new Map<string, Row>()
  readonly #clients = new Map<number, string>()

  get last(): number {
    return this.rows.at(-1)?.n ?? 0
  }

  take(line: FeedLine): void {
    if ('skipped' in line) this.skipped += line.skipped
    if ('frames' in line) for (const frame of line.frames) if (frame.n > this.last) this.#add({ ...frame })
    if ('older' in line) this.#takeOlder(line.older)
    if (this.rows.length > ROWS_MAX) this.#drop()
  }

  /** Adds all rows again, because requests in the older rows may have their answers in the newer rows. */
  #takeOlder(older: readonly FrameRow[]): void {
    const { skipped } = this
    const rows = [
      ...older.filter(({ n }) => n < (this.rows[0]?.n ?? Infinity)).map((row) => ({ ...row })),
      ...this.rows,
    ]
    this.clear()
    this.skipped = skipped
    for (const row of rows) this.#add(row)
  }

  clear(): void {
    this.rows = []
    this.shown = []
    this.errors = 0
    this.skipped = 0
    this.#open.clear()
    this.#clients.clear()
  }

  setFilter(filter: Filter): void {
    this.filter = filter
    this.shown = this.rows.filter((row) => passes(row, filter))
  }

  /** Returns the values of a column for the choices of a filter, also values of dropped rows. */
  values(column: Column): string[] {
    return [...this.#values[column]].sort()
  }

  #add(row: Row): void {
    this.#relate(row)
    for (const column of columns) {
      const value = row[column]
      if (value !== undefined && this.#values[column].size < VALUES_MAX) this.#values[column].add(value)
    }
    this.rows.push(row)
    if (row.failed) this.errors++
    if (passes(row, this.filter)) this.shown.push(row)
  }

  /** Finds the request of an answer by connection, direction and id. */
  #relate(row: Row): void {
    if (row.hop === 'client') {
      if (row.method === 'initialize' && row.name !== undefined) this.#clients.set(row.conn, row.name)
      const name = this.#clients.get(row.conn)
      row.client = `${row.conn}${name === undefined ? '' : ` ${name}`}`
    }
    if (row.id === undefined) return
    const [asker, answerer] = row.dir === 'in' ? ['in', 'out'] : ['out', 'in']
    if (row.kind === 'request') {
      this.#open.set(`${row.conn} ${asker} ${row.id}`, row)
      if (this.#open.size > ROWS_MAX) this.#open.delete(this.#open.keys().next().value ?? '')
      return
    }
    const key = `${row.conn} ${answerer} ${row.id}`
    const request = this.#open.get(key)
    if (request === undefined) return
    this.#open.delete(key)
    row.ms = row.at - request.at
    if (request.method !== undefined) row.about = request.method
    if (request.name !== undefined && row.name === undefined) row.about = `${request.method} ${request.name}`
  }

  #drop(): void {
    const gone = this.rows.splice(0, DROPPED)
    const first = this.rows[0]?.n ?? 0
    const kept = this.shown.findIndex(({ n }) => n >= first)
    this.shown.splice(0, kept < 0 ? this.shown.length : kept)
    for (const { failed } of gone) if (failed) this.errors--
  }
}

/** Returns the index of the frame in sorted rows, or of the next row. */
export function indexOfFrame(rows: readonly Row[], n: number): number {
  let [from, until] = [0, rows.length - 1]
  while (from < until) {
    const middle = (from + until) >> 1
    if ((rows[middle]?.n ?? 0) < n) from = middle + 1
    else until = middle
  }
  return until
}

function passes(row: Row, { schema, server, client, method, errors, text }: Filter): boolean {
  if (schema !== '' && row.schema !== schema) return false
  if (server !== '' && row.service !== server) return false
  if (client !== '' && row.client !== client) return false
  if (method !== '' && row.method !== method && !row.about?.startsWith(method)) return false
  if (errors && row.failed !== true && row.kind !== 'other') return false
  return text === '' || wordsOf(row).includes(text.toLowerCase())
}

function wordsOf({ text, method = '', name = '', about = '', service = '', id = '' }: Row): string {
  return `${text}\n${method}\n${name}\n${about}\n${service}\n${id}`.toLowerCase()
}
