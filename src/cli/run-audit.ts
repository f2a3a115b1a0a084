// The audit of a serving process, as the configuration in force has it.

import type { Audit } from '../audit/audit.js'
import type { AuditParts } from '../audit/open-audit.js'
import type { AuditConfig } from '../config/configuration.js'
import type { EventSource, ProxyEvents, ProxyOptions } from '../index.js'

type CallGate = NonNullable<ProxyOptions['gate']>

/** Opens and closes the audit; its code is loaded only where there is one. */
export class RunAudit implements CallGate {
  readonly #parts: AuditParts
  #config: AuditConfig | undefined
  #audit: Audit | undefined
  #events: EventSource<ProxyEvents> | undefined
  /** Ends the listening of the audit. */
  #stop: (() => void) | undefined
  #isClosed = false

  constructor(parts: AuditParts) {
    this.#parts = parts
  }

  /** Writes as this configuration says from now on; gives whether that is a change. Lines that wait are written as before. */
  async use(config: AuditConfig | undefined): Promise<boolean> {
    if (JSON.stringify(config) === JSON.stringify(this.#config)) return false
    this.#config = config
    const next = config && (await import('../audit/open-audit.js')).openAudit(config, this.#parts)
    const previous = this.#isClosed ? next : this.#audit
    if (!this.#isClosed) {
      this.#audit = next
      this.#listen()
    }
    await previous?.close()
    return !this.#isClosed
  }

  refusal(method: string): ReturnType<CallGate['refusal']> {
    return this.#audit?.refusal(method)
  }

  get lostLines(): number {
    return this.#audit?.lostLines ?? 0
  }

  /** Takes the calls of this proxy. */
  follow(events: EventSource<ProxyEvents>): void {
    this.#events = events
    this.#listen()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#audit?.close()
  }

  #listen(): void {
    this.#stop?.()
    this.#stop = this.#audit && this.#events?.on('call', this.#audit.ended)
  }
}
