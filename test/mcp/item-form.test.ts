// When an invalid list item is repaired, and when it is dropped.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { listShapes, readPage } from '../../src/mcp/list-items.js'
import type { ListKind } from '../../src/mcp/methods.js'
import { resultOf } from '../jsonrpc/support/frames.js'

const S = '"inputSchema":{"type":"object"}'
const BARE = `{"name":"t",${S}}`
const tool = (more: string): string => `{"name":"t",${S},${more}}`
const schema = (more: string): string => `{"name":"t","inputSchema":{"type":"object",${more}}}`

/** An item and the result: another text, a fault, or by default the same text. */
const cases: readonly (readonly [ListKind, string, (string | RegExp | undefined)?, 'any'?])[] = [
  ['tools', BARE],
  ['tools', '{"name":"t"}', /^'inputSchema' is missing in 't' of its tools$/],
  ['tools', '{"name":"t","inputSchema":null}', /^'inputSchema' is null in 't'/],
  ['tools', '{"name":"t","inputSchema":[]}', /^'inputSchema' is \[\]/],
  ['tools', '{"name":"t","inputSchema":"x"}', /^'inputSchema' is no object/],
  ['tools', '{"name":"t","inputSchema":{}}', /^'inputSchema.type' is not "object"/],
  ['tools', '{"name":"t","inputSchema":{"anyOf":[{"type":"object"}]}}', /^'inputSchema.type'/],
  ['tools', schema('"properties":[],"required":null'), BARE],
  [
    'tools',
    schema('"properties":{"a":true,"b":false,"c":null}'),
    schema('"properties":{"a":{},"b":{"not":{}}}'),
  ],
  ['tools', schema('"properties":{"required":["a"]}'), /^'inputSchema.properties.required' is no object/],
  ['tools', schema('"required":[1]'), /^'inputSchema.required\[\]' is no text/],
  ['tools', tool('"title":null,"description":null,"annotations":null,"outputSchema":null'), BARE],
  [
    'tools',
    tool('"annotations":{"title":null,"readOnlyHint":true}'),
    tool('"annotations":{"readOnlyHint":true}'),
  ],
  ['tools', tool('"description":7'), /^'description' is no text/],
  ['tools', tool('"outputSchema":{"type":"array"}'), undefined, 'any'],
  ...[
    '"outputSchema":{"type":"array"}',
    '"outputSchema":{"properties":{}}',
    '"outputSchema":{"type":["object","null"]}',
    '"outputSchema":"x"',
    '"outputSchema":{"type":"object","properties":{"s":{"$ref":"#/$defs/X"}}}',
    '"icons":[{}]',
    '"icons":[null]',
    '"icons":{"src":"u"}',
    '"icons":[{"src":"u","sizes":"48x48"}]',
    '"icons":[{"src":"u","theme":"blue"}]',
    '"execution":{"taskSupport":"never"}',
    '"annotations":{"readOnlyHint":"yes"}',
  ].map((hint) => ['tools', tool(hint), BARE] as const),
  ['tools', tool('"icons":[{"src":"u","mimeType":null}]'), tool('"icons":[{"src":"u"}]')],
  ...['{"audience":["everyone"]}', '{"priority":7}', '{"lastModified":"yesterday"}'].map(
    (hint) =>
      ['resources', `{"uri":"u","name":"n","annotations":${hint}}`, '{"uri":"u","name":"n"}'] as const,
  ),
  ...[
    '"annotations":{"audience":["user"],"priority":0.5,"lastModified":"2025-01-12T15:00:58Z"}',
    '"icons":[{"src":"u","sizes":["48x48"],"theme":"dark"}]',
  ].map((hint) => ['resources', `{"uri":"u","name":"n",${hint}}`] as const),
  ['tools', tool('"outputSchema":{"$ref":"#/$defs/A~1b","$defs":{"A/b":{}}}'), undefined, 'any'],
  ['tools', tool('"outputSchema":{"type":"object","$ref":"#/$defs/%zz","$defs":{"%zz":{}}}')],
  ['tools', `{${S}}`, /^'name' is missing in one of its tools$/],
  ['prompts', '{"name":"p","arguments":null,"title":""}', '{"name":"p","title":""}'],
  [
    'prompts',
    '{"name":"p","arguments":[{"name":"a","description":null}]}',
    '{"name":"p","arguments":[{"name":"a"}]}',
  ],
  ['prompts', '{"name":"p","arguments":[{"description":"d"}]}', /^'arguments\[\].name' is missing in 'p'/],
  ['resources', '{"uri":"u","name":"n","mimeType":null,"size":null}', '{"uri":"u","name":"n"}'],
  ['resources', '{"uri":"u"}', /^'name' is missing in 'u' of its resources$/],
  ['templates', '{"uriTemplate":"u","name":null}', /^'name' is null in 'u'/],
]

for (const [kind, item, want = item, outputs] of cases)
  test(`${kind} ${item} ${outputs ?? ''}`, () => {
    const frame = resultOf(`{"jsonrpc":"2.0","id":1,"result":{"${listShapes[kind].items}":[${item}]}}`)
    const page = readPage(frame, kind, 10, outputs ?? 'objects')
    assert(typeof page === 'object')
    const got = [...page.items.map(({ line }) => line.toString()), ...page.faults]
    assert.equal(got.length, 1)
    if (typeof want === 'string') assert.equal(got[0], want)
    else assert.match(got[0] ?? '', want)
  })
