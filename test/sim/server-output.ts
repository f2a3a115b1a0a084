// The messages of a scripted server: all of them leave here, and may be spoilt here.

import type { ScriptHost, Spoilt } from './script-host.js'

/** What one instance says. */
export class ServerOutput {
  readonly #host: ScriptHost
  readonly #lineBytesMax: number
  #spoilt: Spoilt | undefined
  #said = 0

  constructor(host: ScriptHost, lineBytesMax: number) {
    this.#host = host
    this.#lineBytesMax = lineBytesMax
  }

  /** Spoils the next answer. */
  spoil(how: Spoilt): void {
    this.#spoilt ??= how
  }

  /** The next answer has an id that nobody knows, so that its request is never answered. */
  get losesAnswer(): boolean {
    return this.#spoilt === 'wrong-id'
  }

  mend(): void {
    this.#spoilt = undefined
  }

  /** `rest` is the answer without its envelope and id. */
  respond(id: string, rest: string): void {
    const spoilt = this.#spoilt
    this.#spoilt = undefined
    const text = `{"jsonrpc":"2.0","id":${id},${rest}}`
    if (spoilt === undefined) this.#host.say(text, id)
    else this.#sayBadly(spoilt, id, rest, text)
  }

  /** False when there is no way to say it now; `about` is the id of the call that it belongs to. */
  notify(method: string, params: string, about?: string): boolean {
    return this.#host.say(`{"jsonrpc":"2.0","method":"${method}","params":${params}}`, about)
  }

  /** What is said in order can be seen to have come in order. */
  stamp(): string {
    return `@${this.#host.name}/${++this.#said};`
  }

  #sayBadly(how: Spoilt, id: string, rest: string, text: string): void {
    switch (how) {
      case 'twice':
        this.#host.say(text, id)
        return void this.#host.say(text, id)
      case 'wrong-id':
        return void this.#host.say(`{"jsonrpc":"2.0","id":"nobody ${this.#said}",${rest}}`, id)
      case 'oversize': {
        const padding = 'o'.repeat(this.#lineBytesMax)
        return void this.#host.say(`{"jsonrpc":"2.0","id":${id},"result":{"o":"${padding}"}}`, id)
      }
      case 'exit-with':
        this.#host.say(text, id)
        return this.#host.exit(0)
      case 'exit-half':
        this.#host.sayHalf(text, id)
        return this.#host.exit(1)
    }
  }
}
