// Makes the connections to one remote server. The first connection loads this module.

import type { Connection } from '../../jsonrpc/connection.js'
import { requestFields } from '../../mcp/http-headers.js'
import type { Limits } from '../../limits.js'
import type { Redactor } from '../../text/redactor.js'
import { HttpAgent, SocketTroubleError, dialFor, type TlsOptions } from '../../transports/http1/client.js'
import { readFileBytes } from '../../runtime/read-file.js'
import { LazyValue } from '../../runtime/deferred.js'
import type { Runtime } from '../../runtime/runtime.js'
import {
  type HttpCredentials,
  defaultHttpClientLimits,
  type HttpClientLimits,
  type HttpTarget,
} from '../../transports/http-client/options.js'
import { loginSecrets } from '../../transports/address.js'
import { HttpLink } from '../../transports/http-client/link.js'
import { DoubtfulRefusals } from '../../transports/http-client/forgotten-session.js'
import { isNearby, proxyFor } from '../../transports/http-client/proxy-choice.js'
import { write } from '../../jsonrpc/text.js'
import { hasPerson } from '../../login/browser.js'
import { LoginCredentials } from '../../login/login-credentials.js'
import { LoginTool } from '../../login/login-tool.js'
import { LoginStore } from '../../login/login-store.js'
import { type LogInElsewhere, type LoginContext, ServerLogin } from '../../login/server-login.js'
import type { FetchIdToken } from '../auth/google-id-token.js'
import { runDetached } from '../process/detached.js'
import type { ProxyContext, ServerLogins } from '../server/context.js'
import { credentialsRefusal, googleAuthOf, IdTokenCredentials } from '../auth/id-token-credentials.js'
import type { KnownServer } from '../contracts/dialed.js'
import { type HttpServerConfig, type HttpTls, loginNameOf } from '../contracts/server-config.js'

const DISCOVER = 'server/discover'

type Tell = LoginContext['tell']

/** Makes connections that share only sockets and credentials. */
export interface HttpDialer {
  connect(): Connection
  /** Undefined if the server gets no login. */
  readonly logins: ServerLogins | undefined
}

/** `redactor` gets the secrets of the connections, such as the password of a proxy, so that no log shows them. */
export async function httpDialer(
  config: HttpServerConfig,
  around: ProxyContext,
  redactor: Redactor,
  known: KnownServer,
): Promise<HttpDialer> {
  const { runtime, log, verbose } = around
  const url = new URL(config.url)
  const tell: Tell = (level, message) => log({ level, service: config.name, message })
  const proxy = proxyFor(url, { own: config.proxy, env: runtime.env })
  for (const secret of proxy === undefined ? [] : loginSecrets(proxy)) redactor.add(secret)
  if (typeof config.proxy === 'string' && isNearby(url.hostname))
    tell('warn', `its proxy is not used: ${url.hostname} is reached directly`)
  const tls = config.tls && tlsOptions(config.tls)
  const dial = await dialFor(url, { proxy, tls, connect: runtime.connect })
  const agent = new HttpAgent(url, defaultHttpClientLimits, dial)
  const unattended = await unattendedCredentials(config, runtime, tell)
  const limits = limitsFor(config, around.limits)
  const login = loginFor(config, around, tell)
  /** Whether the configuration says that the server speaks HTTP+SSE. */
  const isSaidOlder = config.kind === 'sse'
  /** Whether the server speaks HTTP+SSE, by the configuration or because it refused Streamable HTTP. */
  let isOlder = isSaidOlder
  const target: HttpTarget = {
    url,
    via: proxy?.origin,
    headers: config.headers,
    redactor,
    credentials: unattended ?? login?.credentials ?? googleCredentialsFor(config, runtime, tell),
    retries: config.retries,
    retryDelayMs: config.retryDelayMs,
    onUnreachable: known.onUnreachable,
    reconnectMs: config.reconnectIntervalMs,
    // Servers with sessions need no fields that repeat a message, so the proxy does not read messages to
    // them.
    mirror: (message, method) => {
      const hasSessions = config.protocol === 'handshake' || isSaidOlder
      const isMirrored = method === DISCOVER || known.era() !== 'session'
      return isMirrored && !hasSessions ? requestFields(message, known.marked) : undefined
    },
    refusals: new DoubtfulRefusals(),
    refusal: refusalsOf(config, tell),
    log: tell,
    trace: verbose ? (message) => tell('debug', message) : undefined,
    patienceMs: config.timeoutMs,
    timers: runtime,
    limits,
  }
  return {
    logins: login?.logins,
    connect: () =>
      new HttpLink(target, agent, {
        older: isOlder ? 'yes' : 'maybe',
        // A refusal may be out of date, because another program may have replaced the server.
        onOlder: (isOlderNow) => (isOlder = isOlderNow || isSaidOlder),
      }),
  }
}

/** Interprets a refusal. Logs the server's text once as long as it stays the same. */
function refusalsOf(config: HttpServerConfig, tell: Tell): HttpTarget['refusal'] {
  let last: string | undefined
  return (status, words) => {
    const said = `it refused the request (HTTP ${status})${words === '' ? '' : `: ${words}`}`
    if (said !== last) tell('warn', said)
    last = said
    return credentialsRefusal(config, status, words)
  }
}

