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
  proxySpecs,
  relaySpec,
} from './subject.js'
import {
  type Envelope,
  SMALL_ANSWER_BYTES,
  blobCall,
  resultBytes,
  smallCallsOf,
  stringBody,
  textCall,
} from './wire.js'

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
}

export type Figure = (settings: Settings) => Promise<Row[]>

function specsOf({ place }: Settings): SubjectSpec[] {
  return [directSpec(), relaySpec(), ...proxySpecs(place)]
}

function waysOf(specs: readonly SubjectSpec[]): Way[] {
  return specs.map((spec) => spec.way)
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

export interface Sample {
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

export function smallCalls({ place }: Settings, subject: Subject, count: number): CallSlab {
  return new CallSlab(smallCallsOf(place.envelopes, subject.tool('echo')), count, SMALL_ANSWER_BYTES)
}

export function blobCalls(
  envelopes: readonly Envelope[],
  subject: Subject,
  { size, count }: { readonly size: number; readonly count: number },
): CallSlab {
  const forms = envelopes.map((envelope) => blobCall(envelope, subject.tool('blob'), size))
  return new CallSlab(forms, count, resultBytes(size))
}

function argumentCalls({ place }: Settings, subject: Subject, text: Buffer, count: number): CallSlab {
  const forms = place.envelopes.map((envelope) => textCall(envelope, subject.tool('swallow'), text))
  return new CallSlab(forms, count, resultBytes(LENGTH_DIGITS))
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

/** One row of a figure of throughput; those of one figure are measured in the same rounds. */
interface Stream {
  readonly title: string
  readonly aim: Aim
  readonly inflightMax: number
  /** Of one run of one subject. */
  readonly count: number
  /** Unmeasured runs of a fresh subject until its cost is that of the steady state. */
  readonly warmUps: number
  readonly slab: (subject: Subject) => CallSlab
  readonly show: (perSecond: number) => string
  /** What a call moves; for processor time by the megabyte, 0 for processor time by the call. */
  readonly callBytes: number
  readonly cpuAim: Aim | undefined
}

interface Streams {
  readonly specs: readonly SubjectSpec[]
  readonly outcome: Outcome<ReadonlyMap<Stream, Sample>>
}

async function measureStreams(
  settings: Settings,
  streams: readonly Stream[],
  rounds: number,
): Promise<Streams> {
  const specs = specsOf(settings)
  const loadsOf = remembered(
    (subject: Subject) =>
      new Map<Stream, Load>(
        streams.map((stream) => [
          stream,
          {
            slab: stream.slab(subject),
            inflightMax: stream.inflightMax,
            timeLimitMs: RUN_LIMIT_MS,
          },
        ]),
      ),
  )
  const outcome = await alternate(specs, settings.place, {
    rounds,
    generations: generationsOf(settings, rounds),
    warm: async (subject) => {
      for (const [stream, load] of loadsOf(subject))
        for (let n = 0; n < stream.warmUps; n += 1) await subject.client.throughput(load)
    },
    measure: async (subject) => {
      const samples = new Map<Stream, Sample>()
      for (const [stream, load] of loadsOf(subject)) samples.set(stream, await sample(subject, load))
      return samples
    },
  })
  return { specs, outcome }
}

async function streamRows(settings: Settings, streams: readonly Stream[], rounds: number): Promise<Row[]> {
  const measured = await measureStreams(settings, streams, rounds)
  return streams.flatMap((stream) => [...throughputRows(stream, measured), ...cpuRows(stream, measured)])
}

function throughputRows(stream: Stream, { specs, outcome }: Streams): Row[] {
  return relayRows({
    outcome,
    ways: waysOf(specs),
    figure: stream.title,
    value: (samples) => {
      const one = samples.get(stream)
      return one === undefined ? undefined : stream.count / one.seconds
    },
    show: stream.show,
    aim: stream.aim,
  })
}

/** Microseconds of the subject's processor time: by the MB where a call moves much, else by the call. */
function cpuOf(stream: Stream, samples: ReadonlyMap<Stream, Sample>): number | undefined {
  const seconds = samples.get(stream)?.cpuSeconds
  const units = stream.callBytes > 0 ? (stream.count * stream.callBytes) / MB : stream.count
  return seconds === undefined ? undefined : (seconds * 1e6) / units
}

function cpuRows(stream: Stream, { specs, outcome }: Streams): Row[] {
  const perMegabyte = stream.callBytes > 0
  const aim = stream.cpuAim
  const made = relayRows({
    figure: `CPU per ${perMegabyte ? 'MB' : 'call'}, ${stream.title}`,
    outcome,
    ways: waysOf(specs).filter((way) => way !== 'direct'),
    value: (samples) => cpuOf(stream, samples),
    show: (value) => `${value.toFixed(perMegabyte ? 0 : 2)} µs`,
    aim: aim ?? atMost(0),
  })
  // Direct has no process in between, so there is nothing to set the relay's time against.
  return made
    .filter((row) => row.way !== 'relay / direct')
    .map((row) => ({ ...row, direct: '', aim: row.aim && aim }))
}

export const perSecond = (value: number, digits = 0): string => `${(value / 1000).toFixed(digits)}k/s`
export const megabytes =
  (size: number) =>
  (value: number): string =>
    `${((value * size) / MB).toFixed(0)} MB/s`

export const calls: Figure = (settings) => {
  const count = settings.quick ? 10_000 : 20_000
  const stream: Stream = {
    title: 'small calls, 64 in flight, throughput',
    aim: atLeast(0.6),
    inflightMax: 64,
    count,
    warmUps: warmUpsOf(settings, 160_000, count),
    slab: (subject) => smallCalls(settings, subject, count),
    show: (value) => perSecond(value),
    callBytes: 0,
    cpuAim: undefined,
  }
  return streamRows(settings, [stream], roundsOf(settings, 90, 6))
}

/** What a figure of large results does unless it is told otherwise. */
interface Usual {
  readonly rounds: number
  readonly count: number
  readonly warmCalls: number
  readonly inflightMax: number
}

const results =
  (size: number, title: string, usual: Usual): Figure =>
  (settings) => {
    const count = settings.quick ? Math.ceil(usual.count / 4) : usual.count
    const streams = settings.place.envelopes.map((envelope): Stream => ({
      title: `${title}, ${envelope}, throughput`,
      aim: atLeast(0.95),
      inflightMax: usual.inflightMax,
      count,
      warmUps: warmUpsOf(settings, usual.warmCalls, count),
      slab: (subject) => blobCalls([envelope], subject, { size, count }),
      show: megabytes(size),
      callBytes: size,
      cpuAim: size === MB ? atMost(1.2) : undefined,
    }))
    return streamRows(settings, streams, roundsOf(settings, usual.rounds, 5))
  }

export const results1: Figure = results(MB, '1 MB results', {
  rounds: 30,
  count: 200,
  warmCalls: 800,
  inflightMax: 4,
})
export const results10: Figure = results(10 * MB, '10 MB results', {
  rounds: 20,
  count: 20,
  warmCalls: 60,
  inflightMax: 2,
})

export const arguments1: Figure = (settings) => {
  const text = stringBody(MB)
  const count = settings.quick ? 40 : 160
  const stream: Stream = {
    title: '1 MB arguments, throughput',
    aim: atLeast(0.8),
    inflightMax: 4,
    count,
    warmUps: warmUpsOf(settings, 320, count),
    slab: (subject) => argumentCalls(settings, subject, text, count),
    show: megabytes(MB),
    callBytes: MB,
    cpuAim: undefined,
  }
  return streamRows(settings, [stream], roundsOf(settings, 30, 5))
}

export const microseconds = (value: number): string => `${value.toFixed(1)} µs`
const milliseconds = (value: number) => `${(value / 1000).toFixed(2)} ms`

export const latency: Figure = async (settings) => {
  const specs = specsOf(settings)
  const count = settings.quick ? 300 : 400
  const rounds = roundsOf(settings, 90, 8)
  const warmUps = warmUpsOf(settings, 12_000, count)
  const slabOf = remembered((subject) => smallCalls(settings, subject, count))
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
  return addedRows({
    figure: "one call at a time, latency added / relay's",
    outcome,
    ways: waysOf(specs),
    value: (one) => one,
    show: microseconds,
    aim: atMost(1.3),
  })
}

export const mixed: Figure = async (settings) => {
  const specs = specsOf(settings)
  const count = settings.quick ? 100 : 400
  const rounds = roundsOf(settings, 18, 4)
  const warmUps = warmUpsOf(settings, 800, count)
  const smallOf = remembered((subject) => smallCalls(settings, subject, count))
  // More than the small calls can outlast: each waits for one or two of these.
  const largeOf = remembered((subject) =>
    blobCalls(settings.place.envelopes, subject, { size: MB, count: count * 8 }),
  )
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
  return relayRows({
    figure: 'small calls while 1 MB results flow, p99',
    outcome,
    ways: waysOf(specs),
    value: (one) => one,
    show: milliseconds,
    aim: atMost(1.3),
  })
}
