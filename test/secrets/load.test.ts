// Secrets that a configuration refers to: what each form becomes, and what is said where it becomes nothing.

import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Configuration } from '../../src/config/configuration.js'
import { ConfigError } from '../../src/config/problems.js'
import { resolveConfig } from '../../src/config/config.js'
import type { References } from '../../src/config/references.js'
import { type Fetching, withSecrets } from '../../src/secrets/load.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { FakeChild, FakeRuntime, polite, settled } from '../upstream/support/fake-runtime.js'

const node = `"${process.execPath}" -e`

interface Asked extends Partial<Fetching> {
  readonly schema?: string
  readonly stored?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
}

/** A folder with files of secrets, and a store of them. */
function place(t: Scope, stored: Readonly<Record<string, string>> = { known: 'value-of-known' }): string {
  const folder = scratch(t)
  writeFileSync(join(folder, 'token.txt'), 'value-of-file\r\n')
  writeFileSync(join(folder, 'two.txt'), 'one\ntwo\n\n')
  writeFileSync(join(folder, 'nul.txt'), 'a\0b')
  writeFileSync(join(folder, 'braces.txt'), '${A}')
  mkdirSync(join(folder, 'own'), { mode: 0o700 })
  writeFileSync(join(folder, 'own', 'secrets.json'), JSON.stringify({ format: 1, secrets: stored }), {
    mode: 0o600,
  })
  return folder
}

function load(
  folder: string,
  value: unknown,
  { schema, env = {}, ...more }: Asked = {},
): Promise<Configuration> {
  const read = (references: References): Configuration =>
    resolveConfig(value, { source: 'test', folder, env, home: folder, references })
  const secretsFile = join(folder, 'own', 'secrets.json')
  return withSecrets(read, { secretsFile, runsPrograms: true, schema, ...more })
}

/** The one server of a configuration whose variable X has this text. */
async function serverWith(
  folder: string,
  text: string,
  more: Asked & { readonly inputs?: readonly object[] } = {},
): Promise<{ value: string | undefined; unavailable: string | undefined; secrets: readonly string[] }> {
  const { inputs = [], ...asked } = more
  const config = await load(folder, { inputs, mcpServers: { s: { command: 'x', env: { X: text } } } }, asked)
  const [server] = config.schemas.get('default')?.servers ?? []
  assert(server?.kind === 'stdio')
  return { value: server.env['X'], unavailable: server.unavailable, secrets: server.secrets }
}

const values: readonly (readonly [title: string, text: string, want: string])[] = [
  ['a file without its last line break', 'Bearer ${file:token.txt}', 'Bearer value-of-file'],
  ['of several line breaks only the last goes', '${file:two.txt}', 'one\ntwo\n'],
  ['a file of the home folder', '${file:~/token.txt}', 'value-of-file'],
  ['a program', `\${cmd:${node} "console.log('value-of-program')"}`, 'value-of-program'],
  ['quotes, spaces and backslashes', `\${cmd:${node} 'console.log(process.argv[1])' "a  b\\c"}`, 'a  b\\c'],
  ['no shell', `\${cmd:${node} 'console.log(process.argv[1])' $HOME}`, '$HOME'],
  ['a secret that is set', '${keyring:known}', 'value-of-known'],
  ['an input that is set', '${input:known}', 'value-of-known'],
  ['a secret in place of a variable', '${NONE:-${keyring:known}}', 'value-of-known'],
  ['pairs of braces', `\${cmd:${node} "for (const a of ['x']) { console.log(a) }"}`, 'x'],
  ['what comes out is not expanded', '${file:braces.txt}', '${A}'],
  ['as it is written', '$${keyring:known}', '${keyring:known}'],
  ['a variable that is called like a form', '${file:-other}', 'other'],
]

