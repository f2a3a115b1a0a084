// What a simulation is made of, drawn before it starts: plain data, so that parts
// of it can be left out.

import type { FlowShape, PipeShape } from './byte-flow.js'
import type { FaultName } from './matrix.js'
import type { HttpPlan } from './http-requests.js'
import type { Askable, Returns, Head } from './request-meta.js'

/** After so long a start is given up that is not answered (`startTimeout`): from then on what was broken is mended. */
export const START_MS = 30_000

/** A call may take so many times its timeout in all. */
export const TOTAL = 2

export interface ServerPlan {
  readonly name: string
  readonly kind: 'stdio' | 'http'
  /** It has no sessions; a handshake comes first unless given. */
  readonly isStateless?: boolean
  /** What its configuration says that it speaks: a handshake unless given. */
  readonly protocol?: 'auto' | '2026-07-28'
  readonly isolation: 'auto' | 'shared' | 'session'
  readonly concurrency: number
  readonly processes: number
  readonly timeoutMs: number
  /** A call may take so many times its timeout in all; `TOTAL` unless given. */
  readonly total?: number
  readonly idleTimeoutMs: number | undefined
  readonly onTimeout: 'cancel' | 'restart'
  readonly restartDelayMs: number
  /** From `initialize` to its answer. */
  readonly initMs: number
  readonly offers: readonly ('resources' | 'prompts' | 'logging' | 'completions')[]
  /** Its tools have schemas, so that arguments are checked. */
  readonly schema: boolean
  readonly heedsEof: boolean
  readonly heedsTerm: boolean
  /** It drops a call that was cancelled; else it answers all the same. */
  readonly heedsCancel: boolean
  /** It has a tool to whose calls a user must agree. */
  readonly confirms?: boolean
  /** Faults may strike it; all others must not notice. */
  readonly faulty: boolean
  readonly stdin: PipeShape
  readonly stdout: PipeShape
  readonly exitDelayMsMax: number
  /** Over HTTP: answers come as events; it has a stream of its own. */
  readonly events: boolean
  readonly standalone: boolean
}

export interface ClientPlan {
  readonly name: string
  readonly revision: string
  readonly capabilities: readonly ('sampling' | 'elicitation' | 'roots')[]
  /** `proper` waits for the answer to `initialize`; `eager` does not; `bare` never says it. */
  readonly manners: 'proper' | 'eager' | 'session'
  readonly input: FlowShape
  readonly output: PipeShape
  /** How long it takes to answer a question; undefined never does. */
  readonly answerMs: number | undefined
  /** What its requests without a session say that it can be asked: each is one of these. */
  readonly sets?: readonly (readonly Askable[])[]
  /** How much longer than one proxy alone several instances may take. */
  readonly patienceMs?: number
  /** How it comes over HTTP; it is at the proxy's stdin and stdout without. */
  readonly http?: HttpPlan
}

export type ReadMethod = 'resources/read' | 'prompts/get' | 'completion/complete'

export type ListMethod = 'tools/list' | 'resources/list' | 'prompts/list' | 'resources/templates/list'

/** Which client, and which server, by their places. */
interface OfClient {
  readonly client: number
}
interface OfServer {
  readonly server: number
}
type OfBoth = OfClient & OfServer

/** Of a request without a session: what its head says, and with which its client comes back first. */
interface Headed {
  readonly head?: Head
  readonly returnHead?: Head
  readonly can: readonly Askable[]
}

/** What the server of a read wants to know first. */
interface Read {
  readonly method: ReadMethod
  readonly asks?: number
}

/** One thing that happens, so many milliseconds after the one before. */
export type Op = { readonly gapMs: number } & (
  | ({ readonly kind: 'call'; readonly work: Work; readonly spelling: Spelling } & OfBoth)
  | ({ readonly kind: 'batch'; readonly works: readonly Work[] } & OfBoth)
  | ({ readonly kind: 'read' } & OfBoth & Read)
  | ({ readonly kind: 'list'; readonly method: ListMethod } & OfClient)
  /** `afterMs` is how long its client takes to come back. */
  | ({ readonly kind: 'stateless-call'; readonly work: Work } & OfBoth &
      Headed & { readonly returns: Returns; readonly afterMs: number })
  | ({ readonly kind: 'stateless-read' } & OfBoth &
      Headed &
      Read & { readonly returns?: Returns; readonly afterMs?: number })
  | ({ readonly kind: 'stateless-list'; readonly method: ListMethod } & OfClient & Headed)
  /** `followed` are servers of which it follows a resource. */
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
  /** It sends a request in the session of another client. */
  | ({ readonly kind: 'steal'; readonly from: number } & OfClient)
)

export type OpOf<K extends Op['kind']> = Extract<Op, { readonly kind: K }>

