// Loads the modules that the proxy imports on demand. Loading takes the real event loop, so it must precede the first
// simulation.

export async function warm(): Promise<void> {
  await Promise.all([
    import('../../src/kept/folder-files.js'),
    import('../../src/policy/policy.js'),
    import('../../src/upstream/http/http-dialer.js'),
    import('../../src/gateway/serving.js'),
    import('../../src/gateway/open-cluster.js'),
    import('../../src/transports/http-server/front-limits.js'),
  ])
}
