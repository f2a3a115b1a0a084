// The figures over HTTP: each way between the same ends, beside a bare node:http forwarder.

import { type Outcome, alternate, alternateAny } from './alternate.js'
import {
  type Figure,
  MB,
  RUN_LIMIT_MS,
  type Settings,
  blobCalls,
  generationsOf,
  megabytes,
  microseconds,
  perSecond,
  remembered,
  roundsOf,
  smallCalls,
  warmUpsOf,
} from './figures.js'
import type { HttpLoad } from './http-client.js'
import {
  HttpSubject,
  LEGS,
  type Leg,
  httpForwarderSpec,
  httpProxySpecs,
  httpRawSpec,
  httpServerSpec,
  lineSpecs,
  withHttpServer,
} from './http-subject.js'
import { type Aim, type Row, type RowPlan, addedRows, atLeast, atMost, relayRows } from './report.js'
import { median } from './statistics.js'
import type { Subject, Way } from './subject.js'
import { type AroundId, SMALL_ANSWER_BYTES, blobCall, resultBytes, smallCallsOf } from './wire.js'

const WAYS: readonly Way[] = ['direct', 'forwarder', 'proxy']

function waysOf({ place }: Settings, more: readonly Way[] = []): readonly Way[] {
  return [...WAYS, ...more, ...(place.other === undefined ? [] : (['other build'] as const))]
}
/** A process has one client on stdio and so no session to open and end. */
const SESSION_LEGS: readonly Leg[] = ['HTTP -> stdio', 'HTTP -> HTTP']

/** The same work for a client on HTTP and one on stdio; gives one number a round. */
interface Task {
  readonly rounds: number
  readonly warmUps: number
  /** Whether the HTTP front is set against raw sockets too. */
  readonly hasRaw: boolean
  readonly overHttp: (subject: HttpSubject) => Promise<number>
  readonly overLines: (subject: Subject) => Promise<number>
}

function measureLeg(settings: Settings, leg: Leg, task: Task): Promise<Outcome<number>> {
  return withHttpServer(settings.place, (url) => {
    if (leg === 'stdio -> HTTP') {
      const plan = planOf(settings, task, task.overLines)
      return alternate(lineSpecs(settings.place, url), settings.place, plan)
    }
    const to = leg === 'HTTP -> stdio' ? undefined : url
    const specs = [httpServerSpec, httpForwarderSpec(to)]
    if (task.hasRaw) specs.push(httpRawSpec(to))
    specs.push(...httpProxySpecs(settings.place, to))
    const plan = planOf(settings, task, task.overHttp)
    return alternateAny(specs, (spec) => HttpSubject.open(spec, settings.place), plan)
  })
}

function planOf<S>(settings: Settings, { rounds, warmUps }: Task, measure: (subject: S) => Promise<number>) {
  const warm = async (subject: S) => {
    for (let n = 0; n < warmUps; n += 1) await measure(subject)
  }
  return { rounds, generations: generationsOf(settings, rounds), warm, measure }
}

interface Shown {
  readonly title: string
  readonly aim: Aim
  /** Against raw sockets, where they are measured. */
  readonly rawAim?: Aim
  readonly show: (value: number) => string
  readonly rows: (plan: RowPlan<number>) => Row[]
}

async function legRows(settings: Settings, legs: readonly Leg[], task: Task, shown: Shown): Promise<Row[]> {
  const made: Row[] = []
  for (const leg of legs) {
    const outcome = await measureLeg(settings, leg, task)
    const figure = `${leg}: ${shown.title}`
    const { show, rawAim } = shown
    const isRaw = rawAim !== undefined && leg !== 'stdio -> HTTP'
    const plan = { figure, outcome, value: (one: number) => one, show }
    const ways = waysOf(settings, isRaw ? ['raw sockets'] : [])
    const rows = shown.rows({ ...plan, ways, aim: shown.aim, base: 'forwarder' })
    if (isRaw)
      rows.push(
        ...shown
          .rows({
            ...plan,
            figure: `${figure} (raw)`,
            ways: waysOf(settings),
            aim: rawAim,
            base: 'raw sockets',
          })
          .filter(({ way }) => way !== 'forwarder'),
      )
    made.push(...rows)
  }
  return made
}

type Calls = Pick<HttpLoad, 'forms' | 'answerBytes'>

function smallHttpCalls({ place }: Settings, subject: HttpSubject): Calls {
  return { forms: smallCallsOf(place.envelopes, subject.tool('echo')), answerBytes: SMALL_ANSWER_BYTES }
}

function blobHttpCalls({ place }: Settings, subject: HttpSubject, size: number): Calls {
  const forms: AroundId[] = place.envelopes.map((envelope) => blobCall(envelope, subject.tool('blob'), size))
  return { forms, answerBytes: resultBytes(size) }
}

