// Servers that start in a millisecond: a stream editor that speaks just enough MCP.
//
// A child in Node takes a hundred times as long to start, which is too long to
// kill a thousand of them. Every call is written to a ledger before it is
// answered, so that the ledger says what was executed, whoever was told. Each entry
// begins with a line feed of its own: a child may be killed between a nonce and the
// line feed behind it.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { StdioServerJson } from '../../../src/index.js'
import type { ServerEntry } from '../../integration/support/programs.js'

const ID = String.raw`^\{"jsonrpc":"2\.0","id":([0-9]+|"[^"]*"),`
const result = (value: string): string => `{"jsonrpc":"2.0","id":\\1,"result":${value}}`
const initialized =
  '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"swift","version":"1"}}'
const tools = '{"tools":[{"name":"hit","inputSchema":{"type":"object"}}]}'

const script = String.raw`
/"method":"tools\/call"/{
h
s/^.*"nonce":"([^"]*)".*$/\n\1/w /dev/stderr
g
s/${ID}.*"nonce":"([^"]*)".*$/${result('{"content":[{"type":"text","text":"\\2"}]}')}/p
d
}
/"method":"initialize"/s/${ID}.*$/${result(initialized)}/p
/"method":"tools\/list"/s/${ID}.*$/${result(tools)}/p
/"method":"ping"/s/${ID}.*$/${result('{}')}/p
`

/** The swift servers of one run. */
export class SwiftServers {
  readonly #folder: string
  readonly #script: string

  constructor(folder: string) {
    this.#folder = folder
    this.#script = join(folder, 'swift.sed')
    writeFileSync(this.#script, script)
  }

  /** One server with a tool `hit`, which takes a `nonce` and says it. */
  entry(name: string, more: ServerEntry = {}): StdioServerJson {
    const run = 'exec sed -nuEf "$0" 2>>"$1"'
    return { command: '/bin/sh', args: ['-c', run, this.#script, this.ledger(name)], ...more }
  }

  /** How often each nonce was executed. */
  executions(name: string): Map<string, number> {
    const counts = new Map<string, number>()
    for (const nonce of readFileSync(this.ledger(name), 'latin1').split('\n')) {
      if (nonce !== '') counts.set(nonce, (counts.get(nonce) ?? 0) + 1)
    }
    return counts
  }

  /** Where its executions are written. */
  ledger(name: string): string {
    return join(this.#folder, `${name}.ledger`)
  }
}
