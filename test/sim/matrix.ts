// The fault matrix: the faults of servers, and the phases of a server and of a call to it. `cells.test.ts` combines
// every fault with every phase.

/** `stdio` and `http` are kinds of servers; `proxy` is the machine of the proxy. */
const faultRows = {
  'kill-9': ['stdio', 'the process is killed with SIGKILL'],
  'exit-0': ['stdio', 'the process exits with code 0'],
  'exit-1': ['stdio', 'the process exits with code 1'],
  sigstop: ['stdio', 'the process is stopped: it neither reads, writes nor ends'],
  'stdout-close': ['stdio', 'the process closes its stdout and lives on'],
  'stdin-close': ['stdio', 'the process closes its stdin and lives on'],
  'half-line-exit': ['stdio', 'the process writes half a line and exits'],
  'response-exit': ['stdio', 'the process answers and exits in the same moment'],
  junk: ['stdio', 'lines on stdout that are no messages, some of them not UTF-8'],
  oversize: ['stdio', 'the next answer is longer than a line may be'],
  slow: ['stdio', 'what the process writes arrives at one byte a second'],
  'never-reads': ['stdio', 'the process does not read its stdin'],
  'duplicate-response': ['stdio', 'the next answer is given twice'],
  'wrong-id': ['stdio', 'the next answer has an id that nobody asked with'],
  'enoent-on-restart': ['stdio', 'the process ends, and its command is not found when it is started again'],
  'rst-before-headers': ['http', 'the connection is reset before the first byte of a response'],
  'rst-mid-headers': ['http', 'the connection is reset within the headers'],
  'rst-mid-body': ['http', 'the connection is reset within a JSON body'],
  'rst-mid-event': ['http', 'the connection is reset within an event'],
  'http-404': ['http', 'the server has forgotten its sessions (404)'],
  'http-429': ['http', 'the server answers 429, with and without Retry-After'],
  'http-502': ['http', 'a gateway answers 502 with a page of HTML'],
  'tls-failure': ['http', 'connections are cut, and new ones fail in the TLS handshake'],
  'dns-failure': ['http', 'connections are cut, and the host name is not found any more'],
  enospc: ['proxy', 'the disk that the log is written to is full'],
  emfile: ['proxy', 'the process ends, and no descriptors are left to start it again'],
} as const

const phaseRows = {
  'before-ready': 'the process is being started and has read nothing',
  'during-initialize': 'the server has `initialize` and has not answered it',
  'before-initialized': 'the server has answered `initialize` and has not read `notifications/initialized`',
  idle: 'the server is ready and has nothing to do',
  queued: 'a call waits for a slot while another one runs',
  'half-written': 'half of a long call is in the pipe, and the server has not read the rest',
  written: 'the server has read a call and has said nothing',
  'progress-seen': 'the server has told of progress with a call',
  'half-received': 'half of the answer to a call has come',
  cancelled: 'the client has cancelled a call that the server is still at',
  'timed-out': 'a call has timed out, and the server is still at it',
  draining: 'the proxy has been asked to stop and waits for a call',
  reloading: 'a changed configuration is being applied, with a call in flight',
  'half-open': 'after many crashes the breaker lets one try through',
} as const

export type FaultPlace = 'stdio' | 'http' | 'proxy'
export type FaultName = keyof typeof faultRows
export type PhaseName = keyof typeof phaseRows

export type Fault = { readonly name: FaultName; readonly place: FaultPlace; readonly what: string }

export type Phase = { readonly name: PhaseName; readonly when: string }

const isFault = (name: string): name is FaultName => name in faultRows
const isPhase = (name: string): name is PhaseName => name in phaseRows

export const faults: readonly Fault[] = Object.keys(faultRows)
  .filter(isFault)
  .map((name) => ({ name, place: faultRows[name][0], what: faultRows[name][1] }))

export const phases: readonly Phase[] = Object.keys(phaseRows)
  .filter(isPhase)
  .map((name) => ({ name, when: phaseRows[name] }))
