// The options of `--url`.

import type { RemoteServer } from '../proxy/remote.js'
import { clientInfoOf, mistakeInClientInfo } from './client-info.js'
import { headersOf, mistakeInHeaders } from './header-fields.js'
import { usage } from './tokens.js'
import type { CommandLine, UsageMistake } from './tokens.js'

const authChoices: readonly string[] = ['auto', 'google', 'none']

/** Undefined without --url. */
export function remoteOf(line: CommandLine): RemoteServer | undefined {
  const { values } = line
  const url = values.get('url')
  if (url === undefined) return undefined
  const audience = values.get('audience')
  const impersonate = values.get('impersonate-service-account')
  const way = values.get('auth') ?? 'auto'
  const wantsGoogle = audience !== undefined || impersonate !== undefined || isCloudRun(url)
  const google = way === 'google' || (way === 'auto' && wantsGoogle)
  const client = clientInfoOf(line)
  return { url, headers: headersOf(line), audience, impersonate, google, ...(client && { client }) }
}

export function mistakeInRemote(line: CommandLine): UsageMistake | undefined {
  const { values } = line
  const url = values.get('url')
  if (url !== undefined && !(/^https?:\/\//i.test(url) && URL.canParse(url)))
    // Not repeated, since it may hold a password or a key.
    return usage('--url is no http:// or https:// address', 'it must be like https://host/mcp')
  const way = values.get('auth')
  if (way !== undefined && !authChoices.includes(way))
    return usage(`--auth is "${way}"`, 'it must be auto, google or none')
  const hasTokenOptions = values.has('audience') || values.has('impersonate-service-account')
  if (way === 'none' && hasTokenOptions)
    return usage('--auth none sends no ID token', 'leave out --audience and --impersonate-service-account')
  const hasClient = values.has('client-info') || values.has('client-metadata-url')
  if (hasClient && (way !== undefined || hasTokenOptions))
    return usage(
      '--client-info and --client-metadata-url are for a login, and ID tokens need none',
      'leave out one',
    )
  return url === undefined ? undefined : (mistakeInHeaders(line) ?? mistakeInClientInfo(line))
}

/** Only a server of Cloud Run gets an ID token without an option that asks for one. */
function isCloudRun(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' && hostname.endsWith('.run.app')
}
