// The settings of the program: as the proxy has read them, or of the variables `MSB_*` alone.

import process from 'node:process'
import { resolveConfig } from '../config/config.js'
import { parse } from '../jsonrpc/text.js'
import type { SandboxSettings } from '../upstream/contracts/sandbox-config.js'

/** What the proxy has written, which is a program of the same version. */
export function settingsFromText(text: string): SandboxSettings {
  const value = parse(text)
  if (isSettings(value)) return value
  throw new Error('its settings are none')
}

function isSettings(value: unknown): value is SandboxSettings {
  return typeof value === 'object' && value !== null && 'templates' in value && 'executionTimeoutMs' in value
}

/** @throws ConfigError for a variable that cannot be used */
export function settingsFromEnvironment(env: NodeJS.ProcessEnv): SandboxSettings {
  const section = { mcpServers: { sandbox: { type: 'sandbox' } } }
  const { schemas } = resolveConfig(section, { source: 'the environment', folder: process.cwd(), env })
  const [server] = schemas.get('default')?.servers ?? []
  if (server?.kind !== 'sandbox') throw new Error('there is no sandbox in its own configuration')
  return server.sandbox
}
