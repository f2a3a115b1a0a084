// The first line of a response (RFC 9112, section 4).

/** Header fields, names in lower case and values in turn. */
export type Fields = readonly string[]

const reasons: ReadonlyMap<number, string> = new Map([
  [200, 'OK'],
  [202, 'Accepted'],
  [204, 'No Content'],
  [400, 'Bad Request'],
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
  [404, 'Not Found'],
  [405, 'Method Not Allowed'],
  [406, 'Not Acceptable'],
  [408, 'Request Timeout'],
  [409, 'Conflict'],
  [413, 'Content Too Large'],
  [415, 'Unsupported Media Type'],
  [417, 'Expectation Failed'],
  [431, 'Request Header Fields Too Large'],
  [500, 'Internal Server Error'],
  [503, 'Service Unavailable'],
])

/** With its line end; a status that has no words of ours has none. */
export function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${reasons.get(status) ?? ''}\r\n`
}
