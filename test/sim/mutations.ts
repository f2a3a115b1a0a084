// A faulty proxy for each checker of the simulator, which proves that the checker can fail. The faults are in
// messages and system calls at the edge of the proxy (`wrong.ts`), so no mutation depends on the sources.

import { type Check, checks } from './checks.js'
import { type RunKind, kinds } from './draw-kind.js'
import { at, parse, rawId, rawToken, textAt } from './json.js'
import { plainClient, plainPlan, plainServer, roomyLimits } from './plain-plan.js'
import { ALIEN, type Op, type Plan } from './plan.js'
import type { ServerWay, Way, Wrong } from './wrong.js'

interface Mutation {
  readonly finds: Check
  /** The runs that detect the fault: drawn ones, or this plan. */
  readonly kind: RunKind
  readonly plan: Plan | undefined
  readonly wrong: MadeWrong
}

type MadeWrong = () => Wrong

const CANCELLED = 'notifications/cancelled'
const UPDATED = 'notifications/resources/updated'
const URI = '{"uri":"sim://s0/none"}'
const TOOLS = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
const QUESTION = '{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}'
const ASKED = '{"resultType":"input_required","inputRequests":{"q1":{"method":"roots/list"}}}'
const LATE_MS = 5000
const HOUR_MS = 3_600_000

const methodOf = (text: string): string | undefined => textAt(parse(text), 'method')
const isResponse = (text: string): boolean =>
  text.startsWith('{') && methodOf(text) === undefined && rawId(text) !== undefined
const isResult = (text: string): boolean => isResponse(text) && at(parse(text), 'result') !== undefined
const isListOfTools = (text: string): boolean =>
  isResponse(text) && Array.isArray(at(parse(text), 'result', 'tools'))
const isProgress = (text: string): boolean => rawToken(text) !== undefined

function noNetwork(): never {
  throw new Error('no network')
}

type Change<W = Way> = (text: string, way: W) => void

function toClients(isMeant: (text: string) => boolean, change: Change): MadeWrong {
  return () => ({ toClient: (text, way) => (isMeant(text) ? change(text, way) : way.pass(text)) })
}

function toServers(method: string, change: Change<ServerWay>): MadeWrong {
  return () => ({
    toServer: (text, way) => (methodOf(text) === method ? change(text, way) : way.pass(text)),
  })
}

const toCalls = (change: Change<ServerWay>): MadeWrong => toServers('tools/call', change)

function withId(text: string, id: string): string {
  return text.replace(/"id":("(?:[^"\\]|\\.)*"|[-+.\deE]+)/, () => `"id":${id}`)
}

const lost: Change = () => {}
const late: Change = (text, way) => way.pass(text, LATE_MS)
const twice: Change = (text, way) => {
  way.pass(text)
  way.pass(text)
}
const edited =
  (from: string | RegExp, to: string): Change =>
  (text, way) =>
    way.pass(text.replace(from, to))
const withMore =
  (more: string | ((text: string) => string), count = 1): Change =>
  (text, way) => {
    way.pass(text)
    for (let sent = 0; sent < count; sent++) way.pass(typeof more === 'string' ? more : more(text))
  }
const answered =
  (rest: string): Change<ServerWay> =>
  (text, { reply }) =>
    reply(`{"jsonrpc":"2.0","id":${rawId(text)},${rest}}`)
const emptied: Change = (text, { pass }) =>
  pass(`{"jsonrpc":"2.0","id":${rawId(text)},"result":{"tools":[]}}`)

/** Gives each result the body of the one before it. `keyOf` groups the results. */
function shifted(keyOf: (way: Way) => string): Change {
  const before = new Map<string, string>()
  return (text, way) => {
    if (!isResult(text)) return way.pass(text)
    const last = before.get(keyOf(way)) ?? text
    before.set(keyOf(way), text)
    way.pass(withId(last, rawId(text) ?? ''))
  }
}

function counted(every: number): () => boolean {
  let count = 0
  return () => ++count % every === 0
}

