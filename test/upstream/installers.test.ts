import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { isInstaller } from '../../src/upstream/process/installers.js'

const cases: readonly (readonly [string, readonly string[], boolean])[] = [
  ['npx', ['-y', 'x'], true],
  ['/usr/local/bin/npx', ['x'], true],
  ['C:\\Program Files\\nodejs\\npx.cmd', ['x'], true],
  ['cmd', ['/c', 'npx', '-y', 'x'], true],
  ['npm', ['exec', '--', 'x'], true],
  ['npm', ['x', 'x'], true],
  ['npm', ['run', 'x'], false],
  ['pnpm', ['dlx', 'x'], true],
  ['pnpm', ['start'], false],
  ['bunx', ['x'], true],
  ['bun', ['x', 'x'], true],
  ['uvx', ['x'], true],
  ['uv', ['tool', 'run', 'x'], true],
  ['uv', ['run', 'x'], false],
  ['node', ['npx.js'], false],
  ['npxs', [], false],
]

for (const [command, args, want] of cases)
  test(`${command} ${args.join(' ')}`, () => equal(isInstaller(command, args), want))
