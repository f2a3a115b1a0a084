// Text for the person who asked for it: help, version, findings. Never used while serving stdio,
// when stdout belongs to the protocol.

import process from 'node:process'

/** Resolves once the text is out, also when nobody reads it any more. */
export async function say(stream: 'stdout' | 'stderr', text: string): Promise<void> {
  const target = process[stream]
  // A reader that left (`| head -1`) is no failure of ours.
  target.on('error', () => {})
  await new Promise<void>((resolve) => {
    target.write(text, () => resolve())
  })
}
