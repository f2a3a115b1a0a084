// Every checker of the simulator by its name, and what it is that it finds.
//
// Each must be able to fail: `mutations.ts` has for each of them at least one
// proxy that does what it forbids.

export const checks = {
  'answered-twice': 'a request was answered more than once',
  lost: 'a request was never answered',
  late: 'an answer came after its budget',
  'after-cancel': 'a client heard of a call after the proxy had read that it was cancelled',
  unasked: 'an answer to nothing that was asked',
  'wrong-answer': 'an answer that belongs to another request of the same client',
  foreign: 'a client was told of what belongs to another one',
  altered: 'arguments or results are not the bytes that were sent',
  'made-up': 'a call was answered with a result and never executed',
  'needless-error': 'a request was refused though nothing was in the way',
  'bad-timeout': 'the error of a deadline names no server or no budget, or came before its time',
  'executed-twice': 'a server was asked to do the same call again',
  'begun-in-vain': 'a server was given a call long after it had been given up',
  invented: 'a server was asked for what nobody sent',
  'not-cancelled': 'a server was not told of a call that was given up',
  'cancelled-twice': 'a server was told twice that a call was given up',
  'id-reused': 'a server was asked with an id of a request that it is at',
  'call-order': 'the calls of one client got to one process in another order',
  order: 'what one process said got to a client in another order',
  'progress-order': 'progress in another order',
  'late-progress': 'progress after the answer',
  'wrong-token': 'progress with a token that is not the client’s own',
  'stray-answer': 'a server was answered what it had not asked',
  'foreign-answer': 'a question of a server was answered with another answer',
  'not-declared': 'a client was asked what it did not say that it could be asked',
  'not-followed': 'a client was told of a resource that it does not follow',
  'not-updated': 'a client that follows a resource is not told that it has changed',
  'needless-change': 'a client was told of a changed list that it has not read',
  'too-many-changes': 'a client was told more often that a list has changed than it has',
  'shrunk-list': 'tools were taken from a list though no server has fewer',
  'stale-list': 'the last list that a client was given is not what there is',
  'foreign-list': 'a client was shown what was kept of another server, or what is damaged',
  'gone-tool': 'a server was given a call to a tool that it does not have',
  'missing-list': 'a server that is connected is shown without its tools',
  'bad-line': 'something that is no message',
  'bad-batch': 'an answer to a batch that cannot be taken apart',
  'bad-log': 'a line of the log that could do something to a terminal',
  'event-twice': 'an event was told again that had come',
  'session-lost': 'the proxy has forgotten a session that is in use',
  'left-session': 'sessions are left that nobody uses',
  backlog: 'more waits than the limits allow',
  processes: 'more processes run than the limit allows',
  'needless-process': 'more processes run than the clients have use for',
  'start-storm': 'a server that fails is started more often than backoff and breaker allow',
  'not-recovered': 'calls are not answered well after the last fault',
  'not-ready': 'a server is not connected after the last fault',
  'not-closed': 'the proxy does not close',
  'left-child': 'processes are left',
  'left-socket': 'connections are left',
  'left-timer': 'timers are left',
  'left-client': 'clients are not let go',
  'left-stream': 'streams are left',
  fault: 'handling a message failed',
  thrown: 'an error that nobody caught',
  'real-time': 'the proxy looked at the real clock, timers or dice',
  'not-reached': 'a phase of the matrix was not reached',
} as const

export type Check = keyof typeof checks

export function isCheck(name: string): name is Check {
  return Object.hasOwn(checks, name)
}
