// The figures measured on a running connection: throughput, latency, processor time.

import { type Outcome, type Plan, alternate } from './alternate.js'
import type { Load } from './client.js'
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
/** How many digits `swallow` answers. */
const LENGTH_DIGITS = 8

/** The choices of the command line. */
export interface Settings {
  readonly place: Place
  readonly quick: boolean
  /** Undefined leaves it to the figure. */
  readonly rounds: number | undefined
}

export type Figure = (settings: Settings) => Promise<Row[]>

function specsOf({ place }: Settings): SubjectSpec[] {
  return [directSpec, relaySpec, ...proxySpecs(place)]
}

function waysOf(specs: readonly SubjectSpec[]): Way[] {
  return specs.map((spec) => spec.way)
}

export function roundsOf(settings: Settings, usual: number, quick: number): number {
  return settings.rounds ?? (settings.quick ? quick : usual)
}

/** How a figure is measured: in so many rounds, of so many calls at a time. */
interface Usual {
  readonly rounds: number
  readonly quickRounds: number
  /** How many calls it takes until the cost of one no longer falls, of whichever way takes longest. */
  readonly warmCalls: number
  readonly count: number
}

export function planOf<T>(settings: Settings, usual: Usual, once: (subject: Subject) => Promise<T>): Plan<T> {
  const rounds = roundsOf(settings, usual.rounds, usual.quickRounds)
  return {
    rounds,
    generations: settings.quick ? 1 : Math.min(3, rounds),
    warmUps: settings.quick ? 2 : Math.ceil(usual.warmCalls / usual.count),
    once,
  }
}

/** The calls for a subject, which are prepared once and outside of every clock. */
export type LoadOf = (subject: Subject) => Load

function remembered(make: LoadOf): LoadOf {
  const made = new WeakMap<Subject, Load>()
  return (subject) => {
    const load = made.get(subject) ?? make(subject)
    made.set(subject, load)
    return load
  }
}

type Size = Pick<Load, 'count' | 'inflightMax'>

export function smallCalls({ place }: Settings, size: Size): LoadOf {
  return remembered((subject) => ({
    ...size,
    forms: smallCallsOf(place.envelopes, subject.tool('echo')),
    answerBytes: SMALL_ANSWER_BYTES,
  }))
}

export function blobCalls(envelopes: readonly Envelope[], bytes: number, size: Size): LoadOf {
  return remembered((subject) => ({
    ...size,
    forms: envelopes.map((envelope) => blobCall(envelope, subject.tool('blob'), bytes)),
    answerBytes: resultBytes(bytes),
  }))
}

interface Sample {
  readonly perSecond: number
  /** Of the subject's process alone, for one call. */
  readonly cpuSeconds: number | undefined
}

/** One throughput run with the subject's processor time beside it. */
async function sample(subject: Subject, load: Load): Promise<Sample> {
  const before = cpuSeconds(subject.pid)
  const seconds = await subject.client.throughput(load)
  const after = cpuSeconds(subject.pid)
  return {
    perSecond: load.count / seconds,
    cpuSeconds: before === undefined || after === undefined ? undefined : (after - before) / load.count,
  }
}

/** One row of a figure of throughput; those of one figure are measured in the same rounds. */
interface Stream {
  readonly title: string
  readonly aim: Aim
  readonly loadOf: LoadOf
  readonly show: (perSecond: number) => string
  /** The bytes that a call moves, for processor time by the megabyte; 0 for processor time by the call. */
  readonly callBytes: number
  readonly cpuAim?: Aim
}

type Samples = ReadonlyMap<Stream, Sample>

async function streamRows(settings: Settings, streams: readonly Stream[], usual: Usual): Promise<Row[]> {
  const specs = specsOf(settings)
  const once = async (subject: Subject): Promise<Samples> => {
    const samples = new Map<Stream, Sample>()
    for (const stream of streams) samples.set(stream, await sample(subject, stream.loadOf(subject)))
    return samples
  }
  const outcome = await alternate(specs, settings.place, planOf(settings, usual, once))
  const ways = waysOf(specs)
  return streams.flatMap((stream) => [
    ...relayRows({
      outcome,
      ways,
      figure: stream.title,
      value: (samples) => samples.get(stream)?.perSecond,
      show: stream.show,
      aim: stream.aim,
    }),
    ...cpuRows(stream, outcome, ways),
  ])
}

