import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import {
  UriTemplates,
  matchesUriTemplate,
  readUriTemplate,
  uriTemplateLimits,
} from '../../src/mcp/uri-template.js'
import { costRatio } from '../support/processor-time.js'

function matches(template: string, uri: string): boolean {
  const read = readUriTemplate(template)
  return read !== undefined && matchesUriTemplate(read, uri)
}

describe('matchesUriTemplate', () => {
  const cases = [
    // template, URIs that match, URIs that do not
    ['file:///a', ['file:///a'], ['file:///', 'file:///ab', 'File:///a']],
    ['users://{id}', ['users://7', 'users://a%20b', 'users://'], ['users://7/x', 'users://7?x', 'user://7']],
    ['users://{id}/profile', ['users://7/profile'], ['users://7/8/profile', 'users://7/profile/']],
    ['file:///{+path}', ['file:///a/b?c#d', 'file:///'], ['file://x']],
    [
      'a:{+path}/{name}.txt',
      ['a:x/y/z.txt', 'a:x/y.txt', 'a:/y.txt'],
      ['a:y.txt', 'a:x/y.md', 'a:x/y.txt/z'],
    ],
    ['a:{x}{y}b', ['a:b', 'a:bb', 'a:xyzb'], ['a:', 'a:b/b', 'a:xyz']],
    ['a:x{#part}', ['a:x', 'a:x#', 'a:x#y/z#?'], ['a:xy', 'a:x?y']],
    ['a:x{.ext}', ['a:x', 'a:x.tar.gz'], ['a:xtar', 'a:x.a/b']],
    ['a:x{/one}', ['a:x', 'a:x/b', 'a:x/'], ['a:x/b/c', 'a:xb', 'a:x//']],
    ['a:x{/one,two}', ['a:x', 'a:x/b', 'a:x/b/c'], ['a:xb/c', 'a:x/b?c']],
    ['a:x{/path*}', ['a:x', 'a:x/b/c/d'], ['a:x/b#c', 'a:xb']],
    ['a:x{;k}', ['a:x', 'a:x;k=v', 'a:x;k'], ['a:xk', 'a:x;k/v']],
    ['a:x{?q,page}', ['a:x', 'a:x?q=1&page=2', 'a:x?q=a/b'], ['a:xq', 'a:x&q=1', 'a:x?q=1#f']],
    ['a:x?k=1{&q}', ['a:x?k=1', 'a:x?k=1&q=2'], ['a:x?k=12', 'a:x?k=1&q#f']],
    ['a:{x}{?q}', ['a:b?q=1', 'a:b', 'a:'], ['a:b/c?q=1']],
    ['{scheme}://{host}{+rest}', ['a://b', 'a://b/c?d'], ['a:/b']],
    ['a:{name:3}', ['a:abc', 'a:ab'], ['a:a/b']],
    ['a:{x.y}{%41}', ['a:b'], []],
    ['a:(x+)+[y]{v}$', ['a:(x+)+[y]1$'], ['a:xx', 'a:(x+)+[y]1']],
    ['', [''], ['a']],
  ] as const
  for (const [template, good, bad] of cases)
    it(template || 'the empty template', () => {
      for (const uri of good) assert.equal(matches(template, uri), true, uri)
      for (const uri of bad) assert.equal(matches(template, uri), false, uri)
    })

  it('takes no broken template', () => {
    for (const template of [
      '{',
      'a{x',
      '{}',
      '{ x}',
      '{x,}',
      '{=x}',
      '{!x}',
      '{|x}',
      '{@x}',
      '{{x}}',
      '{x:0}',
      '{x:}',
    ])
      assert.equal(readUriTemplate(template), undefined, template)
  })

  it('holds its limits', () => {
    const { templateLengthMax, partsMax, uriLengthMax } = uriTemplateLimits
    assert.notEqual(readUriTemplate('x'.repeat(templateLengthMax)), undefined)
    assert.equal(readUriTemplate('x'.repeat(templateLengthMax + 1)), undefined)
    assert.notEqual(readUriTemplate('{x}'.repeat(partsMax)), undefined)
    assert.equal(readUriTemplate('{x}'.repeat(partsMax + 1)), undefined)
    assert.equal(matches('{+x}', 'x'.repeat(uriLengthMax)), true)
    assert.equal(matches('{+x}', 'x'.repeat(uriLengthMax + 1)), false)
  })

  it('is quick for what would make an expression backtrack', () => {
    const { templateLengthMax, uriLengthMax } = uriTemplateLimits
    const literal = 'a'.repeat(templateLengthMax - 10)
    for (const template of [`${'{+x}a'.repeat(32)}b`, `{+x}${literal}b`]) {
      const uris = [uriLengthMax, uriLengthMax / 4].map((length) => 'a'.repeat(length))
      const [long, short] = uris.map((uri) => () => assert.equal(matches(template, uri), false))
      assert.ok(long !== undefined && short !== undefined)
      const times = costRatio(long, short, 5)
      assert.ok(times < 32, `four times the characters cost ${times} times as much`)
    }
  })

  it('matches whatever a template expands to', () => {
    const value = fc.string().map(encodeURIComponent)
    fc.assert(
      fc.property(value, value, value, (x, y, z) => {
        assert.equal(matches('a:{x}/{y}{?z}', `a:${x}/${y}?z=${z}`), true)
        assert.equal(matches('a:{+x}/{y}.txt{#z}', `a:${x}/${y}/${x}.txt#${z}`), true)
      }),
    )
  })
})

const listOf = (...texts: readonly string[]): UriTemplates<string> => new UriTemplates(texts, (text) => text)

describe('the templates of a list', () => {
  it('find the most specific one that matches, and of two the first', () => {
    const list = listOf('{+all}', 'file:///{+path}', 'file:///a/{+path}', 'file:///{+other}', '{')
    for (const [uri, want] of [
      ['file:///a/b', 'file:///a/{+path}'],
      ['file:///b', 'file:///{+path}'],
      ['x', '{+all}'],
    ] as const)
      assert.equal(list.match(uri), want)
    assert.equal(listOf('a:{x}', 'b').match('c'), undefined)
  })

  it('are read up to a limit of characters', () => {
    const { listLengthMax } = uriTemplateLimits
    const text = `${'x'.repeat(1020)}{y}`
    const count = Math.floor(listLengthMax / text.length)
    const many = Array.from({ length: count }, () => text)
    assert.equal(listOf(...many, text, 'a:{b}').match('a:1'), undefined)
    assert.equal(listOf(...many, 'a:{b}', text).match('a:1'), 'a:{b}')
  })

  it('are matched with one URI up to a limit of steps', () => {
    const { stepsMax, uriLengthMax } = uriTemplateLimits
    // Each template has 32 parts and does not match.
    const slow = '{+x}a'.repeat(16)
    const uri = 'b'.repeat(uriLengthMax)
    const count = Math.ceil(stepsMax / ((32 + (slow.length >> 3)) * uriLengthMax))
    const fill = (length: number): string[] => Array.from({ length }, () => slow)
    assert.equal(listOf(...fill(count - 1), '{+x}').match(uri), '{+x}')
    assert.equal(listOf(...fill(count), '{+x}').match(uri), undefined)
    // A template whose first literal differs costs nothing.
    assert.equal(listOf(...fill(count).map((each) => `c${each}`), '{+x}').match(uri), '{+x}')
  })
})
