// An error by which a server refuses a call until somebody has visited a page.
//
// MCP 2025-11-25, Elicitation: URL mode. A client of 2026-07-28 is asked for the visit, and comes again.

import type { ErrorFrame } from '../jsonrpc/frame.js'
import { itemsAt, membersAt } from '../jsonrpc/members.js'
import { quote } from '../jsonrpc/text.js'
import { isPageNeeded, numberIn } from './error-codes.js'

/** Raw JSON of the client capabilities that a visit needs. */
export const requiredForPages = '{"elicitation":{"url":{}}}'

/** Raw JSON of the `inputRequests` that ask for the visits; undefined for any other error. */
export function pagesToVisit({ line, error }: ErrorFrame): string | undefined {
  const members = membersAt(line, error)
  const code = members?.span('code')
  if (code === undefined || !isPageNeeded(numberIn(line, code))) return undefined
  const pages = itemsAt(line, membersAt(line, members?.span('data'))?.span('elicitations'))
  const asked = pages.flatMap((span, index) => {
    const page = membersAt(line, span)
    const url = page?.string('url')
    if (url === undefined) return []
    const params = `{"mode":"url","message":${quote(page?.string('message') ?? '')},"url":${quote(url)}}`
    return [`"page${index + 1}":{"method":"elicitation/create","params":${params}}`]
  })
  return asked.length === 0 ? undefined : `{${asked.join(',')}}`
}
