import { type Handler, answerOf, events, json } from './scripted.js'

export const INIT =
  '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}'

export const TOOLS = '{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}'

/** Answers lists as JSON, and calls with this result as events. */
export function oneTool(result: string): Handler {
  return ({ method, rpc, id }, response) => {
    if (method === 'GET') response.writeHead(405).end()
    else if (rpc === 'initialize') json(response, answerOf(id, INIT))
    else if (rpc === 'tools/list') json(response, answerOf(id, TOOLS))
    else if (rpc === 'tools/call') {
      events(response, `data: ${answerOf(id, result)}\n\n`)
      response.end()
    } else response.writeHead(202).end()
  }
}
