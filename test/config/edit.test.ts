// Changes of a configuration file: which text stays, and which changes are refused.

import { strict as assert } from 'node:assert'
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import { alone, changeFile } from '../../src/cli/edit-file.js'
import { EditMistake, type ServerEdit, editServer, editTokens } from '../../src/config/edit.js'
import { readJson } from '../../src/config/json-syntax.js'
import { changedLines } from '../../src/text/changed-lines.js'
import { runCommand } from '../cli/support/in-process.js'
import { type Ran, scratch } from '../integration/support/spawned.js'

const add = (name: string, replaces = false): ServerEdit => ({
  kind: 'add',
  name,
  entry: { command: 'c', args: ['x'] },
  replaces,
})

const commented = `{
\t// Those of the team.
\t"mcpServers": {
\t\t"b": { "command": "b" }, // stays
\t\t"a": { "command": "a" } /* last */
\t},
\t"startupGraceMs": 5 // as measured
}
`

const serverIn = (text: string): unknown => {
  const result = readJson(text)
  return result.kind === 'value' ? Object(result.value).server : undefined
}

describe('a change of the file', () => {
  test('keeps comments, order and tabs', () => {
    const text = editServer(commented, 'default', { kind: 'disable', name: 'a' })
    for (const kept of ['// Those of the team.', '// stays', '/* last */', '// as measured'])
      assert(text.includes(kept), text)
    assert(text.indexOf('"b"') < text.indexOf('"a"'))
    assert.match(text, /"a": \{ "command": "a", "disabled": true \} \/\* last/)
    assert(!/^ /m.test(text), text)
  })

  test('is undone by its opposite', () => {
    const plain = '{\n  "mcpServers": {\n    "a": {\n      "command": "a"\n    }\n  }\n}\n'
    const added = editServer(plain, 'default', add('b'))
    assert.equal(editServer(added, 'default', { kind: 'remove', name: 'b' }), plain)
    const disabled = editServer(plain, 'default', { kind: 'disable', name: 'a' })
    assert.equal(editServer(disabled, 'default', { kind: 'enable', name: 'a' }), plain)
    const pasted = plain.replace('"a"\n', '"a",\n      "enabled": false\n')
    assert.equal(editServer(pasted, 'default', { kind: 'enable', name: 'a' }), plain)
  })

  test('finds the servers in each shape of a file, and keeps its line ends', () => {
    const schemas = '{"schemas":{"default":{"mcpServers":{}},"w":{"mcpServers":{}}}}'
    assert.match(editServer(schemas, 'w', add('s')), /"w":\s*\{\s*"mcpServers":\s*\{\s*"s":/)
    assert.match(editServer('{"servers":{}}', 'default', add('s')), /^\{\s*"servers":\s*\{\s*"s":/)
    assert.match(editServer('{\r\n  "mcpServers": {}\r\n}\r\n', 'default', add('s')), /"c",\r\n/)
    assert.match(editServer('', 'default', add('s')), /^\{\n {2}"mcpServers": \{\n {4}"s": \{\n/)
  })

  for (const [title, text, schema, edit, problem] of [
    [
      'a server that is there',
      commented,
      'default',
      add('a'),
      /there is a server 'a' already; --force replaces it/,
    ],
    [
      'a server that is not there',
      commented,
      'default',
      { kind: 'remove', name: 'c' },
      /no server is called "c"; there is b, a/,
    ],
    ['a schema of a file without any', commented, 'w', add('s'), /no group is called "w"; there is default/],
    [
      'a schema that is not there',
      '{"schemas":{"x":{"mcpServers":{}}}}',
      'w',
      add('s'),
      /no group is called "w"; there is x/,
    ],
    ['to remove from no file', '', 'default', { kind: 'remove', name: 'a' }, /no configuration yet/],
    ['a file that is no JSON', '{', 'default', add('s'), /^line 1, column 2: /],
  ] as const)
    test(`refuses ${title}`, () =>
      assert.throws(
        () => editServer(text, schema, edit),
        (error) => error instanceof EditMistake && problem.test(error.message),
      ))

  test('adds and takes out tokens of the front', () => {
    const token = { name: 'ci', sha256: 'ab' }
    const other = { name: 'ann', sha256: 'cd', expires: '2027-01-01' }
    const one = editTokens(commented, { kind: 'create', token })
    const two = editTokens(one, { kind: 'create', token: other })
    for (const kept of ['// Those of the team.', '/* last */', '// as measured'])
      assert(two.includes(kept), two)
    assert.deepEqual(serverIn(two), { tokens: [token, other] })
    assert.deepEqual(serverIn(editTokens(two, { kind: 'revoke', name: 'ci' })), { tokens: [other] })
    assert.throws(() => editTokens(two, { kind: 'create', token }), /a token 'ci' already; revoke it first/)
    assert.throws(() => editTokens(two, { kind: 'revoke', name: 'x' }), /called "x"; there is ci, ann/)
    assert.throws(() => editTokens('', { kind: 'create', token }), /no configuration yet; mcps-proxy add/)
  })

  test('shows the lines that differ', () => {
    assert.equal(changedLines('a\nb\nc\n', 'a\nx\ny\nc\n'), '- b\n+ x\n+ y\n')
    assert.equal(changedLines('a\n', 'a\n'), '')
  })
})

const inHome = (home: string, ...args: string[]): Promise<Ran> =>
  runCommand(args, { PATH: process.env['PATH'], HOME: home })

async function run(t: TestContext, ...args: string[]): Promise<Ran & { readonly home: string }> {
  const home = scratch(t)
  return { ...(await inHome(home, ...args)), home }
}

describe('the commands', () => {
  test('add makes a file that only its owner reads, and remove, disable and enable change it', async (t) => {
    const { code, out, home } = await run(t, 'add', 'files', '--env', 'A=b=c', '--', 'npx', '-y', 'x')
    assert.equal(code, 0)
    assert.match(out, /config\.json: added files$/m)
    const path = join(home, '.mcps-proxy', 'config.json')
    const read = (): unknown => JSON.parse(readFileSync(path, 'utf8'))
    const files = { command: 'npx', args: ['-y', 'x'], env: { A: 'b=c' } }
    assert.deepEqual(read(), { mcpServers: { files } })
    assert.equal(statSync(path).mode & 0o777, 0o600)
    assert.equal((await inHome(home, 'add', 'far', 'https://h/mcp', '-H', 'X-Key: k')).code, 0)
    assert.deepEqual(read(), {
      mcpServers: { files, far: { url: 'https://h/mcp', headers: { 'X-Key': 'k' } } },
    })
    assert.equal((await inHome(home, 'remove', 'far')).code, 0)
    await inHome(home, 'disable', 'files')
    assert.deepEqual(read(), { mcpServers: { files: { ...files, disabled: true } } })
    await inHome(home, 'enable', 'files')
    assert.deepEqual(read(), { mcpServers: { files } })
    assert.match((await inHome(home, 'enable', 'files')).out, /: enabled files$/m)
    assert.deepEqual(readdirSync(join(home, '.mcps-proxy')), ['config.json'])
  })

  test('what a start would refuse is not written', async (t) => {
    const { code, err, home } = await run(t, 'add', 'bad', '--', '')
    assert.equal(code, 2)
    assert.match(err, /mcpServers\.bad\.command is ""/)
    assert.deepEqual(readdirSync(join(home, '.mcps-proxy')), [])
  })

  for (const [title, text, edit, column] of [
    ['one of them', '{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}', 'disable', 36],
    ['another one', '{"mcpServers":{"b":{},"a":{"command":"x"},"a":{"command":"y"}}}', 'remove', 43],
  ] as const)
    test(`two servers with one name keep a change of ${title} from being written`, async (t) => {
      const path = join(scratch(t), 'c.json')
      writeFileSync(path, text)
      const name = edit === 'remove' ? 'b' : 'a'
      await assert.rejects(
        changeFile(path, (before) => editServer(before, 'default', { kind: edit, name })),
        new RegExp(`mcpServers\\.a is there twice: .* column ${column};`),
      )
      assert.equal(readFileSync(path, 'utf8'), text)
    })

  test('changes at the same time are all kept, and leave no other file', async (t) => {
    const path = join(scratch(t), 'c.json')
    const names = ['a', 'b', 'c']
    await Promise.all(names.map((name) => changeFile(path, (text) => editServer(text, 'default', add(name)))))
    const { mcpServers } = Object(JSON.parse(readFileSync(path, 'utf8')))
    assert.deepEqual(Object.keys(mcpServers).sort(), names)
    assert.deepEqual(readdirSync(dirname(path)), ['c.json'])
  })

  test('a file that cannot be written is named, with what to look at', async (t) => {
    // The name of the temporary file would be too long.
    const path = join(scratch(t), 'c'.repeat(250))
    writeFileSync(path, '{"mcpServers":{}}')
    await assert.rejects(
      changeFile(path, (text) => editServer(text, 'default', add('s'))),
      {
        exitCode: 1,
        message: `${path} cannot be written: ENAMETOOLONG; check the permissions of the file and of its folder; nothing was changed`,
      },
    )
    assert.equal(readFileSync(path, 'utf8'), '{"mcpServers":{}}')
  })

  test('a folder that takes no lock is named, and an error of what runs alone stays as it is', async (t) => {
    const file = join(scratch(t), 'file')
    writeFileSync(file, '')
    const path = join(file, 'config.json')
    await assert.rejects(
      alone(path, () => assert.fail()),
      (error: Error) => error.message.startsWith(`${path}.lock cannot be made: E`),
    )
    const cause = Object.assign(new Error('a folder'), { code: 'EISDIR' })
    await assert.rejects(
      alone(join(scratch(t), 'config.json'), () => Promise.reject(cause)),
      cause,
    )
  })

  test('a file with a byte order mark is changed, and one in UTF-16 is not', async (t) => {
    const home = scratch(t)
    const [marked, wide] = [join(home, 'marked.json'), join(home, 'wide.json')]
    writeFileSync(marked, '\ufeff{"mcpServers":{}}')
    writeFileSync(wide, Buffer.from('\ufeff{"mcpServers":{}}', 'utf16le'))
    assert.equal((await inHome(home, 'add', 's', '--config', marked, '--', 'x')).code, 0)
    const { err: refusal } = await inHome(home, 'add', 's', '--config', wide, '--', 'x')
    assert.match(refusal, /is not UTF-8 text; save it as UTF-8/)
  })

  test('the file is found as a start finds it: ~ is the home folder', async (t) => {
    const home = scratch(t)
    assert.equal((await inHome(home, 'add', 's', '--config', '~/own.json', '--', 'x')).code, 0)
    assert.deepEqual(readdirSync(home), ['own.json'])
  })

  test('a link stays a link, and the mode of its file too', async (t) => {
    const home = scratch(t)
    mkdirSync(join(home, 'real'))
    const [real, link] = [join(home, 'real', 'c.json'), join(home, 'c.json')]
    writeFileSync(real, '{"mcpServers":{}}', { mode: 0o640 })
    symlinkSync(real, link)
    assert.equal((await inHome(home, 'add', 's', '--config', link, '--', 'x')).code, 0)
    assert(lstatSync(link).isSymbolicLink())
    assert.equal(statSync(real).mode & 0o777, 0o640)
    assert.match(readFileSync(real, 'utf8'), /"s"/)
  })

  test('a file that a service reads as another user stays one that it can read', async (t) => {
    const path = join(scratch(t), 'c.json')
    writeFileSync(path, '{"mcpServers":{}}')
    const isRoot = process.getuid?.() === 0
    if (isRoot) for (const each of [path, dirname(path)]) chownSync(each, 4242, 4243)
    chmodSync(path, 0o644)
    const before = process.umask(0o077)
    t.after(() => process.umask(before))
    await changeFile(path, (text) => editServer(text, 'default', add('s')))
    const { mode, uid, gid } = statSync(path)
    assert.equal(mode & 0o777, 0o644)
    if (isRoot) assert.deepEqual([uid, gid], [4242, 4243])
  })
})
