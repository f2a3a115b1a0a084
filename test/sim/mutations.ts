// A wrong proxy for each checker of the simulator. The checker must find it, which shows that the checker can fail.
//
// The fault is made where messages and system calls leave the proxy (`wrong.ts`), so no mutation depends on the sources.

import type { Check } from './checks.js'
import type { RunKind } from './draw-kind.js'
import type { HttpPlan } from './http-requests.js'
import { at, parse, rawId, rawToken, textAt } from './json.js'
import { ALIEN, type Op, type Plan } from './plan.js'
import { plainClient, plainPlan, plainServer, roomyLimits } from './plain-plan.js'
import type { Way, Wrong } from './wrong.js'

export interface Mutation {
  /** The fault, in words. */
  readonly what: string
  readonly finds: readonly Check[]
  /** The runs that find it: drawn ones, or this one. */
  readonly kind: RunKind
  readonly plan?: Plan
  /** Made anew for each run. */
  readonly wrong: () => Wrong
}

function mutation(what: string, finds: Check | readonly Check[], wrong: () => Wrong): Mutation {
  return { what, finds: typeof finds === 'string' ? [finds] : finds, kind: 'plain', wrong }
}

const UPDATED = 'notifications/resources/updated'
const TOOLS = 'notifications/tools/list_changed'
const LATE_MS = 5000
const HOUR_MS = 3_600_000

function methodOf(text: string): string | undefined {
  return textAt(parse(text), 'method')
}

function isResponse(text: string): boolean {
  return text.startsWith('{') && methodOf(text) === undefined && rawId(text) !== undefined
}

function isResult(text: string): boolean {
  return isResponse(text) && at(parse(text), 'result') !== undefined
}

function isListOfTools(text: string): boolean {
  return isResponse(text) && Array.isArray(at(parse(text), 'result', 'tools'))
}

function noNetwork(): never {
  throw new Error('no network')
}

/** Changes one message on its way. */
type Change = (text: string, way: Way) => void

/** Changes those messages to clients that `isMeant` picks. */
function toClients(isMeant: (text: string) => boolean, change: Change): () => Wrong {
  return () => ({ toClient: (text, way) => (isMeant(text) ? change(text, way) : way.pass(text)) })
}

/** Changes the messages to servers that have this method. */
function toServers(method: string, change: Required<Wrong>['toServer']): () => Wrong {
  return () => ({
    toServer: (text, way) => (methodOf(text) === method ? change(text, way) : way.pass(text)),
  })
}

function withId(text: string, id: string): string {
  return text.replace(/"id":("(?:[^"\\]|\\.)*"|[-+.\deE]+)/, () => `"id":${id}`)
}

/** Each response gets the body of the one before it; `keyOf` groups the responses. */
function shifted(keyOf: (way: Way) => string): () => Wrong {
  return () => {
    const before = new Map<string, string>()
    return {
      toClient: (text, way) => {
        if (!isResult(text)) return way.pass(text)
        const last = before.get(keyOf(way)) ?? text
        before.set(keyOf(way), text)
        way.pass(withId(last, rawId(text) ?? ''))
      },
    }
  }
}

const twice: Change = (text, way) => {
  way.pass(text)
  way.pass(text)
}

/** True of every `every`th. */
function counted(every: number): () => boolean {
  let count = 0
  return () => ++count % every === 0
}

