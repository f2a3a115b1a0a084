// A request that the proxy makes itself, among those that it forwards.

import { TransportError } from './errors.js'
import type { ResponseFrame } from './frame.js'

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

  settle(outcome: ResponseFrame | TransportError): void {
    this.#settle(outcome)
  }
}