/** Delays the messages that `isLate` selects. `isOdd` is true at every other call. */
function delayed(
  side: 'toClient' | 'toServer',
  isLate: (text: string, isOdd: () => boolean) => boolean,
  delayMs: number,
): MadeWrong {
  return () => {
    const isOdd = counted(2)
    return { [side]: (text: string, way: Way) => way.pass(text, isLate(text, isOdd) ? delayMs : undefined) }
  }
}

function fromClients(from: string | RegExp, to: string): MadeWrong {
  return () => ({ fromClient: (text) => text.replace(from, to) })
}

/** `first` changes the first selected message to each client, and `change` the later ones. */
function onceEach(isMeant: (text: string) => boolean, first: Change, change: Change): MadeWrong {
  return () => {
    const seen = new Set<string>()
    return {
      toClient: (text, way) => {
        if (!isMeant(text)) return way.pass(text)
        if (seen.has(way.to)) return change(text, way)
        seen.add(way.to)
        first(text, way)
      },
    }
  }
}

const passed: Change = (text, way) => way.pass(text)
const anything = (): boolean => true

const attach: Op = { gapMs: 1, kind: 'attach', client: 0 }
const echo = { kind: 'echo', ms: 1, n: 1 } as const
const callOften = { gapMs: 200, kind: 'call', client: 0, server: 0, work: echo, spelling: 'number' } as const
const pingOften = { gapMs: 50, kind: 'ping', client: 0 } as const

const unreadClient: Plan = plainPlan({
  servers: [plainServer('s0')],
  clients: [plainClient('c0', { output: { chunkMax: 512, delayMsMax: 0, capacity: 512 } })],
  limits: { ...roomyLimits, lineBytesMax: 4096, backlogBytesHigh: 2048, backlogBytesMax: 8192 },
  ops: [
    attach,
    { gapMs: 100, kind: 'pause', client: 0 },
    ...Array.from({ length: 300 }, (): Op => ({ ...callOften, gapMs: 2 })),
  ],
})

const lostProgram: Plan = plainPlan({
  servers: [plainServer('s0')],
  ops: [
    attach,
    callOften,
    { gapMs: 100, kind: 'fault', server: 0, fault: 'enoent-on-restart', seconds: 60 },
    ...Array.from({ length: 50 }, () => callOften),
  ],
})

function atTwo(ops: readonly Op[]): Plan {
  const shape = { sse: false, session: true, listens: false, resumes: false, chunked: false, idleMax: 0 }
  const http = { ...shape, accept: 'application/json, text/event-stream', againMs: 50, token: 'u0' }
  return plainPlan({
    servers: [plainServer('s0', { timeoutMs: 5000, faulty: false })],
    clients: [plainClient('c0', { capabilities: ['sampling'], http, patienceMs: 5000 })],
    instances: { count: 2, delayMsMax: 1 },
    ops: [attach, { ...pingOften, gapMs: 2000 }, ...ops, { ...pingOften, gapMs: 2500 }],
  })
}

const keepsClients = (): Wrong => ({
  proxy: (proxy) => ({
    attach: async (connection, origin) => ({
      ...(await proxy.attach(connection, origin)),
      ended: new Promise(() => {}),
    }),
  }),
})

const startsNothing = (): Wrong => ({
  runtime: (runtime) => {
    const endsAt = runtime.now() + 1000
    return {
      spawn: (spec) => {
        if (runtime.now() > endsAt) throw new Error('EAGAIN')
        return runtime.spawn(spec)
      },
    }
  },
})

/** `countOf` maps the number of earlier starts to the number of processes of this start. */
function spawns(countOf: (before: number) => number): MadeWrong {
  return () => {
    let before = 0
    return {
      runtime: (runtime) => ({
        spawn: (spec) => {
          for (let count = countOf(before++); count > 1; count--) runtime.spawn(spec)
          return runtime.spawn(spec)
        },
      }),
    }
  }
}

const endsNoProcess = (): Wrong => ({
  runtime: (runtime) => ({
    spawn: (spec) => {
      const child = runtime.spawn(spec)
      child.stdin.end = () => child.stdin
      child.stdin.destroy = () => child.stdin
      child.signal = () => true
      return child
    },
  }),
})

