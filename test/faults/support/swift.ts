// Servers that start in a millisecond: `sed` scripts with just enough MCP.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StdioServerJson } from '../../../src/index.js'
import type { ServerEntry } from '../../integration/support/programs.js'

const ID = String.raw`^\{"jsonrpc":"2\.0","id":([0-9]+|"[^"]*"),`
const result = (value: string): string => `{"jsonrpc":"2.0","id":\\1,"result":${value}}`
const initialized =
  '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"swift","version":"1"}}'
const tools = '{"tools":[{"name":"hit","inputSchema":{"type":"object"}}]}'

const script = String.raw`
/"method":"tools\/call"/s/${ID}.*"nonce":"([^"]*)".*$/${result('{"content":[{"type":"text","text":"\\2"}]}')}/p
/"method":"initialize"/s/${ID}.*$/${result(initialized)}/p
/"method":"tools\/list"/s/${ID}.*$/${result(tools)}/p
/"method":"ping"/s/${ID}.*$/${result('{}')}/p
`

export class SwiftServers {
  readonly #script: string

  constructor(folder: string) {
    this.#script = join(folder, 'swift.sed')
    writeFileSync(this.#script, script)
  }

  /** A server with the tool `hit`, which returns its `nonce`. */
  entry(more: ServerEntry = {}): StdioServerJson {
    return { command: 'sed', args: ['-nuEf', this.#script], ...more }
  }
}
