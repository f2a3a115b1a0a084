// Matches a URI against a URI template (RFC 6570).
//
// A template comes from a stranger, so it is never turned into a regular expression. The
// matcher keeps all places of the URI that the parts so far can reach, so its work is the
// length of the URI times the number of parts. An expression matches the characters that its
// kind can produce. Names, explode and prefix modifiers do not restrict the match.

type TemplatePart =
  | { readonly kind: 'literal'; readonly text: string }
  /** Nothing, or `first` and any number of characters that `stops` does not contain. */
  | { readonly kind: 'expression'; readonly first: string; readonly stops: string }

export interface UriTemplate {
  readonly parts: readonly TemplatePart[]
}

/**
 * A match takes one step, about 10 ns, for each part and each eight characters of the template, times the
 * length of the URI. Servers may list thousands of templates, so one list and one URI have limits too.
 */
export const uriTemplateLimits = {
  templateLengthMax: 2048,
  partsMax: 64,
  uriLengthMax: 8192,
  /** The characters of all templates of one list that the proxy reads. */
  listLengthMax: 262_144,
  /** The steps of all matches of one URI: one and a half times the most expensive match. */
  stepsMax: 4_194_304,
} as const

/** Undefined for an invalid template, or one beyond the limits. */
export function readUriTemplate(text: string): UriTemplate | undefined {
  if (text.length > uriTemplateLimits.templateLengthMax) return undefined
  const parts: TemplatePart[] = []
  let at = 0
  while (at < text.length && parts.length <= uriTemplateLimits.partsMax) {
    const open = endOf(text, text.indexOf('{', at))
    if (open > at) parts.push({ kind: 'literal', text: text.slice(at, open) })
    if (open === text.length) break
    const close = text.indexOf('}', open)
    const expression = close === -1 ? undefined : readExpression(text.slice(open + 1, close))
    if (expression === undefined) return undefined
    parts.push(expression)
    at = close + 1
  }
  return parts.length > uriTemplateLimits.partsMax ? undefined : { parts }
}

interface ListedTemplate<T> {
  readonly owner: T
  /** The text with which a matching URI begins. A template with a longer prefix is more specific. */
  readonly prefix: string
  /** The cost of a match for each character of the URI. */
  readonly steps: number
  readonly template: UriTemplate
}

export class UriTemplates<T> {
  /** The most specific first; equally specific ones in the order of the list. */
  readonly #templates: readonly ListedTemplate<T>[]

  /** `textOf` returns the template of an owner. An invalid template matches nothing. */
  constructor(owners: readonly T[], textOf: (owner: T) => string) {
    let left: number = uriTemplateLimits.listLengthMax
    const templates: ListedTemplate<T>[] = []
    for (const owner of owners) {
      const text = textOf(owner)
      left -= text.length
      if (left < 0) break
      const template = readUriTemplate(text)
      if (template === undefined) continue
      const steps = template.parts.length + (text.length >> 3)
      const [first] = template.parts
      const prefix = first?.kind === 'literal' ? first.text : ''
      templates.push({ owner, prefix, steps, template })
    }
    this.#templates = templates.toSorted((one, other) => other.prefix.length - one.prefix.length)
  }

  /** The owner of the most specific template that matches; undefined if none does within `stepsMax`. */
  match(uri: string): T | undefined {
    let left: number = uriTemplateLimits.stepsMax
    for (const { owner, prefix, steps, template } of this.#templates) {
      if (!uri.startsWith(prefix)) continue
      left -= steps * uri.length
      if (left < 0) return undefined
      if (matchesUriTemplate(template, uri)) return owner
    }
    return undefined
  }
}

function endOf(text: string, index: number): number {
  return index === -1 ? text.length : index
}

const EXPRESSION = /^([+#./;?&]?)([^{}]+)$/
const VARIABLE = /^(?:\w|\.|%[0-9A-Fa-f]{2})+(\*|:[1-9]\d{0,3})?$/

/** Reads the text between braces; undefined for operators that RFC 6570 reserves and for bad names. */
function readExpression(text: string): TemplatePart | undefined {
  const [, operator = '', list = ''] = EXPRESSION.exec(text) ?? []
  const variables = list.split(',')
  if (!variables.every((name) => VARIABLE.test(name))) return undefined
  const repeats = variables.length > 1 || list.endsWith('*')
  return { kind: 'expression', first: operator === '+' ? '' : operator, stops: stopsOf(operator, repeats) }
}

/** The characters that an expansion never contains (RFC 6570, 3.2). A character in doubt is allowed. */
function stopsOf(operator: string, repeats: boolean): string {
  switch (operator) {
    case '+':
    case '#':
      return ''
    case '?':
    case '&':
      return '#'
    case '/':
      return repeats ? '?#' : '/?#'
    default:
      return '/?#'
  }
}

export function matchesUriTemplate(template: UriTemplate, uri: string): boolean {
  if (uri.length > uriTemplateLimits.uriLengthMax) return false
  let places = new Uint8Array(uri.length + 1)
  places[0] = 1
  for (const part of template.parts) {
    places = part.kind === 'literal' ? afterLiteral(places, uri, part.text) : places
    if (part.kind === 'expression') spread(places, uri, part.first, part.stops)
    if (!places.includes(1)) return false
  }
  return places[uri.length] === 1
}

/** The places after every occurrence of `text` that starts in `places`. */
function afterLiteral(places: Uint8Array, uri: string, text: string): Uint8Array<ArrayBuffer> {
  const after = new Uint8Array(places.length)
  for (let at = uri.indexOf(text); at >= 0; at = uri.indexOf(text, at + 1))
    after[at + text.length] = places[at] ?? 0
  return after
}

/** Adds the places that one expression reaches from those in `places`. */
function spread(places: Uint8Array, uri: string, first: string, stops: string): void {
  let inside = false
  for (let at = 0; at <= uri.length; at++) {
    const starts = places[at] === 1
    if (inside) places[at] = 1
    const character = uri.charAt(at)
    // The operator's own character may also be a character that ends an expansion.
    const opens = starts && first !== '' && character === first
    inside = opens || ((inside || (starts && first === '')) && !stops.includes(character))
  }
}