/** What needs no more words. */
type ClientOpKind =
  | ('level' | 'ping' | 'roots' | 'garbage' | 'twin' | 'unknown' | 'unlisten')
  | ('pause' | 'resume' | 'finish' | 'vanish' | 'cut')

/** How an id is written: `7`, `"7"`, `7.0` or `"c7é"`. */
export type Spelling = 'number' | 'string' | 'decimal' | 'text'

/** What a changed configuration does to one server. */
export type ReloadKind = 'nothing' | 'retimed' | 'removed' | 'described'

/** The limits of the proxy, small enough to be reached. */
export interface LimitsPlan {
  readonly lineBytesMax: number
  readonly backlogBytesHigh: number
  readonly backlogBytesMax: number
  readonly queueMax: number
  readonly inflightMax: number
  readonly callsMax: number
  readonly outgoingBytesMax: number
  readonly processesMax: number
  /** None of them is ever reached. */
  readonly roomy: boolean
}

/** The HTTP front of the proxy, and how soon it does what takes it long. */
export interface FrontPlan {
  readonly answerWaitMs: number
  readonly eventsMax: number
  /** What bodies may hold together, a few messages perhaps. */
  readonly bodiesBytesMax?: number | undefined
}

/** Instances of a gateway that share a store. */
export interface InstancesPlan {
  readonly count: number
  /** On each way to the store and back. */
  readonly delayMsMax: number
}

export interface Plan {
  readonly seed: number
  /** Records go through the real logger. */
  readonly logs: boolean
  readonly limits: LimitsPlan
  readonly servers: readonly ServerPlan[]
  readonly clients: readonly ClientPlan[]
  /** When a process starts that only one client uses: with its first call, unless given. */
  readonly ownStart?: 'with-call' | 'with-client'
  /** What is on the disk; lists are kept in memory only without it. */
  readonly kept?: KeptPlan
  /** Without one, nobody comes over HTTP. */
  readonly front?: FrontPlan
  /** All clients come over HTTP then. */
  readonly instances?: InstancesPlan
  readonly ops: readonly Op[]
}

// What a call asks a scripted server to do: the script stands in its arguments.

/** Spellings that somebody who reads and writes JSON again would change. */
export const ODDITIES = '"odd":1.0,"odd":[1e2,12345678901234567890,"\\u0041\\/"]'

/** Deeds that end with an answer which a client must be given, and those that do not. */
const answered = ['echo', 'progress', 'ask', 'log', 'big', 'refuse'] as const
const unanswered = ['hang', 'exit-before', 'exit-half', 'exit-with', 'oversize'] as const
export const workKinds = [...answered, ...unanswered, 'twice', 'wrong-id', 'junk'] as const

/** Asks for several things at once, and again: only clients without sessions want it done, and it is drawn apart. */
const ROUNDS = 'rounds'

/** How a server goes about one call. */
export type WorkKind = (typeof workKinds)[number] | typeof ROUNDS

export interface Work {
  readonly kind: WorkKind
  /** How long it takes. */
  readonly ms: number
  /** How many steps, or KiB. */
  readonly n: number
  readonly padding?: string
}

/** Deeds of every server, and of all that answer. */
export const kindly: ReadonlySet<WorkKind> = new Set(answered)
export const answeredKinds: ReadonlySet<WorkKind> = new Set([...answered, 'twice', 'junk'])

export function isWorkKind(text: string | undefined): text is WorkKind {
  return text === ROUNDS || workKinds.some((kind) => kind === text)
}

// What an earlier run of the proxy has left on disk.

/** What is kept of one server; all but the first four must not be believed. */
export type Left =
  | 'nothing'
  /** What it says today. */
  | 'same'
  /** Lists that it has no more. */
  | 'stale'
  /** That its last start failed. */
  | 'silent'
  /** A list whose items are no JSON. */
  | 'damaged'
  /** An entry of which a member is missing. */
  | 'torn'
  /** A server of the same name with other values, as another schema may have it. */
  | 'other-values'
  /** The same server of another configuration. */
  | 'other-file'

export interface KeptPlan {
  /** Of each server, in their order. */
  readonly left: readonly Left[]
  /** What is wrong with the disk until everything is mended. */
  readonly disk: 'well' | 'full' | 'unreadable' | 'no-folder'
  /** Only the first half of the file was written. */
  readonly isTorn: boolean
}

/** What nobody may be shown has this word in it. */
export const ALIEN = 'alien'

export const GONE = 'gone'

/** Whether clients may be shown what was left of a server. */
export function isShown({ left, disk, isTorn }: KeptPlan, at: number): boolean {
  const what = left[at] ?? 'nothing'
  return ['same', 'stale', 'silent'].includes(what) && disk !== 'unreadable' && !isTorn
}
