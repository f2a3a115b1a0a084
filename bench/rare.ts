// What the bench servers say to the handshake, to lists, and to whatever else is rare and parsed.

function toolList(toolCount: number): unknown[] {
  const text = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
  const size = { type: 'object', properties: { size: { type: 'integer', minimum: 0 } }, required: ['size'] }
  const tools: unknown[] = [
    { name: 'echo', description: 'Returns the text.', inputSchema: text },
    { name: 'swallow', description: 'Returns the length of the text in bytes.', inputSchema: text },
    { name: 'blob', description: 'Returns a text of size bytes.', inputSchema: size },
  ]
  for (let n = tools.length; n < toolCount; n += 1) {
    tools.push({ name: `tool_${n}`, description: `Tool ${n} of the bench server.`, inputSchema: text })
  }
  return tools
}

function textOf(params: unknown): unknown {
  if (typeof params !== 'object' || params === null || !('arguments' in params)) return undefined
  const given = params.arguments
  return typeof given === 'object' && given !== null && 'text' in given ? given.text : undefined
}

/** The result of a method that the bench servers know; undefined of any other. */
export function resultOf(method: unknown, params: unknown, toolCount: number): unknown {
  switch (method) {
    case 'tools/call':
      return { content: [{ type: 'text', text: textOf(params) }] }
    case 'initialize':
      return {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'bench', version: '1.0.0' },
      }
    case 'tools/list':
      return { tools: toolList(toolCount) }
    case 'ping':
    case 'shutdown':
      return {}
    default:
      return undefined
  }
}