const failures: readonly (readonly [title: string, text: string, why: RegExp])[] = [
  ['a missing file', '${file:gone.txt}', /gone\.txt\}: it cannot be read: ENOENT; there is no such/],
  ['a file that is a folder', '${file:own}', /own\}: it is a folder$/],
  ['a file with a NUL', '${file:nul.txt}', /nul\.txt\} has a NUL character$/],
  [
    'a program that fails',
    `\${cmd:${node} "console.error('first'); console.error('last words'); process.exit(3)"}`,
    / …\} ended with exit code 3: last words$/,
  ],
  ['a program that prints nothing', `\${cmd:${node} 0}`, / …\} printed nothing$/],
  ['a missing program', '${cmd:surely-no-such-program x}', /program …\} cannot be started: ENOENT$/],
  ['a quote that does not end', '${cmd:echo "a}', /names no program, or has a quote that does not end$/],
  [
    'a secret that is not set',
    "${keyring:it's new}",
    /^the secret it's new is not set; run mcps-proxy secret set 'it'\\''s new'$/,
  ],
  [
    'an input that nobody can be asked for',
    '${input:key}',
    /^the input key \(API key\) has no value; run mcps-proxy secret set key$/,
  ],
  ['an input that is not declared', '${input:other}', /^the input other has no value; run/],
  [
    'several',
    '${NONE} ${keyring:a} ${keyring:b}',
    /^variable NONE is not set; the secret a is .* the secret b/,
  ],
]

const withToken = (token: string): unknown => ({
  server: { token, stateKey: '${file:two.txt}-more-than-16' },
  mcpServers: {},
})

describe('a reference to a secret', () => {
  for (const [title, text, want] of values)
    test(`becomes ${title}`, async (t) => {
      const { value, unavailable, secrets } = await serverWith(place(t), text)
      assert.deepEqual([value, unavailable], [want, undefined])
      const hidden = ['value-of-file', 'value-of-program', 'value-of-known'].find((each) =>
        want.includes(each),
      )
      assert.equal(hidden === undefined || secrets.includes(hidden), true)
    })

  const inputs = [{ type: 'promptString', id: 'key', description: 'API key' }]
  for (const [title, text, why] of failures)
    test(`says why there is no value: ${title}`, async (t) =>
      assert.match((await serverWith(place(t), text, { inputs })).unavailable ?? '', why))

  test('disables its own server alone, and stands in addresses, header fields and certificates too', async (t) => {
    const config = await load(place(t), {
      mcpServers: {
        broken: { command: 'x', args: ['${keyring:none}'] },
        remote: {
          url: 'https://h/mcp?key=${keyring:known}',
          headers: { Authorization: 'Bearer ${file:token.txt}' },
          proxy: 'http://me:${keyring:known}@p:1',
        },
        elsewhere: { url: '${keyring:known}' },
      },
    })
    const [broken, remote, elsewhere] = config.schemas.get('default')?.servers ?? []
    assert.match(broken?.unavailable ?? '', /the secret none is not set/)
    assert(remote?.kind === 'http')
    assert.deepEqual(
      [remote.unavailable, remote.url, remote.headers, remote.proxy],
      [
        undefined,
        'https://h/mcp?key=value-of-known',
        { Authorization: 'Bearer value-of-file' },
        'http://me:value-of-known@p:1',
      ],
    )
    assert.match(elsewhere?.unavailable ?? '', /url is wrong after its variables are replaced/)
  })

  test('may be the token of the front, which never becomes an empty one', async (t) => {
    const folder = place(t)
    const { server } = await load(folder, withToken('${keyring:known}'))
    assert.deepEqual([server.token, server.stateKeys], ['value-of-known', ['one\ntwo\n-more-than-16']])
    await assert.rejects(load(folder, withToken('${keyring:none}')), (error) => {
      assert(error instanceof ConfigError)
      return error.problems[0]?.problem.startsWith('has no value: the secret none is not set') === true
    })
  })
})

const counting = (folder: string): string =>
  `\${cmd:${node} 'require("fs").appendFileSync(process.argv[1],"x");console.log("v")' "${join(folder, 'runs')}"}`
const runs = (folder: string): string => {
  try {
    return readFileSync(join(folder, 'runs'), 'utf8')
  } catch {
    return ''
  }
}

