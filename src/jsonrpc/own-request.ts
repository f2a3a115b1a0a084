// A request that the proxy makes itself, among those that it forwards.

import { TransportError } from './errors.js'
import type { ResponseFrame } from './frame.js'
import type { MintedId } from './request-id.js'

/** Settles once, with the answer or with the end of the connection. */
export class OwnRequest {
  readonly answer: Promise<ResponseFrame>
  #settle: (outcome: ResponseFrame | TransportError) => void = () => {}

  constructor() {
    this.answer = new Promise((resolve, reject) => {
      this.#settle = (outcome) => (outcome instanceof TransportError ? reject(outcome) : resolve(outcome))
    })
    // Whoever has stopped waiting must not make the end a rejection that nobody handles.
    this.answer.catch(() => {})
  }

  answered(frame: ResponseFrame): void {
    this.#settle(frame)
  }

  failed(error: TransportError): void {
    this.#settle(error)
  }
}

/** Ends the proxy's own among requests that nobody will answer; gives the others. */
export function endOwn<E extends object>(
  entries: readonly (E | OwnRequest)[],
  cause: TransportError | undefined,
): E[] {
  const others: E[] = []
  let error = cause
  for (const entry of entries) {
    if (!(entry instanceof OwnRequest)) others.push(entry)
    else entry.failed((error ??= new TransportError('TRANSPORT_CLOSED', 'the connection is closed')))
  }
  return others
}

/** Lends an id for a request of the proxy's own, which `send` sends; undefined when too many are out. */
export function askOwn(
  inflight: { mintOwn(entry: OwnRequest): MintedId | undefined },
  send: (id: MintedId) => void,
): PendingAnswer | undefined {
  const asked = new OwnRequest()
  const id = inflight.mintOwn(asked)
  if (id === undefined) return undefined
  send(id)
  return { id, answer: asked.answer }
}

/** A request of the proxy's own: its id, and the answer to come. */
export interface PendingAnswer {
  readonly id: MintedId
  /** Rejects with TransportError when the connection ends first. */
  readonly answer: Promise<ResponseFrame>
}
