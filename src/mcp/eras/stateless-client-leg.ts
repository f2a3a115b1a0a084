// A client of the stateless revisions: every request says what it speaks and what it can be asked.
//
// MCP 2026-07-28, Overview: `_meta`. The leg remembers nothing from one request to the next.

import { type ErrorBody, buildError, buildResult } from '../../jsonrpc/build.js'
import type { RequestFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import type { RequestId } from '../../jsonrpc/request-id.js'
import { bothEdits } from '../../jsonrpc/splice.js'
import { quote, rawAt, write } from '../../jsonrpc/text.js'
import type { Call, Outcome, StatelessContext } from '../call.js'
import { declaresTasks, tasksRequired } from '../capabilities.js'
import { internalError, methodNotFound, missingCapability, ownErrorForStateless } from '../error-codes.js'
import { isFilter, readFilter } from '../subscription-edits.js'
import { extensionRow, statelessRequests, type RequestRow } from '../methods.js'
import { SERVER_INFO } from '../meta-keys.js'
import { saysError } from '../result-type.js'
import { statelessRevisions } from '../revisions.js'
import {
  type Answer,
  type ClientLeg,
  type ClientVoice,
  type Received,
  type ServerDescription,
  type ServerIdentity,
  identityJson,
} from './leg.js'
import { type RequestSender, claimFault, saidIn, statelessContext, versionFault } from './request-context.js'
import { errorEdits, resultEdits, typedResult } from './results.js'

const DISCOVER = 'server/discover'

/** A reload changes the servers, and stateless clients get no notification of it. */
const DESCRIPTION_TTL_MS = 60_000

/** Reads the requests of one client, and writes its answers; what it keeps of a request saves the reading of the next. */
export class StatelessClientLeg implements Pick<ClientLeg, 'received' | 'answer'> {
  readonly #identity: ServerIdentity
  readonly #sender: RequestSender
  /** The `_meta` of the latest request, and its context. */
  #said: string | undefined
  #context: StatelessContext | undefined

  /** `sender` is who sends the requests. */
  constructor(identity: ServerIdentity, sender: RequestSender) {
    this.#identity = identity
    this.#sender = sender
  }

  received(frame: RequestFrame): Received {
    const said = saidIn(frame)
    // Most requests say what the one before has said, which was found to be right.
    const known = said === undefined || said !== this.#said ? undefined : this.#context
    const fault = known === undefined ? (claimFault(frame) ?? versionFault(frame)) : undefined
    if (fault !== undefined) return { kind: 'refused', error: fault }
    const row = statelessRequests.get(frame.method) ?? extensionRow(frame.method)
    if (row === undefined) return { kind: 'refused', error: methodNotFound(frame.method) }
    const context = known ?? statelessContext(frame, this.#sender)
    this.#said = said
    this.#context = context
    if (frame.method === DISCOVER)
      return { kind: 'discover', context, reply: (description) => this.#discovered(description) }
    return row.stays === true ? listening(frame, row, context) : { kind: 'stateless', row, context }
  }

  answer(call: Call, outcome: Outcome, voice: ClientVoice): Answer | undefined {
    const { id } = call.frame
    switch (outcome.kind) {
      case 'answered': {
        const missing = missingIn(call, outcome.frame)
        return missing === undefined ? passedOn(call, outcome, voice) : refusal(id, missing)
      }
      case 'result':
        return { kind: 'result', message: buildResult(id, typedResult(outcome.result, isList(call))) }
      case 'asked':
        return { kind: 'result', message: voice.answerBytes(outcome.frame, outcome.edits, id) }
      case 'failed':
        return refusal(
          id,
          call.missingCapabilities === undefined
            ? ownErrorForStateless(outcome.error, call.row)
            : unable(call.missingCapabilities, outcome.error),
        )
      case 'cancelled':
        return undefined
    }
  }

  #discovered({ capabilities, instructions, isKnown }: ServerDescription): string {
    const supported = statelessRevisions.map((each) => quote(each.version)).join(',')
    const words = instructions === undefined ? '' : `"instructions":${quote(instructions)},`
    const hints = `"ttlMs":${isKnown ? DESCRIPTION_TTL_MS : 0},"cacheScope":"private"`
    const info = `"_meta":{${quote(SERVER_INFO)}:${identityJson(this.#identity)}}`
    return `{"resultType":"complete","supportedVersions":[${supported}],"capabilities":${capabilities},${words}${hints},${info}}`
  }
}

function isList({ row }: Call): boolean {
  return row.route.to === 'merge'
}

/** A call has failed whose server was refused what its client has not declared (2026-07-28, Overview: capabilities). */
function missingIn({ missingCapabilities: missing }: Call, frame: ResponseFrame): ErrorBody | undefined {
  if (frame.kind === 'error') {
    return missing === undefined ? undefined : missingCapability(missing, rawAt(frame.line, frame.error))
  }
  if (missing === undefined) return undefined
  return saysError(frame) ? missingCapability(missing, rawAt(frame.line, frame.result)) : undefined
}

function unable(missing: string, { code, message }: ErrorBody): ErrorBody {
  return missingCapability(missing, write({ code, message }))
}

function listening(frame: RequestFrame, row: RequestRow, context: StatelessContext): Received {
  const filter = readFilter(frame)
  if (!isFilter(filter)) return { kind: 'refused', error: filter }
  if (filter.tasks.length > 0 && !declaresTasks(context.capabilities))
    return { kind: 'refused', error: missingCapability(tasksRequired) }
  return { kind: 'listen', row, context, filter }
}

function passedOn(
  { frame: { id }, row, service }: Call,
  { frame, edits, era, isTask }: Outcome & { readonly kind: 'answered' },
  voice: ClientVoice,
): Answer {
  const own = frame.kind === 'error' ? errorEdits(frame, era) : resultEdits(frame, era, row, isTask)
  if (own === undefined) return refusal(id, unknownType(service))
  return { kind: frame.kind, message: voice.answerBytes(frame, bothEdits(edits, own), id) }
}

function refusal(id: RequestId, error: ErrorBody): Answer {
  return { kind: 'error', message: buildError(id, error) }
}

function unknownType(service: string | undefined): ErrorBody {
  return internalError(`'${service ?? ''}' has given a result of a type that does not pass this proxy`)
}
