// A server that ends its request with questions, for a client that can be asked during a call.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { readFrame } from '../../../src/jsonrpc/frame.js'
import { toLine } from '../../../src/jsonrpc/line.js'
import { type Edit, inOrder, splice } from '../../../src/jsonrpc/splice.js'
import { Call, type Outcome, type ClientPort, type ServerQuestion } from '../../../src/calls/call.js'
import { CallDeadline } from '../../../src/calls/call-deadline.js'
import { clientCapabilities } from '../../../src/mcp/capabilities.js'
import { requests } from '../../../src/mcp/methods.js'
import { sessionRevision } from '../../../src/mcp/revisions.js'
import { askClient } from '../../../src/proxy/input/input-rounds.js'
import { limits } from '../../../src/limits.js'
import { callOf, nobody } from '../../upstream/support/calls.js'
import { FakeRuntime, settled } from '../../upstream/support/fake-runtime.js'
import { requestOf, resultOf } from '../../jsonrpc/support/frames.js'

const ELICIT = '{"method":"elicitation/create","params":{"mode":"form","message":"?","requestedSchema":{}}}'
const VISIT =
  '{"method":"elicitation/create","params":{"mode":"url","message":"?","url":"https://a.example/"}}'
const SAMPLE = '{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}'
const ROOTS = '{"method":"roots/list"}'
const every = '{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}'

interface Options {
  readonly method?: 'tools/call' | 'prompts/get'
  readonly version?: string
  readonly capabilities?: string
}

/** A call of a client that records questions, and a server that records requests. */
class Stage {
  readonly runtime = new FakeRuntime()
  readonly asked: ServerQuestion[] = []
  readonly withdrawn: string[] = []
  /** The requests to the server, in order. */
  readonly sent: string[] = []
  outcome: Outcome | undefined
  readonly call: Call
  #attempt: Call
  #isAskable = true
  #isLost = false

