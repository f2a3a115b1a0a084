// Tools, prompts, resources and completions of which profiles show parts. `tell` says of what the lists have changed, or
// which resource has; `echo` gives its arguments back as they came, and the number of the process.

import { notify, serve, text } from './serve.mjs'

const string = { type: 'string' }
const tool = (name, properties = {}, required = []) => ({
  name,
  description: `about ${name}`,
  inputSchema: { type: 'object', properties, required, additionalProperties: false },
})
const tools = [
  tool('echo', { owner: string, repo: string, n: { type: 'number' } }, ['owner', 'repo']),
  tool('get_one'),
  tool('get_two'),
  tool('delete_all'),
  tool('tell', { what: string, uri: string }),
]
const uris = ['mem://open/a', 'mem://open/b', 'mem://secret/a']

serve({
  name: 'viewed',
  instructions: `words of ${process.env.NAME}`,
  capabilities: {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    completions: {},
    logging: {},
  },
  requests: {
    'tools/list': () => ({ tools }),
    'tools/call': ({ name, arguments: given }) => {
      if (name !== 'tell')
        return text(JSON.stringify({ name, given, pid: process.pid, server: process.env.NAME }))
      if (given.what === 'tools') tools.push(tool(`get_${tools.length}`))
      if (given.what === 'hidden tools') tools.push(tool(`delete_${tools.length}`))
      if (given.what.endsWith('tools')) notify('notifications/tools/list_changed')
      else notify('notifications/resources/updated', { uri: given.uri })
      return text('"told"')
    },
    'prompts/list': () => ({ prompts: [{ name: 'open' }, { name: 'secret' }] }),
    'prompts/get': ({ name }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `prompt ${name}` } }],
    }),
    'resources/list': () => ({ resources: uris.map((uri) => ({ uri, name: uri })) }),
    'resources/templates/list': () => ({
      resourceTemplates: ['mem://open/{id}', 'mem://secret/{id}'].map((name) => ({
        uriTemplate: name,
        name,
      })),
    }),
    'resources/read': ({ uri }) => ({ contents: [{ uri, text: `read ${uri}` }] }),
    'resources/subscribe': () => ({}),
    'resources/unsubscribe': () => ({}),
    'completion/complete': ({ ref }) => ({ completion: { values: [ref.name ?? ref.uri] } }),
    'logging/setLevel': () => ({}),
  },
})
