// Declares what SAYS has, raw JSON of capabilities, and tells with `told` what it was told of its client.
//
// It is of revision 2026-07-28, or with MODE=session of the ones before.

import { serve, text, tool } from './serve.mjs'

const { MODE, SAYS = '{}' } = process.env
const capabilities = { tools: {}, ...JSON.parse(SAYS) }
const isOfSessions = MODE === 'session'
const typed = isOfSessions ? {} : { resultType: 'complete' }
const listed = isOfSessions ? {} : { ttlMs: 0, cacheScope: 'private' }
let declared

const sessions = {
  initialize(params) {
    declared = params.capabilities
    return {
      protocolVersion: params.protocolVersion,
      capabilities,
      serverInfo: { name: 'extended', version: '1' },
    }
  },
}
const stateless = {
  'server/discover': () => ({ ...typed, supportedVersions: ['2026-07-28'], capabilities, ...listed }),
}

serve({
  name: 'extended',
  capabilities,
  requests: {
    ...(isOfSessions ? sessions : stateless),
    'tools/list': () => ({ ...typed, tools: [tool('told', 'Says what it was told')], ...listed }),
    'tools/call': ({ _meta }) => {
      const said = isOfSessions ? declared : _meta['io.modelcontextprotocol/clientCapabilities']
      return { ...typed, ...text(JSON.stringify(said)) }
    },
  },
})
