// Clients that others wrote: each connects to one program on stdio, lists its tools once, and ends.
//
// usage: node clients.mjs CLIENT PROGRAM ARGUMENTS...
//
// Prints the number of tools in the first list, and after how many milliseconds it was there.

const info = { name: 'client', version: '1' }

/** Each connects to a server and gives what lists its tools, and what ends it. */
const clients = {
  async 'AI SDK'(server) {
    const { createMCPClient } = await import('@ai-sdk/mcp')
    const { Experimental_StdioMCPTransport: Transport } = await import('@ai-sdk/mcp/mcp-stdio')
    return async () => {
      const client = await createMCPClient({ transport: new Transport(server) })
      return [Object.keys(await client.tools()), () => client.close()]
    }
  },
  async LangChain(server) {
    const { MultiServerMCPClient } = await import('@langchain/mcp-adapters')
    return async () => {
      const client = new MultiServerMCPClient({ mcpServers: { all: { transport: 'stdio', ...server } } })
      return [await client.getTools(), () => client.close()]
    }
  },
  async 'mcp-use'(server) {
    const { MCPClient } = await import('mcp-use/client')
    return async () => {
      const client = new MCPClient({ mcpServers: { all: server } })
      const session = await client.createSession('all')
      return [await session.listTools(), () => client.closeAllSessions()]
    }
  },
  async Mastra(server) {
    const { MCPClient } = await import('@mastra/mcp')
    return async () => {
      const client = new MCPClient({ servers: { all: server } })
      return [Object.keys(await client.getTools()), () => client.disconnect()]
    }
  },
  async 'OpenAI Agents'(server) {
    const { MCPServerStdio } = await import('@openai/agents')
    return async () => {
      const client = new MCPServerStdio(server)
      await client.connect()
      return [await client.listTools(), () => client.close()]
    }
  },
  async 'official SDK 1'(server) {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js')
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js')
    return () => official(new Client(info), new StdioClientTransport(server))
  },
  async 'official SDK 2'(server) {
    const { Client } = await import('@modelcontextprotocol/client')
    const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
    return () => official(new Client(info), new StdioClientTransport(server))
  },
}

async function official(client, transport) {
  await client.connect(transport)
  const { tools } = await client.listTools()
  return [tools, () => client.close()]
}

const say = (value) => process.stdout.write(`\n${JSON.stringify(value)}\n`)

const [name, command, ...args] = process.argv.slice(2)
// Every library is loaded before the time is taken.
const list = await clients[name]({ command, args, env: process.env })
const startMs = performance.now()
try {
  const [tools, close] = await list()
  const ms = Math.round(performance.now() - startMs)
  await close()
  say({ tools: tools.length, ms })
} catch (error) {
  say({ error: error.message.split('\n')[0], ms: Math.round(performance.now() - startMs) })
}
process.exit(0)
