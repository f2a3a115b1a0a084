// Rules about sources that one word does not show: each finds what is meant, however it is written.

import type { SourceFile } from './source-text.js'

/** Numbers that JSON-RPC 2.0, section 5.1, keeps for errors. */
const reservedFirst = -32_768
const reservedLast = -32_000

const someErrors = ['-32768', '-32700', '-32603', '-32600', '-32099', '-32001', '-32000']
const noErrors = ['-11611', '-45678', '-1', '0', '11111']

/** Error numbers: written out, begun in a text or template, or told apart by a regular expression. */
export function errorNumbers({ bare, strings, regexps }: SourceFile): string[] {
  const numbers = [...bare.matchAll(/(?<![\w.$])\d[\d_]*(?:\.\d+)?(?:e\d+)?\b|\b0x[\da-f_]+/gi)]
  const written = numbers.map(([text]) => text).filter((text) => isReserved(Number(text.replaceAll('_', ''))))
  const begun = strings.filter((text) => /(?<![\w-])-32(?:[0-7]\d{0,2})?(?!\w)/.test(text))
  return [...written, ...begun, ...regexps.filter((regexp) => tellsApart(regexp, someErrors, noErrors))]
}

/** The sign may stand apart from the digits. */
function isReserved(value: number): boolean {
  return -value >= reservedFirst && -value <= reservedLast
}

/** Whether a regular expression, as it is written, is found in some of these texts and in none of the others. */
function tellsApart(regexp: string, some: readonly string[], others: readonly string[]): boolean {
  const end = regexp.lastIndexOf('/')
  const pattern = new RegExp(regexp.slice(1, end), regexp.slice(end + 1).replace(/[gy]/g, ''))
  return some.some((text) => pattern.test(text)) && !others.some((text) => pattern.test(text))
}

/** The words of a protocol above JSON-RPC. */
export interface ProtocolWords {
  /** `tools/call` and the like. */
  readonly methods: readonly string[]
  /** Members of params and results. */
  readonly members: readonly string[]
}

const jsonRpcMembers = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])
const errorMembers = new Set(['code', 'message', 'data'])

/** Words of the protocol: as a text, as the beginning of a method, as a name in code, or told apart by a regular expression. */
export function protocolWords(source: SourceFile, words: ProtocolWords): string[] {
  const { code, bare, strings, regexps } = source
  const known = new Set([...words.methods, ...words.members])
  const spaces = new Set(words.methods.filter((name) => name.includes('/')).map((name) => name.split('/')[0]))
  const said = strings.filter((text) => {
    const inner = text.replace(/^['"`}]|['"`]$/g, '')
    return known.has(inner) || (/^\w+\/\w*$/.test(inner) && spaces.has(inner.split('/')[0]))
  })
  const asked = [...code.matchAll(/(?:\.(?:span|string)\(|\bisKey\([^()]*, )'(\w+)'\)/g)]
    .map(([, name = '']) => name)
    .filter((name) => !jsonRpcMembers.has(name) && !errorMembers.has(name))
  const named = words.members.filter((name) => new RegExp(String.raw`(?<![\w$])${name}(?![\w$])`).test(bare))
  const matched = regexps.filter((regexp) => tellsApart(regexp, [...known], ['xqzv/ywqx', 'xqzv', '']))
  return [...new Set([...said.map((text) => text.replaceAll(/['"`]/g, '')), ...asked, ...named, ...matched])]
}

/** Functions that say what a value is and do not look at it: casts by another name. */
export function uncheckedClaims(bare: string): string[] {
  return [...bare.matchAll(/\)\s*:\s*(asserts\s+)?(\w+)(?:\s+is\s+([\w$.<>[\] |&]+?))?\s*(?:=>\s*)?(?=\{)/g)]
    .filter(([, asserts, , type]) => asserts !== undefined || type !== undefined)
    .flatMap((claim) => {
      const body = bracedFrom(bare, claim.index + claim[0].length)
      const [, asserts, value = ''] = claim
      const fails = /\bthrow\b|\b(?:assert|fail)\w*\s*\(/.test(body)
      const looks = new RegExp(String.raw`(?<![\w$])${value}(?![\w$])`).test(body)
      return looks && (asserts === undefined || fails) ? [] : [claim[0].replace(/^\)\s*:\s*/, '').trim()]
    })
    .concat([...bare.matchAll(/:\s*(\w+ is [^={;]+?)\s*=>\s*true\b/g)].map(([, claim = '']) => claim))
}

/** Assertions on how long something took by the clock: on the difference itself, or on what it was called. */
export function clockAssertions(bare: string): string[] {
  const difference = String.raw`(?:performance|Date)\.now\(\)\s*-\s*\w+(?!\s*\+)`
  const names = [...bare.matchAll(new RegExp(String.raw`\bconst (\w+) = ${difference}`, 'g'))].map(
    ([, name = '']) => name,
  )
  const compared = [difference, ...names.map((name) => String.raw`\b${name}`)].join('|')
  const found = new RegExp(String.raw`\bassert\b[^\n]*?(?:${compared})\)*\s*[<>/][^\n]*`, 'g')
  return [...bare.matchAll(found)].map(([text]) => text)
}

/** The text of the braces that open at `from`, with them. */
function bracedFrom(bare: string, from: number): string {
  let depth = 0
  for (let at = from; at < bare.length; at++) {
    if (bare[at] === '{') depth++
    if (bare[at] === '}' && --depth === 0) return bare.slice(from, at + 1)
  }
  return bare.slice(from)
}

/** Classes that inherit from anything but `Error`. */
export function heirs(bare: string): string[] {
  return [...bare.matchAll(/\bclass\b(?!\s*[:=,)])([^{]*)\{/g)].flatMap(([, header = '']) => {
    const plain = withoutTypeArguments(header)
    const [, name = '', parent] = /^\s*(\w*)\s*extends\s+([^\s]+)/.exec(plain) ?? []
    return parent === undefined || parent === 'Error' ? [] : [`${name} extends ${parent}`]
  })
}

function withoutTypeArguments(text: string): string {
  const less = text.replaceAll(/<[^<>]*>/g, '')
  return less === text ? text : withoutTypeArguments(less)
}

/** Patterns that take the line out of a message that may be long: it is joined for that, also where it is not used. */
export function joiningPatterns(bare: string): string[] {
  const patterns = bare.matchAll(/[({]?\{([^;{}]*(?:\{[^{}]*\})?[^;{}]*)\}\s*(?::[^,)=]*Frame\b|=(?![=>]))/g)
  return [...patterns].flatMap(([, names = '']) =>
    /\bline\b/.test(names) && /\blong\b/.test(names) ? [names.trim()] : [],
  )
}
