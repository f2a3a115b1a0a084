// The HTTP requests of one client: its connections, and its session once it has one.

import type { SimContext } from './byte-flow.js'
import type { SimFront } from './front.js'
import type { Asked, HttpLine } from './http-line.js'
import { HttpLines } from './http-lines.js'
import { type HttpPlan, type HttpRequest, requestText } from './http-request.js'
import type { Ledger } from './ledger.js'
import type { ClientPlan } from './plan.js'
import type { Random } from './random.js'

export interface HttpRequestsParts {
  readonly context: SimContext
  readonly ledger: Ledger
  readonly front: SimFront
  readonly plan: ClientPlan
  readonly http: HttpPlan
}

export type Asking = Omit<HttpRequest, 'session' | 'revision'>

/** How long a body may bring next to nothing, and until that is noticed. */
const HALF_BODY_MS = 20_000

/** Its connections, and the session once there is one. */
export class HttpRequests {
  readonly lines: HttpLines
  session: string | undefined
  /** The client says nothing more. */
  isOver = false
  readonly #parts: HttpRequestsParts
  readonly #random: Random

  constructor(parts: HttpRequestsParts) {
    const { context, front, plan } = parts
    this.#parts = parts
    this.#random = context.dice(`${plan.name} requests`)
    this.lines = new HttpLines(
      (script, number) => front.connect(`${plan.name}.${number}`, plan, script),
      (what) => this.bad(what),
    )
  }

  ask(what: Asking, asked: Asked): HttpLine {
    const { plan, http } = this.#parts
    const speaks = plan.revision !== '2025-03-26' && (this.session !== undefined || !http.session)
    const request = { ...what, session: this.session, revision: speaks ? plan.revision : undefined }
    const line = this.lines.ask(requestText(request, http, this.#random), asked)
    if (what.isCut === true) this.#givenUp(line, asked)
    return line
  }

  /** After a while, unless it is over by then, or nobody is there. */
  /** `never` is run instead where the client has ended by then. */
  later(run: () => void, never: () => void = () => {}): void {
    const delayMs = this.#random.next() * this.#parts.http.againMs
    this.#parts.context.clock.after(delayMs, () => {
      if (this.isOver) never()
      else if (this.#parts.front.listening) run()
    })
  }

  /** Who comes back keeps a few connections for it. */
  closeIdle(): void {
    this.lines.closeIdle(this.isOver ? 0 : this.#parts.http.idleMax)
  }

  /** The proxy has said what it must not say. */
  bad(what: string): void {
    this.#parts.ledger.fail('bad-line', `${this.#parts.plan.name}: ${what}`)
  }

  /** A body whose end does not come is not waited for. */
  #givenUp(line: HttpLine, asked: Asked): void {
    const { context, ledger, plan } = this.#parts
    context.clock.after(HALF_BODY_MS, () => {
      if (line.carries(asked) && !this.lines.wasPaused)
        ledger.fail('late', `half a body of ${plan.name} is still waited for`)
    })
  }
}
