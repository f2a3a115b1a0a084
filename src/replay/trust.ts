// What a transcript would start on this machine. A transcript may come from a stranger, as in the report of a bug.

import { escapeText, inShell } from '../text/escape.js'
import type { ReplayRequest } from './replayer.js'
import type { Header, Transcript } from './transcript.js'

/**
 * The command lines that a replay takes from transcripts, each in full. The list is empty when the command line of the
 * replay names the server, and the transcript adds no variable to it.
 */
export function startsOf(transcripts: readonly Transcript[], request: ReplayRequest): string[] {
  if (request.url !== undefined) return []
  const headers = new Map(transcripts.map(({ header, file }) => [header, file]))
  return [...headers].flatMap(([header, file]) => {
    const lines = request.command.length > 0 ? givenLines(header, request.command) : ownLines(header)
    return lines.map((line) => escapeText(`${file}: ${line}`))
  })
}

/** A variable such as NODE_OPTIONS makes another program of the command that the user gave. */
function givenLines({ env }: Header, command: readonly string[]): string[] {
  return env.size === 0 ? [] : [shellLine(env, command)]
}

function ownLines({ command, args = [], config, beside, env }: Header): string[] {
  const started = shellLine(env, command ?? ['mcps-proxy', ...args])
  return [
    ...(beside === undefined ? [] : [shellLine(new Map(), beside)]),
    config === undefined || command !== undefined ? started : `${started}, with the configuration ${config}`,
  ]
}

function shellLine(env: Header['env'], command: readonly string[]): string {
  return [...Array.from(env, ([name, value]) => `${name}=${inShell(value)}`), ...command.map(inShell)].join(
    ' ',
  )
}
