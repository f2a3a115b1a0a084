// Which versions of Node read the variables that name a proxy.

/** Whether `fetch`, `node:http` and `node:https` of Node `version` (`v24.5.0`) do, where `NODE_USE_ENV_PROXY` is set. */
export function readsProxyVariables(version: string): boolean {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  return major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21)
}
