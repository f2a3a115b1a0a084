// The JSON Schema of a configuration file, made from the tables with which a start reads it.
//
// `scripts/config-schema.mjs` writes it to `config.schema.json`; nothing at run time imports it.

import { rootFields } from './keys.js'
import {
  anyServerFields,
  anySseFields,
  httpFields,
  remoteRules,
  serverFields,
  sharedFields,
  template,
  typeNames,
  urlKeys,
} from './server-keys.js'
import { type JsonSchema, namesOnOneLine, objectSchema } from './values.js'

export function configJsonSchema(): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of mcps-proxy',
    description:
      'Either named groups of servers under "schemas", or one group under "mcpServers" or "servers".',
    ...shared(objectSchema(rootFields)),
    oneOf: [{ required: ['schemas'] }, { required: ['mcpServers'] }, { required: ['servers'] }],
    $defs: {
      servers: {
        type: 'object',
        propertyNames: { pattern: namesOnOneLine.pattern },
        additionalProperties: { $ref: '#/$defs/server' },
      },
      server: serverSchema,
      anyServer: openSchema(anyServerFields),
      remoteServer: openSchema(httpFields),
      stdioServer: kindSchema('stdio', 'A program that is started and spoken to on its stdin and stdout.'),
      httpServer: kindSchema('http', 'A server reached over Streamable HTTP.'),
      sseServer: kindSchema('sse', 'A server reached over the older HTTP+SSE transport.'),
      template: { description: 'One template.', ...template.schema },
      sandbox: kindSchema('sandbox', 'Code of clients, run where it can do no harm.'),
    },
  }
}

/** The keys that servers share stand in the schema of every server. */
function shared(schema: JsonSchema): JsonSchema {
  const refs = Object.keys(sharedFields).map((key) => [key, { $ref: `#/$defs/anyServer/properties/${key}` }])
  return { ...schema, properties: { ...Object(schema['properties']), ...Object.fromEntries(refs) } }
}

/** Selects the schema of a server by its `type`; without one, by the key `command` or a key for an address. */
const serverSchema: JsonSchema = {
  type: 'object',
  description: 'One server.',
  properties: { type: { enum: Object.values(typeNames).flat() } },
  allOf: [
    {
      if: { required: ['type'] },
      else: { oneOf: ['command', ...urlKeys].map((key) => ({ required: [key] })) },
    },
    whenKind('stdio', ['command'], 'stdioServer'),
    whenKind('http', urlKeys, 'httpServer'),
    whenKind('sse', [], 'sseServer'),
    whenKind('sandbox', [], 'sandbox'),
  ],
}

function whenKind(kind: keyof typeof typeNames, keys: readonly string[], definition: string): JsonSchema {
  const byType = { required: ['type'], properties: { type: { enum: typeNames[kind] } } }
  const byKey = keys.map((key) => ({ required: [key], not: { required: ['type'] } }))
  // oxlint-disable-next-line unicorn/no-thenable -- `then` is a keyword of JSON Schema.
  return { if: { anyOf: [byType, ...byKey] }, then: { $ref: `#/$defs/${definition}` } }
}

/** The keys that several kinds have, without the rule that there are no others. */
function openSchema(fields: Parameters<typeof objectSchema>[0]): JsonSchema {
  const { type, properties } = objectSchema(fields)
  return { type, properties }
}

/** A server of one kind; the keys that several kinds have stand in the schemas to which `allOf` refers. */
function kindSchema(kind: keyof typeof typeNames, description: string): JsonSchema {
  const isRemote = kind === 'http' || kind === 'sse'
  const shared = { ...(kind === 'sse' ? anySseFields : anyServerFields), ...(isRemote && httpFields) }
  const whole = objectSchema(serverFields[kind], isRemote ? remoteRules : {})
  const properties = Object.fromEntries(
    Object.entries(Object(whole.properties)).map(([key, schema]) =>
      Object.hasOwn(shared, key) && !(kind === 'sse' && key === 'protocol') ? [key, true] : [key, schema],
    ),
  )
  const allOf = ['anyServer', ...(isRemote ? ['remoteServer'] : [])].map((name) => ({
    $ref: `#/$defs/${name}`,
  }))
  return { description, ...whole, properties, allOf }
}
