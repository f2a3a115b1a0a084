// The figures measured on a running connection: throughput, latency, processor time.

import { type Outcome, alternate } from './alternate.js'
import { CallSlab, type Load } from './client.js'
import { cpuSeconds } from './process-facts.js'
import { type Aim, type Row, addedRows, atLeast, atMost, relayRows } from './report.js'
import { median, percentile } from './statistics.js'
import {
  type Place,
  type Subject,
  type SubjectSpec,
  type Way,
  directSpec,
  otherSpec,
  parseRelaySpec,
  proxySpec,
  relaySpec,
} from './subject.js'
import { SMALL_TEXT, blobCallTail, resultBytes, stringBody, textCallTail } from './wire.js'

export const MB = 1_000_000
export const RUN_LIMIT_MS = 120_000
/** How many digits `swallow` answers. */
const LENGTH_DIGITS = 8

/** What the command line asks for. */
export interface Settings {
  readonly place: Place
  readonly quick: boolean
  /** Undefined leaves it to the figure. */
  readonly rounds: number | undefined
  readonly withParse: boolean
}

export type Figure = (settings: Settings) => Promise<Row[]>

export const NOT_BUILT = 'the proxy is not built (npm run build)'

function specsOf(settings: Settings): SubjectSpec[] {
  const { place } = settings
  const specs = [directSpec(place), relaySpec(place)]
  for (const prefix of [true, false]) {
    const spec = proxySpec(place, prefix)
    if (spec !== undefined) specs.push(spec)
  }
  const other = otherSpec(place)
  if (other !== undefined) specs.push(other)
  if (settings.withParse) specs.push(parseRelaySpec(place))
  return specs
}

/** The ways of a table: the proxy has a row even when it could not run. */
function waysOf(specs: readonly SubjectSpec[]): Way[] {
  const ways = specs.map((spec) => spec.way)
  return ways.includes('proxy') ? ways : [...ways, 'proxy']
}

export function roundsOf(settings: Settings, usual: number, quick: number): number {
  return settings.rounds ?? (settings.quick ? quick : usual)
}

export function generationsOf(settings: Settings, rounds: number): number {
  return settings.quick ? 1 : Math.min(3, rounds)
}

/**
 * How many runs of `count` calls a fresh process is given before it is measured.
 *
 * `calls` is how many it takes until the cost of a call no longer falls, of whichever way takes longest.
 */
export function warmUpsOf(settings: Settings, calls: number, count: number): number {
  return settings.quick ? 2 : Math.ceil(calls / count)
}

interface Sample {
  readonly seconds: number
  /** Of the subject's process alone. */
  readonly cpuSeconds: number | undefined
}

/** One throughput run with the subject's processor time beside it. */
export async function sample(subject: Subject, load: Load): Promise<Sample> {
  const before = cpuSeconds(subject.pid)
  const seconds = await subject.client.throughput(load)
  const after = cpuSeconds(subject.pid)
  return {
    seconds,
    cpuSeconds: before === undefined || after === undefined ? undefined : after - before,
  }
}

export function smallCalls(subject: Subject, count: number): CallSlab {
  const text = Buffer.from(SMALL_TEXT)
  return new CallSlab(textCallTail(subject.tool('echo'), text), count, resultBytes(text.length))
}

export function blobCalls(subject: Subject, size: number, count: number): CallSlab {
  return new CallSlab(blobCallTail(subject.tool('blob'), size), count, resultBytes(size))
}

function argumentCalls(subject: Subject, text: Buffer, count: number): CallSlab {
  return new CallSlab(textCallTail(subject.tool('swallow'), text), count, resultBytes(LENGTH_DIGITS))
}

/** Slabs are the client's work, so they are made once a subject and outside every clock. */
export function remembered<T, S extends object = Subject>(make: (subject: S) => T): (subject: S) => T {
  const made = new WeakMap<S, T>()
  return (subject) => {
    const known = made.get(subject)
    if (known !== undefined) return known
    const value = make(subject)
    made.set(subject, value)
    return value
  }
}

