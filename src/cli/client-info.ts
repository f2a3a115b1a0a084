// The values of `--client-info` and `--client-metadata-url`: the client with which a login by an address is made.

import { readJson } from '../config/json-syntax.js'
import { readTextFile } from '../runtime/read-file.js'
import { isObject } from '../text/json-object.js'
import { type Given, UsageError, formed, text } from './command-line.js'

export interface LoginClientInfo {
  readonly clientId?: string
  readonly clientSecret?: string
  readonly clientMetadataUrl?: string
}

/** A file with an id and a secret is smaller. */
const BYTES_MAX = 64 * 1024

export const clientOptions = {
  'client-info': text('JSON|@FILE', 'The client for the login: {"client_id": …, "client_secret": …}'),
  'client-metadata-url': formed(
    'URL',
    'A client ID metadata document, for the login',
    (given) => (/^https:\/\/[^/]+\/./.test(given) ? given : undefined),
    'an https:// address with a path',
  ),
}

/** Undefined where the line names no client. @throws UsageError */
export function clientInfoOf(given: Given<typeof clientOptions>): LoginClientInfo | undefined {
  const { 'client-info': info, 'client-metadata-url': clientMetadataUrl } = given
  const members = info === undefined ? {} : membersOf(info)
  // The text itself may hold a secret.
  if (members === undefined)
    throw new UsageError(
      '--client-info has no "client_id", or its file cannot be read',
      `for example: --client-info '{"client_id":"…"}', or --client-info @FILE with that text`,
    )
  if (info === undefined && clientMetadataUrl === undefined) return undefined
  return { ...members, ...(clientMetadataUrl !== undefined && { clientMetadataUrl }) }
}

function membersOf(written: string): LoginClientInfo | undefined {
  const read = readJson(written.startsWith('@') ? textOf(written.slice(1)) : written)
  if (read.kind !== 'value' || !isObject(read.value)) return undefined
  const { client_id: clientId, client_secret: clientSecret } = read.value
  if (typeof clientId !== 'string' || clientId === '') return undefined
  return { clientId, ...(typeof clientSecret === 'string' && { clientSecret }) }
}

function textOf(path: string): string {
  const file = readTextFile(path, BYTES_MAX)
  return file.kind === 'read' ? file.text : ''
}
