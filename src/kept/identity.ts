// The values that identify a configured server: everything that can change what it lists.

import { canonicalJson } from '../text/canonical-json.js'
import type {
  HttpServerConfig,
  ServerConfig,
  StdioServerConfig,
} from '../upstream/contracts/server-config.js'

/** The proxy reads these values again whenever it shows a list or checks a call. */
const shownOnly: readonly (keyof ServerConfig)[] = [
  'tools',
  'prefix',
  'describe',
  'argumentChecks',
  'confirm',
  'lock',
]

const shown: ReadonlySet<string> = new Set(shownOnly)

/** These values change how a server is shown, called and kept alive. Any other key makes it another server. */
const ofNoAccount: ReadonlySet<string> = new Set([
  ...shownOnly,
  'disabled',
  'lazy',
  'keep',
  'unavailable',
  // These values are already part of the others.
  'variables',
  'secrets',
  'startTimeoutMs',
  'firstStartTimeoutMs',
  'timeoutMs',
  'totalTimeoutMs',
  'settableIn',
  'restart',
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

/** Returns the same text for all configurations of one server. The text contains secrets. */
export function identityOf(config: ServerConfig): string {
  return textWithout(ofNoAccount, config)
}

/** Whether both configurations mean the same process or session, even if its tools are shown differently. */
export function isSameServer(one: ServerConfig, other: ServerConfig): boolean {
  return textWithout(shown, one) === textWithout(shown, other)
}

function textWithout(left: ReadonlySet<string>, config: ServerConfig): string {
  return canonicalJson(Object.fromEntries(Object.entries(config).filter(([key]) => !left.has(key))))
}
