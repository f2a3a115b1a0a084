// What of the proxy's environment a child sees: an allow-list, never the rest.

import type { SpawnSpec } from './host.js'
import type { StdioServerConfig } from './server-config.js'

const posix = ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER', 'LANG', 'TZ', 'TMPDIR']

const windows = [
  'APPDATA',
  'HOMEDRIVE',
  'HOMEPATH',
  'LOCALAPPDATA',
  'PATH',
  'PATHEXT',
  'PROCESSOR_ARCHITECTURE',
  'PROGRAMFILES',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'USERNAME',
  'USERPROFILE',
]

/** The whole environment of a child: the allow-list, what it may inherit besides, and its own. */
function childEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  inherit: readonly string[],
  configured: Readonly<Record<string, string>>,
): Record<string, string> {
  const names = process.platform === 'win32' ? windows : posix
  const environment: Record<string, string> = {}
  for (const name of [...names, ...inherit]) {
    const value = own[name]
    // A value that is a shell function does not survive as a plain variable.
    if (value !== undefined && !value.startsWith('()')) environment[name] = value
  }
  return Object.assign(environment, configured)
}

/** What to start for a configured server; `marks` are the proxy's own variables, which stand above the configuration. */
export function spawnSpec(
  config: StdioServerConfig,
  own: Readonly<Record<string, string | undefined>>,
  marks: Readonly<Record<string, string>>,
): SpawnSpec {
  const { command, args, cwd, inheritEnv, env } = config
  return { command, args, cwd, env: { ...childEnvironment(own, inheritEnv, env), ...marks } }
}
