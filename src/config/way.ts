// The keys `proxy` and `tls` of a remote server.

import type { HttpTls } from '../upstream/contracts/server-config.js'
import type { Expansion } from './expand.js'
import { absolute } from './paths.js'
import type { Section } from './section.js'
import { httpServerFields, tlsFields } from './server-fields.js'

export interface WayContext {
  readonly expansion: Expansion
  readonly folder: string
  readonly home: string
}

/** Reads `proxy` of a remote server. */
export function readProxy(server: Section, expansion: Expansion): string | false | undefined {
  const written = server.read(httpServerFields, 'proxy')
  if (written === undefined || written === false) return written
  if (!written.includes('${') && !isProxyAddress(written))
    server.findings.problem(
      server.pathOf('proxy'),
      'is not the address of a proxy',
      'must be like "http://host:3128" or "http://name:password@host:3128"',
    )
  return expansion.text(written)
}

function isProxyAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { pathname, search } = new URL(text)
  return pathname === '/' && search === ''
}

/** Reads `tls` of a remote server; undefined where there is none. */
export function readTls(server: Section, { expansion, folder, home }: WayContext): HttpTls | undefined {
  if (!server.has('tls')) return undefined
  const section = server.section('tls')
  const path = (key: 'ca' | 'cert' | 'key'): string | undefined => {
    const written = section.read(tlsFields, key)
    return written === undefined ? undefined : absolute(expansion.text(written), folder, home)
  }
  const tls = {
    ca: path('ca'),
    cert: path('cert'),
    key: path('key'),
    servername: section.read(tlsFields, 'servername'),
  }
  section.warnOfUnknownKeys()
  checkPair(section)
  return tls
}

/** A certificate is nothing without its key, and a key without its certificate. */
function checkPair(section: Section): void {
  const [hasCert, hasKey] = [section.has('cert'), section.has('key')]
  if (hasCert === hasKey) return
  const [missing, given] = hasCert ? ['key', 'cert'] : ['cert', 'key']
  section.findings.problem(section.pathOf(missing), 'is missing', `must be a file beside "${given}"`)
}
