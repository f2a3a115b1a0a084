// What the audit of a proxy says of its calls, against what clients sent and were told.
//
// A client that has vanished, or that has cancelled, may have no answer though its call has a line.

import { Audit } from '../../src/audit/audit.js'
import type { CallEvent } from '../../src/index.js'
import { at, noncesIn, parse, textAt } from './json.js'
import type { Entry, Ledger } from './ledger.js'
import type { Wrong } from './wrong.js'

const CALL = 'tools/call'

/** What the front refuses by itself becomes no call. */
const NO_CALL = /^HTTP \d|Header mismatch|Session not found|"instance-lost"/

/** How the answer of a client and a line of the audit name an end. */
type End = 'asked' | 'result' | 'error'

/** Reads every line. */
export class AuditWatch {
  readonly ended: (event: CallEvent) => void
  /** By the nonces in their arguments. */
  readonly #lines = new Map<string, unknown[]>()

  constructor(wallNow: () => number, wrong: Wrong) {
    const write = (line: string): void => {
      for (const written of wrong.audit?.(line) ?? [line]) this.#take(parse(written))
    }
    const sink = { write, close: () => Promise.resolve() }
    const audit = new Audit(sink, { payloads: true, methods: ['*'] }, { wallNow, clean: (text) => text })
    this.ended = audit.ended
  }

  /** Compares the lines with the ledger, when everything has come to rest. */
  judge(ledger: Ledger): void {
    const sent = new Map<string, Entry[]>()
    for (const entry of ledger.entries.values())
      if (entry.method === CALL && entry.about !== undefined) put(sent, entry.about, entry)
    for (const [nonce, lines] of this.#lines)
      if (!sent.has(nonce)) ledger.fail('wrong-audit', `a line for ${nonce}: ${JSON.stringify(lines[0])}`)
    for (const [nonce, entries] of sent) compare(ledger, nonce, entries, this.#lines.get(nonce) ?? [])
  }

  #take(line: unknown): void {
    if (textAt(line, 'method') !== CALL) return
    const [nonce] = noncesIn(textAt(line, 'arguments') ?? '')
    if (nonce !== undefined) put(this.#lines, nonce, line)
  }
}

function compare(ledger: Ledger, nonce: string, entries: readonly Entry[], lines: readonly unknown[]): void {
  // A call may have ended before the session of its client did, or before its instance.
  const isUnheard = (entry: Entry): boolean =>
    textOf(entry).includes('Session not found') || (ledger.isDisturbed && NO_CALL.test(textOf(entry)))
  const open = entries.filter((entry) => isOpen(entry) || isUnheard(entry)).length
  const said = (check: 'wrong-audit' | 'not-audited', end: End): void =>
    ledger.fail(check, `${nonce} (${end}): ${entries.map(textOf).join()}; ${JSON.stringify(lines)}`)
  for (const end of ['asked', 'result', 'error'] as const) {
    const told = entries.filter(({ answers: [answer] }) => answer !== undefined && endOf(answer) === end)
    const written = lines.filter((line) => endIn(line) === end).length
    if (written > told.length + open) said('wrong-audit', end)
    const calls = told.filter((entry) => end !== 'error' || !NO_CALL.test(textOf(entry)))
    if (written < calls.length) said('not-audited', end)
  }
  if (lines.length > entries.length) ledger.fail('wrong-audit', `${nonce} has ${lines.length} lines`)
}

/** It has no answer, or another instance has answered in place of the one that has the call. */
function isOpen({ answers: [answer] }: Entry): boolean {
  return answer === undefined || answer.text.includes('"instance-lost"')
}

function textOf({ answers: [answer] }: Entry): string {
  return answer?.text ?? 'no answer'
}

function endOf({ ok, text }: Entry['answers'][number]): End {
  if (!ok) return 'error'
  return text.includes('"resultType":"input_required"') ? 'asked' : 'result'
}

/** A refusal without a code is a result that tells the model why. */
function endIn(line: unknown): End | undefined {
  const outcome = textAt(line, 'outcome')
  if (outcome === 'asked') return 'asked'
  if (outcome === 'cancelled') return undefined
  const isResult = outcome === 'answered' || (outcome === 'refused' && at(line, 'code') === undefined)
  return isResult ? 'result' : 'error'
}

function put<T>(groups: Map<string, T[]>, key: string, value: T): void {
  const group = groups.get(key)
  if (group === undefined) groups.set(key, [value])
  else group.push(value)
}
