// A configuration as whoever embeds the proxy may give it.

import { type Configuration, type ConfigurationJson, resolveConfig } from '../config/config.js'

/** A configuration that was loaded has its schemas in a map; one that was written is plain JSON. */
export function resolvedConfig(config: Configuration | ConfigurationJson): Configuration {
  if (isResolved(config)) return config
  return resolveConfig(config, { source: 'createProxy', folder: process.cwd(), env: process.env })
}

function isResolved(config: Configuration | ConfigurationJson): config is Configuration {
  return 'schemas' in config && config.schemas instanceof Map
}
