// The effect of a forced exit on child processes.

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