  constructor({ method = 'tools/call', version = '2025-11-25', capabilities = every }: Options = {}) {
    const client: ClientPort = {
      ...nobody,
      questions: {
        ...nobody.questions,
        ask: (question) => {
          if (!this.#isAskable) return false
          this.asked.push(question)
          if (this.#isLost) question.asker.onRefusal(question.frame.id, { code: 0, message: 'gone' })
          return true
        },
        withdraw: ({ line }) => this.withdrawn.push(line.toString()),
      },
    }
    const frame = requestOf(`{"jsonrpc":"2.0","id":7,"method":"${method}","params":{"name":"t"}}`)
    const row = requests.get(method)
    const revision = sessionRevision(version)
    assert(row !== undefined && revision !== undefined)
    const bytes = Buffer.from(capabilities)
    const context = {
      revision,
      capabilities: clientCapabilities(bytes, { start: 0, end: bytes.length }, revision),
    }
    const owner = {
      onSettled: (_call: Call, outcome: Outcome) => void (this.outcome = outcome),
      onInputNeeded: (call: Call, needed: Parameters<typeof askClient>[1]) =>
        askClient(call, needed, limits.session.input, this.runtime),
    }
    this.call = new Call(frame, row, client, new CallDeadline(0), owner, context)
    this.#attempt = this.call
  }

  turnsAway(): void {
    this.#isAskable = false
  }

  /** The client has disconnected, which shows at the next question. */
  asksNobody(): void {
    this.#isLost = true
  }

  /** The server answers with this result, raw JSON. */
  server(result: string): void {
    const frame = resultOf(`{"jsonrpc":"2.0","id":1,"result":${result}}`)
    const resume = (attempt: Call, edits: readonly Edit[]): void => {
      this.#attempt = attempt
      this.sent.push(splice(this.call.frame.line, inOrder(edits)).toString())
    }
    this.#attempt.requestInput({ frame, service: 's', resume })
  }

  asks(requested: string, state?: string): void {
    const said = state === undefined ? '' : `,"requestState":${state}`
    this.server(`{"resultType":"input_required","inputRequests":{${requested}}${said}}`)
  }

  /** The client answers question `index` with this member, raw JSON. */
  answers(index: number, member: string): void {
    const question = this.asked[index]
    const frame = readFrame(toLine(`{"jsonrpc":"2.0","id":1,${member}}`))
    assert(question !== undefined && (frame.kind === 'result' || frame.kind === 'error'))
    question.asker.onAnswer(frame, question.frame.id)
  }

  finishes(): void {
    this.#attempt.settle({ kind: 'result', result: '{}' })
  }

  /** The error of the call. Empty if it has not failed. */
  get failure(): string {
    if (this.outcome?.kind === 'failed') return this.outcome.error.message
    return this.outcome?.kind === 'result' ? (this.outcome.refusal ?? '') : ''
  }
}

const asText = ({ frame }: ServerQuestion): string => frame.line.toString()

test('the client is asked all of it, and the request comes again with the answers and the state', () => {
  const stage = new Stage()
  stage.asks(`"a\\u0062":${ELICIT},"c":${SAMPLE},"r":${ROOTS}`, '"s\\u0031"')
  const found = stage.asked.map(({ frame }) => frame.method)
  assert.deepEqual(found, ['elicitation/create', 'sampling/createMessage', 'roots/list'])
  assert.equal(stage.call.deadline.budget, 'totalTimeoutMs', 'its time stands still')
  stage.answers(2, '"result":{"roots":[]}')
  stage.answers(0, '"result":{ "action":"accept" }')
  assert.deepEqual(stage.sent, [])
  stage.answers(1, '"result":{"role":"assistant"}')
  assert.deepEqual(stage.sent, [
    '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"inputResponses":' +
      '{"r":{"roots":[]},"a\\u0062":{ "action":"accept" },"c":{"role":"assistant"}},"requestState":"s\\u0031","name":"t"}}',
  ])
  stage.finishes()
  assert.equal(stage.outcome?.kind, 'result')
})

test('a server that goes on with a state alone is asked again, less often, until the total time is over', async () => {
  const stage = new Stage()
  const totalTimeoutMs = 60_000
  stage.call.deadline.times = { timeoutMs: 1000, totalTimeoutMs }
  const { againMs, againMsMax, roundsMax } = limits.session.input
  const at: number[] = []
  for (;;) {
    const { length } = stage.sent
    stage.server(`{"resultType":"input_required","requestState":"${length}"}`)
    while (stage.sent.length === length && stage.outcome === undefined) await stage.runtime.pass(250)
    if (stage.outcome !== undefined) break
    at.push(stage.runtime.now())
  }
  assert(at.length > roundsMax)
  const delays = at.map((when, index) => when - (at[index - 1] ?? 0))
  assert.deepEqual(delays.slice(0, 4), [againMs, 2 * againMs, 4 * againMs, 8 * againMs])
  assert(delays.every((delay) => delay <= againMsMax))
  assert.equal(stage.failure, `'s': no result for tool 't' within 60000 ms (totalTimeout)`)
})

test('the total time of a call goes on while its client is asked', async () => {
  const stage = new Stage()
  stage.call.deadline.times = { timeoutMs: 1000, totalTimeoutMs: 60_000 }
  await stage.runtime.pass(500)
  stage.asks(`"a":${ELICIT}`)
  await stage.runtime.pass(59_000, 1000)
  assert.equal(stage.outcome, undefined)
  await stage.runtime.pass(500)
  assert.equal(stage.failure, `'s': no answer of its client for tool 't' within 60000 ms (totalTimeout)`)
  assert.equal(stage.withdrawn.length, 1)
  stage.answers(0, '"result":{"action":"accept"}')
  assert.deepEqual(stage.sent, [])
})

for (const [title, capabilities, version, requested, why] of [
  ['an undeclared capability', '{}', '2025-11-25', ELICIT, /has not declared elicitation/],
  ['an undeclared part', '{"elicitation":{}}', '2025-11-25', VISIT, /has not declared elicitation\.url/],
  [
    'tools in sampling',
    '{"sampling":{}}',
    '2025-11-25',
    SAMPLE.replace('"maxTokens"', '"tools":[],"maxTokens"'),
    /has not declared sampling\.tools/,
  ],
  [
    'tasks, which no client runs',
    '{"tasks":{}}',
    '2025-11-25',
    '{"method":"tasks/get","params":{"taskId":"x"}}',
    /inputRequests have "no", which is no request/,
  ],
  ['a revision without it', every, '2025-03-26', ELICIT, /revision 2025-03-26 has no elicitation\/create/],
] as const)
  test(`nothing is asked, and the call fails: ${title}`, () => {
    for (const method of ['tools/call', 'prompts/get'] as const) {
      const stage = new Stage({ capabilities, version, method })
      stage.asks(`"no":${requested}`)
      assert.equal(stage.asked.length, 0)
      assert.match(stage.failure, why)
      assert.equal(stage.outcome?.kind, method === 'tools/call' ? 'result' : 'failed')
    }
  })

test('a page to visit gets an id, and a form loses its mode where the revision has none', () => {
  const newer = new Stage()
  newer.asks(`"v":${VISIT}`)
  const found = newer.asked.map(asText).join('')
  assert.match(found, /"url":"https:\/\/a\.example\/","elicitationId":"[^"]+"\}\}$/)
  const older = new Stage({ version: '2025-06-18' })
  older.asks(`"f":${ELICIT}`)
  assert.match(older.asked.map(asText).join(''), /"params":\{"message":"\?","requestedSchema":\{\}\}\}$/)
})

test('a client that never answers cancels', async () => {
  const stage = new Stage()
  stage.asks(`"a":${ELICIT}`)
  await stage.runtime.pass(limits.session.input.waitMs, 1000)
  assert.match(stage.sent[0] ?? '', /"inputResponses":\{"a":\{"action":"cancel"\}\}/)
  assert.match(stage.withdrawn[0] ?? '', /"requestId":1,.*did not answer within 600000 ms/)
})

test('a client that is lost while it is being asked leaves nothing unasked, and the request comes again once', () => {
  const stage = new Stage()
  stage.asksNobody()
  stage.asks(`"a":${ELICIT},"b":${ELICIT}`)
  assert.equal(stage.asked.length, 2)
  assert.equal(stage.sent.length, 1)
})

test('an answer of several lines goes on in one', () => {
  const stage = new Stage()
  stage.asks(`"a":${ELICIT}`)
  stage.answers(0, '"result":{\r\n  "action": "accept"\n}')
  assert.match(stage.sent[0] ?? '', /^[^\r\n]*"a":\{ +"action": "accept" \}/)
})

test('a cancel of the call withdraws the questions, and late answers mean nothing', async () => {
  const stage = new Stage()
  stage.asks(`"a":${ELICIT},"b":${ROOTS}`)
  stage.call.cancel(undefined)
  assert.equal(stage.outcome?.kind, 'cancelled')
  assert.equal(stage.withdrawn.length, 2)
  stage.answers(0, '"result":{"action":"accept"}')
  stage.answers(1, '"result":{"roots":[]}')
  await stage.runtime.pass(limits.session.input.waitMs, 1000)
  await settled()
  assert.deepEqual(stage.sent, [])
})

test('too many rounds, too many questions, what is no question, and a client that takes none', () => {
  const { roundsMax, requestsMax } = limits.session.input
  const again = new Stage()
  for (let round = 0; round < roundsMax; round++) {
    again.asks(`"a":${ELICIT}`)
    again.answers(round, '"result":{"action":"accept"}')
  }
  assert.equal(again.sent.length, roundsMax)
  again.asks(`"a":${ELICIT}`)
  assert.match(again.failure, /it has asked 10 times already/)
  const many = new Stage()
  many.asks(Array.from({ length: requestsMax + 1 }, (_, index) => `"${index}":${ROOTS}`).join(','))
  assert.match(many.failure, /asks for 17 things at once, and 16 are allowed/)
  const odd = new Stage()
  odd.asks('"a":{"method":"tools/list"}')
  assert.match(odd.failure, /"a", which is no request/)
  const empty = new Stage()
  empty.server('{"resultType":"input_required"}')
  assert.match(empty.failure, /neither inputRequests nor requestState/)
  const full = new Stage()
  full.turnsAway()
  full.asks(`"a":${ELICIT}`)
  assert.match(full.failure, /cannot be asked elicitation\/create now/)
})

test('a call whose client cannot be asked fails with the reason', () => {
  let outcome: Outcome | undefined
  const call = callOf('1', 0, { settled: (came) => void (outcome = came) })
  const answer = resultOf('{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required"}}')
  call.requestInput({ frame: answer, service: 's', resume: () => {} })
  assert.match(outcome?.kind === 'failed' ? outcome.error.message : '', /'s' asks for input during the call/)
})
