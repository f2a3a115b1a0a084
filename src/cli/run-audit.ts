// The audit of a serving process, as the configuration in force has it.

import type { Audit } from '../audit/audit.js'
import type { AuditParts } from '../audit/open-audit.js'
import type { AuditConfig } from '../config/configuration.js'
import type { EventSource, ProxyEvents, ProxyOptions } from '../index.js'

/** An open audit. */
interface Opened {
  readonly audit: Audit
  /** Ends its listening; undefined before the proxy is there. */
  stop: (() => void) | undefined
}

type CallGate = NonNullable<ProxyOptions['gate']>

/** Opens and closes the audit; its code is loaded only where there is one. */
export class RunAudit implements CallGate {
  readonly #parts: AuditParts
  #config: AuditConfig | undefined
  #opened: Opened | undefined
  #events: EventSource<ProxyEvents> | undefined
  #isClosed = false

  constructor(parts: AuditParts) {
    this.#parts = parts
  }

  /** Writes as this configuration says from now on; gives whether that is a change. Lines that wait are written as before. */
  async use(config: AuditConfig | undefined): Promise<boolean> {
    if (JSON.stringify(config) === JSON.stringify(this.#config)) return false
    this.#config = config
    const next = config === undefined ? undefined : await this.#open(config)
    if (this.#isClosed) {
      await next?.audit.close()
      return false
    }
    const previous = this.#opened
    this.#opened = next
    this.#listen()
    previous?.stop?.()
    await previous?.audit.close()
    return true
  }

  refusal(method: string): ReturnType<CallGate['refusal']> {
    return this.#opened?.audit.refusal(method)
  }

  get lostLines(): number {
    return this.#opened?.audit.lostLines ?? 0
  }

  /** Takes the calls of this proxy. */
  follow(events: EventSource<ProxyEvents>): void {
    this.#events = events
    this.#listen()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#opened?.audit.close()
  }

  #listen(): void {
    if (this.#opened !== undefined) this.#opened.stop = this.#events?.on('call', this.#opened.audit.ended)
  }

  async #open(config: AuditConfig): Promise<Opened> {
    const { openAudit } = await import('../audit/open-audit.js')
    return { audit: openAudit(config, this.#parts), stop: undefined }
  }
}
