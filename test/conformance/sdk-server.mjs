// A server of version 2 of the official SDK, in each way that it can serve.
//
// usage: sdk-server.mjs dual|new|old             on stdin and stdout
//        sdk-server.mjs dual|new|old --http      on a free port of loopback; its address is the first line of stdout
//
// GIVEN_UP may name a file in which all processes together count the calls that were given up: the next process of a
// server knows of those of the one before.
//
// `new` refuses clients that begin with a handshake; `old` is written by hand, and knows no others.

import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import {
  McpServer,
  acceptedContent,
  createMcpHandler,
  inputRequired,
  inputResponse,
} from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

const [mode = 'dual', way] = process.argv.slice(2)
const info = { name: `sdk-${mode}`, version: '1' }
const capabilities = { tools: { listChanged: true }, logging: {} }

/** Reports a step, if the client has asked for progress. */
async function step({ _meta, notify }, progress, total = 3) {
  const progressToken = _meta?.progressToken
  if (progressToken !== undefined)
    await notify({ method: 'notifications/progress', params: { progressToken, progress, total } })
}

const says = (text) => ({ content: [{ type: 'text', text }] })
const name = z.object({ name: z.string() })
const elicit = (message) => inputRequired.elicit({ message, requestedSchema: name })

/** Of all connections: whether there is one tool more. */
let isMore = false
let givenUp = 0
const { GIVEN_UP: givenUpFile } = process.env
/** Each function notifies one connection of the tools. */
const toolsChanged = new Set()

function countGivenUp() {
  if (givenUpFile === undefined) return givenUp
  return existsSync(givenUpFile) ? statSync(givenUpFile).size : 0
}

const tools = {
  echo: [{ text: z.string() }, ({ text }) => says(`echo ${text}`)],
  elicit: [
    {},
    (_, { mcpReq }) => {
      const answer = acceptedContent(mcpReq.inputResponses, 'who', name)
      return answer === undefined
        ? inputRequired({ inputRequests: { who: elicit('Who?') } })
        : says(`elicited ${answer.name}`)
    },
  ],
  /** Two rounds; the state is what the first one has brought. */
  rounds: [
    {},
    (_, { mcpReq }) => {
      const second = acceptedContent(mcpReq.inputResponses, 'second', name)
      if (second !== undefined) return says(`${mcpReq.requestState()} and ${second.name}`)
      const first = acceptedContent(mcpReq.inputResponses, 'first', name)
      if (first === undefined) return inputRequired({ inputRequests: { first: elicit('First?') } })
      return inputRequired({ inputRequests: { second: elicit('Second?') }, requestState: first.name })
    },
  ],
  sample: [
    {},
    (_, { mcpReq }) => {
      const answer = inputResponse(mcpReq.inputResponses, 'text')
      if (answer.kind === 'sampling') return says(`sampled ${answer.result.content.text}`)
      const messages = [{ role: 'user', content: { type: 'text', text: 'Say something' } }]
      return inputRequired({
        inputRequests: { text: inputRequired.createMessage({ messages, maxTokens: 9 }) },
      })
    },
  ],
  progress: [
    {},
    async (_, { mcpReq }) => {
      for (const progress of [1, 2, 3]) {
        await step(mcpReq, progress)
        // The client library drops what comes in one piece with the answer.
        await new Promise((resolve) => setTimeout(resolve, 30))
      }
      return says('progressed')
    },
  ],
  log: [
    {},
    async (_, { mcpReq }) => {
      await mcpReq.log('info', 'said')
      return says('logged')
    },
  ],
  hang: [
    {},
    async (_, { mcpReq }) => {
      const ended = new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve))
      await step(mcpReq, 1)
      await ended
      givenUp += 1
      if (givenUpFile !== undefined) appendFileSync(givenUpFile, '.')
      return says('given up')
    },
  ],
  givenUp: [{}, () => says(String(countGivenUp()))],
  change: [
    {},
    () => {
      isMore = !isMore
      for (const tell of toolsChanged) tell()
      return says('changed')
    },
  ],
}

function make() {
  const server = new McpServer(info, { capabilities, instructions: 'Call the tools.' })
  for (const [tool, [shape, run]] of Object.entries(tools))
    server.registerTool(tool, { description: tool, inputSchema: z.object(shape) }, run)
  const more = server.registerTool('more', { inputSchema: z.object({}) }, () => says('more'))
  const follow = () => (more.enabled === isMore ? undefined : isMore ? more.enable() : more.disable())
  follow()
  toolsChanged.add(follow)
  Object.assign(server.server, { onclose: () => toolsChanged.delete(follow) })
  return server
}

function handlerOf() {
  if (mode !== 'old') {
    const handler = createMcpHandler(make, { legacy: mode === 'new' ? 'reject' : 'stateless' })
    toolsChanged.add(() => handler.notify.toolsChanged())
    return toNodeHandler(handler)
  }
  const sessions = new Map()
  return async (request, response) => {
    const known = sessions.get(request.headers['mcp-session-id'])
    if (known !== undefined) return known.handleRequest(request, response)
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => sessions.set(id, transport),
    })
    await make().connect(transport)
    return transport.handleRequest(request, response)
  }
}

if (way === '--http') {
  const server = createServer(handlerOf())
  server.listen(0, '127.0.0.1', () => {
    process.stdout.write(`http://127.0.0.1:${server.address().port}/mcp\n`)
  })
} else if (mode === 'old') await make().connect(new StdioServerTransport())
else serveStdio(make, { legacy: mode === 'new' ? 'reject' : 'serve' })
