// When a fault can strike, in the life of a server and of one call to it.

export interface Phase {
  readonly name: PhaseName
  /** What is going on at the server in question when the fault strikes, in words. */
  readonly when: string
  /** What the same means at a server that is reached over HTTP, where that is not plain. */
  readonly overHttp?: string
}

const phaseNames = [
  'before-ready',
  'during-initialize',
  'before-initialized',
  'idle',
  'queued',
  'half-written',
  'written',
  'progress-seen',
  'half-received',
  'cancelled',
  'timed-out',
  'draining',
  'reloading',
  'half-open',
] as const

export type PhaseName = (typeof phaseNames)[number]

const rows: Readonly<Record<PhaseName, Omit<Phase, 'name'>>> = {
  'before-ready': {
    when: 'the process is being started and has read nothing',
    overHttp: 'the first connection is being made',
  },
  'during-initialize': { when: 'the server has `initialize` and has not answered it' },
  'before-initialized': {
    when: 'the server has answered `initialize` and has not read `notifications/initialized`',
  },
  idle: { when: 'the server is ready and has nothing to do' },
  queued: { when: 'a call waits for a slot while another one runs' },
  'half-written': {
    when: 'half of a long call is in the pipe, and the server has not read the rest',
    overHttp: 'half of the body of the POST has left',
  },
  written: { when: 'the server has read a call and has said nothing' },
  'progress-seen': { when: 'the server has told of progress with a call' },
  'half-received': { when: 'half of the answer to a call has come' },
  cancelled: { when: 'the client has cancelled a call that the server is still at' },
  'timed-out': { when: 'a call has timed out, and the server is still at it' },
  draining: { when: 'the proxy has been asked to stop and waits for a call' },
  reloading: { when: 'a changed configuration is being applied, with a call in flight' },
  'half-open': { when: 'after many crashes the breaker lets one try through' },
}

/** Every phase, in the order of its name in the list. */
export const phases: readonly Phase[] = phaseNames.map((name) => ({ name, ...rows[name] }))
