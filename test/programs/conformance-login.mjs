// The surroundings of the client of the conformance runs in scenarios of authorization: a home folder without logins, the
// client of the scenario, and a browser that follows every redirect. Grants without a person need a configuration.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The address that the suite wants as the id of a client with a metadata document. */
const clientMetadataUrl = 'https://conformance-test.local/client-metadata.json'

/** Options of `connect`, from what the suite says of a scenario. */
const clients = {
  'auth/basic-cimd': () => ['--client-metadata-url', clientMetadataUrl],
  'auth/pre-registration': ({ client_id, client_secret }) => [
    '--client-info',
    JSON.stringify({ client_id, client_secret }),
  ],
}

/** `auth` of the configuration, in the same way. */
const auths = {
  'auth/client-credentials-jwt': ({ client_id, private_key_pem }) => ({
    grant: 'client_credentials',
    clientId: client_id,
    clientKey: private_key_pem,
  }),
  'auth/client-credentials-basic': ({ client_id, client_secret }) => ({
    grant: 'client_credentials',
    clientId: client_id,
    clientSecret: client_secret,
  }),
  'auth/wif-jwt-bearer': ({ client_id, valid_jwt }) => ({
    grant: 'jwt_bearer',
    clientId: client_id,
    assertion: valid_jwt,
  }),
  'auth/enterprise-managed-authorization': (said) => ({
    grant: 'id_jag',
    clientId: said.client_id,
    clientSecret: said.client_secret,
    assertion: said.idp_id_token,
    identityProvider: { issuer: said.idp_issuer, clientId: said.idp_client_id },
  }),
}

/** The arguments and variables with which the proxy is started for a scenario; `remove` is for its end. */
export function loginPlace(scenario, url, context) {
  const home = mkdtempSync(join(tmpdir(), 'conformance-home-'))
  const env = { ...process.env, HOME: home, BROWSER: join(import.meta.dirname, 'browser.mjs') }
  return {
    args: argsFor(scenario, url, context, join(home, 'mcp.json')),
    env,
    remove: () => rmSync(home, { recursive: true, force: true }),
  }
}

function argsFor(scenario, url, context, config) {
  const auth = auths[scenario]?.(context)
  if (auth === undefined) return ['connect', url, ...(clients[scenario]?.(context) ?? [])]
  const entry = { url, prefix: false, describe: false, auth: { type: 'oauth', ...auth } }
  writeFileSync(config, JSON.stringify({ mcpServers: { server: entry } }))
  return ['stdio', '--config', config]
}
