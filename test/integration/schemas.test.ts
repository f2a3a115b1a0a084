// A schema on stdio has its own servers, and nothing of another one is seen in it. `http-transcripts/schemas.jsonl` has HTTP.

import { strict as assert } from 'node:assert'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { RawClient } from './support/client.js'
import { at } from './support/json.js'
import { type ServerEntry, cli, program } from './support/programs.js'
import { type Scope, scratch, spawnProgram } from './support/spawned.js'

const lists = ['tools/list', 'prompts/list', 'resources/templates/list', 'resources/list']

/** A server that notes that it was started. */
function noting(name: string, file: string, started: string): ServerEntry {
  const note = `require('node:fs').appendFileSync(${JSON.stringify(started)}, ${JSON.stringify(`${name}\n`)})`
  const code = `${note}; import(${JSON.stringify(pathToFileURL(program(file)).href)})`
  return { command: process.execPath, args: ['-e', code] }
}

/** Three schemas, of which one is not enabled, each with a server of tools and one of prompts. */
function configured(scope: Scope) {
  const folder = scratch(scope)
  const started = join(folder, 'started')
  writeFileSync(started, '')
  const schema = (name: string, more: ServerEntry = {}) => ({
    ...more,
    mcpServers: {
      [`${name}Tools`]: noting(name, 'echo.mjs', started),
      [`${name}Prompts`]: noting(name, 'prompts.mjs', started),
    },
  })
  const schemas = {
    default: schema('first'),
    workspace: schema('second'),
    off: schema('third', { enabled: false }),
  }
  const config = join(folder, 'config.json')
  writeFileSync(config, JSON.stringify({ schemas }))
  return { config, started: () => readFileSync(started, 'utf8').trimEnd().split('\n') }
}

function assertOnly(own: string, answers: readonly string[]): void {
  const all = answers.join('\n')
  for (const name of [`${own}Tools__echo`, `${own}Prompts__review`]) assert(all.includes(name), name)
  for (const name of ['first', 'second', 'third'].filter((each) => each !== own))
    assert.equal(all.includes(name), false, `${name} in ${own}: ${all}`)
}

async function listsOf(client: RawClient): Promise<string[]> {
  const heard = await Promise.all(lists.map((method) => client.request(method)))
  return heard.map(({ text }) => text)
}

describe('--stdio', () => {
  const cases: [string, readonly string[], string, string][] = [
    ['without --schema serves default', [], 'first', 'secondTools__echo'],
    ['--schema workspace serves that', ['--schema', 'workspace'], 'second', 'firstTools__echo'],
  ]
  for (const [title, args, own, foreign] of cases)
    test(`${title}, starts nothing else, and shows nothing else`, async (t) => {
      const { config, started } = configured(t)
      const spawned = spawnProgram(t, process.execPath, [cli, '--stdio', '--config', config, ...args])
      const { client } = spawned
      const opened = JSON.stringify(await client.open())
      assertOnly(own, [opened, ...(await listsOf(client))])
      const refused = await client.call(foreign)
      assert.equal(at(refused.value, 'error', 'code'), -32601)
      assert(!JSON.stringify(at(refused.value, 'error', 'data') ?? null).includes(foreign), refused.text)
      assert.equal(at((await client.call(`${own}Tools__echo`)).value, 'error'), undefined)
      assert.equal(await spawned.finish(), 0)
      assert.deepEqual(started(), [own, own])
    })
})
