// The environment of a child: an allow-list, and more only as configured.

import type { SpawnSpec } from '../../runtime/runtime.js'
import type { StdioServerConfig } from '../contracts/server-config.js'

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

/** Without these a server behind the proxy or the certificate authority of a company reaches nothing. */
const network = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR']
const networkOfEitherCase = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']

/** A name, or a password, in front of the host of an address. */
const login = /^(?:[a-z][a-z0-9+.-]*:)?(?:\/\/)?[^/?#]*@/i

type Variables = Readonly<Record<string, string | undefined>>

/** The whole environment of a child: what it gets of the proxy's, and its own. */
function childEnvironment(
  own: Variables,
  inherit: true | readonly string[],
  configured: Readonly<Record<string, string>>,
): Record<string, string> {
  const environment: Record<string, string> = {}
  for (const name of inherit === true ? everyName(own) : [...namesFor(own), ...inherit]) {
    const value = own[name]
    // A value that is a shell function does not survive as a plain variable.
    if (value !== undefined && !value.startsWith('()')) environment[name] = value
  }
  return Object.assign(environment, configured)
}

function everyName(own: Variables): string[] {
  return Object.keys(own).filter((name) => !name.toUpperCase().startsWith('MCPS_PROXY_'))
}

/** The allow-list. The address of a proxy with a login in it is passed only to a server whose configuration names the variable. */
function namesFor(own: Variables): string[] {
  const proxies = networkOfEitherCase.flatMap((name) => [name, name.toLowerCase()])
  const folders = Object.keys(own).filter((name) => name.startsWith('XDG_'))
  const told = [...network, ...proxies, ...folders].filter((name) => !login.test(own[name] ?? ''))
  return [...(process.platform === 'win32' ? windows : posix), ...told]
}

/** The program, arguments and variables of a configured server. */
export function spawnSpec(
  config: StdioServerConfig,
  own: Readonly<Record<string, string | undefined>>,
): SpawnSpec {
  const { command, args, cwd, inheritEnv, env, sandbox } = config
  // What confines a program passes signals on. It would end the program at once if it got them from others too.
  const passesSignals = sandbox !== undefined
  return { command, args, cwd, env: childEnvironment(own, inheritEnv, env), passesSignals }
}
