// Which tools need consent, and how the question reads.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { resolveConfig, selectSchema } from '../../src/config/config.js'
import { parse } from '../../src/jsonrpc/text.js'
import { readListItem } from '../../src/mcp/list-items.js'
import { Consent } from '../../src/policy/policy.js'
import { confirmParams } from '../../src/policy/confirmations.js'
import { Redactor } from '../../src/text/redactor.js'
import { textAt } from '../integration/support/json.js'

/** Of a tool `x` of a server with these rules. */
function isConsentNeeded(
  confirm: unknown,
  annotations: string | undefined,
  tool = 'x',
  consent = new Consent(),
): boolean {
  const value = { mcpServers: { s: { command: 'c', confirm } } }
  const context = { source: 'memory', folder: '/', env: {}, home: '/' }
  const config = selectSchema(resolveConfig(value, context), 'default').servers[0]
  const more = annotations === undefined ? '' : `,"annotations":${annotations}`
  const item = readListItem(Buffer.from(`{"name":"x"${more}}`), 'tools')
  assert(config !== undefined && item !== undefined)
  return consent.isNeeded(config, item, tool)
}

const destructive = [{ annotations: 'destructive' }]

const cases: readonly (readonly [string, unknown, string | undefined, boolean])[] = [
  ['by a pattern', ['*'], '{"readOnlyHint":true}', true],
  ['by no pattern that does not fit', ['y', 's__x', 'X'], undefined, false],
  ['by a tool without annotations', destructive, undefined, true],
  ['by no tool that reads only', destructive, '{"readOnlyHint":true}', false],
  ['by no tool that does not destroy', destructive, '{"destructiveHint":false}', false],
  ['by a tool that destroys', destructive, '{"readOnlyHint":false,"destructiveHint":true}', true],
  ['by a hint of another type', destructive, '{"readOnlyHint":"true"}', true],
  ['by annotations that are no object', destructive, '[]', true],
  ['by nothing without a rule', [], '{"destructiveHint":true}', false],
]
for (const [title, confirm, annotations, isAsked] of cases)
  test(`consent is needed ${title}`, () => assert.equal(isConsentNeeded(confirm, annotations), isAsked))

test('consent is needed by a tool that destroyed before, and by every tool once 10,000 of them did', () => {
  const consent = new Consent()
  const isAsked = (tool: string, annotations?: string): boolean =>
    isConsentNeeded(destructive, annotations, tool, consent)
  const reads = '{"readOnlyHint":true}'
  isAsked('x0')
  assert.deepEqual([isAsked('x0', reads), isAsked('y', reads)], [true, false])
  assert.equal(isConsentNeeded([], reads, 'x0', consent), false)
  const item = readListItem(Buffer.from('{"name":"x"}'), 'tools')
  assert(item !== undefined)
  for (let at = 1; at < 10_000; at++)
    consent.isNeeded({ confirm: [{ annotations: 'destructive' }] }, item, `x${at}`)
  assert.equal(isAsked('y', reads), true)
})

const said = (args: string): string => {
  const params = confirmParams({ server: 's', tool: 't', args }, new Redactor(['configured']))
  return textAt(parse(params), 'message').replace(/^.*\n\nArguments: /s, '')
}

describe('the question', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    ['arguments', '{"a":1}', '{"a":1}'],
    ['a secret of the configuration', '{"a":"configured"}', '{"a":"[redacted]"}'],
    ['a member named like a secret', '{"apiKey" : "x\\"y","to":"b"}', '{"apiKey" : "[redacted]","to":"b"}'],
    ['a bearer token', '"Bearer abcdefghijklmnopqrstuvwx"', '"Bearer [redacted]"'],
    ['what turns text round', '{"a":"\u202eb\u0007"}', '{"a":"\\u202eb\\u0007"}'],
  ]
  for (const [title, args, wanted] of cases) test(`shows ${title}`, () => assert.equal(said(args), wanted))

  test('shows every argument, whatever stands before it', () => {
    const many = Array.from({ length: 60 }, (_, at) => `"note${at}":"${'fine '.repeat(10)}"`)
    const args = `{${many.join(',')},"command":"ls ${' '.repeat(3000)}; rm -rf x"}`
    assert.equal(said(args), args)
  })

  test('names the tool on one line', () => {
    const params = confirmParams({ server: 's', tool: `a\nb${'c'.repeat(500)}`, args: '{}' }, new Redactor())
    const message = textAt(parse(params), 'message')
    assert.match(message, /^Allow this call of the tool 'a\\nbc{197}' of the server 's'\?\n/)
  })
})
