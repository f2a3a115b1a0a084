// The files of examples/deploy. The image is not built here: that needs a container registry.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { httpCommand } from '../../src/cli/serve-commands.js'
import { root } from '../support/source-text.js'

const folder = join(root, 'examples/deploy')
const read = (name: string): string => readFileSync(join(folder, name), 'utf8')

/** The instructions of the file, each on one line. */
const instructions = read('Dockerfile')
  .replaceAll(/^#.*$/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line.trim() !== '')

const valuesOf = (name: string): string[] =>
  instructions.flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []))

function wordsIn(json: string | undefined): string[] {
  const words: unknown = JSON.parse(json ?? '')
  assert(Array.isArray(words))
  return words.map(String)
}

describe('the Dockerfile', () => {
  test('starts a gateway, not as root, below a process that reaps', () => {
    const [init, end, program, ...others] = wordsIn(valuesOf('ENTRYPOINT')[0])
    assert.deepEqual([init, end, program, others], ['tini', '--', 'mcps-proxy', []])
    const [name, ...args] = wordsIn(valuesOf('CMD').find((value) => value.startsWith('[')))
    assert.equal(name, 'http')
    assert.equal(httpCommand.read(args).host, '0.0.0.0')
    assert.deepEqual(valuesOf('USER'), ['node'])
    const last = instructions.findLastIndex((line) => line.startsWith('RUN '))
    assert(last < instructions.findIndex((line) => line.startsWith('USER ')))
  })

  test('is what compose.yaml builds', () => {
    assert.match(
      read('compose.yaml'),
      /^ {6}context: \.\.\/\.\.\n {6}dockerfile: examples\/deploy\/Dockerfile$/m,
    )
    assert.match(read('compose.yaml'), /^ {4}read_only: true$/m)
    // Of a file that is mounted by itself the container would keep the old text when it is replaced.
    assert.match(read('compose.yaml'), /^ {6}- \S+:\/config:ro$/m)
    assert.deepEqual(valuesOf('ENV'), ['MCPS_PROXY_CONFIG=/config/config.json'])
  })
})

describe('the unit of systemd', () => {
  const unit = read('mcps-proxy.service')

  test('starts a gateway, and gives it the time that it needs to end', () => {
    const [, line = ''] = /^ExecStart=\S+ mcps-proxy (.*)$/m.exec(unit) ?? []
    const [name, ...args] = line.split(' ')
    assert.equal(name, 'http')
    assert(httpCommand.read(args))
    // The program has ended after 11 seconds in all.
    assert(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) > 11)
  })

  const verifier = 'systemd-analyze'
  const isMissing = spawnSync(verifier, ['--version']).error !== undefined
  test('is valid', { skip: isMissing ? `${verifier} is not installed` : false }, () => {
    const units = ['mcps-proxy.service', 'mcps-proxy.socket'].map((name) => join(folder, name))
    const { status, stderr } = spawnSync(verifier, ['verify', ...units], { encoding: 'utf8' })
    assert.deepEqual([status, stderr], [0, ''])
  })

  test('is hardened', { skip: isMissing ? `${verifier} is not installed` : false }, () => {
    const unit = join(folder, 'mcps-proxy.service')
    const { status, stdout } = spawnSync(verifier, ['security', '--offline=yes', '--threshold=60', unit])
    assert.equal(status, 0, String(stdout))
  })
})
