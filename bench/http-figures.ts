// The figures over HTTP: each way between the same ends, beside a bare node:http forwarder.

import { type Plan, alternate } from './alternate.js'
import {
  type Figure,
  MB,
  type Settings,
  blobCalls,
  medianLatency,
  megabytes,
  microseconds,
  perSecond,
  planOf,
  smallCalls,
} from './figures.js'
import { HttpClient } from './http-client.js'
import { type Aim, type Row, type RowPlan, addedRows, atLeast, atMost, relayRows } from './report.js'
import { LEGS, type Leg, type Subject, type Way, legSpecs, withHttpServer } from './subject.js'

/** A process has one client on stdio and so no session to open and end. */
const SESSION_LEGS: readonly Leg[] = ['HTTP -> stdio', 'HTTP -> HTTP']

interface Shown {
  readonly title: string
  readonly aim: Aim
  /** Against raw sockets, where they are measured. */
  readonly rawAim?: Aim
  readonly show: (value: number) => string
}

async function legRows(
  { place }: Settings,
  legs: readonly Leg[],
  plan: Plan<number>,
  { title, aim, rawAim, show }: Shown,
  rows: (plan: RowPlan<number>) => Row[],
): Promise<Row[]> {
  const made: Row[] = []
  const ways: Way[] = [
    'direct',
    'forwarder',
    'proxy',
    ...(place.other === undefined ? [] : ['other build' as const]),
  ]
  for (const leg of legs) {
    const raw = leg === 'stdio -> HTTP' ? undefined : rawAim
    const outcome = await withHttpServer(place, (url) =>
      alternate(legSpecs(place, leg, url, raw !== undefined), place, plan),
    )
    const figure = `${leg}: ${title}`
    const own = { figure, outcome, value: (one: number) => one, show, aim, base: 'forwarder', ways } as const
    made.push(...rows(raw === undefined ? own : { ...own, ways: [...ways, 'raw sockets'] }))
    if (raw === undefined) continue
    const overRaw = rows({ ...own, figure: `${figure} (raw)`, aim: raw, base: 'raw sockets' })
    made.push(...overRaw.filter(({ way }) => way !== 'forwarder'))
  }
  return made
}

export const httpCalls: Figure = (settings) => {
  const count = settings.quick ? 1_500 : 2_000
  const loadOf = smallCalls(settings, { count, inflightMax: 32 })
  const once = async (subject: Subject) => count / (await subject.client.throughput(loadOf(subject)))
  const plan = planOf(settings, { rounds: 24, quickRounds: 4, warmCalls: 20_000, count }, once)
  const shown = {
    title: 'small calls, 32 connections, throughput',
    aim: atLeast(0.75),
    rawAim: atLeast(0.8),
    show: (value: number) => perSecond(value, 1),
  }
  return legRows(settings, LEGS, plan, shown, relayRows)
}

interface Usual {
  readonly rounds: number
  readonly count: number
  readonly warmCalls: number
  readonly connections: number
}

const httpResults =
  (bytes: number, title: string, { connections, ...usual }: Usual): Figure =>
  (settings) => {
    const count = settings.quick ? Math.ceil(usual.count / 4) : usual.count
    const loadOf = blobCalls(settings.place.envelopes, bytes, { count, inflightMax: connections })
    const once = async (subject: Subject) => count / (await subject.client.throughput(loadOf(subject)))
    const plan = planOf(settings, { ...usual, quickRounds: 4, count }, once)
    return legRows(settings, LEGS, plan, { title, aim: atLeast(0.9), show: megabytes(bytes) }, relayRows)
  }

const usual1 = { rounds: 18, count: 60, warmCalls: 2_400, connections: 4 }
const usual10 = { rounds: 12, count: 8, warmCalls: 240, connections: 2 }
export const http1: Figure = httpResults(MB, '1 MB results, throughput', usual1)
export const http10: Figure = httpResults(10 * MB, '10 MB results, throughput', usual10)

export const httpLatency: Figure = (settings) => {
  const count = settings.quick ? 150 : 200
  const usual = { rounds: 60, quickRounds: 6, warmCalls: 5_000, count }
  const shown = {
    title: "one call at a time, latency added / forwarder's",
    aim: atMost(1.5),
    rawAim: atMost(1.6),
    show: microseconds,
  }
  return legRows(settings, LEGS, planOf(settings, usual, medianLatency(settings, count)), shown, addedRows)
}

export const httpSessions: Figure = (settings) => {
  const count = settings.quick ? 200 : 500
  const loadOf = smallCalls(settings, { count, inflightMax: 4 })
  const once = async (subject: Subject) => {
    if (!(subject.client instanceof HttpClient)) throw new Error('stdio has no sessions')
    return count / (await subject.client.sessions(loadOf(subject)))
  }
  const plan = planOf(settings, { rounds: 24, quickRounds: 4, warmCalls: 10_000, count }, once)
  const shown = {
    title: 'whole sessions, 4 connections',
    aim: atLeast(0.7),
    rawAim: atLeast(0.85),
    show: (value: number) => `${value.toFixed(0)}/s`,
  }
  return legRows(settings, SESSION_LEGS, plan, shown, relayRows)
}
