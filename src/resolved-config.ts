// A configuration as whoever embeds the proxy may give it.

import { type Configuration, resolveConfig } from './config.js'

/** A configuration that was loaded has its schemas in a map; one that was written is plain JSON. */
export function resolved(config: Configuration | Readonly<Record<string, unknown>>): Configuration {
  if (isResolved(config)) return config
  return resolveConfig(config, { source: 'createProxy', folder: process.cwd(), env: process.env })
}

function isResolved(config: Configuration | Readonly<Record<string, unknown>>): config is Configuration {
  return config['schemas'] instanceof Map
}
