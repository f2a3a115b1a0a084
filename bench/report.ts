// From rounds to rows, and from rows to a Markdown table.

import type { Outcome } from './alternate.js'
import { type Spread, median, spread } from './statistics.js'
import { LEGS, type Way } from './subject.js'

export interface Aim {
  readonly kind: 'at least' | 'at most'
  readonly value: number
  readonly unit: string
}

/** One line of the table: a figure for one way. */
export interface Row {
  readonly figure: string
  readonly way: string
  /** Medians of the absolute values, as text with units, for the scale; `relay` is the forwarder's over HTTP. */
  readonly direct?: string
  readonly relay: string
  readonly own: string
  /** The measured value of the aim, over the rounds; undefined when it could not be measured. */
  readonly spread: Spread | undefined
  readonly spreadUnit?: string
  readonly aim: Aim | undefined
  /** Shown beside the spread. */
  readonly aside?: string
  /** Why there is no figure. */
  readonly note?: string
}

export const atLeast = (value: number): Aim => ({ kind: 'at least', value, unit: '' })
export const atMost = (value: number, unit = ''): Aim => ({ kind: 'at most', value, unit })

/** `ratio` of every round in which all of `ways` were measured; of one way its own values. */
function ratiosOf<T>(
  outcome: Outcome<T>,
  ways: readonly Way[],
  value: (sample: T) => number | undefined,
  ratio: (values: readonly number[]) => number = ([own = Number.NaN]) => own,
): number[] {
  return outcome.rounds.flatMap((round) => {
    const values = ways.flatMap((way) => {
      const sample = round.get(way)
      const number = sample === undefined ? undefined : value(sample)
      return number === undefined ? [] : [number]
    })
    if (values.length < ways.length) return []
    const result = ratio(values)
    return Number.isFinite(result) ? [result] : []
  })
}

export interface RowPlan<T> {
  readonly figure: string
  readonly outcome: Outcome<T>
  readonly ways: readonly Way[]
  readonly value: (sample: T) => number | undefined
  readonly show: (value: number) => string
  /** The aim of the proxy; other ways are shown without one. */
  readonly aim: Aim
  /** The way that the proxy is compared with; the relay unless given. */
  readonly base?: Way
}

function quotient([own = Number.NaN, base = Number.NaN]: readonly number[]): number {
  return own / base
}

function addedQuotient([
  own = Number.NaN,
  relay = Number.NaN,
  direct = Number.NaN,
]: readonly number[]): number {
  return (own - direct) / (relay - direct)
}

/** Value of the way over value of the relay; the relay's own row is over direct. */
export function relayRows<T>(plan: RowPlan<T>): Row[] {
  const { outcome, value, base = 'relay' } = plan
  return rows(plan, (way) => ratiosOf(outcome, [way, way === base ? 'direct' : base], value, quotient))
}

/** The latency that the way adds to direct, over that of the relay; the relay's own row is over direct. */
export function addedRows<T>(plan: RowPlan<T>): Row[] {
  const { outcome, value, base = 'relay' } = plan
  const made = rows(plan, (way) =>
    way === base
      ? ratiosOf(outcome, [base, 'direct'], value, quotient)
      : ratiosOf(outcome, [way, base, 'direct'], value, addedQuotient),
  )
  const middle = (way: Way) => median(ratiosOf(outcome, [way], value))
  return made.map((row) => {
    const way = plan.ways.find((name) => name === row.way)
    if (way === undefined || row.spread === undefined) return row
    const ofMedians = addedQuotient([middle(way), middle(base), middle('direct')])
    return { ...row, aside: `; of the medians ${digits(ofMedians)}` }
  })
}

