// Cold start and idle memory of what listens, each over an empty Node process.

import { type Figure, type Settings, roundsOf } from './figures.js'
import {
  HttpProcess,
  type HttpSpec,
  freePort,
  httpForwarderSpec,
  httpProxySpec,
  httpServerSpec,
  withHttpServer,
} from './http-subject.js'
import { residentBytes } from './process-facts.js'
import { type Aim, type Row, atMost } from './report.js'
import {
  EMPTY,
  IDLE_MS,
  MIB,
  Measurements,
  type Measurable,
  type Round,
  SERVER,
  emptySpec,
  residentOnce,
  startOnce,
} from './start.js'
import { roundOrder } from './statistics.js'

interface Candidate extends Measurable {
  /** Undefined for the empty process. */
  readonly spec: HttpSpec | undefined
}

function candidates({ place }: Settings, url: string, aim: Aim): Candidate[] {
  const list: Candidate[] = [
    { title: EMPTY, spec: undefined, aim: undefined },
    { title: SERVER, spec: httpServerSpec, aim: undefined },
  ]
  for (const [leg, to] of [
    ['HTTP -> stdio', undefined],
    ['HTTP -> HTTP', url],
  ] as const) {
    const base = `forwarder, ${leg}`
    list.push({ title: base, spec: httpForwarderSpec(to), aim: undefined, base })
    list.push({ title: `proxy, ${leg}`, spec: httpProxySpec(place, to), aim, base })
  }
  return list
}

/** Starts it, waits for the first answer of `/health`, and has `facts` told of it. */
async function healthyOnce<T>(
  spec: HttpSpec,
  settings: Settings,
  facts: (running: HttpProcess, began: number) => T | Promise<T>,
): Promise<T> {
  const port = await freePort()
  const began = performance.now()
  const running = HttpProcess.start(spec.argv, settings.place, port)
  try {
    await running.healthy()
    return await facts(running, began)
  } catch (error) {
    throw new Error(running.explain(error), { cause: error })
  } finally {
    await running.close()
  }
}

function startCandidate({ title, spec, aim }: Candidate, settings: Settings): Promise<number> {
  if (spec === undefined) return startOnce({ title, aim, spec: emptySpec(settings) }, settings)
  return healthyOnce(spec, settings, (_, began) => performance.now() - began)
}

function residentCandidate({ title, spec, aim }: Candidate, settings: Settings): Promise<number | undefined> {
  if (spec === undefined) return residentOnce({ title, aim, spec: emptySpec(settings) }, settings)
  return healthyOnce(spec, settings, async ({ pid }) => {
    await new Promise((resolve) => setTimeout(resolve, IDLE_MS))
    const bytes = residentBytes(pid)
    return bytes === undefined ? undefined : bytes / MIB
  })
}

export const httpStart: Figure = (settings) =>
  withHttpServer(settings.place, async (url): Promise<Row[]> => {
    const aim = atMost(100, 'ms')
    const list = candidates(settings, url, aim)
    const measurements = new Measurements()
    const once = (candidate: Candidate, round: Round) =>
      measurements.guard(candidate, round, () => startCandidate(candidate, settings))
    for (const candidate of list) await once(candidate, new Map())
    for (let n = 0; n < roundsOf(settings, 20, 4); n += 1) {
      const round: Round = new Map()
      for (const candidate of roundOrder(list, n)) await once(candidate, round)
      measurements.rounds.push(round)
    }
    const figure = 'HTTP: cold start to the first answer of /health, over an empty Node process'
    return measurements.rows(figure, list, 'ms')
  })

export const httpMemory: Figure = (settings) =>
  withHttpServer(settings.place, async (url): Promise<Row[]> => {
    const aim = atMost(16, 'MB')
    const list = candidates(settings, url, aim)
    const measurements = new Measurements()
    for (let n = 0; n < roundsOf(settings, 6, 1); n += 1) {
      const round: Round = new Map()
      // All at once: an idle neighbour changes nothing in another's resident pages.
      const once = (candidate: Candidate) =>
        measurements.guard(candidate, round, () => residentCandidate(candidate, settings))
      await Promise.all(list.map(once))
      measurements.rounds.push(round)
    }
    const figure = 'HTTP: resident memory at idle, over an empty Node process'
    return measurements.rows(figure, list, 'MB')
  })
