// What is logged of a server, without what only it and we may know.
//
// Methods, ids and errors are its own words, and cookies and session ids are no part
// of a configuration, so that the log itself does not know them.

import type { ServerRedactor } from '../../transports/http-client/redactor.js'
import type { LogSink } from '../../runtime/runtime.js'

/** A log for one server. */
export function redactedLog(log: LogSink, discretion: ServerRedactor): LogSink {
  const clean = (value: unknown): unknown => (typeof value === 'string' ? discretion.clean(value) : value)
  return ({ details, ...record }) => {
    const members = Object.entries(details ?? {}).map(([key, value]) => [key, clean(value)] as const)
    const message = discretion.clean(record.message)
    log({ ...record, message, ...(details && { details: Object.fromEntries(members) }) })
  }
}
