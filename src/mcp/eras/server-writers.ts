// How a server of each era is written to, and how its answers are read.

import type { ResponseFrame, ResultFrame } from '../../jsonrpc/frame.js'
import { type Edit, NO_EDITS } from '../../jsonrpc/splice.js'
import type { Call, Outcome } from '../../calls/call.js'
import { numberOfError, statelessRefusal } from '../error-codes.js'
import { cutNamed } from '../member-edits.js'
import { type MetaMembers, requestEdits } from '../meta-edits.js'
import { inputMembers, requestMetaKeys } from '../meta-keys.js'
import { typeNamed } from '../result-type.js'
import type { MetaTemplates } from './request-context.js'

/** A result by which a server asks for input before it goes on with the call. */
interface InputRequired {
  readonly kind: 'input-required'
  readonly frame: ResultFrame
}

/** A refusal since what is known of the server does not hold any more: the call was not begun. */
export interface Outdated {
  readonly kind: 'outdated'
  /** The fact to find out anew: the lists of the server, or its era. */
  readonly what: 'lists' | 'era'
  /** The outcome of a call that is refused so for the second time. */
  readonly outcome: Outcome
}

export interface ServerWriter {
  /**
   * The edits of the client's request for this server: the parts that it must not see, and those that it needs in addition.
   *
   * Asked again each time the call is sent; `own` are further members of `_meta`.
   */
  edits(call: Call, own?: readonly MetaMembers[]): readonly Edit[]
  /** The params of a request of the proxy's own, as this server has to see them; raw JSON. */
  params(own: string, isAboutTasks?: boolean): string
  /** The meaning of an answer: nearly always the end of its call, in the form in which this server writes results. */
  outcome(frame: ResponseFrame): Outcome | InputRequired | Outdated
}

const ofStateless: MetaMembers = { text: '', names: requestMetaKeys, why: 'meta' }

/** A server with sessions gets no members that are only for stateless servers. */
export const sessionWriter: ServerWriter = {
  edits(call, own = []) {
    if (call.context.revision.era === 'session') return requestEdits(call, NO_EDITS, own)
    const cuts = cutNamed(call.frame.params.members, inputMembers, 'input')
    return requestEdits(call, cuts, [...own, ofStateless])
  },
  params: (own) => own,
  outcome: (frame) => ({ kind: 'answered', frame, edits: NO_EDITS, era: 'session' }),
}

/**
 * A stateless server: every request says which revision it is of, and what its client can be asked (MCP 2026-07-28, Base
 * Protocol). Nothing is written to it but such requests, and their cancellation on stdio.
 *
 * `hasTasks` says that it has the extension Tasks; `onOutdated` is called when it refuses the revision that it spoke before.
 */
export function statelessWriter(
  meta: MetaTemplates,
  hasTasks: boolean,
  onOutdated: () => void,
): ServerWriter {
  return {
    edits: (call, own) => meta.edits(call, hasTasks, own),
    params: (own, isAboutTasks = false) => meta.own(own, isAboutTasks),
    outcome: (frame) => {
      if (frame.kind === 'result' && typeNamed(frame) === INPUT_REQUIRED)
        return { kind: 'input-required', frame }
      const outcome = { kind: 'answered', frame, edits: NO_EDITS, era: 'stateless' } as const
      const refusal = frame.kind === 'error' ? statelessRefusal(numberOfError(frame)) : undefined
      if (refusal === 'header') return { kind: 'outdated', what: 'lists', outcome }
      if (refusal !== 'version') return outcome
      onOutdated()
      return { kind: 'outdated', what: 'era', outcome }
    },
  }
}

const INPUT_REQUIRED = 'input_required'
