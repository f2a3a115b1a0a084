// The configuration files of clients work unchanged.

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { loadConfig } from '../../src/config/config.js'
import type { Configuration, Environment } from '../../src/config/configuration.js'
import type { ServerConfig } from '../../src/upstream/contracts/server-config.js'

const folder = mkdtempSync(join(tmpdir(), 'mcps-clients-'))
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))

const home = join(folder, 'home')

function load(name: string, text: string | Uint8Array, env: Environment = {}): Configuration {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text, { mode: 0o600 })
  return loadConfig({ path, env, home })
}

const serversOf = (config: Configuration): readonly ServerConfig[] =>
  config.schemas.get('default')?.servers ?? []

function stdio(config: Configuration, at = 0): ServerConfig & { kind: 'stdio' } {
  const server = serversOf(config)[at]
  return server?.kind === 'stdio' ? server : assert.fail(`no program at ${at}`)
}

function remote(config: Configuration, at = 0): ServerConfig & { kind: 'http' | 'sse' } {
  const server = serversOf(config)[at]
  return server?.kind === 'http' || server?.kind === 'sse' ? server : assert.fail(`no address at ${at}`)
}

const warningsOf = ({ warnings }: Configuration): string[] =>
  warnings.map(({ path, message }) => `${path}|${message}`)

describe('a file of VS Code', () => {
  const text = `{
    // Servers of the editor.
    "servers": {
      "local": {
        "type": "stdio",
        "command": "node",
        "args": ["\${workspaceFolder}/server.js", "\${workspaceFolderBasename}", "\${userHome}\${/}x\${pathSeparator}y"],
        "envFile": "\${workspaceFolder}/.env",
        "env": { "TOKEN": "\${env:MY_TOKEN}", "LEVEL": "env" }, /* stands above the file */
      },
      "remote": { "type": "http", "url": "https://h/mcp", "headers": { "X-Key": "\${env:MY_TOKEN}" } },
    },
  }`
  const variables = [
    '# comment',
    'LEVEL=file',
    'export PLAIN = some words # why',
    `SINGLE='a # b \\n'`,
    'DOUBLE="a b\\nc"',
    'KEY="-----BEGIN X-----',
    'abcd==',
    '-----END X-----"',
    'EMPTY=',
    'no variable=x',
    '',
  ].join('\r\n')

  test('is understood with its variables, its project, comments and commas', () => {
    mkdirSync(join(folder, 'project'), { recursive: true })
    writeFileSync(join(folder, 'project', '.env'), `\ufeff${variables}`)
    const config = load('project/.vscode/mcp.json', `\ufeff${text}`, { MY_TOKEN: 'secret-value' })
    const project = join(folder, 'project')
    const server = stdio(config)
    assert.deepEqual(server.args, [join(project, 'server.js'), 'project', join(home, 'x', 'y')])
    assert.equal(server.cwd, project)
    assert.deepEqual(server.env, {
      LEVEL: 'env',
      PLAIN: 'some words',
      SINGLE: 'a # b \\n',
      DOUBLE: 'a b\nc',
      KEY: '-----BEGIN X-----\nabcd==\n-----END X-----',
      EMPTY: '',
      TOKEN: 'secret-value',
    })
    const unhidden = ['secret-value', 'some words'].filter((value) => !server.secrets.includes(value))
    assert.deepEqual(unhidden, [])
    assert.deepEqual(remote(config, 1).headers, { 'X-Key': 'secret-value' })
    assert.deepEqual(warningsOf(config), [
      'servers.local.envFile|has a line with "=" that is not like NAME=value and is ignored',
    ])
  })

  test('whose envFile lacks a variable is reported', () => {
    writeFileSync(join(folder, 'odd.env'), '# a comment\nonly words\n')
    const config = load('o.json', '{"servers":{"s":{"command":"x","envFile":"odd.env"}}}')
    assert.deepEqual(warningsOf(config), ['servers.s.envFile|has no line like NAME=value'])
  })

  for (const [title, bytes, why] of [
    ['is not there', undefined, /ENOENT/],
    ['is no text', Buffer.from([0xff, 0xfe, 0x41]), /not UTF-8/],
    ['is too long', Buffer.alloc(256 * 1024 + 1, 0x23), /more than 262144 bytes/],
  ] as const)
    test(`whose envFile ${title} disables that server, and says so`, () => {
      const name = `${title}.env`
      if (bytes !== undefined) writeFileSync(join(folder, name), bytes)
      const config = load(
        'e.json',
        JSON.stringify({ servers: { s: { command: 'x', envFile: name }, t: { command: 'x' } } }),
      )
      assert.match(stdio(config).unavailable ?? '', why)
      assert.equal(stdio(config, 1).unavailable, undefined)
      assert.match(warningsOf(config).join('\n'), /^servers\.s\|is disabled: envFile /)
    })
})

for (const name of ['plain.json', 'home/.cursor/mcp.json'])
  test(`a project that is not known disables what needs it: ${name}`, () => {
    const config = load(name, '{"mcpServers":{"s":{"command":"x","args":["${workspaceFolder}/a"]}}}')
    assert.match(
      stdio(config).unavailable ?? '',
      /workspaceFolder\} is known only in a file in \.vscode or \.cursor; write the folder itself/,
    )
  })

test('a project that is not known does not hide a variable of that name', () => {
  const text = '{"mcpServers":{"s":{"command":"x","args":["${workspaceFolder}"]}}}'
  assert.deepEqual(stdio(load('named.json', text, { workspaceFolder: '/w' })).args, ['/w'])
})
