// Stands for an instance of the gateway behind a balancer: it answers with its label, and does what the path says.

import { createServer } from 'node:http'
import process from 'node:process'

const label = process.env.MCPS_PROXY_INSTANCE
let isDraining = false
let begun = 0

createServer((request, response) => {
  if (request.url === '/ready') return response.writeHead(isDraining ? 503 : 200).end()
  if (request.url === '/begun') return response.end(String(begun))
  request.resume().on('end', () => {
    if (request.url === '/drain' || request.url === '/undrain') isDraining = request.url === '/drain'
    if (isDraining) return response.writeHead(503).end()
    begun += 1
    if (request.url === '/cut') return request.socket.destroy()
    response.end(label)
  })
}).listen(Number(process.env.MCP_SERVER_PORT), process.env.MCP_SERVER_HOST)