/** Sets limits of the transport so that calls time out before it does. */
function limitsFor(
  { totalTimeoutMs, startTimeoutMs }: HttpServerConfig,
  { ndjson: { lineBytesMax } }: Limits['upstream'],
): HttpClientLimits {
  const longestMs = Math.max(totalTimeoutMs, startTimeoutMs)
  return {
    ...defaultHttpClientLimits,
    answerMs: longestMs + defaultHttpClientLimits.answerMarginMs,
    // The limit of a message is the same as on stdio.
    answerBytesMax: lineBytesMax,
    sse: { ...defaultHttpClientLimits.sse, dataBytesMax: lineBytesMax },
  }
}

function loginFor(
  config: HttpServerConfig,
  { runtime, person, loginPages }: Pick<ProxyContext, 'runtime' | 'person' | 'loginPages'>,
  tell: Tell,
): { readonly credentials: LoginCredentials; readonly logins: ServerLogins } | undefined {
  const { name, url, login, tools } = config
  if (login === undefined || login.unattended !== undefined) return undefined
  const store = new LoginStore(login.folder, runtime, login.user)
  // The browser of this machine belongs to no particular user.
  const isHere = person === 'here' && login.user === undefined
  const isAutomatic = isHere && login.isAutomatic && hasPerson(runtime.env)
  // The client of `connect` sees only this server, so it may end the proxy while the person logs in.
  const isAlone = config.isTransparent === true
  const elsewhere: LogInElsewhere = (job) => runDetached(['log-in'], write({ ...job, folder: login.folder }))
  const isShown = (tools.allow?.includes('login') ?? true) && !tools.deny.includes('login')
  const pages = login.user === undefined ? undefined : loginPages?.(login.user)
  const named = loginNameOf(config)
  const context = { target: { ...login, url }, store, runtime, tell }
  const ways = { elsewhere: isAutomatic && isAlone ? elsewhere : undefined, isOnRequest: !isAutomatic, pages }
  const made = new ServerLogin(context, ways)
  const page = isHere ? 'of this machine' : pages && 'of the front'
  const hasTool = person !== undefined && (!isAutomatic || isAlone) && isShown && !login.isByDevice
  const tool = hasTool ? new LoginTool({ name, named, user: login.user, page }, made, runtime) : undefined
  const credentials = new LoginCredentials(context, name, made, named)
  return {
    credentials,
    logins: {
      onChange: (wake) => credentials.onChange(wake),
      ask: () => credentials.ask(),
      get underWay() {
        return isAlone && isAutomatic ? made.underWay : undefined
      },
      tool,
      close: () => made.close(),
    },
  }
}

async function unattendedCredentials(
  { name, url, login: settings }: HttpServerConfig,
  runtime: Runtime,
  tell: Tell,
): Promise<HttpCredentials | undefined> {
  if (settings?.unattended === undefined) return undefined
  const { GrantCredentials } = await import('../../login/grant-credentials.js')
  return new GrantCredentials({ name, url, settings, grant: settings.unattended, runtime, tell })
}

/** Tokens use another header if the configuration sets `Authorization`. */
function googleCredentialsFor(
  config: HttpServerConfig,
  runtime: Runtime,
  tell: Tell,
): HttpCredentials | undefined {
  const auth = googleAuthOf(config)
  if (auth === undefined) return undefined
  const hasOwn = Object.keys(config.headers).some((name) => name.toLowerCase() === 'authorization')
  // A failed search is repeated, so credentials may appear later.
  const found = new LazyValue(async (): Promise<FetchIdToken> => {
    const { findGoogleCredentials } = await import('../auth/google-id-token.js')
    return findGoogleCredentials(auth)
  })
  const fetch = async (): Promise<string> => (await found.get())()
  const name = hasOwn ? 'X-Serverless-Authorization' : 'Authorization'
  return new IdTokenCredentials(name, fetch, runtime, (message) => tell('debug', message))
}

/** Four times the size of a bundle of all authorities. */
const CERTIFICATE_BYTES_MAX = 1024 * 1024

const CHECK_FILES = 'check the files that the configuration names'

/** A file without a certificate is an error: it must not select the certificates of the machine. */
const BEGINNING = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/

/** Reads the TLS files of the configuration when a connection first needs them. */
function tlsOptions({ ca, cert, key, servername }: HttpTls): TlsOptions {
  return {
    servername,
    material: () => {
      const read = { ca: file('tls.ca', ca), cert: file('tls.cert', cert), key: file('tls.key', key) }
      if (read.ca !== undefined && !BEGINNING.test(read.ca.toString('latin1')))
        throw new SocketTroubleError(`tls.ca (${ca}) holds no certificate in PEM`, CHECK_FILES)
      return read
    },
  }
}

function file(name: string, path: string | undefined): Buffer | undefined {
  if (path === undefined) return undefined
  const read = readFileBytes(path, CERTIFICATE_BYTES_MAX)
  if (read.kind === 'read') return read.bytes
  const why = read.code === '' ? read.why : read.code
  throw new SocketTroubleError(`${name} cannot be read: ${path} (${why})`, CHECK_FILES)
}
