// What tells programs of a machine that the way out is a proxy.

/** On the loopback of the machine, where nobody else listens when its agent begins. */
export const PROXY_PORT = 3128

/** The machine itself: its own servers are reached without the proxy. Python looks for `[::1]`, others for `::1`. */
const OWN_NAMES = 'localhost,127.0.0.1,0.0.0.0,::1,[::1],sandbox'

/**
 * In the spellings that programs read: curl wants small letters for http, others want capitals.
 *
 * There is none for all protocols, since the proxy knows no other ones. With the last of them `fetch` of Node.js
 * reads the others from version 22.21 and 24.0 on, and `node:http` and `node:https` from 22.21 and 24.5 on.
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