interface Stream extends Omit<Shown, 'rows'> {
  readonly count: number
  readonly warmCalls: number
  readonly connections: number
  readonly rounds: number
  /** 0 for small calls. */
  readonly resultSize: number
}

function streamRows(settings: Settings, stream: Stream): Promise<Row[]> {
  const { count, connections, rounds, resultSize } = stream
  const callOf = (subject: HttpSubject) =>
    resultSize === 0 ? smallHttpCalls(settings, subject) : blobHttpCalls(settings, subject, resultSize)
  const slabOf = remembered((subject) =>
    resultSize === 0
      ? smallCalls(settings, subject, count)
      : blobCalls(settings.place.envelopes, subject, { size: resultSize, count }),
  )
  const timeLimitMs = RUN_LIMIT_MS
  const overHttp = async (subject: HttpSubject) =>
    count / (await subject.client.throughput({ ...callOf(subject), count, connections, timeLimitMs }))
  const overLines = async (subject: Subject) =>
    count /
    (await subject.client.throughput({ slab: slabOf(subject), inflightMax: connections, timeLimitMs }))
  const warmUps = warmUpsOf(settings, stream.warmCalls, count)
  const task = { rounds, warmUps, hasRaw: stream.rawAim !== undefined, overHttp, overLines }
  return legRows(settings, LEGS, task, { ...stream, rows: relayRows })
}

export const httpCalls: Figure = (settings) =>
  streamRows(settings, {
    title: 'small calls, 32 connections, throughput',
    aim: atLeast(0.75),
    rawAim: atLeast(0.8),
    count: settings.quick ? 1_500 : 2_000,
    warmCalls: 20_000,
    connections: 32,
    rounds: roundsOf(settings, 24, 4),
    show: (value) => perSecond(value, 1),
    resultSize: 0,
  })

interface Usual {
  readonly rounds: number
  readonly count: number
  readonly warmCalls: number
  readonly connections: number
}

const httpResults =
  (size: number, title: string, usual: Usual): Figure =>
  (settings) =>
    streamRows(settings, {
      title,
      aim: atLeast(0.9),
      count: settings.quick ? Math.ceil(usual.count / 4) : usual.count,
      warmCalls: usual.warmCalls,
      connections: usual.connections,
      rounds: roundsOf(settings, usual.rounds, 4),
      show: megabytes(size),
      resultSize: size,
    })

export const http1: Figure = httpResults(MB, '1 MB results, throughput', {
  rounds: 18,
  count: 60,
  warmCalls: 2_400,
  connections: 4,
})
export const http10: Figure = httpResults(10 * MB, '10 MB results, throughput', {
  rounds: 12,
  count: 8,
  warmCalls: 240,
  connections: 2,
})

export const httpLatency: Figure = (settings) => {
  const count = settings.quick ? 150 : 200
  const timeLimitMs = RUN_LIMIT_MS
  const slabOf = remembered((subject) => smallCalls(settings, subject, count))
  const overHttp = async (subject: HttpSubject) => {
    const load = { ...smallHttpCalls(settings, subject), count, connections: 1, timeLimitMs }
    return median(await subject.client.latencies(load))
  }
  const overLines = async (subject: Subject) =>
    median(await subject.client.latencies({ slab: slabOf(subject), inflightMax: 1, timeLimitMs }))
  const warmUps = warmUpsOf(settings, 5_000, count)
  const task = { rounds: roundsOf(settings, 60, 6), warmUps, hasRaw: true, overHttp, overLines }
  return legRows(settings, LEGS, task, {
    title: "one call at a time, latency added / forwarder's",
    aim: atMost(1.5),
    rawAim: atMost(1.6),
    show: microseconds,
    rows: addedRows,
  })
}

const noSessions = () => Promise.reject(new Error('stdio has no sessions'))

export const httpSessions: Figure = (settings) => {
  const count = settings.quick ? 200 : 500
  const overHttp = async (subject: HttpSubject) => {
    const load = { ...smallHttpCalls(settings, subject), count, connections: 4, timeLimitMs: RUN_LIMIT_MS }
    return count / (await subject.client.sessions(load))
  }
  const warmUps = warmUpsOf(settings, 10_000, count)
  const task = { rounds: roundsOf(settings, 24, 4), warmUps, hasRaw: true, overHttp, overLines: noSessions }
  return legRows(settings, SESSION_LEGS, task, {
    title: 'whole sessions, 4 connections',
    aim: atLeast(0.7),
    rawAim: atLeast(0.85),
    show: (value) => `${value.toFixed(0)}/s`,
    rows: relayRows,
  })
}
