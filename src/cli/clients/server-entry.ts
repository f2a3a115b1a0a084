// Converts one server of a client's file to the proxy's format, or says why the server stays in that file.

import { isAbsolute, posix, win32 } from 'node:path'
import { literal } from '../../config/expand.js'
import { isObject, textsIn } from '../../text/json-object.js'
import type { Client, MemberUse, Transport } from './table.js'

export type OwnEntry = Readonly<Record<string, unknown>>

export type EntryReading =
  | {
      readonly kind: 'server'
      readonly entry: OwnEntry
      /** Names of members that have no use with the proxy. */
      readonly ignored: readonly string[]
    }
  | { readonly kind: 'stays'; readonly why: string }

class Stays extends Error {}

export function readEntry(value: unknown, client: Pick<Client, 'members' | 'variables'>): EntryReading {
  try {
    return new Reading(client.variables).read(membersOf('its entry', value), client.members)
  } catch (error) {
    if (error instanceof Stays) return { kind: 'stays', why: error.message }
    throw error
  }
}

const loginMembers = ['clientId', 'clientSecret', 'callbackPort', 'scopes', 'authServerMetadataUrl']

class Reading {
  readonly #variables: Client['variables']
  readonly #entry: Record<string, unknown> = {}
  readonly #ignored: string[] = []
  readonly #headers: Record<string, string> = {}
  readonly #tools: Record<string, readonly string[]> = {}
  #type: Transport | undefined
  #urlTransport: Transport | 'detected' | undefined

  constructor(variables: Client['variables']) {
    this.#variables = variables
  }