interface Stream {
  readonly title: string
  readonly aim: Aim
  readonly inflightMax: number
  /** Of one run of one subject. */
  readonly count: number
  /** Calls until its cost is that of the steady state. */
  readonly warmCalls: number
  readonly rounds: number
  readonly slab: (subject: Subject, count: number) => CallSlab
  readonly show: (perSecond: number) => string
  /** What a call moves; for processor time by the megabyte, 0 for processor time by the call. */
  readonly callBytes: number
  readonly cpuAim: Aim | undefined
}

async function streamRows(settings: Settings, stream: Stream): Promise<Row[]> {
  const specs = specsOf(settings)
  const slabOf = remembered((subject) => stream.slab(subject, stream.count))
  const loadOf = (subject: Subject): Load => ({
    slab: slabOf(subject),
    inflightMax: stream.inflightMax,
    timeLimitMs: RUN_LIMIT_MS,
    parse: settings.place.parsingEnds && stream.callBytes === 0,
  })
  const warmUps = warmUpsOf(settings, stream.warmCalls, stream.count)
  const outcome = await alternate(specs, settings.place, {
    rounds: stream.rounds,
    generations: generationsOf(settings, stream.rounds),
    warm: async (subject) => {
      for (let n = 0; n < warmUps; n += 1) await subject.client.throughput(loadOf(subject))
    },
    measure: (subject) => sample(subject, loadOf(subject)),
  })
  const plan = { outcome, ways: waysOf(specs) }
  const throughput = relayRows({
    ...plan,
    figure: stream.title,
    value: (one) => stream.count / one.seconds,
    show: stream.show,
    aim: stream.aim,
  })
  return [
    ...throughput.map((row) => explainMissing(row, settings)),
    ...cpuRows(settings, stream, outcome, specs),
  ]
}

export function explainMissing(row: Row, settings: Settings): Row {
  if (row.spread !== undefined || row.note !== '') return row
  return { ...row, note: proxySpec(settings.place, true) === undefined ? NOT_BUILT : 'no sample' }
}

/** The subject's processor time: by the MB where results are large, by the call where they are small. */
function cpuRows(
  settings: Settings,
  stream: Stream,
  outcome: Outcome<Sample>,
  specs: readonly SubjectSpec[],
): Row[] {
  const perMegabyte = stream.callBytes > 0
  const units = perMegabyte ? (stream.count * stream.callBytes) / MB : stream.count
  const figure = perMegabyte ? `CPU per MB, ${stream.title}` : `CPU per call, ${stream.title}`
  const aim = stream.cpuAim
  const ways = waysOf(specs).filter((way) => way !== 'direct')
  const made = relayRows({
    figure,
    outcome,
    ways,
    value: (one) => (one.cpuSeconds === undefined ? undefined : (one.cpuSeconds * 1e6) / units),
    show: (value) => `${value.toFixed(perMegabyte ? 0 : 2)} µs`,
    aim: aim ?? atMost(0),
  })
  // Direct has no process in between, so there is nothing to set the relay's time against.
  return made
    .filter((row) => row.way !== 'relay / direct')
    .map((row) => explainMissing({ ...row, direct: '', aim: row.aim && aim }, settings))
}

export const perSecond = (value: number, digits = 0): string => `${(value / 1000).toFixed(digits)}k/s`
export const megabytes =
  (size: number) =>
  (value: number): string =>
    `${((value * size) / MB).toFixed(0)} MB/s`

export const calls: Figure = (settings) =>
  streamRows(settings, {
    title: 'small calls, 64 in flight, throughput',
    aim: atLeast(0.6),
    inflightMax: 64,
    count: settings.quick ? 10_000 : 20_000,
    warmCalls: 160_000,
    rounds: roundsOf(settings, 90, 6),
    slab: smallCalls,
    show: (value) => perSecond(value),
    callBytes: 0,
    cpuAim: undefined,
  })

/** What a figure of large results does unless it is told otherwise. */
interface Usual {
  readonly rounds: number
  readonly count: number
  readonly warmCalls: number
  readonly inflightMax: number
}

