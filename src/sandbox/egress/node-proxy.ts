// What clients are told of Node.js and the variables that name a proxy, where `NODE_USE_ENV_PROXY` is set.

/** Empty when `fetch` of `version` (`v24.0.0`) reads them; that of the service is known, that of a template is not. */
export function nodeProxyHint(version: string): string {
  if (readsVariables(version)) return ''
  return ` fetch() of Node.js ${version}, which the service runs on, does not read these variables; curl, git, pip, npm and Python do.`
}

/** `node:http` and `node:https` do from 22.21 and 24.5 on. */
function readsVariables(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return major >= 24 || (major === 22 && minor >= 21)
}
