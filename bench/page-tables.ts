// The tables of the page with the figures, from the rows of a run.

import { type Row, digits, showAim } from './report.js'

/** The figures that the tables are made of, and the sweep over eras, by the names of `main.ts`. */
export const onPage: readonly string[] = [
  'calls',
  'latency',
  'results-1mb',
  'results-10mb',
  'arguments',
  'mixed',
  'start',
  'first-call',
  'memory',
  'eras',
  'era-sizes',
  'many',
  'http-calls',
  'http-latency',
  'http-1mb',
  'http-10mb',
  'http-sessions',
  'http-start',
  'http-memory',
]

/** Where a value stands: the title of its figure, and how its way begins. */
type Source = readonly [figure: string, way: string]

/** A line of a page: each cell has one value or a few. */
interface Line {
  readonly title: string
  readonly cells: readonly (readonly Source[])[]
}

const idFirstAndLast = (title: string): readonly Source[] =>
  ['id first', 'id last'].map((id) => [`${title}, ${id}, throughput`, 'proxy'])

const overStdio: readonly Line[] = [
  {
    title: 'small calls, 64 in flight, throughput / relay',
    cells: [[['small calls, 64 in flight, throughput', 'proxy']]],
  },
  {
    title: "one call at a time, latency added / relay's",
    cells: [[["one call at a time, latency added / relay's", 'proxy']]],
  },
  {
    title: '1 MB results, `id` first / last, throughput / relay',
    cells: [idFirstAndLast('1 MB results')],
  },
  {
    title: '10 MB results, `id` first / last, throughput / relay',
    cells: [idFirstAndLast('10 MB results')],
  },
  { title: '1 MB arguments, throughput / relay', cells: [[['1 MB arguments, throughput', 'proxy']]] },
  {
    title: 'small calls while 1 MB results flow, p99 / relay',
    cells: [[['small calls while 1 MB results flow, p99', 'proxy']]],
  },
  { title: 'CPU per MB of result / relay', cells: [idFirstAndLast('CPU per MB, 1 MB results')] },
  {
    title: 'cold start to the answer to `initialize`, over an empty Node process',
    cells: [[['cold start to the answer to initialize, over an empty Node process', 'proxy, embedded']]],
  },
  {
    title: 'first `tools/call` 200 ms after `initialize`, over the relay',
    cells: [[['first tools/call after initialize, 200 ms later, over the relay', 'proxy']]],
  },
  {
    title:
      'resident memory at idle behind the bundled Time server / the server of the benchmark, over an empty Node process',
    cells: [
      ['proxy, embedded', 'proxy, bench'].map((way) => [
        'resident memory at idle, over an empty Node process',
        way,
      ]),
    ],
  },
  {
    title:
      'processor time of a small call between new ends / new client, old server / old client, new server, over old ends',
    cells: [
      ['new client, new server', 'new client, old server', 'old client, new server'].map((way) => [
        'processor time of a small call between eras / between old ones',
        way,
      ]),
    ],
  },
  {
    title: 'a call with 200 servers and 10,000 tools / with 1, one at a time',
    cells: [[['cost of a call with 200 servers and 10,000 tools / with 1, one at a time', 'proxy']]],
  },
]

const legs = ['HTTP -> stdio', 'stdio -> HTTP', 'HTTP -> HTTP']

function eachLeg(title: string, figure: string): Line {
  return { title, cells: legs.map((leg) => [[`${leg}: ${figure}`, 'proxy']]) }
}

function eachWay(title: string, figure: string): Line {
  return { title, cells: legs.map((leg) => [[`HTTP: ${figure}`, `proxy, ${leg}`]]) }
}

const overHttp: readonly Line[] = [
  eachLeg('small calls, 32 connections, throughput', 'small calls, 32 connections, throughput'),
  eachLeg('one call at a time, latency added', "one call at a time, latency added / forwarder's"),
  eachLeg('1 MB results, throughput', '1 MB results, throughput'),
  eachLeg('10 MB results, throughput', '10 MB results, throughput'),
  eachLeg('whole sessions per second', 'whole sessions, 4 connections'),
  eachLeg(
    'small calls, 32 connections, throughput / raw sockets',
    'small calls, 32 connections, throughput (raw)',
  ),
  eachLeg(
    "one call at a time, latency added / raw sockets'",
    "one call at a time, latency added / forwarder's (raw)",
  ),
  eachLeg('whole sessions per second / raw sockets', 'whole sessions, 4 connections (raw)'),
  eachWay(
    'cold start to the first answer of `/health`, over an empty Node process',
    'cold start to the first answer of /health, over an empty Node process',
  ),
  eachWay(
    'resident memory at idle, over an empty Node process',
    'resident memory at idle, over an empty Node process',
  ),
]

/** Both tables in Markdown, without the lines that this run did not measure. */
export function pageTables(rows: readonly Row[]): string {
  const tables: readonly (readonly string[])[] = [
    ['| figure | proxy | aim |', '|---|---|---|', ...linesOf(overStdio, rows)],
    [`| figure | ${legs.join(' | ')} | aim |`, '|---|---|---|---|---|', ...linesOf(overHttp, rows)],
  ]
  return tables
    .filter(({ length }) => length > 2)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n')
}

function linesOf(lines: readonly Line[], rows: readonly Row[]): string[] {
  return lines.flatMap(({ title, cells }) => {
    const found = cells.map((sources) => sources.flatMap((source) => rowAt(source, rows) ?? []))
    const [first] = found.flat()
    if (first === undefined) return []
    return `| ${[title, ...found.map(cellOf), showAim(first.aim)].join(' | ')} |`
  })
}

function rowAt([figure, way]: Source, rows: readonly Row[]): Row | undefined {
  return rows.find((row) => row.figure === figure && row.way.startsWith(way) && row.spread !== undefined)
}

function cellOf(rows: readonly Row[]): string {
  const values = rows.map(({ spread }) => (spread === undefined ? '' : digits(spread.median)))
  const unit = rows[0]?.spreadUnit ?? ''
  return values.length === 0 ? '-' : `${values.join(' / ')}${unit === '' ? '' : ` ${unit}`}`
}

/** The first cell of every line, as the page has it. */
export const pageTitles: readonly string[] = [...overStdio, ...overHttp].map(({ title }) => title)
