// The transport of a transcript: stdio or HTTP.

import type { Carrier, Header } from './header.js'
import type { Transcript } from './transcript.js'

/** What the command line says about it. */
export interface CarrierChoice {
  /** Empty leaves the choice to the transcript. */
  readonly command: readonly string[]
  readonly url: string | undefined
  /** What is started speaks HTTP. */
  readonly http: boolean
}

const names: Readonly<Record<Carrier, string>> = { stdio: 'stdio', http: 'HTTP' }

export function carrierOf(transcript: Transcript, { command, url, http }: CarrierChoice): Carrier {
  if (url !== undefined || http) return 'http'
  if (command.length > 0) return 'stdio'
  const { header, needs } = transcript
  return needs ?? (header.url !== undefined || servesHttp(header) ? 'http' : 'stdio')
}

/** Why a transcript cannot be replayed that way; undefined when it can. */
export function unfit({ needs, why }: Transcript, carrier: Carrier): string | undefined {
  if (needs === undefined || needs === carrier) return undefined
  return `it needs ${names[needs]} (${why}), and this is ${names[carrier]}`
}

/** Whether the proxy that is started with these arguments would listen for HTTP. */
function servesHttp({ command, args }: Header): boolean {
  if (command !== undefined || args === undefined) return false
  return args[0] !== 'stdio' && !args.some((arg) => /^--(?:stdio$|url(?:=|$))/.test(arg))
}
