// stderr on a terminal: log lines, and below them one status line, which is removed at the end.

import { escapeText } from '../text/escape.js'
import type { LogStream } from '../log/log.js'

/** The members of stderr that the screen uses. */
export interface Terminal extends LogStream {
  readonly columns?: number
}

/** The width when the terminal does not report one. */
const columnsDefault = 80

const erase = '\r\u001b[2K'

/** Whether a line may change: on a terminal that can erase one. */
export function canErase(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTerminal && env['TERM'] !== 'dumb'
}

/** Passes what is written to stderr, and keeps the line of what is awaited below it. */
export class Screen implements LogStream {
  readonly #terminal: Terminal
  /** Whether there is ever a line. */
  readonly isShown: boolean
  readonly #awaited = new Set<string>()
  #line = ''

  /** Unless `isShown`, nothing but what is written goes out. */
  constructor(terminal: Terminal, isShown: boolean) {
    this.#terminal = terminal
    this.isShown = isShown
  }

  get writableLength(): number {
    return this.#terminal.writableLength
  }

  write(text: string, written?: () => void): boolean {
    if (text === '') return this.#terminal.write(text, written)
    const above = this.#line === '' ? '' : erase
    this.#line = this.#text()
    return this.#terminal.write(`${above}${text}${this.#line}`, written)
  }

  /** Another writer is about to write whole lines to the same terminal: the line is gone until the next write. */
  makeWay(): void {
    if (this.#line === '') return
    this.#line = ''
    this.#terminal.write(erase)
  }

  await(name: string): void {
    this.#awaited.add(name)
    this.#draw()
  }

  /** The item has come, or is not awaited any more. */
  settle(name: string): void {
    if (this.#awaited.delete(name)) this.#draw()
  }

  close(): void {
    this.#awaited.clear()
    this.#draw()
  }

  #draw(): void {
    const line = this.#text()
    if (line === this.#line) return
    this.#line = line
    this.#terminal.write(`${erase}${line}`)
  }

  /** One line that is not wrapped, since only one line is erased; empty when nothing is shown. */
  #text(): string {
    if (!this.isShown || this.#awaited.size === 0) return ''
    const names = [...this.#awaited].map((name) => escapeText(name)).join(', ')
    const text = `waiting for ${names}`
    // A terminal that does not know its width says 0.
    const { columns = 0 } = this.#terminal
    const room = (columns > 0 ? columns : columnsDefault) - 1
    return text.length <= room ? text : `${text.slice(0, Math.max(0, room - 1))}…`
  }
}
