// What a forced exit does to the children.

import { strict as assert } from 'node:assert'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { Children } from '../../src/cli/shutdown.js'
import { realRuntime } from '../../src/real-runtime.js'

test('a forced exit kills every child, and lets an installer end in order', () => {
  const sent: string[] = []
  const children = new Children()
  const runtime = children.watch({
    ...realRuntime(),
    spawn: ({ command, args }) => ({
      pid: 1,
      stdin: new PassThrough(),
      stdout: new PassThrough(),
      stderr: new PassThrough(),
      exited: new Promise(() => {}),
      signal: (name) => {
        sent.push([command, ...args, name].join(' '))
        return true
      },
    }),
  })
  for (const line of ['node server.mjs', 'npx -y some-server', 'npm exec some-server', 'npm start']) {
    const [command = '', ...args] = line.split(' ')
    runtime.spawn({ command, args, cwd: '/', env: {} })
  }
  children.kill()
  assert.deepEqual(sent, [
    'node server.mjs SIGKILL',
    'npx -y some-server SIGTERM',
    'npm exec some-server SIGTERM',
    'npm start SIGKILL',
  ])
})

test('the end of a child is seen, unless it was killed at the end: that is no failure to keep', async () => {
  const children = new Children()
  const ends: (() => void)[] = []
  const runtime = children.watch({
    ...realRuntime(),
    spawn: () => ({
      pid: 1,
      stdin: new PassThrough(),
      stdout: new PassThrough(),
      stderr: new PassThrough(),
      exited: new Promise((resolve) => {
        ends.push(() => resolve({ code: undefined, signal: 'SIGKILL', spawnError: undefined }))
      }),
      signal: () => true,
    }),
  })
  const seen: string[] = []
  for (const name of ['first', 'second'])
    void runtime.spawn({ command: name, args: [], cwd: '/', env: {} }).exited.then(() => seen.push(name))
  ends[0]?.()
  await new Promise(setImmediate)
  children.kill()
  ends[1]?.()
  await new Promise(setImmediate)
  assert.deepEqual(seen, ['first'])
})