const answers: readonly Mutation[] = [
  mutation('every answer leaves twice', 'answered-twice', toClients(isResponse, twice)),
  mutation(
    'errors are not said',
    'lost',
    toClients(
      (text) => isResponse(text) && !isResult(text),
      () => {},
    ),
  ),
  mutation(
    'answers are late',
    'late',
    toClients(isResponse, (text, way) => way.pass(text, LATE_MS)),
  ),
  mutation('no cancellation is read', 'after-cancel', () => ({
    fromClient: (text) => text.replace('"method":"notifications/cancelled"', '"method":"notifications/none"'),
  })),
  mutation(
    'answers have an id of their own',
    'unasked',
    toClients(isResponse, (text, way) => way.pass(withId(text, '"x"'))),
  ),
  mutation(
    'a call is given the answer of the one before',
    'wrong-answer',
    shifted(({ to }) => to),
  ),
  mutation(
    'a client is given the answer of another one',
    'foreign',
    shifted(() => 'all'),
  ),
  mutation(
    'results are made up',
    'made-up',
    toServers('tools/call', (text, { reply }) =>
      reply(`{"jsonrpc":"2.0","id":${rawId(text)},"result":{"content":[]}}`),
    ),
  ),
  mutation(
    'questions are made up',
    'made-up',
    toServers('tools/call', (text, { reply }) =>
      reply(
        `{"jsonrpc":"2.0","id":${rawId(text)},"result":{"resultType":"input_required","inputRequests":{"q1":{"method":"roots/list"}}}}`,
      ),
    ),
  ),
  mutation(
    'calls are refused',
    'needless-error',
    toServers('tools/call', (text, { reply }) =>
      reply(`{"jsonrpc":"2.0","id":${rawId(text)},"error":{"code":-32603,"message":"no"}}`),
    ),
  ),
  mutation(
    'the error of a deadline does not say which',
    'bad-timeout',
    toClients(isResponse, (text, way) => way.pass(text.replace('"budget":', '"of":'))),
  ),
  mutation(
    'answers of a batch are not parted',
    'bad-batch',
    toClients(
      (text) => text.startsWith('['),
      (text, way) => way.pass(text.replaceAll(',{"jsonrpc"', ', {"jsonrpc"')),
    ),
  ),
  mutation('messages are of another version', 'bad-line', () => ({
    toClient: (text, { pass }) => pass(text.replace('"jsonrpc":"2.0"', '"jsonrpc":"1.0"')),
  })),
]

const execution: readonly Mutation[] = [
  mutation(
    'calls are sent again',
    'executed-twice',
    toServers('tools/call', (text, { pass }) => {
      pass(text)
      pass(withId(text, '"again"'))
    }),
  ),
  mutation(
    'ids are lent whether or not they are free',
    'id-reused',
    toServers('tools/call', (text, way) => twice(text, way)),
  ),
  mutation(
    'calls are begun when nobody waits any more',
    'begun-in-vain',
    toServers('tools/call', (text, { pass }) => pass(text, LATE_MS)),
  ),
  mutation(
    'arguments are written anew',
    'altered',
    toServers('tools/call', (text, { pass }) => pass(text.replace('"arguments":{', '"arguments":{ '))),
  ),
  mutation(
    'servers are asked what nobody asked',
    'invented',
    toServers('tools/call', (text, { pass }) => {
      pass(text)
      pass(withId(text.replaceAll('n:c', 'n:z'), '"more"'))
    }),
  ),
  mutation(
    'a cancellation is not passed on',
    'not-cancelled',
    toServers('notifications/cancelled', () => {}),
  ),
  mutation(
    'a cancellation is passed on twice',
    'cancelled-twice',
    toServers('notifications/cancelled', twice),
  ),
  mutation('who came first is served last', 'call-order', () => {
    const isOdd = counted(2)
    return {
      toServer: (text, { pass }) => pass(text, methodOf(text) === 'tools/call' && isOdd() ? 100 : undefined),
    }
  }),
  mutation(
    'servers are asked for tools that they do not have',
    'gone-tool',
    toServers('tools/call', (text, { pass }) => pass(text.replace('"name":"work"', '"name":"play"'))),
  ),
]

