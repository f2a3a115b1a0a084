// The values of `--client-info` and `--client-metadata-url`: the client with which a login by an address is made.

import { readJson } from '../config/json-syntax.js'
import { readTextFile } from '../runtime/read-file.js'
import { isObject } from '../text/json-object.js'
import { type CommandLine, type UsageMistake, usage } from './tokens.js'

/** The client at the authorization server. */
export interface LoginClientInfo {
  readonly clientId?: string
  readonly clientSecret?: string
  readonly clientMetadataUrl?: string
}

/** A file with an id and a secret is smaller. */
const BYTES_MAX = 64 * 1024

const example = `for example: --client-info '{"client_id":"…"}', or --client-info @FILE with that text`

/** Undefined where the line names no client, or has a mistake. */
export function clientInfoOf({ values }: CommandLine): LoginClientInfo | undefined {
  const info = values.get('client-info')
  const clientMetadataUrl = values.get('client-metadata-url')
  const members = info === undefined ? {} : membersOf(info)
  if (members === undefined || (info === undefined && clientMetadataUrl === undefined)) return undefined
  return { ...members, ...(clientMetadataUrl !== undefined && { clientMetadataUrl }) }
}

export function mistakeInClientInfo({ values }: CommandLine): UsageMistake | undefined {
  const info = values.get('client-info')
  // The text itself may hold a secret.
  if (info !== undefined && membersOf(info) === undefined)
    return usage('--client-info has no "client_id", or its file cannot be read', example)
  const url = values.get('client-metadata-url')
  return url === undefined || /^https:\/\/[^/]+\/./.test(url)
    ? undefined
    : usage('--client-metadata-url is no https:// address with a path')
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