const connectsTwice = (): Wrong => ({
  runtime: ({ connect = noNetwork }) => ({
    connect: (to) => {
      connect(to).on('error', () => {})
      return connect(to)
    },
  }),
})

function timers(besides: (setTimer: (ms: number) => void) => void): MadeWrong {
  return () => ({
    runtime: (runtime) => ({
      setTimer: (delayMs, fire) => {
        besides((ms) => runtime.setTimer(ms, () => {}))
        return runtime.setTimer(delayMs, fire)
      },
    }),
  })
}

const throwsInTimers = (): Wrong => ({
  runtime: (runtime) => ({
    setTimer: (delayMs) =>
      runtime.setTimer(delayMs, () => {
        throw new Error('mutation')
      }),
  }),
})

const forgetsSessions = (): Wrong => {
  const isTime = counted(10)
  return { status: (status) => (status === 200 && isTime() ? 404 : status) }
}

/** Sends the answer of a client to the wrong instance. */
const toOtherInstance = (): Wrong => ({
  fromClient: (text) => text.replace(/"id":"i([01])\./, (_, to) => `"id":"i${1 - Number(to)}.`),
})

const keepsStreams = (): Wrong => ({
  stream: (stream) => {
    stream.destroy = () => stream
  },
})

const tellsTwice = (): Wrong => ({
  proxy: (proxy) => ({
    on: (name, listener) => {
      proxy.on(name, listener)
      return proxy.on(name, listener)
    },
  }),
})

const rows: Readonly<Partial<Record<RunKind, Readonly<Partial<Record<Check, MadeWrong>>>>>> = {
  plain: {
    // Answers.
    'answered-twice': toClients(isResponse, twice),
    lost: toClients((text) => isResponse(text) && !isResult(text), lost),
    late: toClients(isResponse, late),
    'after-cancel': fromClients('"notifications/cancelled"', '"notifications/none"'),
    unasked: toClients(isResponse, (text, way) => way.pass(withId(text, '"x"'))),
    'wrong-answer': () => ({ toClient: shifted(({ to }) => to) }),
    foreign: () => ({ toClient: shifted(() => 'all') }),
    'made-up': toCalls(answered('"result":{"content":[]}')),
    'needless-error': toCalls(answered('"error":{"code":-32603,"message":"no"}')),
    'bad-timeout': toClients(isResponse, edited('"budget":', '"of":')),
    'bad-batch': toClients((text) => text.startsWith('['), edited(/,\{"jsonrpc"/g, ', {"jsonrpc"')),
    'bad-line': toClients(anything, edited('"jsonrpc":"2.0"', '"jsonrpc":"1.0"')),

    // Execution.
    'executed-twice': toCalls(withMore((text) => withId(text, '"again"'))),
    'id-reused': toCalls(twice),
    'begun-in-vain': toCalls(late),
    altered: toCalls(edited('"arguments":{', '"arguments":{ ')),
    invented: toCalls(withMore((text) => withId(text.replaceAll('n:c', 'n:z'), '"more"'))),
    'not-cancelled': toServers(CANCELLED, lost),
    'cancelled-twice': toServers(CANCELLED, twice),
    'call-order': delayed('toServer', (text, isOdd) => methodOf(text) === 'tools/call' && isOdd(), 100),
    'gone-tool': toCalls(edited('"name":"work"', '"name":"play"')),

    // Messages that are not answers.
    'late-progress': delayed('toClient', (text) => !isResponse(text), 200),
    order: delayed('toClient', (_, isOdd) => isOdd(), 50),
    'progress-order': toClients(isProgress, twice),
    'wrong-token': toClients(isProgress, edited('"progressToken":', '"progressToken":1')),
    'stray-answer': () => ({ toServer: (text, way) => (isResponse(text) ? twice : passed)(text, way) }),
    'foreign-answer': () => ({ toServer: shifted(() => 'all') }),
    'not-declared': toClients(isResult, withMore(QUESTION)),
    'not-followed': toClients(isResult, withMore(`{"jsonrpc":"2.0","method":"${UPDATED}","params":${URI}}`)),
    'not-updated': toClients((text) => methodOf(text) === UPDATED, lost),

    // Lists.
    'needless-change': onceEach(anything, withMore(TOOLS), passed),
    'too-many-changes': toClients(isListOfTools, withMore(TOOLS, 50)),
    'shrunk-list': onceEach(isListOfTools, passed, emptied),
    'stale-list': toClients(isListOfTools, emptied),
    'foreign-list': toClients(isListOfTools, edited('"tools":[', `"tools":[{"name":"${ALIEN}"},`)),
    'missing-list': () => ({
      proxy: (proxy) => ({ status: () => proxy.status().map((each) => ({ ...each, tools: 0 })) }),
    }),

    // Limits.
    miscounted: tellsTwice,
    'bad-log': () => ({ log: (line) => `\u001b${line}` }),
    backlog: () => ({ limits: () => ({ ...roomyLimits, backlogBytesHigh: 2 ** 30 }) }),
    processes: () => ({ limits: (limits) => ({ ...limits, processesMax: 1000 }) }),
    'needless-process': spawns(() => 2),
    // Each start after the first starts ten processes.
    'start-storm': spawns((before) => (before === 0 ? 1 : 10)),

    // Recovery, and the end.
    'not-recovered': startsNothing,
    'not-ready': startsNothing,
    'not-closed': () => ({ proxy: () => ({ close: () => new Promise(() => {}) }) }),
    'left-child': endsNoProcess,
    'left-socket': connectsTwice,
    'left-timer': timers((setTimer) => setTimer(HOUR_MS)),
    'left-client': keepsClients,
    'left-stream': keepsStreams,
    fault: () => ({ record: (record) => ({ ...record, message: 'handling a message failed' }) }),
    thrown: throwsInTimers,
    'real-time': timers(() => setTimeout(() => {}, 1)),
    'not-audited': () => ({ audit: () => [] }),
    'wrong-audit': () => ({ audit: (line) => [line, line] }),
    unconfirmed: fromClients(/"action":"(?:decline|cancel)"/, '"action":"accept"'),
    'asked-in-vain': toClients((text) => text.includes('Allow this call'), twice),
  },
  http: {
    'event-twice': () => ({ event: (event) => [event, event] }),
    'session-lost': forgetsSessions,
    'left-session': keepsClients,
  },
  eras: {
    'made-up': toCalls(answered(`"result":${ASKED}`)),
    'left-parked': toServers(CANCELLED, lost),
    'foreign-state': () => ({ toServer: edited('"requestState":"', '"requestState":"x') }),
    'wrong-era': () => ({ toServer: edited(/modelcontextprotocol\/protocolVersion/g, 'none') }),
    'wrong-form': () => ({ toClient: edited('"resultType":"complete",', '') }),
    // A server must be asked only after the acknowledgement.
    'early-ack': toServers('resources/subscribe', answered('"result":{}')),
  },
  'http-eras': { 'wrong-head': () => ({ rightHeads: true }) },
  'instances-2': {
    'ended-session': () => ({ tellsNobody: true }),
    'stolen-session': () => ({ trustsIds: true }),
    'answer-lost': toOtherInstance,
  },
}

const plans: Readonly<Partial<Record<Check, Plan>>> = {
  backlog: unreadClient,
  'start-storm': lostProgram,
  'ended-session': atTwo([
    ...Array.from({ length: 12 }, () => pingOften),
    { gapMs: 500, kind: 'finish', client: 0 },
  ]),
  'answer-lost': atTwo([{ ...callOften, work: { kind: 'ask', ms: 1, n: 1 } }]),
}

const isCheck = (name: string): name is Check => Object.hasOwn(checks, name)

export const mutations: readonly Mutation[] = kinds.flatMap((kind) =>
  Object.entries(rows[kind] ?? {}).flatMap(([finds, wrong]) =>
    isCheck(finds) ? [{ finds, kind, plan: plans[finds], wrong }] : [],
  ),
)