const notices: readonly Mutation[] = [
  mutation('progress comes behind the answer', 'late-progress', () => ({
    toClient: (text, { pass }) => pass(text, isResponse(text) ? undefined : 200),
  })),
  mutation('some of what is said is late', 'order', () => {
    const isOdd = counted(2)
    return { toClient: (text, { pass }) => pass(text, isOdd() ? 50 : undefined) }
  }),
  mutation(
    'progress is told twice',
    'progress-order',
    toClients((text) => rawToken(text) !== undefined, twice),
  ),
  mutation(
    'progress comes with another token',
    'wrong-token',
    toClients(
      (text) => rawToken(text) !== undefined,
      (text, { pass }) => pass(text.replace('"progressToken":', '"progressToken":1')),
    ),
  ),
  mutation('a question is answered twice', 'stray-answer', () => ({
    toServer: (text, way) => (isResponse(text) ? twice(text, way) : way.pass(text)),
  })),
  mutation('a question is given the answer of the one before', 'foreign-answer', () => {
    let before: string | undefined
    return {
      toServer: (text, { pass }) => {
        if (!isResult(text)) return pass(text)
        const last = before ?? text
        before = text
        pass(withId(last, rawId(text) ?? ''))
      },
    }
  }),
  mutation(
    'clients are asked what they cannot be asked',
    'not-declared',
    toClients(isResult, (text, { pass }) => {
      pass(text)
      pass('{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{}}')
    }),
  ),
  mutation(
    'everybody is told of resources',
    'not-followed',
    toClients(isResult, (text, { pass }) => {
      pass(text)
      pass(`{"jsonrpc":"2.0","method":"${UPDATED}","params":{"uri":"sim://s0/none"}}`)
    }),
  ),
  mutation(
    'nobody is told of resources',
    'not-updated',
    toClients(
      (text) => methodOf(text) === UPDATED,
      () => {},
    ),
  ),
]

const lists: readonly Mutation[] = [
  mutation('who never asked for a list hears of its changes', 'needless-change', () => {
    const told = new Set<string>()
    return {
      toClient: (text, { to, pass }) => {
        pass(text)
        if (told.has(to)) return
        told.add(to)
        pass(`{"jsonrpc":"2.0","method":"${TOOLS}"}`)
      },
    }
  }),
  mutation(
    'every read of a list is many changes',
    'too-many-changes',
    toClients(isListOfTools, (text, { pass }) => {
      pass(text)
      for (let count = 0; count < 50; count++) pass(`{"jsonrpc":"2.0","method":"${TOOLS}"}`)
    }),
  ),
  mutation('lists are given once', 'shrunk-list', () => {
    const given = new Set<string>()
    return {
      toClient: (text, { to, pass }) => {
        if (!isListOfTools(text) || !given.has(to)) {
          pass(text)
          if (isListOfTools(text)) given.add(to)
        } else pass(`{"jsonrpc":"2.0","id":${rawId(text)},"result":{"tools":[]}}`)
      },
    }
  }),
  mutation(
    'lists are empty',
    'stale-list',
    toClients(isListOfTools, (text, { pass }) =>
      pass(`{"jsonrpc":"2.0","id":${rawId(text)},"result":{"tools":[]}}`),
    ),
  ),
  mutation(
    'lists of others are shown',
    'foreign-list',
    toClients(isListOfTools, (text, { pass }) =>
      pass(text.replace('"tools":[', `"tools":[{"name":"${ALIEN}"},`)),
    ),
  ),
  mutation('a server without tools is said to be connected', 'missing-list', () => ({
    proxy: (proxy) => ({ status: () => proxy.status().map((each) => ({ ...each, tools: 0 })) }),
  })),
]

const plainHttp: HttpPlan = {
  sse: false,
  session: true,
  listens: false,
  resumes: false,
  accept: 'application/json, text/event-stream',
  chunked: false,
  idleMax: 0,
  againMs: 50,
}

const attach: Op = { gapMs: 1, kind: 'attach', client: 0 }

const callOften = {
  gapMs: 200,
  kind: 'call',
  client: 0,
  server: 0,
  work: { kind: 'echo', ms: 1, n: 1 },
  spelling: 'number',
} as const