  read(value: Readonly<Record<string, unknown>>, uses: Client['members']): EntryReading {
    this.#members(value, uses, '')
    const { command, url } = this.#entry
    if ((command === undefined) === (url === undefined))
      throw new Stays(
        command === undefined
          ? 'it has neither a command nor an address'
          : 'it has both a command and an address',
      )
    if (typeof url === 'string') this.#checkRemote(url)
    else if (typeof command === 'string') this.#checkProgram(command)
    const tools = Object.keys(this.#tools).length === 0 ? {} : { tools: this.#tools }
    return { kind: 'server', entry: { ...this.#entry, ...tools }, ignored: this.#ignored }
  }

  #members(value: Readonly<Record<string, unknown>>, uses: Client['members'], above: string): void {
    for (const [name, member] of Object.entries(value)) {
      const key = above + name
      const use = Object.hasOwn(uses, name) ? uses[name] : undefined
      if (use === undefined) throw new Stays(`"${key}" is not understood`)
      if (use.kind === 'nested') this.#members(membersOf(`"${key}"`, member), use.members, `${key}.`)
      else this.#member(key, member, use)
    }
  }

  #member(key: string, value: unknown, use: Exclude<MemberUse, { kind: 'nested' }>): void {
    switch (use.kind) {
      case 'text':
        return this.#set(key, use.to, this.#text(key, value))
      case 'path': {
        const path = this.#text(key, value)
        if (!isWhole(path)) throw new Stays(`"${key}" is relative`)
        return this.#set(key, use.to, path)
      }
      // An empty list or map means the same as an absent one.
      case 'texts':
      case 'names': {
        const texts = textsOf(key, value).map((each) => (use.kind === 'names' ? each : this.#text(key, each)))
        return texts.length > 0 ? this.#set(key, use.to, texts) : undefined
      }
      case 'map': {
        const texts = Object.entries(membersOf(`"${key}"`, value)).map(
          ([name, each]) => [name, this.#text(key, each)] as const,
        )
        if (use.to === 'headers') for (const [name, each] of texts) this.#header(key, name, each)
        else if (texts.length > 0) this.#set(key, use.to, Object.fromEntries(texts))
        return undefined
      }
      case 'type':
        this.#type =
          typeof value === 'string' && Object.hasOwn(use.types, value) ? use.types[value] : undefined
        if (this.#type === undefined) throw new Stays(`"${key}": ${JSON.stringify(value)} is not understood`)
        return undefined
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
        for (const [name, variable] of Object.entries(membersOf(`"${key}"`, value)))
          this.#header(key, name, `\${${variableOf(key, variable)}}`)
        return undefined
      case 'login':
        return this.#login(key, value)
      case 'ignored':
        this.#ignored.push(key)
        return undefined
    }
  }

  #set(key: string, to: string, value: unknown): void {
    if (Object.hasOwn(this.#entry, to)) throw new Stays(`"${key}" repeats another member`)
    this.#entry[to] = value
  }

  #login(key: string, value: unknown): void {
    const members = Object.entries(membersOf(`"${key}"`, value)).map(([name, each]) => {
      if (!loginMembers.includes(name)) throw new Stays(`"${key}.${name}" is not understood`)
      return [name, typeof each === 'string' ? this.#text(`${key}.${name}`, each) : each] as const
    })
    this.#set(key, 'oauth', Object.fromEntries(members))
  }

  #header(key: string, name: string, value: string): void {
    if (Object.hasOwn(this.#headers, name)) throw new Stays(`"${key}" has the header ${name} again`)
    this.#headers[name] = value
  }

  /** `*` means every tool. */
  #filter(key: string, value: unknown, to: 'allow' | 'deny'): void {
    const names = textsOf(key, value)
    if (to === 'allow' && names.length === 1 && names[0] === '*') return
    if (names.some((name) => /[*(]/.test(name))) throw new Stays(`"${key}" has a pattern`)
    else if (names.length > 0 || to === 'allow') this.#tools[to] = names
  }

  #checkProgram(command: string): void {
    if (this.#type !== undefined && this.#type !== 'stdio')
      throw new Stays('its type and its command do not fit')
    if (Object.keys(this.#headers).length > 0) throw new Stays('it has headers and a command')
    const { cwd, args = [] } = this.#entry
    if (cwd !== undefined) return
    if (/[/\\]/.test(command) && !isWhole(command)) throw new Stays(`its command "${command}" is relative`)
    const relative = [args].flat().find((arg) => typeof arg === 'string' && /^\.{1,2}(?:[/\\]|$)/.test(arg))
    if (typeof relative === 'string')
      throw new Stays(`its argument "${relative}" depends on the folder in which the client starts it`)
  }

  #checkRemote(url: string): void {
    const transport = this.#type ?? this.#urlTransport
    if (transport === undefined) throw new Stays('it has an address without a "type"')
    if (transport === 'stdio') throw new Stays('its type and its address do not fit')
    if (transport === 'detected' && /\/sse\/?$/.test(url))
      throw new Stays('its transport is not certain; "type" says it: "sse", or "http"')
    if (Object.keys(this.#headers).length > 0) this.#entry['headers'] = this.#headers
    if (transport === 'sse') this.#entry['type'] = 'sse'
  }

  #text(key: string, value: unknown): string {
    if (typeof value !== 'string') throw new Stays(`"${key}" is no text`)
    const variables = this.#variables
    if (variables === 'none') return literal(value)
    if (!value.includes('$')) return value
    if (variables === undefined) throw new Stays(`"${key}" has a variable, which is not understood`)
    const { form, isBare } = variables
    const ours = isBare === true ? value.replaceAll(/\$([A-Za-z_]\w*)/g, '$${$1}') : value
    const strange = (ours.match(/\$?\$\{[^}]*\}?/g) ?? []).find((each) => !form.test(each))
    if (strange === undefined) return ours.replaceAll('${input:', '${keyring:')
    const why = /workspaceFolder/.test(strange) ? 'depends on the folder of a project' : 'is not understood'
    throw new Stays(`"${key}" has ${strange}, which ${why}`)
  }
}

function textsOf(key: string, value: unknown): string[] {
  const texts = textsIn(value)
  if (!Array.isArray(value) || texts.length < value.length) throw new Stays(`"${key}" is no list of texts`)
  return texts
}

function membersOf(what: string, value: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(value)) throw new Stays(`${what} is no object`)
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
