// A plan is plain data that is drawn before the simulation starts, so that `shrink.ts` can leave parts of it out.

import type { FlowShape, PipeShape } from './byte-flow.js'
import type { FaultName } from './matrix.js'
import type { HttpPlan } from './http-requests.js'
import type { Askable, Returns, Head } from './request-meta.js'

/** The proxy gives up a start after this time (`startTimeout`). */
export const START_MS = 30_000
export const TOTAL = 2

export interface ServerPlan {
  readonly name: string
  readonly kind: 'stdio' | 'http'
  /** The server has no sessions. By default it does. */
  readonly isStateless?: boolean
  /** The configured `protocol`. The default is a handshake. */
  readonly protocol?: 'auto' | '2026-07-28'
  readonly isolation: 'auto' | 'shared' | 'session'
  readonly concurrency: number
  readonly processes: number
  readonly timeoutMs: number
  /** The total time of a call as a multiple of its timeout. The default is `TOTAL`. */
  readonly total?: number
  readonly idleTimeoutMs: number | undefined
  readonly onTimeout: 'cancel' | 'restart'
  readonly restartDelayMs: number
  readonly initMs: number
  readonly offers: readonly ('resources' | 'prompts' | 'logging' | 'completions')[]
  /** Its tools have schemas, so the proxy checks arguments. */
  readonly schema: boolean
  readonly heedsEof: boolean
  readonly heedsTerm: boolean
  /** It drops cancelled calls. Otherwise it answers them. */
  readonly heedsCancel: boolean
  readonly confirms?: boolean
  /** Faults may strike it. Other servers must not be affected. */
  readonly faulty: boolean
  readonly stdin: PipeShape
  readonly stdout: PipeShape
  readonly exitDelayMsMax: number
  /** Over HTTP: `events` sends answers as events; `standalone` offers a stream outside of requests. */
  readonly events: boolean
  readonly standalone: boolean
}

export interface ClientPlan {
  readonly name: string
  readonly revision: string
  readonly capabilities: readonly ('sampling' | 'elicitation' | 'roots')[]
  /** `proper` waits for the answer to `initialize`, `eager` does not, and `session` never sends `initialize`. */
  readonly manners: 'proper' | 'eager' | 'session'
  readonly input: FlowShape
  readonly output: PipeShape
  /** How long it takes to answer a question. Undefined is never. */
  readonly answerMs: number | undefined
  /** The capabilities that its requests without a session declare. Each request has one of these sets. */
  readonly sets?: readonly (readonly Askable[])[]
  /** The additional time that several instances may take. */
  readonly patienceMs?: number
  /** By default the client uses the proxy's stdin and stdout. */
  readonly http?: HttpPlan
}

export type ReadMethod = 'resources/read' | 'prompts/get' | 'completion/complete'

export type ListMethod = 'tools/list' | 'resources/list' | 'prompts/list' | 'resources/templates/list'

type OfClient = { readonly client: number }
type OfServer = { readonly server: number }
type OfBoth = OfClient & OfServer

/** For a request without a session: its HTTP header fields, and those of the first attempt to come back. */
type Headed = { readonly head?: Head; readonly returnHead?: Head; readonly can: readonly Askable[] }

/** `asks` determines what the server asks first. */
export type Read = { readonly method: ReadMethod; readonly asks?: number }

/** An operation, `gapMs` after the one before. */
export type Op = { readonly gapMs: number } & (
  | ({ readonly kind: 'call'; readonly work: Work; readonly spelling: Spelling } & OfBoth)
  | ({ readonly kind: 'batch'; readonly works: readonly Work[] } & OfBoth)
  | ({ readonly kind: 'read' } & OfBoth & Read)
  | ({ readonly kind: 'list'; readonly method: ListMethod } & OfClient)
  /** `afterMs` is the time until the client comes back with answers. */
  | ({ readonly kind: 'stateless-call'; readonly work: Work } & OfBoth &
      Headed & { readonly returns: Returns; readonly afterMs: number })
  | ({ readonly kind: 'stateless-read' } & OfBoth &
      Headed &
      Read & { readonly returns?: Returns; readonly afterMs?: number })
  | ({ readonly kind: 'stateless-list'; readonly method: ListMethod } & OfClient & Headed)
  /** `followed` are the servers of which the client follows a resource. */
  | ({
      readonly kind: 'listen'
      readonly followed: readonly number[]
      readonly hasTools: boolean
    } & OfClient &
      Headed)
  | ({ readonly kind: 'gone' } & OfBoth)
  | ({ readonly kind: 'subscribe'; readonly on: boolean } & OfBoth)
  | ({ readonly kind: 'cancel'; readonly back: number } & OfClient)
  | ({ readonly kind: 'attach' } & OfClient)
  | ({ readonly kind: ClientOpKind } & OfClient)
  | ({ readonly kind: 'changed' | 'updated' | 'log' } & OfServer)
  | ({ readonly kind: 'fault'; readonly fault: FaultName; readonly seconds: number } & OfServer)
  | ({ readonly kind: 'reload'; readonly how: ReloadKind } & OfServer)
  | ({ readonly kind: 'unlisted'; readonly seconds: number } & OfServer)
  | { readonly kind: 'clock'; readonly days: number }
  | { readonly kind: 'restart'; readonly instance: number; readonly how: 'kill' | 'drain' }
  | { readonly kind: 'away'; readonly instance: number; readonly seconds: number }
  | ({ readonly kind: 'steal'; readonly from: number } & OfClient)
)

