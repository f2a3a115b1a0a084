// The key `auth` of a remote server: credentials beyond fixed header fields.

import type { HttpAuth } from '../upstream/contracts/server-config.js'
import { isObject } from './kinds.js'
import type { Section } from './section.js'
import { authFields } from './server-fields.js'

/** Reads `auth` of a remote server; undefined where there is none. */
export function readAuth(server: Section): HttpAuth | undefined {
  if (!server.has('auth')) return undefined
  const section = server.section('auth')
  if (isObject(server.raw('auth')) && !section.has('type'))
    section.findings.problem(section.pathOf('type'), 'is missing', `must be ${authFields.type.kind.wanted}`)
  const auth = {
    type: section.read(authFields, 'type') ?? 'none',
    audience: section.read(authFields, 'audience'),
    impersonateServiceAccount: section.read(authFields, 'impersonateServiceAccount'),
  }
  section.warnOfUnknownKeys()
  return auth
}