const results =
  (size: number, title: string, usual: Usual): Figure =>
  (settings) =>
    streamRows(settings, {
      title,
      aim: atLeast(0.95),
      inflightMax: usual.inflightMax,
      count: settings.quick ? Math.ceil(usual.count / 4) : usual.count,
      warmCalls: usual.warmCalls,
      rounds: roundsOf(settings, usual.rounds, 5),
      slab: (subject, count) => blobCalls(subject, size, count),
      show: megabytes(size),
      callBytes: size,
      cpuAim: size === MB ? atMost(1.2) : undefined,
    })

export const results1: Figure = results(MB, '1 MB results, throughput', {
  rounds: 30,
  count: 200,
  warmCalls: 800,
  inflightMax: 4,
})
export const results10: Figure = results(10 * MB, '10 MB results, throughput', {
  rounds: 20,
  count: 20,
  warmCalls: 60,
  inflightMax: 2,
})

export const arguments1: Figure = (settings) => {
  const text = stringBody(MB, settings.place.payload)
  return streamRows(settings, {
    title: '1 MB arguments, throughput',
    aim: atLeast(0.8),
    inflightMax: 4,
    count: settings.quick ? 40 : 160,
    warmCalls: 320,
    rounds: roundsOf(settings, 30, 5),
    slab: (subject, count) => argumentCalls(subject, text, count),
    show: megabytes(MB),
    callBytes: MB,
    cpuAim: undefined,
  })
}

export const microseconds = (value: number): string => `${value.toFixed(1)} µs`
const milliseconds = (value: number) => `${(value / 1000).toFixed(2)} ms`

export const latency: Figure = async (settings) => {
  const specs = specsOf(settings)
  const count = settings.quick ? 300 : 400
  const rounds = roundsOf(settings, 90, 8)
  const warmUps = warmUpsOf(settings, 12_000, count)
  const slabOf = remembered((subject) => smallCalls(subject, count))
  const once = (subject: Subject) =>
    subject.client.latencies({ slab: slabOf(subject), inflightMax: 1, timeLimitMs: RUN_LIMIT_MS })
  const outcome = await alternate(specs, settings.place, {
    rounds,
    generations: generationsOf(settings, rounds),
    warm: async (subject) => {
      for (let n = 0; n < warmUps; n += 1) await once(subject)
    },
    measure: async (subject) => median(await once(subject)),
  })
  const made = addedRows({
    figure: "one call at a time, latency added / relay's",
    outcome,
    ways: waysOf(specs),
    value: (one) => one,
    show: microseconds,
    aim: atMost(1.3),
  })
  return made.map((row) => explainMissing(row, settings))
}

export const mixed: Figure = async (settings) => {
  const specs = specsOf(settings)
  const count = settings.quick ? 100 : 400
  const rounds = roundsOf(settings, 18, 4)
  const warmUps = warmUpsOf(settings, 800, count)
  const smallOf = remembered((subject) => smallCalls(subject, count))
  // More than the small calls can outlast: each waits for one or two of these.
  const largeOf = remembered((subject) => blobCalls(subject, MB, count * 8))
  const once = (subject: Subject) =>
    subject.client.latencies(
      { slab: smallOf(subject), inflightMax: 1, timeLimitMs: RUN_LIMIT_MS },
      { slab: largeOf(subject), inflightMax: 2, timeLimitMs: RUN_LIMIT_MS },
    )
  const outcome = await alternate(specs, settings.place, {
    rounds,
    generations: generationsOf(settings, rounds),
    warm: async (subject) => {
      for (let n = 0; n < warmUps; n += 1) await once(subject)
    },
    measure: async (subject) => percentile(await once(subject), 0.99),
  })
  const made = relayRows({
    figure: 'small calls while 1 MB results flow, p99',
    outcome,
    ways: waysOf(specs),
    value: (one) => one,
    show: milliseconds,
    aim: atMost(1.3),
  })
  return made.map((row) => explainMissing(row, settings))
}