const server = (folder: string): object => ({ command: 'x', args: [counting(folder)] })

describe('a program', () => {
  test('runs once for all servers, and again for the next reading', async (t) => {
    const folder = place(t)
    const file = { mcpServers: { a: server(folder), b: server(folder) } }
    await load(folder, file)
    assert.equal(runs(folder), 'x')
    await load(folder, file)
    assert.equal(runs(folder), 'xx')
  })

  test('does not run for what is not used', async (t) => {
    const folder = place(t)
    const used = { command: 'x', args: ['${keyring:known}'] }
    const schemas = {
      default: { mcpServers: { used, off: { ...server(folder), disabled: true } } },
      off: { enabled: false, mcpServers: { a: server(folder) } },
      other: { mcpServers: { a: server(folder) } },
    }
    const config = await load(folder, { schemas }, { schema: 'default' })
    assert.deepEqual(config.schemas.get('default')?.servers[0]?.secrets, ['value-of-known'])
    assert.equal(runs(folder), '')
  })

  test('does not run for a check, which takes it for one that succeeds', async (t) => {
    const folder = place(t)
    const file = {
      mcpServers: { a: { url: counting(folder) }, b: { command: 'x', args: ['${keyring:none}'] } },
    }
    const config = await load(folder, file, { runsPrograms: false })
    const [a, b] = config.schemas.get('default')?.servers ?? []
    assert.deepEqual([a?.unavailable, runs(folder)], [undefined, ''])
    assert.match(b?.unavailable ?? '', /none is not set/)
  })

  test(
    'is not looked for where a confined server may write',
    { skip: process.platform !== 'linux' },
    async (t) => {
      const folder = place(t)
      writeFileSync(join(folder, 'own', 'planted'), '#!/bin/sh\necho planted', { mode: 0o755 })
      const { PATH } = process.env
      process.env['PATH'] = `${join(folder, 'own')}:${PATH}`
      t.after(() => (process.env['PATH'] = PATH))
      const walled = { command: 'x', sandbox: { filesystem: { write: [join(folder, 'own')] } } }
      const run = { command: 'x', env: { X: '${cmd:planted}' } }
      const config = await load(
        folder,
        { mcpServers: { walled, run } },
        { env: { PATH: process.env['PATH'] } },
      )
      const [, server] = config.schemas.get('default')?.servers ?? []
      assert.equal(server?.unavailable, '${cmd:planted} cannot be started: ENOENT')
    },
  )

  test('that does not end is ended after 10 s', async (t) => {
    const runtime = new StuckRuntime()
    const found = serverWith(place(t), '${cmd:stuck --token canary}', { runtime })
    while (runtime.children.length === 0) await settled()
    await runtime.pass(9999)
    assert.equal(runtime.children[0]?.signals, 0)
    await runtime.pass(1)
    assert.equal((await found).unavailable, '${cmd:stuck …} did not end within 10 s')
    assert.equal(runtime.children[0]?.signals, 1)
  })
})

/** Its children outlive the end of their stdin. */
class StuckRuntime extends FakeRuntime {
  override spawn(): FakeChild {
    const child = new FakeChild(1, 0, 'stuck', polite)
    child.lingers = true
    this.children.push(child)
    return child
  }
}

test('an input is asked for once, and kept', async (t) => {
  const folder = place(t)
  const asked: string[] = []
  const ask: Fetching['ask'] = async ({ id, description }) => {
    asked.push(`${id}: ${description}`)
    return 'typed-value'
  }
  const inputs = [
    { type: 'promptString', id: 'key', description: 'API key' },
    { type: 'command', id: 'shell' },
  ]
  for (const more of [{ ask }, {}])
    assert.equal((await serverWith(folder, '${input:key}', { inputs, ...more })).value, 'typed-value')
  assert.match(
    (await serverWith(folder, '${input:shell}', { inputs, ask })).unavailable ?? '',
    /^the input shell has/,
  )
  assert.deepEqual(asked, ['key: API key'])
})
