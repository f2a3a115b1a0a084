// A scripted MCP server: the messages that it sends in response to those that it receives. `StdioServer` and
// `HttpServer` carry them.

import type { Spoilt } from './script-host.js'

/** One text for all who can be asked the same. */
export function setOf(capabilities: readonly string[]): string {
  return capabilities.toSorted().join(' ')
}

/** One instance of a scripted server. */
export interface ServerScript {
  /** It runs, and the proxy has opened it. */
  readonly isUp: boolean
  /** It runs, and its answer to what opens it was lost: the proxy waits for it as long as a start may take. */
  readonly isMute: boolean
  /** What it was told that its clients can do, as one text. */
  readonly declared: string
  /** Whether it has worked for this client. */
  serves(client: string): boolean
  /** Ends what it is at with an answer that is spoilt; the next answer, when it is at nothing. */
  blurt(how: Spoilt): void
  /** Nothing is spoilt any more. */
  mend(): void
  receive(text: string): void
  /** Nobody listens any more on the stream of the request with this id. */
  left(id: string): void
  /** Says that a list has changed; false when there is no way to say it now. */
  listChanged(kind: 'tools' | 'prompts' | 'resources'): boolean
  /** Says that resources have changed to whoever follows them. */
  updated(): void
  log(): void
}
