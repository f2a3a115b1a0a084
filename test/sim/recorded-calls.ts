// Compares the audit log of a proxy with the ledger. A call of a client that has vanished or cancelled may have an
// audit line and no answer.

import { Audit } from '../../src/audit/audit.js'
import type { CallEvent } from '../../src/index.js'
import { at, noncesIn, parse, textAt, numberAt } from './json.js'
import type { Entry, Ledger } from './ledger.js'
import type { Wrong } from './wrong.js'
import type { McpProxy } from '../../src/proxy/proxy-interface.js'
import { CallMetrics } from '../../src/metrics/call-metrics.js'
import { type Family, countOf } from '../../src/metrics/registry.js'

const CALL = 'tools/call'

/** Requests that the front itself refuses do not become calls. */
const NO_CALL = /^HTTP \d|Header mismatch|Session not found|"instance-lost"/

/** How the answer of a client and a line of the audit end. */
type End = 'asked' | 'result' | 'error'

export class AuditWatch {
  readonly ended: (event: CallEvent) => void
  readonly #lines: { readonly nonce: string; readonly line: unknown }[] = []

  constructor(wallNow: () => number, wrong: Wrong) {
    const write = (line: string): void => {
      for (const written of wrong.audit?.(line) ?? [line]) this.#take(parse(written))
    }
    const sink = { write, close: () => Promise.resolve() }
    const audit = new Audit(
      sink,
      { payloads: true, methods: ['*'], onError: 'continue' },
      { wallNow, clean: (text) => text },
    )
    this.ended = audit.onCall
  }

  judge(ledger: Ledger): void {
    const sent = ledger.all.filter(({ method, about }) => method === CALL && about !== undefined)
    for (const nonce of new Set([
      ...sent.map(({ about = '' }) => about),
      ...this.#lines.map((line) => line.nonce),
    ])) {
      const entries = sent.filter(({ about }) => about === nonce)
      const lines = this.#lines.filter((each) => each.nonce === nonce).map(({ line }) => line)
      compare(ledger, nonce, entries, lines)
    }
  }

  #take(line: unknown): void {
    const [nonce] = noncesIn(textAt(line, 'arguments') ?? '')
    if (textAt(line, 'method') === CALL && nonce !== undefined) this.#lines.push({ nonce, line })
  }
}

function compare(ledger: Ledger, nonce: string, entries: readonly Entry[], lines: readonly unknown[]): void {
  // A call may have ended before the session of its client, or before its instance. Another instance may answer in
  // place of the one that serves the call.
  const isOpen = (text: string): boolean =>
    /Session not found|"instance-lost"/.test(text) || (ledger.isDisturbed && NO_CALL.test(text))
  const open = entries.filter((entry) => entry.answers.length === 0 || isOpen(textOf(entry))).length
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

const textOf = ({ answers: [answer] }: Entry): string => answer?.text ?? 'no answer'

function endOf({ ok, text }: Entry['answers'][number]): End {
  if (!ok) return 'error'
  return text.includes('"resultType":"input_required"') ? 'asked' : 'result'
}

/** A refusal without a code was sent as a result that explains the reason to the model. */
function endIn(line: unknown): End | undefined {
  const outcome = textAt(line, 'outcome')
  if (outcome === 'asked') return 'asked'
  if (outcome === 'cancelled') return undefined
  const isResult = outcome === 'answered' || (outcome === 'refused' && at(line, 'code') === undefined)
  return isResult ? 'result' : 'error'
}

// Compares the call metrics of a proxy with the ledger. A request without an answer, or with an HTTP error status,
// may or may not have become a call.

/** Errors of the client. The metrics have no error type for them. */
const MISTAKES = [-32700, -32600, -32601, -32602, -32002]

/** Refused by HTTP status, for its header fields, for its session, or by another instance: perhaps not a call. */
const BEFORE_CALLS = /^HTTP |"error":\{"code":-32020,|"Session not found"|"instance-lost"/

/** The code may differ for clients of the other era, so all codes count as one. */
const ERROR = 'error'

const SPREAD = ['resources/subscribe', 'resources/unsubscribe']

const UNCOUNTED = ['initialize', 'ping', 'logging/setLevel', 'server/discover']

export class CountedCalls {
  readonly #metrics = new CallMetrics(false)

  listen(proxy: Pick<McpProxy, 'on'>): void {
    const { call, server } = this.#metrics.listeners
    if (call !== undefined) proxy.on('call', call)
    if (server !== undefined) proxy.on('server', server)
  }

  judge(ledger: Ledger): void {
    const { certain, uncertain } = tallied(ledger.all)
    const counts = countsOf(this.#metrics.families[0])
    for (const kind of new Set([...certain.keys(), ...counts.keys()])) {
      const [method = ''] = kind.split(' ')
      // Every instance with the session sends these requests to its servers.
      if (ledger.isSeveral && SPREAD.includes(method)) continue
      const least = certain.get(kind) ?? 0
      const most = least + (uncertain.get(method) ?? 0)
      const count = counts.get(kind) ?? 0
      if (count < least || count > most)
        ledger.fail('miscounted', `${kind} is counted ${count} times, and happened ${least} to ${most} times`)
    }
    this.#judgeServers(ledger, counts.get('tools/call') ?? 0)
  }

  /** Every call that a server executed must also be counted upstream. */
  #judgeServers(ledger: Ledger, front: number): void {
    const executed = ledger.all.filter((entry) => entry.executed > 0).length
    const [, upstream] = this.#metrics.families
    const count = countsOf(upstream).get('tools/call') ?? 0
    // The counts of an instance that was killed are lost.
    if ((count < executed && !ledger.isDisturbed) || count > front)
      ledger.fail('miscounted', `servers have ${count} calls of ${front}, and executed ${executed}`)
  }
}

/** By method, and by method and error. */
function countsOf(family: Family | undefined): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { labels, value } of family?.points() ?? []) {
    const [, , method = '', type = ''] = labels
    const error = type.startsWith('-') ? ERROR : type
    const count = typeof value === 'number' ? value : countOf(value)
    for (const kind of [method, `${method} ${error}`]) add(counts, kind, count)
  }
  return counts
}

/** Counts requests by kind. `uncertain` has those that may not have become calls, by method. */
function tallied(entries: readonly Entry[]): Record<'certain' | 'uncertain', Map<string, number>> {
  const [certain, uncertain] = [new Map<string, number>(), new Map<string, number>()]
  for (const { method: written, answers } of entries) {
    if (UNCOUNTED.includes(written)) continue
    const method = written === 'no/such' ? 'other' : written
    const [answer] = answers
    const isCall = answer !== undefined && !BEFORE_CALLS.test(answer.text)
    for (const kind of isCall ? [method, `${method} ${errorIn(answer.text)}`] : [method])
      add(isCall ? certain : uncertain, kind)
  }
  return { certain, uncertain }
}

function add(to: Map<string, number>, kind: string, count = 1): void {
  to.set(kind, (to.get(kind) ?? 0) + count)
}

function errorIn(text: string): string {
  const message = parse(text)
  if (at(message, 'result', 'isError') === true) return 'tool_error'
  const code = numberAt(message, 'error', 'code')
  return code === undefined || MISTAKES.includes(code) ? '' : ERROR
}
