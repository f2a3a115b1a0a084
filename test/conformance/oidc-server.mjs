// A remote MCP server whose authorization server is `oidc-provider`, with logins that need no person.
//
// usage: oidc-server.mjs; prints the address of the server, and then one line for each grant, refusal and revocation.
// Access tokens that were used are refused after a GET of /expire.

import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { Provider } from 'oidc-provider'

async function listening() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, origin: `http://127.0.0.1:${server.address().port}` }
}

const [{ server, origin }, { server: front, origin: issuer }] = await Promise.all([listening(), listening()])
const resource = `${origin}/mcp`
const scopes = ['tools:read', 'tools:write', 'offline_access']

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: 'service',
      client_secret: 'of-the-service',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    },
  ],
  scopes,
  clientDefaults: { application_type: 'native' },
  cookies: { keys: ['a key of a test'] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  pkce: { required: () => true },
  ttl: { AccessToken: 3600, ClientCredentials: 3600 },
  rotateRefreshToken: true,
  issueRefreshToken: () => true,
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    revocation: { enabled: true },
    clientCredentials: { enabled: true },
    introspection: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({ scope: scopes.join(' '), accessTokenFormat: 'opaque' }),
      useGrantedResource: () => true,
    },
  },
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
})
for (const [event, word] of [
  ['grant.success', 'grant'],
  ['grant.error', 'refusal'],
  ['grant.revoked', 'revoked'],
])
  provider.on(event, (ctx, error) =>
    console.log(
      word,
      ctx?.oidc?.params?.grant_type ?? '',
      error instanceof Error ? `${error.message} ${error.error_description ?? ''}` : '',
    ),
  )

const callback = provider.callback()

/** The person accepts everything. */
async function interact(request, response) {
  const details = await provider.interactionDetails(request, response)
  const { prompt, params, session, grantId } = details
  if (prompt.name === 'login')
    return provider.interactionFinished(request, response, { login: { accountId: 'ann' } })
  const grant =
    (grantId && (await provider.Grant.find(grantId))) ??
    new provider.Grant({ accountId: session.accountId, clientId: params.client_id })
  grant.addOIDCScope(scopes.join(' '))
  grant.addResourceScope(resource, String(params.scope ?? ''))
  return provider.interactionFinished(
    request,
    response,
    { consent: { grantId: await grant.save() } },
    { mergeWithLastSubmission: true },
  )
}

const metadata = {
  resource,
  authorization_servers: [issuer],
  scopes_supported: ['tools:read'],
}

const json = (response, status, body, headers = {}) =>
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

const tools = [
  { name: 'read', inputSchema: { type: 'object' } },
  { name: 'write', inputSchema: { type: 'object' } },
]
const results = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'guarded', version: '1' },
  },
  'tools/list': { tools },
  'tools/call': { content: [{ type: 'text', text: 'done' }] },
  ping: {},
}

const challenge = (more) => ({
  'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", ${more}`,
})

const used = new Set()
let expired = new Set()

async function mcp(request, response) {
  const [, secret] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? []
  used.add(secret)
  const token =
    !expired.has(secret) &&
    secret &&
    ((await provider.AccessToken.find(secret)) ?? (await provider.ClientCredentials.find(secret)))
  if (!token || [token.aud].flat()[0] !== resource)
    return json(response, 401, {}, challenge('scope="tools:read"'))
  if (request.method !== 'POST') return response.writeHead(405).end()
  const { id, method, params } = JSON.parse(await text(request))
  const needed = params?.name === 'write' ? 'tools:write' : 'tools:read'
  if (!token.scopes.has(needed))
    return json(response, 403, {}, challenge(`error="insufficient_scope", scope="${needed}"`))
  if (id === undefined) return response.writeHead(202).end()
  const result = results[method]
  return json(response, 200, {
    jsonrpc: '2.0',
    id,
    ...(result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result }),
  })
}

const failed = (response) => (error) => {
  console.log('failure', error.stack)
  response.writeHead(500).end()
}

server.on('request', (request, response) => {
  if (request.url === '/mcp') mcp(request, response).catch(failed(response))
  else if (request.url === '/.well-known/oauth-protected-resource/mcp') json(response, 200, metadata)
  else if (request.url === '/expire') {
    expired = new Set(used)
    json(response, 200, {})
  } else json(response, 404, {})
})
front.on('request', (request, response) => {
  if (request.url.startsWith('/interaction/')) interact(request, response).catch(failed(response))
  else callback(request, response)
})
console.log(resource)
