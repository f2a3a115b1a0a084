// One remote server in place of a configuration file, for `connect`.

import type { Configuration, SchemaConfig } from '../config/configuration.js'
import { literal } from '../config/expand.js'
import { resolveConfig } from '../config/config.js'
import { TransportError } from '../jsonrpc/jsonrpc-errors.js'
import { mayCarryTokens } from '../text/loopback.js'
import { googleAuthOf } from '../upstream/auth/id-token-credentials.js'
import { isRemote } from '../upstream/contracts/server-config.js'

/** Members of a configuration entry. */
export interface RemoteServer {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly auth?: object
}

/** A service that must first be started takes longer than a program on this machine. */
const timeoutMsDefault = 120_000

/** Names and descriptions pass through: a client sees the server unchanged. */
export function remoteConfig(
  { url, headers, auth }: RemoteServer,
  timeoutMs: number | undefined,
  name: string,
): Configuration {
  const ownTimeoutMs = timeoutMs ?? timeoutMsDefault
  // `${NAME}` is no variable here, because there is no configuration file.
  const server = {
    url: url.replaceAll('${', '$%7B'),
    headers: literals(headers),
    ...(auth && { auth: literals(auth) }),
    prefix: false,
    describe: false,
    startTimeout: ownTimeoutMs,
  }
  const config = resolveConfig(
    { mcpServers: { [new URL(url).hostname]: server } },
    {
      source: 'the command line',
      folder: process.cwd(),
      env: process.env,
      defaults: { 'server.name': name },
      timeoutMs: ownTimeoutMs,
    },
  )
  const own = { isTransparent: true as const, ...(timeoutMs === undefined && { settableIn: '--timeout' }) }
  const schemas = [...config.schemas].map(([schema, { servers, ...others }]) => {
    return [schema, { ...others, servers: servers.map((each) => ({ ...each, ...own })) }] as const
  })
  // The client opens the server, and waits until the server has answered or its time is over.
  const graceMs = 2 * ownTimeoutMs
  return { ...config, startupGraceMs: graceMs, schemas: new Map(schemas) }
}

function literals(texts: object): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, literal(String(value))]))
}

/** @throws TransportError if a server needs credentials that are missing, or that must not be sent to it */
export async function checkCredentials({ servers }: SchemaConfig): Promise<void> {
  for (const server of servers.filter(isRemote)) {
    const auth = googleAuthOf(server)
    if (auth === undefined) continue
    const url = new URL(server.url)
    const why = `tokens are only sent over https, and ${url.origin} is not; use https, or --auth none`
    if (!mayCarryTokens(url)) throw new TransportError('TRANSPORT_AUTH', why)
    const { findGoogleCredentials } = await import('../upstream/auth/google-id-token.js')
    await findGoogleCredentials(auth)
  }
}
