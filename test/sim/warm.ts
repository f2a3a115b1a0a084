// What the proxy loads when it is first needed. Loading a module takes the real
// event loop, so all of it is loaded before the first simulation.

import { loadAjv } from '../../src/mcp/validate/ajv-build.js'

/** Loads everything; simulations can run from then on. */
export async function warm(): Promise<void> {
  await Promise.all([
    import('p-queue'),
    import('../../src/kept/folder-files.js'),
    import('../../src/upstream/http/http-dialer.js'),
    import('../../src/mcp/validate.js'),
    import('../../src/gateway/serving.js'),
    import('../../src/transports/http-server/limits.js'),
    loadAjv('draft-07'),
    loadAjv('2019-09'),
    loadAjv('2020-12'),
  ])
}