const bounds: readonly Mutation[] = [
  mutation('the end of a call is told twice', 'miscounted', () => ({
    proxy: (proxy) => ({
      on: (name, listener) => {
        proxy.on(name, listener)
        return proxy.on(name, listener)
      },
    }),
  })),
  mutation('what servers log is not escaped', 'bad-log', () => ({
    log: (line) => `\u001b${line}`,
  })),
  {
    ...mutation('a client that reads nothing is kept for ever', 'backlog', () => ({
      limits: () => ({ ...roomyLimits, backlogBytesHigh: 2 ** 30 }),
    })),
    plan: plainPlan({
      servers: [plainServer('s0')],
      clients: [plainClient('c0', { output: { chunkMax: 512, delayMsMax: 0, capacity: 512 } })],
      limits: { ...roomyLimits, lineBytesMax: 4096, backlogBytesHigh: 2048, backlogBytesMax: 8192 },
      ops: [
        attach,
        { gapMs: 100, kind: 'pause', client: 0 },
        ...Array.from({ length: 300 }, (): Op => ({ ...callOften, gapMs: 2 })),
      ],
    }),
  },
  mutation('any number of processes', 'processes', () => ({
    limits: (limits) => ({ ...limits, processesMax: 1000 }),
  })),
  mutation('every process is started twice', 'needless-process', () => ({
    runtime: (runtime) => ({
      spawn: (spec) => {
        runtime.spawn(spec)
        return runtime.spawn(spec)
      },
    }),
  })),
  {
    ...mutation('each start but the first is tried ten times', 'start-storm', () => {
      let tries = 1
      return {
        runtime: (runtime) => ({
          spawn: (spec) => {
            for (let count = 1; count < tries; count++) runtime.spawn(spec)
            tries = 10
            return runtime.spawn(spec)
          },
        }),
      }
    }),
    plan: plainPlan({
      servers: [plainServer('s0')],
      ops: [
        attach,
        callOften,
        { gapMs: 100, kind: 'fault', server: 0, fault: 'enoent-on-restart', seconds: 60 },
        ...Array.from({ length: 50 }, () => callOften),
      ],
    }),
  },
]

/** The proxy never lets a client go. */
const keepsClients = (): Wrong => ({
  proxy: (proxy) => ({
    attach: async (connection, origin) => ({
      ...(await proxy.attach(connection, origin)),
      ended: new Promise(() => {}),
    }),
  }),
})

const recovery: readonly Mutation[] = [
  mutation('nothing is started after a while', ['not-recovered', 'not-ready'], () => ({
    runtime: (runtime) => {
      const endsAt = runtime.now() + 1000
      return {
        spawn: (spec) => {
          if (runtime.now() > endsAt) throw new Error('EAGAIN')
          return runtime.spawn(spec)
        },
      }
    },
  })),
  mutation('closing waits for ever', 'not-closed', () => ({
    proxy: () => ({ close: () => new Promise(() => {}) }),
  })),
  mutation('no process is ended', 'left-child', () => ({
    runtime: (runtime) => ({
      spawn: (spec) => {
        const child = runtime.spawn(spec)
        child.stdin.end = () => child.stdin
        child.stdin.destroy = () => child.stdin
        child.signal = () => true
        return child
      },
    }),
  })),
  mutation('connections are kept', 'left-socket', () => ({
    runtime: ({ connect = noNetwork }) => ({
      connect: (to) => {
        connect(to).on('error', () => {})
        return connect(to)
      },
    }),
  })),
  mutation('a timer goes on', 'left-timer', () => ({
    runtime: (runtime) => ({
      setTimer: (delayMs, fire) => {
        runtime.setTimer(HOUR_MS, () => {})
        return runtime.setTimer(delayMs, fire)
      },
    }),
  })),
  mutation('a client that has gone is not let go', 'left-client', keepsClients),
  mutation('a stream is not given back', 'left-stream', () => ({
    stream: (stream) => {
      stream.destroy = () => stream
    },
  })),
  mutation('a message cannot be handled', 'fault', () => ({
    record: (record) => ({ ...record, message: 'handling a message failed' }),
  })),
  mutation('an error in a timer', 'thrown', () => ({
    runtime: (runtime) => ({
      setTimer: (delayMs) =>
        runtime.setTimer(delayMs, () => {
          throw new Error('mutation')
        }),
    }),
  })),
  mutation('a line of the audit is lost', 'not-audited', () => ({ audit: () => [] })),
  mutation('a line of the audit is written twice', 'wrong-audit', () => ({ audit: (line) => [line, line] })),
  mutation('every answer of a user is a yes', 'unconfirmed', () => ({
    fromClient: (text) => text.replace(/"action":"(?:decline|cancel)"/, '"action":"accept"'),
  })),
  mutation(
    'a user is asked twice',
    'asked-in-vain',
    toClients((text) => text.includes('Allow this call'), twice),
  ),
  mutation('a timer of the real clock', 'real-time', () => ({
    runtime: (runtime) => ({
      setTimer: (delayMs, fire) => {
        setTimeout(() => {}, 1)
        return runtime.setTimer(delayMs, fire)
      },
    }),
  })),
]

