// Text for the person who asked for it: help, version, findings. Never used while serving stdio,
// when stdout belongs to the protocol.

import process from 'node:process'
import { escapeOutput, escapeText } from '../text/escape.js'

const ignore = (): void => {}

/** Whether a person looks at what is said on stdout, and how wide a line may be. */
export function readerOfStdout(): { readonly isPerson: boolean; readonly columns: number } {
  const { isTTY, columns } = process.stdout
  return { isPerson: isTTY, columns: columns > 0 ? columns : Number.POSITIVE_INFINITY }
}

/** Writes text without controls of terminals but colours. Resolves once the text is out, also when the reader has left. */
export function say(stream: 'stdout' | 'stderr', text: string): Promise<void> {
  return write(stream, escapeOutput(text))
}

/** Writes a result of a server to stdout as it came, for another program. */
export function pass(text: string): Promise<void> {
  return write('stdout', text)
}

async function write(stream: 'stdout' | 'stderr', text: string): Promise<void> {
  const target = process[stream]
  // A reader that left (`| head -1`) is no failure of ours.
  target.on('error', ignore)
  const failed = await new Promise<boolean>((resolve) => {
    target.write(text, (error) => resolve(error instanceof Error))
  })
  // The error of a write that failed is still to come.
  if (!failed) target.off('error', ignore)
}

/** Says what is wrong, and gives the exit code. */
export async function failed(problem: string, exitCode: number): Promise<number> {
  await say('stderr', `mcps-proxy: ${escapeText(problem)}\n`)
  return exitCode
}
