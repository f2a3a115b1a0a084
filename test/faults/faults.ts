// What can go wrong at a server, one row each.
//
// Every row meets every row of `phases.ts` in the simulator (`test/sim/cells.test.ts`).

/**
 * Where a fault strikes.
 *
 * `stdio` and `http` are kinds of servers; `proxy` is the machine that the proxy runs on.
 */
export type FaultPlace = 'stdio' | 'http' | 'proxy'

export interface Fault {
  readonly name: FaultName
  readonly place: FaultPlace
  /** What happens, in words. */
  readonly what: string
  /** It lasts until it is mended; else it happens once, and the next try may work. */
  readonly lasts: boolean
}

const faultNames = [
  'kill-9',
  'exit-0',
  'exit-1',
  'sigstop',
  'stdout-close',
  'stdin-close',
  'half-line-exit',
  'response-exit',
  'junk',
  'oversize',
  'slow',
  'never-reads',
  'duplicate-response',
  'wrong-id',
  'enoent-on-restart',
  'rst-before-headers',
  'rst-mid-headers',
  'rst-mid-body',
  'rst-mid-event',
  'http-404',
  'http-429',
  'http-502',
  'tls-failure',
  'dns-failure',
  'enospc',
  'emfile',
] as const

export type FaultName = (typeof faultNames)[number]

const rows: Readonly<Record<FaultName, Omit<Fault, 'name'>>> = {
  'kill-9': { place: 'stdio', lasts: false, what: 'the process is killed with SIGKILL' },
  'exit-0': { place: 'stdio', lasts: false, what: 'the process exits with code 0' },
  'exit-1': { place: 'stdio', lasts: false, what: 'the process exits with code 1' },
  sigstop: { place: 'stdio', lasts: true, what: 'the process is stopped: it neither reads, writes nor ends' },
  'stdout-close': { place: 'stdio', lasts: false, what: 'the process closes its stdout and lives on' },
  'stdin-close': { place: 'stdio', lasts: false, what: 'the process closes its stdin and lives on' },
  'half-line-exit': { place: 'stdio', lasts: false, what: 'the process writes half a line and exits' },
  'response-exit': { place: 'stdio', lasts: false, what: 'the process answers and exits in the same moment' },
  junk: {
    place: 'stdio',
    lasts: false,
    what: 'lines on stdout that are no messages, some of them not UTF-8',
  },
  oversize: { place: 'stdio', lasts: false, what: 'the next answer is longer than a line may be' },
  slow: { place: 'stdio', lasts: true, what: 'what the process writes arrives at one byte a second' },
  'never-reads': { place: 'stdio', lasts: true, what: 'the process does not read its stdin' },
  'duplicate-response': { place: 'stdio', lasts: false, what: 'the next answer is given twice' },
  'wrong-id': { place: 'stdio', lasts: false, what: 'the next answer has an id that nobody asked with' },
  'enoent-on-restart': {
    place: 'stdio',
    lasts: true,
    what: 'the process ends, and its command is not found when it is started again',
  },
  'rst-before-headers': {
    place: 'http',
    lasts: false,
    what: 'the connection is reset after the request, before the first byte of a response',
  },
  'rst-mid-headers': { place: 'http', lasts: false, what: 'the connection is reset within the headers' },
  'rst-mid-body': { place: 'http', lasts: false, what: 'the connection is reset within a JSON body' },
  'rst-mid-event': { place: 'http', lasts: false, what: 'the connection is reset within an event' },
  'http-404': { place: 'http', lasts: false, what: 'the server has forgotten its sessions (404)' },
  'http-429': { place: 'http', lasts: false, what: 'the server answers 429, with and without Retry-After' },
  'http-502': { place: 'http', lasts: false, what: 'a gateway answers 502 with a page of HTML' },
  'tls-failure': {
    place: 'http',
    lasts: true,
    what: 'connections are cut, and new ones fail in the TLS handshake',
  },
  'dns-failure': {
    place: 'http',
    lasts: true,
    what: 'connections are cut, and the host name is not found any more',
  },
  enospc: { place: 'proxy', lasts: true, what: 'the disk that the log is written to is full' },
  emfile: {
    place: 'proxy',
    lasts: true,
    what: 'the process ends, and no descriptors are left to start it again',
  },
}

/** Every fault, in the order of its name in the list. */
export const faults: readonly Fault[] = faultNames.map((name) => ({ name, ...rows[name] }))
