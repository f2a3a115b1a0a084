// The JSON Schema of a configuration file, printed from the same tables that
// the start-up validator reads with. `scripts/config-schema.mjs` writes it to
// `config.schema.json`; nothing at run time imports it.

import { auditField } from './audit.js'
import {
  corsFields,
  frontFields,
  frontRules,
  inputsFields,
  logFields,
  rootFields,
  schemaFields,
  stdioFields,
} from './fields.js'
import { protocolsOfSse } from './remote-server.js'
import { type JsonSchema, namesOnOneLine, plainNames } from './kinds.js'
import { limitsFields } from './policy.js'
import { lockFields, serverLockFields } from './lock.js'
import { sharedSandboxFields } from './process-sandbox.js'
import { profileFields } from './profiles.js'
import { ownTemplates, sandboxFields, templateFields, templateRules } from './sandbox-fields.js'
import { type Field, type Rules, objectSchema, propertySchema, propertySchemas } from './section.js'
import {
  httpServerFields,
  httpServerRules,
  serverFields,
  serverTypes,
  sharedFields,
  sseServerFields,
  toolsFields,
  urlKeys,
} from './server-fields.js'
import { stdioServerFields, stdioServerRules } from './stdio-server.js'

type Fields = Readonly<Record<string, Field<unknown>>>

const serversRef = { $ref: '#/$defs/servers' }

/** The whole schema as a value. */
export function configJsonSchema(): JsonSchema {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Configuration of mcps-proxy',
    description:
      'Either named groups of servers under "schemas", or one group under "mcpServers" or "servers".',
    type: 'object',
    properties: rootProperties(),
    additionalProperties: false,
    oneOf: [{ required: ['schemas'] }, { required: ['mcpServers'] }, { required: ['servers'] }],
    $defs: {
      servers: {
        type: 'object',
        propertyNames: { pattern: namesOnOneLine.pattern },
        additionalProperties: { $ref: '#/$defs/server' },
      },
      server: serverSchema(),
      stdioServer: kindSchema(
        'A program that is started and spoken to on its stdin and stdout.',
        stdioServerFields,
        stdioServerRules,
      ),
      httpServer: kindSchema('A server reached over Streamable HTTP.', httpServerFields, httpServerRules),
      sandbox: sandboxSchema(),
      sseServer: kindSchema(
        'A server reached over the older HTTP+SSE transport.',
        { ...httpServerFields, ...sseServerFields },
        httpServerRules,
        { protocol: { ...propertySchema(serverFields.protocol), enum: protocolsOfSse } },
      ),
    },
  }
}

const plainFields = {
  ...limitsFields,
  ...inputsFields,
  ...logFields,
  ...auditField,
  ...rootFields,
  ...lockFields,
  ...sharedFields,
  ...sharedSandboxFields,
}

function rootProperties(): JsonSchema {
  return {
    $comment: true,
    $schema: { type: 'string', description: 'Where this schema is, for editors.' },
    server: section(
      'The HTTP front, and the name that clients see.',
      frontFields,
      {
        cors: section('Which web pages may call the HTTP front.', corsFields),
      },
      frontRules,
    ),
    cli: section(
      'Options of the command line modes.',
      {},
      { stdio: section('The stdio mode.', stdioFields) },
    ),
    schemas: {
      type: 'object',
      description: 'Named groups of servers; clients see each group as one server.',
      propertyNames: { pattern: plainNames.pattern },
      additionalProperties: {
        ...section('One group of servers.', { ...schemaFields, ...sharedFields }, { mcpServers: serversRef }),
        required: ['mcpServers'],
      },
    },
    mcpServers: { ...serversRef, description: 'The servers of the schema "default".' },
    servers: { ...serversRef, description: 'Another name of mcpServers.' },
    profiles: {
      type: 'object',
      description: 'What some clients see of the servers, by names that stand in addresses.',
      propertyNames: { pattern: plainNames.pattern },
      additionalProperties: section('One profile.', profileFields),
    },
    ...propertySchemas(plainFields),
  }
}

/** Selects the schema of a server by its `type`; without one, by the key `command` or a key for an address. */
function serverSchema(): JsonSchema {
  return {
    type: 'object',
    description: 'One server.',
    properties: { type: typeSchema },
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
}

const typeSchema: JsonSchema = {
  enum: [...serverTypes.keys()],
  description: 'Absent: stdio when there is a command, http when there is a url.',
}

/** A server of one kind, with the keys that every server has. */
function kindSchema(description: string, fields: Fields, rules: Rules, more: JsonSchema = {}): JsonSchema {
  return section(
    description,
    { ...serverFields, ...toolsFields, ...serverLockFields, ...sharedFields, ...fields },
    { type: typeSchema, ...more },
    rules,
  )
}

function whenKind(kind: string, keys: readonly string[], definition: string): JsonSchema {
  const types = [...serverTypes].filter(([, means]) => means === kind).map(([type]) => type)
  const byType = { required: ['type'], properties: { type: { enum: types } } }
  const byKey = keys.map((key) => ({ required: [key], not: { required: ['type'] } }))
  // oxlint-disable-next-line unicorn/no-thenable -- `then` is a keyword of JSON Schema.
  return { if: { anyOf: [byType, ...byKey] }, then: { $ref: `#/$defs/${definition}` } }
}

function sandboxSchema(): JsonSchema {
  const template = section('One template.', templateFields)
  return kindSchema(
    'Code of clients, run where it can do no harm.',
    sandboxFields,
    {},
    {
      templates: {
        type: 'object',
        description: 'What sessions begin with, besides "python" and "node".',
        propertyNames: { pattern: plainNames.pattern },
        properties: Object.fromEntries(ownTemplates.map((name) => [name, template])),
        additionalProperties: section('One template.', templateFields, {}, templateRules),
      },
    },
  )
}

function section(description: string, fields: Fields, more: JsonSchema = {}, rules: Rules = {}): JsonSchema {
  return { description, ...objectSchema(fields, rules, more) }
}
