// What the process or the session of a scripted server offers to its script.

export interface ScriptHost {
  /** `s0#3`: the server, and which of its processes. */
  readonly name: string
  /** It runs, and nobody has asked it to end. */
  readonly stays: boolean
  /** Says a message, on account of the request with the id `about`; false when there is no way to the client. */
  say(text: string, about?: string): boolean
  /** Says the first part of a message and no more. */
  sayHalf(text: string, about?: string): void
  junk(): void
  after(delayMs: number, run: () => void): void
  exit(code: number): void
  /** Something that a test may wait for has happened. */
  reached(milestone: Milestone): void
}

/** How an answer is spoilt. */
export type Spoilt = 'twice' | 'wrong-id' | 'oversize' | 'exit-with' | 'exit-half'

/** What ends the process of a server that is at nothing. */
export function endWith(host: ScriptHost, how: Spoilt): void {
  if (how === 'exit-half') {
    host.sayHalf('{"jsonrpc":"2.0","method":"notifications/message"}')
    host.exit(1)
  } else if (how === 'exit-with') host.exit(0)
}

export type Milestone =
  | 'started'
  | 'initialize-read'
  | 'initialize-answered'
  | 'initialized-read'
  | 'call-read'
  | 'progress-told'
  | 'half-answered'
  | 'cancel-read'
