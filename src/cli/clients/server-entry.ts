// One server of a client's file -> the same server in our file, or the reason why it stays where it is.

import { isAbsolute, posix, win32 } from 'node:path'
import { literal } from '../../config/expand.js'
import { isObject } from '../../text/json-object.js'
import type { Client, MemberUse, Transport } from './table.js'

/** What the entries of a client mean. */
type Dialect = Pick<Client, 'members' | 'variables'>

/** An entry of our file. */
export type OwnEntry = Readonly<Record<string, unknown>>

export type EntryReading =
  | {
      readonly kind: 'server'
      readonly entry: OwnEntry
      /** Members that tell the client something. */
      readonly clientMembers: Readonly<Record<string, unknown>>
      /** Names of members that are of no use beside the proxy. */
      readonly ignored: readonly string[]
    }
  | { readonly kind: 'stays'; readonly why: string }

/** Why a server stays where it is. */
class Stays extends Error {}

export function readEntry(value: unknown, dialect: Dialect): EntryReading {
  try {
    if (!isObject(value)) throw new Stays('its entry is no object')
    return new Reading(dialect).read(value)
  } catch (error) {
    if (error instanceof Stays) return { kind: 'stays', why: error.message }
    throw error
  }
}

/** Of `oauth` in our file. */
const loginMembers: ReadonlySet<string> = new Set([
  'clientId',
  'clientSecret',
  'callbackPort',
  'scopes',
  'authServerMetadataUrl',
])

class Reading {
  readonly #dialect: Dialect
  readonly #entry: Record<string, unknown> = {}
  readonly #client: Record<string, unknown> = {}
  readonly #ignored: string[] = []
  readonly #headers: Record<string, string> = {}
  readonly #tools: Record<string, readonly string[]> = {}
  #type: Transport | undefined
  #urlTransport: Transport | 'detected' | undefined

  constructor(dialect: Dialect) {
    this.#dialect = dialect
  }

  read(value: Readonly<Record<string, unknown>>): EntryReading {
    this.#members(value, this.#dialect.members, '')
    const { command, url } = this.#entry
    if ((command === undefined) === (url === undefined))
      throw new Stays(
        command === undefined
          ? 'it has neither a command nor an address'
          : 'it has both a command and an address',
      )
    if (command === undefined) this.#remote(String(url))
    else this.#program()
    const tools = Object.keys(this.#tools).length === 0 ? {} : { tools: this.#tools }
    return {
      kind: 'server',
      entry: { ...this.#entry, ...tools },
      clientMembers: this.#client,
      ignored: this.#ignored,
    }
  }

  #members(value: Readonly<Record<string, unknown>>, uses: Dialect['members'], above: string): void {
    for (const [key, member] of Object.entries(value)) {
      const use = Object.hasOwn(uses, key) ? uses[key] : undefined
      if (use === undefined) throw new Stays(`"${above}${key}" is not understood`)
      if (use.kind === 'nested') {
        if (!isObject(member)) throw new Stays(`"${above}${key}" is no object`)
        this.#members(member, use.members, `${above}${key}.`)
      } else this.#member(`${above}${key}`, member, use)
    }
  }

  #member(key: string, value: unknown, use: Exclude<MemberUse, { kind: 'nested' }>): void {
    switch (use.kind) {
      case 'text':
        return this.#set(key, use.to, this.#text(key, value))
      case 'path':
        return this.#set(key, use.to, this.#path(key, value))
      case 'texts':
        return this.#texts(
          key,
          use.to,
          textsOf(key, value).map((each) => this.#text(key, each)),
        )
      case 'names':
        return this.#texts(key, use.to, textsOf(key, value))
      case 'map':
        return this.#map(key, value, use.to)
      case 'type':
        return this.#readType(key, value, use.types)
      case 'url':
        this.#urlTransport = use.transport
        return this.#set(key, 'url', this.#text(key, value))
      case 'flag':
        if (typeof value !== 'boolean') throw new Stays(`"${key}" is neither true nor false`)
        if (value === use.disabledIf) this.#entry['disabled'] = true
        return undefined
      case 'time':
        if (typeof value !== 'number' || !(value > 0)) throw new Stays(`"${key}" is no time`)
        return this.#set(key, use.to, Math.round(value * use.unitMs))
      case 'tools':
        return this.#filter(key, value, use.to)
      case 'bearer':
        return this.#header(key, 'Authorization', `Bearer \${${variableOf(key, value)}}`)
      case 'env-headers':
        for (const [name, variable] of Object.entries(mapOf(key, value)))
          this.#header(key, name, `\${${variableOf(key, variable)}}`)
        return undefined
      case 'login':
        return this.#login(key, value)
      case 'client':
        this.#client[key] = value
        return undefined
      case 'ignored':
        this.#ignored.push(key)
        return undefined
    }
  }

  #set(key: string, to: string, value: unknown): void {
    if (Object.hasOwn(this.#entry, to)) throw new Stays(`"${key}" says again what another member says`)
    this.#entry[to] = value
  }

  #login(key: string, value: unknown): void {
    if (!isObject(value)) throw new Stays(`"${key}" is no object`)
    const members = Object.entries(value).map(([name, each]) => {
      if (!loginMembers.has(name)) throw new Stays(`"${key}.${name}" is not understood`)
      return [name, typeof each === 'string' ? this.#text(`${key}.${name}`, each) : each] as const
    })
    this.#set(key, 'oauth', Object.fromEntries(members))
  }

  /** An empty list says what no list says. */
  #texts(key: string, to: string, texts: readonly string[]): void {
    if (texts.length > 0) this.#set(key, to, texts)
  }

