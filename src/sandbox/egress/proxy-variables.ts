// The variables by which programs find the proxy.

/** A port on the loopback of a separate network, where no other program listens. */
export const PROXY_PORT = 3128

/** Names of the machine itself: programs reach its servers without the proxy. Python looks for `[::1]`, others for `::1`. */
const OWN_NAMES = 'localhost,127.0.0.1,0.0.0.0,::1,[::1],sandbox'

/**
 * Sets the proxy in the spellings that programs read: curl wants small letters for http, others want capitals.
 *
 * There is no `ALL_PROXY`, since the proxy carries no other protocols. `NODE_USE_ENV_PROXY` makes Node.js read these variables:
 * `fetch` from versions 22.21 and 24.0, `node:http` and `node:https` from 22.21 and 24.5.
 */
export function proxyVariables(): Record<string, string> {
  const proxy = `http://127.0.0.1:${PROXY_PORT}`
  return {
    http_proxy: proxy,
    https_proxy: proxy,
    no_proxy: OWN_NAMES,
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    NO_PROXY: OWN_NAMES,
    NODE_USE_ENV_PROXY: '1',
  }
}
