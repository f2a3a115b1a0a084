// Lists of everything, two items a page.

import { serve, text, tool } from './serve.mjs'

const PAGE = 2
const letters = ['a', 'b', 'c', 'd', 'e']

const paged =
  (name, items) =>
  ({ cursor }) => {
    const from = cursor === undefined ? 0 : Number(cursor)
    const next = from + PAGE
    return { [name]: items.slice(from, next), ...(next < items.length && { nextCursor: String(next) }) }
  }

serve({
  name: 'paged',
  capabilities: { tools: {}, prompts: {}, resources: {} },
  requests: {
    'tools/list': paged(
      'tools',
      letters.map((letter) => tool(letter, `Says ${letter}`)),
    ),
    'prompts/list': paged(
      'prompts',
      letters.map((name) => ({ name, description: `Prompt ${name}` })),
    ),
    'resources/list': paged(
      'resources',
      letters.map((name) => ({ uri: `page:///${name}`, name })),
    ),
    'resources/templates/list': paged(
      'resourceTemplates',
      letters.map((name) => ({ uriTemplate: `page:///${name}/{id}`, name })),
    ),
    'tools/call': ({ name }) => text(name),
  },
})
