// What a simulation is made of, drawn before it starts: plain data, so that parts
// of it can be left out.

import type { FlowShape } from './byte-flow.js'
import type { FaultName } from './matrix.js'
import type { HttpPlan } from './http-request.js'
import type { KeptPlan } from './kept-plan.js'
import type { PipeShape } from './pipes.js'
import type { Work } from './work.js'
import type { Askable, Returns } from './request-meta.js'
import type { Head } from './request-head.js'

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

/** One thing that happens, so many milliseconds after the one before. */
export type Op = { readonly gapMs: number } & (
  | { readonly kind: 'attach'; readonly client: number }
  | {
      readonly kind: 'call'
      readonly client: number
      readonly server: number
      readonly work: Work
      readonly spelling: Spelling
    }
  | {
      readonly kind: 'batch'
      readonly client: number
      readonly server: number
      readonly works: readonly Work[]
    }
  | {
      readonly kind: 'read'
      readonly client: number
      readonly server: number
      readonly method: ReadMethod
      /** How much its server wants to know first. */
      readonly asks?: number
    }
  | { readonly kind: 'list'; readonly client: number; readonly method: ListMethod }
  | {
      readonly kind: 'stateless-call'
      readonly head?: Head
      /** With which it comes back first. */
      readonly returnHead?: Head
      readonly client: number
      readonly server: number
      readonly work: Work
      readonly can: readonly Askable[]
      readonly returns: Returns
      /** How long its client takes to come back. */
      readonly afterMs: number
    }
  | {
      readonly kind: 'stateless-read'
      readonly head?: Head
      /** With which it comes back first. */
      readonly returnHead?: Head
      readonly client: number
      readonly server: number
      readonly method: ReadMethod
      readonly can: readonly Askable[]
      readonly asks?: number
      readonly returns?: Returns
      readonly afterMs?: number
    }
  | {
      readonly kind: 'stateless-list'
      readonly head?: Head
      readonly client: number
      readonly method: ListMethod
      readonly can: readonly Askable[]
    }
  | {
      readonly kind: 'listen'
      readonly head?: Head
      readonly client: number
      readonly can: readonly Askable[]
      /** Servers of which it follows a resource. */
      readonly followed: readonly number[]
      readonly hasTools: boolean
    }
  | { readonly kind: 'unlisten'; readonly client: number }
  | { readonly kind: 'gone'; readonly client: number; readonly server: number }
  | { readonly kind: 'subscribe'; readonly client: number; readonly server: number; readonly on: boolean }
  | { readonly kind: 'level' | 'ping' | 'roots' | 'garbage' | 'twin' | 'unknown'; readonly client: number }
  | { readonly kind: 'cancel'; readonly client: number; readonly back: number }
  | { readonly kind: 'pause' | 'resume' | 'finish' | 'vanish' | 'cut'; readonly client: number }
  | { readonly kind: 'changed' | 'updated' | 'log'; readonly server: number }
  | { readonly kind: 'fault'; readonly server: number; readonly fault: FaultName; readonly seconds: number }
  | { readonly kind: 'reload'; readonly server: number; readonly how: ReloadKind }
  | { readonly kind: 'unlisted'; readonly server: number; readonly seconds: number }
  | { readonly kind: 'clock'; readonly days: number }
  | { readonly kind: 'restart'; readonly instance: number; readonly how: 'kill' | 'drain' }
  | { readonly kind: 'away'; readonly instance: number; readonly seconds: number }
  /** It sends a request in the session of another client. */
  | { readonly kind: 'steal'; readonly client: number; readonly from: number }
)

/** How an id is written: `7`, `"7"`, `7.0` or `"c7é"`. */
export type Spelling = 'number' | 'string' | 'decimal' | 'text'

/** What a changed configuration does to one server. */
export type ReloadKind = 'nothing' | 'retimed' | 'removed' | 'described'

export type OpKind = Op['kind']

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
