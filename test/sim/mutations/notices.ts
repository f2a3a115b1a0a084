// What is wrong about who is told what besides answers.

import { type Mutation, mutation } from './mutation.js'

export const notices: readonly Mutation[] = [
  mutation(
    'what is said besides answers is late',
    ['order', 'late-progress'],
    [
      'proxy/session/session-port',
      'this.#peer.pass(frame, edits, { about: during?.frame.id });',
      'this.#parts.runtime.setTimer(20, () => this.#peer.pass(frame, edits, { about: during?.frame.id }));',
    ],
  ),
  mutation('progress is told twice', 'progress-order', [
    'proxy/session/session-port',
    'this.#peer.pass(frame, edits, { about: during?.frame.id });',
    'this.#peer.pass(frame, edits, { about: during?.frame.id }); this.#peer.pass(frame, edits, { about: during?.frame.id });',
  ]),
  mutation('progress comes with the token that the server knows', 'wrong-token', [
    'upstream/pool/inflight-calls',
    "writing(frame.line, span, ownToken, 'progress-token')",
    '[]',
  ]),
  mutation('a question is answered twice', 'stray-answer', [
    'upstream/pool/link',
    'this.#peer.answer(frame, this.inflight.asked.answered(frame, id), id);',
    'this.#peer.answer(frame, [], id); this.#peer.answer(frame, [], id);',
  ]),
  mutation('a question is given the answer of the one before', 'foreign-answer', [
    'proxy/session/session-port',
    'question.asker.answered(frame, question.id);',
    'const kept = this.kept ?? frame; this.kept = frame; question.asker.answered(kept, question.id);',
  ]),
  mutation('clients are asked what they cannot be asked', 'not-declared', [
    'upstream/pool/lane-links',
    'isDeclared !== true ||',
    '',
  ]),
  mutation('everybody is told of resources', 'not-followed', [
    'upstream/pool/lane-links',
    'this.audience.followersOf(uri)',
    'this.audience',
  ]),
  mutation('everybody is told of logs', 'foreign', [
    'upstream/pool/lane-links',
    "this.#log('debug', `${frame.method} belongs to no one client`);",
    "for (const one of row?.does === 'log' ? this.audience : []) one.log(frame, during);",
  ]),
  mutation('nothing is followed after a restart', 'not-updated', [
    'upstream/pool/lane-links',
    'this.standing.resubscribe(link);',
    '',
  ]),
]
