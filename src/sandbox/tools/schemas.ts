// Pieces of the schemas that several tools have.

import type { SandboxSettings } from '../../upstream/contracts/sandbox-config.js'
import { flavorNames } from '../../upstream/contracts/sandbox-config.js'
import type { ToolSchema } from './sandbox-tool.js'

/** The members of both tools that run something. */
export function runSchema({ templates, defaultFlavor, executionTimeoutMsMax }: SandboxSettings): ToolSchema {
  return {
    template: {
      type: 'string',
      description: 'Sandbox template',
      enum: templates.map(({ name }) => name),
      default: templates[0]?.name,
    },
    session_id: { type: 'string', description: 'Optional session ID for session reuse' },
    flavor: {
      type: 'string',
      description: 'Resource configuration for the sandbox',
      enum: flavorNames,
      default: defaultFlavor,
    },
    timeout: {
      type: 'integer',
      description: 'Optional execution timeout in seconds',
      minimum: 1,
      maximum: executionTimeoutMsMax / 1000,
    },
  }
}

const text = { type: 'string' }
const flag = { type: 'boolean' }

/** What the results of both have in common. */
export const runResult: ToolSchema = {
  session_id: text,
  execution_time_ms: { type: 'integer' },
  session_created: flag,
  truncated: flag,
  sandbox_restarted: flag,
  artifacts: {
    type: 'array',
    items: {
      type: 'object',
      properties: { uri: text, path: text, size: { type: 'integer' }, mime_type: text },
      required: ['uri', 'path', 'size', 'mime_type'],
    },
  },
  isolation: text,
  stdout: text,
  stderr: text,
}

/** An object with these members, of which those are always there. */
export function objectSchema(properties: ToolSchema, required: readonly string[]): ToolSchema {
  return { type: 'object', properties, ...(required.length > 0 && { required }) }
}
