// A server of the file that is reached over the network.

import type { HttpServerConfig, ServerCommon } from '../upstream/contracts/server-config.js'
import { readAuth } from './auth.js'
import type { Expansion } from './expand.js'
import { expandMap, expanded } from './expanded.js'
import { secretsOfHeaders, secretsOfUrl } from './secrets.js'
import type { Section } from './section.js'
import { httpServerFields, sseServerFields } from './server-fields.js'
import { type WayContext, readProxy, readTls } from './way.js'

/** `url`, and what Windsurf and Gemini CLI call it. */
export const urlKeys = ['url', 'serverUrl', 'httpUrl'] as const

export function readHttp(
  kind: 'http' | 'sse',
  section: Section,
  common: ServerCommon,
  context: WayContext,
): HttpServerConfig {
  const { expansion } = context
  const url = readUrl(section, expansion)
  const headers = expandMap(section.read(httpServerFields, 'headers'), expansion)
  const proxy = readProxy(section, expansion)
  const secrets = [...secretsOfHeaders(headers), ...secretsOfUrl(url), ...secretsOfUrl(proxy || '')]
  return {
    kind,
    ...common,
    ...expanded(expansion, secrets, whyUnreachable(url, headers)),
    url,
    headers: Object.fromEntries(headers),
    retries: readRetries(kind, section),
    retryDelayMs: section.read(httpServerFields, 'retryDelay'),
    reconnectIntervalMs: readReconnectInterval(kind, section),
    auth: readAuth(section),
    proxy,
    tls: readTls(section, context),
  }
}

/** Without a variable in it, an address that cannot be parsed is a mistake in the file. */
function readUrl(section: Section, expansion: Expansion): string {
  const given = urlKeys.filter((key) => section.has(key))
  const [key = 'url'] = given
  const path = section.pathOf(key)
  if (given.length === 0) section.findings.problem(path, 'is missing', 'must be the address of the server')
  if (given.length > 1) {
    const names = given.map((each) => `"${each}"`).join(' and ')
    section.findings.problem(section.path, `has ${names}, which mean the same`, 'keep one of them')
  }
  const written = section.read(httpServerFields, key) ?? ''
  if (written !== '' && !written.includes('${') && !isAddress(written))
    section.findings.problem(path, 'is not an address', 'must be like "https://host/mcp"')
  return expansion.text(written)
}

/** Readers of addresses do not agree where a host ends that has `"` or `\` before its path. */
function isAddress(text: string): boolean {
  return URL.canParse(text) && !/^[^/]*\/\/[^/?#]*["\\]/.test(text)
}

/** For an event stream `maxRetries` counts, and `retries` where only that is given. */
function readRetries(kind: 'http' | 'sse', section: Section): number {
  const retries = section.read(httpServerFields, 'retries')
  if (kind === 'http') return retries
  const maxRetries = section.read(sseServerFields, 'maxRetries')
  return section.has('retries') && !section.has('maxRetries') ? retries : maxRetries
}

function readReconnectInterval(kind: 'http' | 'sse', section: Section): number {
  return kind === 'sse'
    ? section.read(sseServerFields, 'reconnectInterval')
    : sseServerFields.reconnectInterval.fallback
}

/** What a variable may have done to an address or a header that was right as it stood in the file. */
function whyUnreachable(url: string, headers: ReadonlyMap<string, string>): string | undefined {
  if (!/^https?:\/\//i.test(url) || !isAddress(url))
    return 'url is not an http:// or https:// address once its variables are put in'
  // oxlint-disable-next-line no-control-regex -- exactly these would end the header.
  const broken = [...headers].find(([, value]) => /[\u0000\r\n]/.test(value))
  return broken && `header ${broken[0]} is not one line once its variables are put in`
}
