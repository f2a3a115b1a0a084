// Resources with a template and subscriptions; reading `note:///touch` updates what is subscribed to.

import { notify, serve } from './serve.mjs'

const subscribed = new Set()

const contents = (uri, text) => ({ contents: [{ uri, mimeType: 'text/plain', text }] })

serve({
  name: 'resources',
  capabilities: { resources: { subscribe: true, listChanged: true } },
  requests: {
    'resources/list': () => ({
      resources: [
        { uri: 'note:///first', name: 'first', mimeType: 'text/plain' },
        { uri: 'note:///touch', name: 'touch', description: 'Updates what is subscribed to' },
      ],
    }),
    'resources/templates/list': () => ({
      resourceTemplates: [{ uriTemplate: 'note:///by-id/{id}', name: 'by id' }],
    }),
    'resources/read': ({ uri }) => {
      if (uri === 'note:///first') return contents(uri, 'The first note.')
      if (uri.startsWith('note:///by-id/'))
        return contents(uri, `Note ${uri.slice('note:///by-id/'.length)}.`)
      if (uri !== 'note:///touch') throw { code: -32002, message: 'Resource not found', data: { uri } }
      for (const each of subscribed) notify('notifications/resources/updated', { uri: each })
      return contents(uri, `${subscribed.size} updated`)
    },
    'resources/subscribe': ({ uri }) => {
      subscribed.add(uri)
      return {}
    },
    'resources/unsubscribe': ({ uri }) => {
      subscribed.delete(uri)
      return {}
    },
  },
})