const front: readonly Mutation[] = [
  mutation('what a stream goes on with is what was told last', 'event-twice', () => ({
    event: (event) => [event, event],
  })),
  mutation('sessions are forgotten', 'session-lost', () => {
    const isTime = counted(10)
    return { status: (status) => (status === 200 && isTime() ? 404 : status) }
  }),
  mutation('a session whose client has gone stays', 'left-session', keepsClients),
].map((each): Mutation => ({ ...each, kind: 'http' }))

const eras: readonly Mutation[] = [
  mutation(
    'a call waits for its client for ever',
    'left-parked',
    toServers('notifications/cancelled', () => {}),
  ),
  mutation('states are altered', 'foreign-state', () => ({
    toServer: (text, { pass }) => pass(text.replace('"requestState":"', '"requestState":"x')),
  })),
  mutation('servers are not told what a request is asked in', 'wrong-era', () => ({
    toServer: (text, { pass }) => pass(text.replaceAll('modelcontextprotocol/protocolVersion', 'none')),
  })),
  mutation('results have no type', 'wrong-form', () => ({
    toClient: (text, { pass }) => pass(text.replace('"resultType":"complete",', '')),
  })),
  mutation(
    'who listens is told so before servers are asked',
    'early-ack',
    toServers('resources/subscribe', (text, { reply }) =>
      reply(`{"jsonrpc":"2.0","id":${rawId(text)},"result":{}}`),
    ),
  ),
].map((each): Mutation => ({ ...each, kind: 'eras' }))

const heads: readonly Mutation[] = [
  { ...mutation('heads are not looked at', 'wrong-head', () => ({ rightHeads: true })), kind: 'http-eras' },
]

const pingOften = { gapMs: 50, kind: 'ping', client: 0 } as const

/** One client of two instances. */
function atTwo(ops: readonly Op[]): Plan {
  const http = { ...plainHttp, token: 'u0' }
  return plainPlan({
    servers: [plainServer('s0', { timeoutMs: 5000, faulty: false })],
    clients: [plainClient('c0', { capabilities: ['sampling'], http, patienceMs: 5000 })],
    instances: { count: 2, delayMsMax: 1 },
    ops: [attach, { ...pingOften, gapMs: 2000 }, ...ops, { ...pingOften, gapMs: 2500 }],
  })
}

const instances: readonly Mutation[] = [
  {
    ...mutation('no instance learns what another one was told', 'ended-session', () => ({
      tellsNobody: true,
    })),
    plan: atTwo([...Array.from({ length: 12 }, () => pingOften), { gapMs: 500, kind: 'finish', client: 0 }]),
  },
  mutation('a session goes on for another principal', 'stolen-session', () => ({ trustsIds: true })),
  {
    ...mutation('the answer of a client goes to another instance', 'answer-lost', () => ({
      fromClient: (text) => text.replace(/"id":"i([01])\./, (_, at) => `"id":"i${1 - Number(at)}.`),
    })),
    plan: atTwo([{ ...callOften, work: { kind: 'ask', ms: 1, n: 1 } }]),
  },
].map((each): Mutation => ({ ...each, kind: 'instances-2' }))

export const mutations: readonly Mutation[] = [
  ...answers,
  ...execution,
  ...notices,
  ...lists,
  ...bounds,
  ...recovery,
  ...front,
  ...eras,
  ...heads,
  ...instances,
]
