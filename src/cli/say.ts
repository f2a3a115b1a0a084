// Text for the person who asked for it: help, version, findings. Never used while serving stdio,
// when stdout belongs to the protocol.

import process from 'node:process'

const ignore = (): void => {}

/** Resolves once the text is out, also when nobody reads it any more. */
export async function say(stream: 'stdout' | 'stderr', text: string): Promise<void> {
  const target = process[stream]
  // A reader that left (`| head -1`) is no failure of ours.
  target.on('error', ignore)
  const failed = await new Promise<boolean>((resolve) => {
    target.write(text, (error) => resolve(error instanceof Error))
  })
  // The error of a write that failed is still to come.
  if (!failed) target.off('error', ignore)
}