function rows<T>(plan: RowPlan<T>, ratios: (way: Way) => number[]): Row[] {
  const { base = 'relay' } = plan
  const shown = (way: Way) => {
    const values = ratiosOf(plan.outcome, [way], plan.value)
    return values.length === 0 ? '' : plan.show(median(values))
  }
  return plan.ways
    .filter((way) => way !== 'direct')
    .map((way) => {
      const values = ratios(way)
      return {
        figure: plan.figure,
        way: way === base ? `${base} / direct` : way,
        direct: shown('direct'),
        relay: shown(base),
        own: shown(way),
        spread: values.length === 0 ? undefined : spread(values),
        aim: way.startsWith('proxy') ? plan.aim : undefined,
        note: plan.outcome.failures.get(way) ?? '',
      }
    })
}

function digits(value: number): string {
  return Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2)
}

function showSpread(row: Row): string {
  if (row.spread === undefined) return ''
  const { median: middle, min, max, count } = row.spread
  const unit = row.spreadUnit === undefined ? '' : ` ${row.spreadUnit}`
  return `**${digits(middle)}**${unit} (${digits(min)}..${digits(max)}, n=${count})${row.aside ?? ''}`
}

function showAim(aim: Aim | undefined): string {
  if (aim === undefined) return ''
  return `${aim.kind === 'at least' ? '>=' : '<='} ${aim.value}${aim.unit === '' ? '' : ` ${aim.unit}`}`
}

/** Whether the median meets the aim; undefined without one of the two. */
function meets(row: Row): boolean | undefined {
  if (row.aim === undefined || row.spread === undefined) return undefined
  return row.aim.kind === 'at least' ? row.spread.median >= row.aim.value : row.spread.median <= row.aim.value
}

function showMet(row: Row): string {
  if (row.aim === undefined) return ''
  const met = meets(row)
  if (met === undefined) return `not measured: ${row.note?.slice(0, 160).replaceAll('|', '/')}`
  return met ? 'yes' : 'NO'
}

export function markdown(table: readonly Row[]): string {
  const head = [
    'figure',
    'way',
    'direct',
    'relay or forwarder',
    'itself',
    'ratio: median (min..max)',
    'aim',
    'met',
  ]
  const lines = table.map((row) => [
    row.figure,
    row.way,
    row.direct ?? '',
    row.relay,
    row.own,
    showSpread(row),
    showAim(row.aim),
    showMet(row),
  ])
  const all = [head, head.map(() => '---'), ...lines]
  return all.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/** The tables of README.md: a line for each figure with an aim, and over HTTP a cell for each leg. */
export function pageTables(all: readonly Row[]): string {
  const measured = all.filter(({ aim, spread: values }) => aim !== undefined && values !== undefined)
  const overHttp = measured.filter((row) => legOf(row) !== undefined)
  const lines = measured
    .filter((row) => !overHttp.includes(row))
    .map((row) => [row.way === 'proxy' ? row.figure : `${row.figure}: ${row.way}`, [row], row] as const)
  const httpLines = [...new Set(overHttp.map(titleOf))].map((title) => {
    const rows = overHttp.filter((row) => titleOf(row) === title)
    return [title, LEGS.map((leg) => rows.find((row) => legOf(row) === leg)), rows[0]] as const
  })
  return [
    ['| figure | proxy | aim |', '|---|---|---|', ...lines.map(pageLine)],
    [`| figure | ${LEGS.join(' | ')} | aim |`, '|---|---|---|---|---|', ...httpLines.map(pageLine)],
  ]
    .filter(({ length }) => length > 2)
    .map((table) => `${table.join('\n')}\n`)
    .join('\n')
}

function legOf({ figure, way }: Row): string | undefined {
  return LEGS.find((leg) => figure.startsWith(`${leg}: `) || way === `proxy, ${leg}`)
}

/** A figure without its leg. */
function titleOf({ figure }: Row): string {
  return figure.replace(/^[^:]*HTTP[^:]*: /, '')
}

function pageLine([title, cells, first]: readonly [
  string,
  readonly (Row | undefined)[],
  Row | undefined,
]): string {
  const shown = cells.map((row) =>
    row?.spread === undefined ? '-' : `${digits(row.spread.median)} ${row.spreadUnit ?? ''}`.trimEnd(),
  )
  return `| ${[title, ...shown, showAim(first?.aim)].join(' | ')} |`
}
