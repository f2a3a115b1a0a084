// Small servers, each for one feature: `node small.mjs NAME [ARGUMENT]`.

import { appendFileSync, closeSync, openSync, unlinkSync } from 'node:fs'
import { ask, notify, send, serve, text, tool } from './serve.mjs'

const [name, argument] = process.argv.slice(2)

const contents = (uri, text) => ({ contents: [{ uri, mimeType: 'text/plain', text }] })
const start = () => new Promise((resolve) => setTimeout(resolve, Number(argument ?? 0)))

const pages = (name, itemOf) => {
  const items = ['a', 'b', 'c', 'd', 'e'].map(itemOf)
  return ({ cursor = '0' }) => {
    const next = Number(cursor) + 2
    const page = items.slice(next - 2, next)
    return { [name]: page, ...(next < items.length && { nextCursor: String(next) }) }
  }
}

/** A server with these tools. */
const withTools = (tools, call) => ({
  capabilities: { tools: {} },
  requests: { 'tools/list': () => ({ tools }), 'tools/call': call },
})

/** Each tool asks the client for one thing, and returns the response. */
function asks() {
  const messages = [{ role: 'user', content: { type: 'text', text: 'Hello?' } }]
  const requestedSchema = { type: 'object', properties: { name: { type: 'string' } } }
  const questions = {
    roots: ['roots/list'],
    sampling: ['sampling/createMessage', { messages, maxTokens: 10 }],
    elicitation: ['elicitation/create', { message: 'Your name?', requestedSchema }],
    ping: ['ping'],
    unknown: ['no/such'],
  }
  const tools = Object.keys(questions).map((name) => tool(name, `Asks for ${name}`))
  const { requests } = withTools(tools, async ({ name }) => {
    const { result, error } = await ask(...questions[name])
    return text(JSON.stringify(result ?? error))
  })
  return {
    capabilities: { tools: {}, logging: {} },
    requests: { ...requests, 'logging/setLevel': () => ({}) },
    notifications: {
      'notifications/roots/list_changed': () =>
        notify('notifications/message', { level: 'info', data: 'roots changed' }),
    },
  }
}

/** Exits in the middle of a call. */
const crash = () =>
  withTools([tool('crash', 'Ends the process'), tool('fine', 'Answers')], ({ name }) =>
    name === 'crash' ? process.exit(3) : text('fine'),
  )

/** Exits on `server/discover`, which FILE gets. LOCK, if it is set, must be free when the server starts. */
function exits() {
  const { FILE, LOCK } = process.env
  if (LOCK !== undefined) {
    closeSync(openSync(LOCK, 'wx'))
    process.on('exit', () => unlinkSync(LOCK))
  }
  const { requests, ...more } = withTools([tool('old', 'Says old')], () => text('old'))
  const discover = (_params, { line }) => {
    appendFileSync(FILE, `${line}\n`)
    // The lock is not free immediately.
    setTimeout(() => process.exit(1), 100)
  }
  return { ...more, requests: { ...requests, 'server/discover': discover } }
}

/** A list of two pages with times to live: HINTED_MS, and half of it. */
function hinted() {
  const ttlMs = Number(process.env.HINTED_MS)
  const cacheScope = 'public'
  const { requests, ...more } = withTools([], ({ name }) => text(name))
  const list = ({ cursor }) =>
    cursor === undefined
      ? { tools: [tool('one', 'Says one')], nextCursor: '2', ttlMs, cacheScope }
      : { tools: [tool('two', 'Says two')], ttlMs: ttlMs / 2, cacheScope }
  return { ...more, requests: { ...requests, 'tools/list': list } }
}

/** Names and results with markup, addresses that run code, reversed text, megabytes. */
function hostile() {
  const long = 'x'.repeat(1024 * 1024)
  const texts = [
    '<img src="http://127.0.0.1:1/x" onerror="alert(1)">',
    '<script>alert(2)</script>',
    'javascript:alert(3)',
    '\u202eturned\u2066',
    `![](http://127.0.0.1:1/y) http://127.0.0.1:1/z`,
  ]
  const tools = [
    ...texts.map((each, at) => ({ ...tool(`t${at}`, each), title: each })),
    tool('long', long),
    tool('<img/onerror=alert(4)>', ''),
  ]
  const icons = [{ src: 'http://127.0.0.1:1/icon.png' }]
  return {
    ...withTools(tools, ({ name }) =>
      text(name === 'long' ? `<img src=x onerror=alert(5)>${long}` : texts.join('\n')),
    ),
    serverInfo: { name: texts[0], version: texts[1], icons },
  }
}

/** Writes lines on stdout that are no messages. */
function junk() {
  send('Loading...')
  return withTools([tool('speak', 'Says junk and then something')], () => {
    send('debug: about to answer')
    send('{"jsonrpc":"2.0"')
    send('')
    return text('something')
  })
}

/** Answers `initialize` after ARGUMENT milliseconds; a call of `grow` adds a tool. */
function late() {
  const tools = [tool('grow', 'Adds a tool')]
  const { requests } = withTools(tools, ({ name }) => {
    if (name !== 'grow') return text(name)
    tools.push(tool('grown', 'Was added'))
    notify('notifications/tools/list_changed')
    return text('grown')
  })
  return { capabilities: { tools: { listChanged: true } }, requests, start }
}