/** Microseconds of the subject's processor time: by the MB where a call moves much, else by the call. */
function cpuRows(stream: Stream, outcome: Outcome<Samples>, ways: readonly Way[]): Row[] {
  const { callBytes, cpuAim } = stream
  const made = relayRows({
    figure: `CPU per ${callBytes > 0 ? 'MB' : 'call'}, ${stream.title}`,
    outcome,
    ways: ways.filter((way) => way !== 'direct'),
    value: (samples) => {
      const seconds = samples.get(stream)?.cpuSeconds
      return seconds === undefined ? undefined : (seconds * 1e6) / (callBytes > 0 ? callBytes / MB : 1)
    },
    show: (value) => `${value.toFixed(callBytes > 0 ? 0 : 2)} µs`,
    aim: cpuAim ?? atMost(0),
  })
  // Direct has no process in between, so there is nothing to set the relay's time against.
  return made
    .filter((row) => row.way !== 'relay / direct')
    .map((row) => ({ ...row, direct: '', aim: row.aim && cpuAim }))
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
    loadOf: smallCalls(settings, { count, inflightMax: 64 }),
    show: (value) => perSecond(value),
    callBytes: 0,
  }
  return streamRows(settings, [stream], { rounds: 90, quickRounds: 6, warmCalls: 160_000, count })
}

const results =
  (bytes: number, title: string, usual: Usual, inflightMax: number): Figure =>
  (settings) => {
    const count = settings.quick ? Math.ceil(usual.count / 4) : usual.count
    const streams = settings.place.envelopes.map((envelope): Stream => ({
      title: `${title}, ${envelope}, throughput`,
      aim: atLeast(0.95),
      loadOf: blobCalls([envelope], bytes, { count, inflightMax }),
      show: megabytes(bytes),
      callBytes: bytes,
      ...(bytes === MB && { cpuAim: atMost(1.2) }),
    }))
    return streamRows(settings, streams, { ...usual, count })
  }

const usual1 = { rounds: 30, quickRounds: 5, count: 200, warmCalls: 800 }
const usual10 = { rounds: 20, quickRounds: 5, count: 20, warmCalls: 60 }
export const results1: Figure = results(MB, '1 MB results', usual1, 4)
export const results10: Figure = results(10 * MB, '10 MB results', usual10, 2)

export const arguments1: Figure = (settings) => {
  const text = stringBody(MB)
  const count = settings.quick ? 40 : 160
  const stream: Stream = {
    title: '1 MB arguments, throughput',
    aim: atLeast(0.8),
    loadOf: remembered((subject) => ({
      forms: settings.place.envelopes.map((envelope) => textCall(envelope, subject.tool('swallow'), text)),
      answerBytes: resultBytes(LENGTH_DIGITS),
      count,
      inflightMax: 4,
    })),
    show: megabytes(MB),
    callBytes: MB,
  }
  return streamRows(settings, [stream], { rounds: 30, quickRounds: 5, warmCalls: 320, count })
}

export const microseconds = (value: number): string => `${value.toFixed(1)} µs`

/** The median of small calls, one at a time. */
export function medianLatency(settings: Settings, count: number): (subject: Subject) => Promise<number> {
  const loadOf = smallCalls(settings, { count, inflightMax: 1 })
  return async (subject) => median(await subject.client.latencies(loadOf(subject)))
}

export const latency: Figure = async (settings) => {
  const specs = specsOf(settings)
  const count = settings.quick ? 300 : 400
  const usual = { rounds: 90, quickRounds: 8, warmCalls: 12_000, count }
  const plan = planOf(settings, usual, medianLatency(settings, count))
  return addedRows({
    figure: "one call at a time, latency added / relay's",
    outcome: await alternate(specs, settings.place, plan),
    ways: waysOf(specs),
    value: (one) => one,
    show: microseconds,
    aim: atMost(1.3),
  })
}

export const mixed: Figure = async (settings) => {
  const specs = specsOf(settings)
  const count = settings.quick ? 100 : 400
  const smallOf = smallCalls(settings, { count, inflightMax: 1 })
  // More than the small calls can outlast: each waits for one or two of these.
  const largeOf = blobCalls(settings.place.envelopes, MB, { count: count * 8, inflightMax: 2 })
  const once = async (subject: Subject): Promise<number> =>
    percentile(await subject.client.latencies(smallOf(subject), largeOf(subject)), 0.99)
  const plan = planOf(settings, { rounds: 18, quickRounds: 4, warmCalls: 800, count }, once)
  return relayRows({
    figure: 'small calls while 1 MB results flow, p99',
    outcome: await alternate(specs, settings.place, plan),
    ways: waysOf(specs),
    value: (one) => one,
    show: (value) => `${(value / 1000).toFixed(2)} ms`,
    aim: atMost(1.3),
  })
}
