// The syntax of header fields (RFC 9110, sections 5.1 and 5.5).

/** As a part of a regular expression. */
export const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"

const NAME = new RegExp(`^${TOKEN}$`)
const FRAMING = /^(?:content-length|transfer-encoding)$/i
const NO_TRAILER =
  /^(?:connection|content-encoding|content-length|content-type|expect|host|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade)$/i
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]/

/** Whether it has nothing in it that would end the field, or that no byte can carry. */
export function isFieldValue(text: string): boolean {
  return !BAD_VALUE.test(text)
}

/** Whether it says where a body ends; `name` in any case. */
export function isFraming(name: string): boolean {
  return FRAMING.test(name)
}

/** Whether it may stand behind a body: it says nothing of how the message or the connection is read (RFC 9110, section 6.5.1). */
export function mayTrail(name: string): boolean {
  return !NO_TRAILER.test(name)
}

/** A field as it is written, with its line end. @throws TypeError when it would end early, or cannot be written */
export function fieldLine(name: string, value: string): string {
  if (!NAME.test(name)) throw new TypeError(`'${name}' is no name of a header`)
  if (!isFieldValue(value)) throw new TypeError(`the header ${name} has characters that cannot be sent`)
  return `${name}: ${value}\r\n`
}