/** A call logs at every level. */
function logging() {
  const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
  let least = 0
  const { requests } = withTools([tool('log', 'Logs')], () => {
    for (const level of levels.slice(least))
      notify('notifications/message', { level, logger: 'test', data: { level } })
    return text('logged')
  })
  const setLevel = ({ level }) => {
    least = levels.indexOf(level)
    return {}
  }
  return { capabilities: { tools: {}, logging: {} }, requests: { ...requests, 'logging/setLevel': setLevel } }
}

/** A tool with arguments that HTTP clients repeat in header fields. */
function marked() {
  const properties = {
    region: { type: ['string', 'null'], 'x-mcp-header': 'Region' },
    size: { type: 'integer', 'x-mcp-header': 'Size' },
    deep: { type: 'object', properties: { on: { type: 'boolean', 'x-mcp-header': 'On' } } },
  }
  const inputSchema = { type: 'object', properties }
  return withTools([{ name: 'marked', inputSchema }], () => text('called'))
}

/** Lists of every kind with two items a page. */
const paged = () => ({
  capabilities: { tools: {}, prompts: {}, resources: {} },
  requests: {
    'tools/list': pages('tools', (letter) => tool(letter, `Says ${letter}`)),
    'prompts/list': pages('prompts', (name) => ({ name, description: `Prompt ${name}` })),
    'resources/list': pages('resources', (name) => ({ uri: `page:///${name}`, name })),
    'resources/templates/list': pages('resourceTemplates', (name) => ({
      uriTemplate: `page:///${name}/{id}`,
      name,
    })),
    'tools/call': ({ name }) => text(name),
  },
})

/** A call reports its progress. */
const progress = () =>
  withTools(
    [tool('count', 'Counts', { to: { type: 'integer' } }, ['to'])],
    ({ arguments: { to }, _meta: { progressToken } = {} }) => {
      const steps = progressToken === undefined ? 0 : to
      for (let progress = 1; progress <= steps; progress += 1)
        notify('notifications/progress', { progressToken, progress, total: to })
      return text(`counted to ${to}`)
    },
  )

/** Prompts, and the completion of their arguments. */
function prompts() {
  const description = 'Review some code'
  const args = [{ name: 'language', required: true }]
  return {
    capabilities: { prompts: {}, completions: {}, resources: {} },
    instructions: 'Ask for a review.',
    requests: {
      'prompts/list': () => ({
        prompts: [{ name: 'review', title: 'Review', description, arguments: args }],
      }),
      'prompts/get': ({ name, arguments: { language } = {} }) => {
        if (language === undefined) throw { code: -32602, message: 'Missing required argument: language' }
        const content = { type: 'text', text: `Please ${name} this ${language}.` }
        return { description, messages: [{ role: 'user', content }] }
      },
      'resources/list': () => ({ resources: [] }),
      'resources/templates/list': () => ({
        resourceTemplates: [{ uriTemplate: 'lang:///{language}', name: 'language' }],
      }),
      'completion/complete': ({ ref, argument: { value } }) => {
        const values = ['python', 'pytorch', 'perl'].filter((language) => language.startsWith(value))
        return { completion: { values, total: values.length, hasMore: false }, _meta: { ref } }
      },
    },
  }
}

/** Resources with a template and subscriptions; reading `note:///touch` updates what is subscribed to. */
function resources() {
  const subscribed = new Set()
  return {
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
        const id = /^note:\/\/\/by-id\/(.*)/.exec(uri)?.[1]
        if (uri === 'note:///first') return contents(uri, 'The first note.')
        if (id !== undefined) return contents(uri, `Note ${id}.`)
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
  }
}

/** A search service that wants a key in Z_AI_API_KEY; its errors name the service ARGUMENT. */
function search() {
  const properties = {
    query: { type: 'string', description: 'What to search for' },
    num_results: { type: 'integer', minimum: 1, maximum: 20 },
  }
  const webSearch = tool('web_search', 'Search the web', properties, ['query'])
  return withTools([webSearch], ({ arguments: { query, num_results: count = 1 } = {} }) => {
    if (query === undefined) {
      const message = "Invalid params: Missing required parameter 'query'"
      throw { code: -32602, message, data: { parameter: 'query' } }
    }
    if (!process.env.Z_AI_API_KEY) {
      const message = 'Authentication failed: Invalid or missing Z_AI_API_KEY'
      throw { code: -32603, message, data: { service: argument ?? 'search' } }
    }
    return text(Array.from({ length: count }, (_, at) => `${at + 1}. ${query}`).join('\n'))
  })
}

/** One tool never answers, and one lists the reasons of cancelled calls. */
function slow() {
  const cancelled = []
  const tools = [tool('hang', 'Never answers'), tool('cancelled', 'Lists the reasons of cancels')]
  return {
    ...withTools(tools, ({ name }) => (name === 'hang' ? undefined : text(cancelled.join(', ')))),
    notifications: { 'notifications/cancelled': ({ reason }) => cancelled.push(reason) },
  }
}

const servers = {
  asks,
  crash,
  exits,
  hinted,
  hostile,
  junk,
  late,
  logging,
  marked,
  paged,
  progress,
  prompts,
  resources,
  search,
  slow,
}

serve({ name: name === 'exits' ? 'old' : name, ...servers[name]() })
