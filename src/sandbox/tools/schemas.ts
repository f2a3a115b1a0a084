// Pieces of the schemas that several tools have.

import type { SandboxSettings } from '../../upstream/contracts/sandbox-config.js'
import { flavorNames } from '../../upstream/contracts/sandbox-config.js'
import { AllowedHosts } from '../egress/allowed-hosts.js'
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

/** What a model has to know of a session before it begins one. */
export function sessionHint({ network, templates, volumes }: SandboxSettings): string {
  const names = templates.map(({ name, language }) => (name === language ? name : `${name} (${language})`))
  const installed = `There are ${names.join(' and ')} with their standard libraries, and the usual programs of a shell.`
  const folders = volumes.length === 0 ? '' : ` Folders of the host: ${volumes.map(shownVolume).join(', ')}.`
  return `A session keeps variables, files and processes: give the session_id of an earlier result, or a name of your own to begin one. ${reachOf(network)} ${installed}${folders}`
}

function reachOf(network: SandboxSettings['network']): string {
  switch (network.kind) {
    case 'none':
      return 'Programs reach no network.'
    case 'host':
      return 'Programs reach the network of the host.'
    case 'allow':
      return `Programs reach these hosts alone, over https://: ${new AllowedHosts(network.hosts).shown}.`
  }
}

function shownVolume({ guestPath, isReadOnly }: SandboxSettings['volumes'][number]): string {
  return isReadOnly ? `${guestPath} (read only)` : guestPath
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
