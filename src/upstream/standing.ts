// What a server was told for good, and must be told again when it comes back.

import { quote } from '../jsonrpc/text.js'
import type { Call, ClientPort } from '../mcp/call.js'
import type { Audience } from './audience.js'
import { asUpstreamError } from './errors.js'
import type { Link } from './link.js'

/** The log level and the subscriptions of a lane's clients. */
export class Standing {
  readonly #audience: Audience
  readonly #failed: (message: string) => void

  constructor(audience: Audience, failed: (message: string) => void) {
    this.#audience = audience
    this.#failed = failed
  }

  /** The most verbose level that any client asked for. */
  sendLevel(link: Link): void {
    const { level } = this.#audience
    if (level !== undefined) this.#tell(link, 'logging/setLevel', `{"level":${quote(level)}}`)
  }

  resubscribe(link: Link): void {
    for (const uri of this.#audience.followed) this.#subscribe(link, uri)
  }

  /** Keeps who follows what; true when others still follow, so that the server must not be told. */
  settles(call: Call, subscribes: boolean): boolean {
    const uri = call.frame.params.members.string('uri')
    if (uri === undefined) return false
    if (subscribes) {
      this.#audience.follow(call.client, uri)
      return false
    }
    if (this.#audience.unfollow(call.client, uri)) return false
    if (this.#audience.followersOf(uri).size === 0) return false
    return call.settle({ kind: 'result', result: '{}' })
  }

  /** The client follows what it followed elsewhere before. */
  follow(client: ClientPort, uri: string, links: readonly Link[]): void {
    if (this.#audience.follow(client, uri)) for (const link of links) this.#subscribe(link, uri)
  }

  #subscribe(link: Link, uri: string): void {
    this.#tell(link, 'resources/subscribe', `{"uri":${quote(uri)}}`)
  }

  unsubscribe(link: Link, uris: readonly string[]): void {
    for (const uri of uris) this.#tell(link, 'resources/unsubscribe', `{"uri":${quote(uri)}}`)
  }

  /** A failure is the server's own business. */
  #tell(link: Link, method: string, params: string): void {
    link.ask(method, params).catch((error: unknown) => {
      this.#failed(`${method}: ${asUpstreamError(link.service, error).message}`)
    })
  }
}