export type OpOf<K extends Op['kind']> = Extract<Op, { readonly kind: K }>

type ClientOpKind =
  | ('level' | 'ping' | 'roots' | 'garbage' | 'twin' | 'unknown' | 'unlisten')
  | ('pause' | 'resume' | 'finish' | 'vanish' | 'cut')

/** How an id is written: `7`, `"7"`, `7.0` or `"c7é"`. */
export type Spelling = 'number' | 'string' | 'decimal' | 'text'

export type ReloadKind = 'nothing' | 'retimed' | 'removed' | 'described'

/** Limits of the proxy, small enough to be reached. */
export type LimitsPlan = { readonly roomy: boolean } & Readonly<Record<CountLimit | BytesLimit, number>>
type CountLimit = 'queueMax' | 'inflightMax' | 'callsMax' | 'processesMax'
type BytesLimit = 'lineBytesMax' | 'backlogBytesHigh' | 'backlogBytesMax' | 'outgoingBytesMax'

export interface FrontPlan {
  readonly answerWaitMs: number
  readonly eventsMax: number
  /** The limit on the bytes of all request bodies. It may hold only a few messages. */
  readonly bodiesBytesMax?: number | undefined
}

export interface InstancesPlan {
  readonly count: number
  /** The longest delay of each way to the store and back. */
  readonly delayMsMax: number
}

export interface Plan {
  readonly seed: number
  readonly logs: boolean
  readonly limits: LimitsPlan
  readonly servers: readonly ServerPlan[]
  readonly clients: readonly ClientPlan[]
  /** When a process for a single client starts. The default is its first call. */
  readonly ownStart?: 'with-call' | 'with-client'
  /** The files on disk. Without this, lists are kept only in memory. */
  readonly kept?: KeptPlan
  /** Without this, no client uses HTTP. */
  readonly front?: FrontPlan
  /** All clients then use HTTP. */
  readonly instances?: InstancesPlan
  readonly ops: readonly Op[]
}

// The work of a call. A scripted server reads it from the arguments.

/** Spellings that a program changes when it parses and writes JSON. */
export const ODDITIES = '"odd":1.0,"odd":[1e2,12345678901234567890,"\\u0041\\/"]'

/** Work that ends with an answer which the client must receive, and work that does not. */
const answered = ['echo', 'progress', 'ask', 'log', 'big', 'refuse'] as const
const unanswered = ['hang', 'exit-before', 'exit-half', 'exit-with', 'oversize'] as const
export const workKinds = [...answered, ...unanswered, 'twice', 'wrong-id', 'junk'] as const

/** Asks several questions in each round. Only clients without sessions use it, so it is drawn separately. */
const ROUNDS = 'rounds'

export type WorkKind = (typeof workKinds)[number] | typeof ROUNDS

export interface Work {
  readonly kind: WorkKind
  readonly ms: number
  readonly n: number
  readonly padding?: string
}

/** Work for every server, and work that leads to an answer. */
export const kindly: ReadonlySet<WorkKind> = new Set(answered)
export const answeredKinds: ReadonlySet<WorkKind> = new Set([...answered, 'twice', 'junk'])

export function isWorkKind(text: string | undefined): text is WorkKind {
  return text === ROUNDS || workKinds.some((kind) => kind === text)
}

// The files that an earlier run of the proxy has left on disk.

/** The stored entry of one server. The proxy must reject all but the first four kinds. */
export type Left =
  | 'nothing'
  /** The lists that the server has now. */
  | 'same'
  /** Lists that the server no longer has. */
  | 'stale'
  | 'silent'
  /** A list whose items are not JSON. */
  | 'damaged'
  /** An entry that lacks a member. */
  | 'torn'
  /** A server of the same name with other values, as another schema may have it. */
  | 'other-values'
  /** The same server of another configuration. */
  | 'other-file'

export interface KeptPlan {
  readonly left: readonly Left[]
  /** The fault of the disk. It lasts until all faults stop. */
  readonly disk: 'well' | 'full' | 'unreadable' | 'no-folder'
  readonly isTorn: boolean
}

/** Part of every name that no client may be shown. */
export const ALIEN = 'alien'
export const GONE = 'gone'

/** Whether clients may be shown the stored lists of a server. */
export function isShown({ left, disk, isTorn }: KeptPlan, at: number): boolean {
  const what = left[at] ?? 'nothing'
  return ['same', 'stale', 'silent'].includes(what) && disk !== 'unreadable' && !isTorn
}
