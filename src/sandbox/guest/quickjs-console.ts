// What JavaScript of a session finds in QuickJS besides its language: a console, and how values are shown.
//
// A script for the inside, which has nothing but ECMAScript. The host gives `__write`, and takes `__show`.

const DEPTH_MAX = 3
const ITEMS_MAX = 100
/** What fits on a line stands on one. */
const LINE_LENGTH_MAX = 72

const STACK_LINES_MAX = 10

const STDOUT = 1
const STDERR = 2

/** A value as text, as consoles show it. */
function show(value: unknown): string {
  return shown(value, [])
}

/** `above` are the objects that this one is in. */
function shown(value: unknown, above: readonly object[]): string {
  switch (typeof value) {
    case 'string':
      return quoted(value)
    case 'bigint':
      return `${value}n`
    case 'number':
      return Object.is(value, -0) ? '-0' : String(value)
    case 'function':
      return functionText(value)
    case 'object':
      return value === null ? 'null' : objectText(value, above)
    case 'boolean':
    case 'symbol':
    case 'undefined':
      return String(value)
  }
}

function quoted(text: string): string {
  const inner = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"')
  return `'${inner.replaceAll("'", "\\'")}'`
}

function functionText(value: { readonly name: string; toString(): string }): string {
  const name = value.name === '' ? '(anonymous)' : value.name
  return value.toString().startsWith('class') ? `[class ${name}]` : `[Function: ${name}]`
}

function objectText(value: object, above: readonly object[]): string {
  if (value instanceof Error) return errorText(value)
  if (value instanceof Date || value instanceof RegExp) return plainText(value)
  if (above.includes(value)) return '[Circular]'
  const name = nameOf(value)
  if (above.length >= DEPTH_MAX) return Array.isArray(value) ? '[Array]' : `[${name}]`
  const inside = [...above, value]
  if (Array.isArray(value)) return joined('', '[', listed(value, value.length, inside), ']')
  if (value instanceof Map) return joined(`Map(${value.size}) `, '{', pairs(value, inside), '}')
  if (value instanceof Set) return joined(`Set(${value.size}) `, '{', listed(value, value.size, inside), '}')
  return joined(name === 'Object' ? '' : `${name} `, '{', members(value, inside), '}')
}

/** The stack of QuickJS does not begin with the message, and has every call. */
function errorText(error: Error): string {
  const calls = (error.stack ?? '').split('\n').slice(0, STACK_LINES_MAX)
  return [`${error.name}: ${error.message}`, ...calls].join('\n').trimEnd()
}

function plainText(value: Date | RegExp): string {
  if (value instanceof RegExp) return String(value)
  return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
}

function nameOf(value: object): string {
  const made: unknown = Object.getPrototypeOf(value)?.constructor
  if (typeof made !== 'function') return '[Object: null prototype]'
  return made.name === '' ? 'Object' : made.name
}

function listed(items: Iterable<unknown>, size: number, inside: readonly object[]): string[] {
  const texts: string[] = []
  for (const item of items) {
    if (texts.length >= ITEMS_MAX) return [...texts, `... ${size - ITEMS_MAX} more`]
    texts.push(shown(item, inside))
  }
  return texts
}

function pairs(map: ReadonlyMap<unknown, unknown>, inside: readonly object[]): string[] {
  const texts: string[] = []
  for (const [key, value] of map) {
    if (texts.length >= ITEMS_MAX) return [...texts, `... ${map.size - ITEMS_MAX} more`]
    texts.push(`${shown(key, inside)} => ${shown(value, inside)}`)
  }
  return texts
}

function members(value: object, inside: readonly object[]): string[] {
  const names = Object.keys(value)
  const texts = names.slice(0, ITEMS_MAX).map((name) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)
    return `${key}: ${shown(Reflect.get(value, name), inside)}`
  })
  return names.length > ITEMS_MAX ? [...texts, `... ${names.length - ITEMS_MAX} more`] : texts
}

function joined(before: string, open: string, parts: readonly string[], close: string): string {
  if (parts.length === 0) return `${before}${open}${close}`
  const line = parts.join(', ')
  if (line.length <= LINE_LENGTH_MAX && !line.includes('\n')) return `${before}${open} ${line} ${close}`
  const lines = parts.map((part) => `  ${part.replaceAll('\n', '\n  ')}`)
  return `${before}${open}\n${lines.join(',\n')}\n${close}`
}

function prepare(): void {
  const write: unknown = Reflect.get(globalThis, '__write')
  Reflect.deleteProperty(globalThis, '__write')
  const say =
    (stream: number) =>
    (...values: readonly unknown[]): void => {
      const text = values.map((value) => (typeof value === 'string' ? value : show(value))).join(' ')
      if (typeof write === 'function') Reflect.apply(write, undefined, [stream, `${text}\n`])
    }
  const console = {
    ...Object.fromEntries(['log', 'info', 'debug', 'dir'].map((name) => [name, say(STDOUT)])),
    ...Object.fromEntries(['warn', 'error', 'trace'].map((name) => [name, say(STDERR)])),
  }
  Object.defineProperty(globalThis, 'console', { value: console, writable: true, configurable: true })
  Object.defineProperty(globalThis, '__show', { value: show, configurable: true })
}

prepare()
