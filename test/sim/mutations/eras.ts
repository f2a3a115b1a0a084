// What is wrong about clients without sessions.

import type { Check } from '../checks.js'
import { type Mutation, mutation } from './mutation.js'

/** Only runs with such clients find it. */
function ofEras(
  what: string,
  finds: Check,
  replacement: readonly [file: string, find: string, put: string],
): Mutation {
  return { ...mutation(what, finds, replacement), kind: 'eras' }
}

/** Only runs find it in which they come over HTTP. */
function ofPosts(
  what: string,
  finds: Check,
  replacement: readonly [file: string, find: string, put: string],
): Mutation {
  return { ...mutation(what, finds, replacement), kind: 'http-eras' }
}

export const eras: readonly Mutation[] = [
  ofEras('a state is of use to everybody', 'foreign-answer', [
    'proxy/input/state-seal',
    'Buffer.from(write([principal, method, target]))',
    'Buffer.from(write([method, target]))',
  ]),
  ofEras('who comes back with other arguments is served', 'foreign-state', [
    'proxy/input/parked-calls',
    'isSameRequest(parked.inner.frame, retry.frame)',
    'true',
  ]),
  ofEras('who comes back begins a call', 'executed-twice', [
    'proxy/input/stateless-calls',
    'return this.parked.retry(call, state);',
    'return routes.route(this.parked.begin(call));',
  ]),
  ofEras('a question is answered twice', 'stray-answer', [
    'proxy/input/open-questions',
    'question.asker.answered(resultFrame(id, answer), id);',
    '{ question.asker.answered(resultFrame(id, answer), id); question.asker.answered(resultFrame(id, answer), id); }',
  ]),
  ofEras('other answers come to the same', 'foreign-state', [
    'proxy/input/parked-call',
    '!isSameJson(before, responses)',
    'false',
  ]),
  ofEras('who asks again in the same words is refused', 'other-outcome', [
    'proxy/input/parked-call',
    'this.#settle(retry, outcome);',
    "retry.fail(stateUnknown('unknown'));",
  ]),
  ofEras('answers get to other questions of the call', 'foreign-answer', [
    'proxy/input/open-questions',
    'const { question, id } = open;',
    'const { question } = open; const id = [...this.#open.values()][0]?.id ?? open.id;',
  ]),
  ofEras('a call runs out of time while its client is away', 'bad-timeout', [
    'upstream/pool/deadlines',
    'flight.call.deadline.pause(now);',
    ';',
  ]),
  ofEras('a call waits for its client for ever', 'left-parked', [
    'proxy/input/parked-call',
    'this.#room.limits.lifeMs',
    '1e9',
  ]),
  ofEras('a state gets to its server as its client has it', 'foreign-state', [
    'proxy/input/stateless-calls',
    "[{ ...span, bytes: Buffer.from(state.state), why: 'request-state' }]",
    '[]',
  ]),
  ofEras('a state is taken to another server', 'foreign-state', [
    'proxy/routing/router',
    'return this.#lanes.find(({ config }) => config.name === service);',
    "return this.#lanes.find(({ view }) => view.facts?.revision.form === 'typed');",
  ]),
  ofEras('a server with sessions is told what a request without one says of itself', 'wrong-era', [
    'mcp/eras/legacy-server',
    'return bothEdits(ofMeta, ofInput);',
    'return ofInput;',
  ]),
  ofEras('a server without sessions is not told what it is asked in', 'wrong-era', [
    'mcp/eras/claims',
    'return bothEdits(own, cuts);',
    'return cuts;',
  ]),
  ofEras('a call goes on twice when its client was asked', 'executed-twice', [
    'proxy/input/input-rounds',
    'this.#first.resume(attempt, more);',
    'for (const one of [attempt, this.#call.attemptOf(this)]) this.#first.resume(one, more);',
  ]),
  ofEras('a call runs out of time while its client is asked between two requests', 'bad-timeout', [
    'proxy/input/input-rounds',
    'this.#call.deadline.pause(this.#runtime.now());',
    ';',
  ]),
  ofEras('who listens is told so before servers are asked', 'early-ack', [
    'proxy/guests/listens',
    'if (uris.length === 0 && tasks.length === 0)',
    'if (true)',
  ]),
  ofEras('who listens to a resource is told of all', 'not-followed', [
    'proxy/guests/listen',
    'if (this.#heard.uris.some((followed) => isFollowedBy(uri, followed)))',
    'if (true)',
  ]),
  ofEras('results have no type', 'wrong-form', [
    'mcp/eras/typed-result',
    "route.to === 'uri' ? stale : complete",
    "route.to === 'uri' ? stale : []",
  ]),
  ofEras('the processes of a client that is gone stay', 'needless-process', [
    'upstream/pool/sharing',
    "return sharing === 'own' || sharing === 'guest'",
    "return sharing === 'own'",
  ]),
  ofPosts('who closes a response gives nothing up', 'not-cancelled', [
    'transports/http-server/connection',
    'this.#inbox.gaveUp(key);',
    ';',
  ]),
  ofPosts('a head may name another tool', 'wrong-head', [
    'gateway/stateless-judge',
    'nameMismatch(head, frame) ??',
    '',
  ]),
  ofPosts('a head may name another method', 'wrong-head', [
    'gateway/stateless-judge',
    'methodMismatch(head, frame) ??',
    '',
  ]),
  ofPosts('a head may name another version', 'wrong-head', [
    'gateway/stateless-judge',
    "versionMismatch(head, frame, 'named') ??",
    '',
  ]),
  ofPosts('a state that was given over HTTP is of use on stdio, and the other way round', 'foreign-answer', [
    'proxy/input/state-seal',
    'Buffer.from(write([principal, method, target]))',
    'Buffer.from(write([method, target]))',
  ]),
  ofPosts('a state that was given over HTTP is taken to another server', 'foreign-state', [
    'proxy/routing/router',
    'return this.#lanes.find(({ config }) => config.name === service);',
    "return this.#lanes.find(({ view }) => view.facts?.revision.form === 'typed');",
  ]),
]
