// The JSON Schema of a configuration file, made from the tables with which the proxy reads a configuration.
//
// `scripts/config-schema.mjs` writes it to `config.schema.json`. Nothing imports it at run time.

import { groupFields, rootFields } from './keys.js'
import {
  anyServerFields,
  httpFields,
  remoteRules,
  sandboxFields,
  sharedFields,
  sseFields,
  stdioFields,
  typeNames,
  urlKeys,
} from './server-keys.js'
import { type JsonSchema, namesOnOneLine, objectSchema } from './values.js'

export function configJsonSchema(): JsonSchema {
  const root = withRefs(objectSchema(rootFields))
  const properties = Object(root['properties'])
  const group = withRefs(objectSchema(groupFields))
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of mcps-proxy',
    description:
      'Either named groups of servers under "schemas", or one group under "mcpServers" or "servers".',
    ...root,
    properties: { ...properties, schemas: { ...properties.schemas, additionalProperties: group } },
    oneOf: [{ required: ['schemas'] }, { required: ['mcpServers'] }, { required: ['servers'] }],
    $defs: {
      servers: {
        type: 'object',
        propertyNames: { pattern: namesOnOneLine.pattern },
        additionalProperties: { $ref: '#/$defs/server' },
      },
      server: serverSchema(),
    },
  }
}

/** Refers to the schema of a server for keys that may also stand beside the servers. */
function withRefs(schema: JsonSchema): JsonSchema {
  const refs = Object.keys(sharedFields).map((key) => [key, { $ref: `#/$defs/server/properties/${key}` }])
  return { ...schema, properties: { ...Object(schema['properties']), ...Object.fromEntries(refs) } }
}

/** The keys of a server depend on its `type`; without one, on the key `command` or a key for an address. */
function serverSchema(): JsonSchema {
  const { stdio, http, sse, sandbox } = typeNames
  const { properties } = openSchema(anyServerFields)
  const type = {
    description: 'Absent: stdio when there is a command, http when there is a url.',
    enum: Object.values(typeNames).flat(),
  }
  return {
    type: 'object',
    description: 'One server.',
    properties: { ...Object(properties), type },
    allOf: [
      {
        if: { required: ['type'] },
        else: { oneOf: ['command', ...urlKeys].map((key) => ({ required: [key] })) },
      },
      whenKind(stdio, ['command'], openSchema(stdioFields)),
      whenKind([...http, ...sse], urlKeys, openSchema(httpFields, remoteRules)),
      whenKind(sse, [], openSchema(sseFields)),
      whenKind(sandbox, [], openSchema(sandboxFields)),
    ],
    unevaluatedProperties: false,
  }
}

/** An object schema that allows other keys. */
function openSchema(...[fields, rules]: Parameters<typeof objectSchema>): JsonSchema {
  const { additionalProperties: _, ...open } = objectSchema(fields, rules)
  return open
}

function whenKind(types: readonly string[], keys: readonly string[], schema: JsonSchema): JsonSchema {
  const byType = { required: ['type'], properties: { type: { enum: types } } }
  const byKey = keys.map((key) => ({ required: [key], not: { required: ['type'] } }))
  // oxlint-disable-next-line unicorn/no-thenable -- `then` is a keyword of JSON Schema.
  return { if: { anyOf: [byType, ...byKey] }, then: schema }
}
