// Makes the picture of docs/sandbox.md again: runs the Python there in one session of `mcps-proxy sandbox`.
//
// usage: node scripts/sandbox-picture.mjs FILE, after npm run build

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const path = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url))
const page = readFileSync(path('docs/sandbox.md'), 'utf8')
const codes = [...page.matchAll(/^```python\n([^]*?)^```$/gm)].map(([, code]) => code)
const [, , file] = process.argv
if (file === undefined) throw new Error('usage: node scripts/sandbox-picture.mjs FILE')

const args = [path('dist/cli.js'), 'sandbox', '--stdio', '--runtime', 'bubblewrap', '--silent']
const service = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
const exited = once(service, 'exit')
codes.forEach((code, index) => {
  const params = { name: 'execute_code', arguments: { code, session_id: 'picture' } }
  service.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: index + 1, method: 'tools/call', params })}\n`)
})
const results = []
for await (const line of createInterface({ input: service.stdout })) {
  results.push(JSON.parse(line))
  // Calls that run at the end of the input have little time.
  if (results.length === codes.length) service.stdin.end()
}
await exited
results.sort((a, b) => a.id - b.id)
for (const { error, result } of results)
  if (error !== undefined || result.isError) throw new Error(JSON.stringify(error ?? result.content))
console.log(results.map(({ result }) => result.content[0].text).join(''))
const image = results.at(-1).result.content.find(({ type }) => type === 'image')
writeFileSync(file, Buffer.from(image.data, 'base64'))