  #map(key: string, value: unknown, to: string): void {
    const texts = Object.entries(mapOf(key, value)).map(
      ([name, each]) => [name, this.#text(key, each)] as const,
    )
    if (to === 'headers') for (const [name, each] of texts) this.#header(key, name, each)
    else if (texts.length > 0) this.#set(key, to, Object.fromEntries(texts))
  }

  #header(key: string, name: string, value: string): void {
    if (Object.hasOwn(this.#headers, name)) throw new Stays(`"${key}" has the header ${name} again`)
    this.#headers[name] = value
  }

  #readType(key: string, value: unknown, types: Readonly<Record<string, Transport>>): void {
    const found = typeof value === 'string' && Object.hasOwn(types, value) ? types[value] : undefined
    if (found === undefined) throw new Stays(`"${key}": ${JSON.stringify(value)} is not understood`)
    this.#type = found
  }

  /** `*` is every tool. */
  #filter(key: string, value: unknown, to: 'allow' | 'deny'): void {
    const names = textsOf(key, value)
    if (to === 'allow' && names.length === 1 && names[0] === '*') this.#client[key] = value
    else if (names.some((name) => /[*(]/.test(name))) throw new Stays(`"${key}" has a pattern`)
    else if (names.length > 0 || to === 'allow') this.#tools[to] = names
  }

  #program(): void {
    if (this.#type !== undefined && this.#type !== 'stdio')
      throw new Stays('its type and its command do not fit')
    if (Object.keys(this.#headers).length > 0) throw new Stays('it has headers and a command')
    if (this.#entry['cwd'] !== undefined) return
    const command = String(this.#entry['command'])
    if (/[/\\]/.test(command) && !isWhole(command)) throw new Stays(`its command "${command}" is relative`)
    const args = Array.isArray(this.#entry['args']) ? this.#entry['args'].map(String) : []
    const relative = args.find((arg) => /^\.{1,2}(?:[/\\]|$)/.test(arg))
    if (relative !== undefined)
      throw new Stays(`its argument "${relative}" depends on the folder in which the client starts it`)
  }

  #remote(url: string): void {
    const transport = this.#type ?? this.#urlTransport
    if (transport === undefined) throw new Stays('it has an address without a "type"')
    if (transport === 'stdio') throw new Stays('its type and its address do not fit')
    if (transport === 'detected' && /\/sse\/?$/.test(url))
      throw new Stays('its transport is not certain; "type" says it: "sse", or "http"')
    if (Object.keys(this.#headers).length > 0) this.#entry['headers'] = this.#headers
    if (transport === 'sse') this.#entry['type'] = 'sse'
  }

  #path(key: string, value: unknown): string {
    const text = this.#text(key, value)
    if (!isWhole(text)) throw new Stays(`"${key}" is relative`)
    return text
  }

  /** The text as our file writes it. */
  #text(key: string, value: unknown): string {
    if (typeof value !== 'string') throw new Stays(`"${key}" is no text`)
    const { variables } = this.#dialect
    if (variables === 'none') return literal(value)
    if (!value.includes('$')) return value
    const strange = (found: string): Stays => {
      const why = /workspaceFolder/.test(found)
        ? 'which depends on the folder of a project'
        : 'which is not understood'
      return new Stays(`"${key}" has ${found}, ${why}`)
    }
    if (variables === 'dollar') {
      const ours = value.replaceAll(/\$([A-Za-z_]\w*)/g, '$${$1}')
      return checked(ours, /^\$\{[A-Za-z_]\w*(?::-[^}]*)?\}/, strange)
    }
    if (variables === 'shell') {
      if (/^\$[A-Za-z_]\w*$/.test(value)) throw strange(value)
      return checked(value, /^\$\{[A-Za-z_]\w*(?::-[^}]*)?\}/, strange)
    }
    if (variables === undefined) throw strange('a variable')
    const isKnown = (form: string): boolean =>
      /^env:[A-Za-z_]\w*$/.test(form) ||
      variables.some((known) => (known.endsWith(':') ? form.startsWith(known) : form === known))
    return checked(value, { test: (from) => isKnown(/^\$\{([^}]*)\}/.exec(from)?.[1] ?? '') }, strange)
  }
}

/** The text, once every `${` in it begins a form that is known. */
function checked(value: string, known: Pick<RegExp, 'test'>, strange: (found: string) => Stays): string {
  for (let at = value.indexOf('${'); at >= 0; at = value.indexOf('${', at + 1)) {
    const from = value.slice(at)
    if (!known.test(from) || value[at - 1] === '$') throw strange(/^\$\{[^}]*\}?/.exec(from)?.[0] ?? '${')
  }
  return value
}

function textsOf(key: string, value: unknown): string[] {
  const texts = Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
  if (!Array.isArray(value) || texts.length < value.length) throw new Stays(`"${key}" is no list of texts`)
  return texts
}

function mapOf(key: string, value: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw new Stays(`"${key}" is no object`)
  return value
}

function variableOf(key: string, value: unknown): string {
  if (typeof value !== 'string' || !/^[A-Za-z_]\w*$/.test(value))
    throw new Stays(`"${key}" names no variable`)
  return value
}

function isWhole(path: string): boolean {
  return isAbsolute(path) || posix.isAbsolute(path) || win32.isAbsolute(path) || /^(?:~[/\\]|\$\{)/.test(path)
}
