// What may stand in a header field, whoever writes it (RFC 9110, sections 5.1 and 5.5).

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const FRAMING = /^(?:content-length|transfer-encoding)$/i
const BAD_VALUE = /[^\t\x20-\x7e\x80-\xff]/

export function isFieldName(text: string): boolean {
  return NAME.test(text)
}

/** Whether it has nothing in it that would end the field, or that no byte can carry. */
export function isFieldValue(text: string): boolean {
  return !BAD_VALUE.test(text)
}

/** Whether it says where a body ends; `name` in any case. */
export function isFraming(name: string): boolean {
  return FRAMING.test(name)
}
