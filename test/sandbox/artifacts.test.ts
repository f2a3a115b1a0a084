// The files that a result lists as artifacts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Artifacts } from '../../src/sandbox/files.js'
import type { Machine } from '../../src/sandbox/runtime.js'
import { listAt } from '../integration/support/json.js'
import { fakeDriver } from './support/fake-driver.js'
import { openRuntime } from '../support/open-runtime.js'
import { openSandbox } from './support/sandbox.js'

/** A machine whose folder for artifacts is listed so. */
function listing(...lines: readonly string[]): Machine {
  const program = fakeDriver(Promise.resolve({ code: 0, signal: undefined }))
  program.stdout.end(lines.map((line) => `${line}\n`).join(''))
  program.stderr.end()
  return { interpreter: ['python3'], run: () => program, stop: async () => {}, ended: new Promise(() => {}) }
}

/** The line of a file with this size, time and name. */
const ofFile = (line: string): string => `81a4/${line.replace('/', '/0/')}`

test('artifacts are told of once, and again when they have changed', async (t) => {
  const clock = openRuntime(t)
  const artifacts = new Artifacts()
  const told = async (...lines: readonly string[]): Promise<string[]> =>
    (await artifacts.newArtifacts({ machine: listing(...lines.map(ofFile)), clock })).map(({ path }) => path)
  assert.deepEqual(await told('1/5.1/./b', '1/5.1/./a'), ['artifacts/a', 'artifacts/b'])
  assert.deepEqual(await told('1/5.1/./a', '1/5.1/./b'), [])
  assert.deepEqual(await told('1/5.1/./a', '1/6.5/./b'), ['artifacts/b'])
  assert.deepEqual(await told('1/6.5/./b', '1/6.5/./c'), ['artifacts/c'], 'the same moment of the kernel')
  assert.deepEqual(await told('1/6.5/./b', '2/6.5/./c'), ['artifacts/c'])
  assert.deepEqual(await told('1/7/./x/y', '1/./x', '-1/7/./x', '1/7/x'), [], 'what is no line of a listing')
})

test('artifacts of a command are told of once, whatever their number and dates', async (t) => {
  const { client } = await openSandbox(t)
  const sandbox = client()
  const told = async (command: string): Promise<number> => {
    const done = await sandbox.command(command, { session_id: 's' })
    return listAt(done.of('artifacts')).length
  }
  assert.equal(await told('mkdir artifacts; cd artifacts; seq 12000 | xargs touch'), 20)
  assert.equal(await told('true'), 0)
  assert.equal(await told('echo x > artifacts/1'), 1)
  assert.equal(await told('touch -d @-100000.25 artifacts/old'), 1)
  assert.equal(await told('rm artifacts/*'), 0)
})
