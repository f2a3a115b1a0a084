// The values that identify a configured server: all that can change what it lists.

import { canonicalJson } from '../text/canonical-json.js'
import type {
  HttpServerConfig,
  ServerConfig,
  StdioServerConfig,
} from '../upstream/contracts/server-config.js'

/** The values that are read anew whenever a list is shown or a call is checked. */
const shownOnly: readonly (keyof ServerConfig)[] = [
  'tools',
  'prefix',
  'describe',
  'argumentChecks',
  'confirm',
  'lock',
]

const shown: ReadonlySet<string> = new Set(shownOnly)

/** How it is shown, called and kept alive; a key that is not named here makes another server. */
const ofNoAccount: ReadonlySet<string> = new Set([
  ...shownOnly,
  'disabled',
  'lazy',
  'keep',
  'unavailable',
  // The other values were made with these, and contain them.
  'variables',
  'secrets',
  'startTimeoutMs',
  'firstStartTimeoutMs',
  'timeoutMs',
  'totalTimeoutMs',
  'settableIn',
  'restart',
  'startsAfterProbe',
  'restartDelayMs',
  'crashesMax',
  'concurrency',
  'processes',
  'idleTimeoutMs',
  'stopTimeoutMs',
  'memoryLimitBytes',
  'onTimeout',
  'retries',
  'retryDelayMs',
  'reconnectIntervalMs',
] satisfies (keyof StdioServerConfig | keyof HttpServerConfig)[])

/** One text for all configurations of the same server; it holds secrets. */
export function identityOf(config: ServerConfig): string {
  return textWithout(ofNoAccount, config)
}

/** Whether both mean the same process or session, however its tools are shown. */
export function isSameServer(one: ServerConfig, other: ServerConfig): boolean {
  return textWithout(shown, one) === textWithout(shown, other)
}

function textWithout(left: ReadonlySet<string>, config: ServerConfig): string {
  return canonicalJson(Object.fromEntries(Object.entries(config).filter(([key]) => !left.has(key))))
}
