// The first process in the namespace of a bwrap.

import type { Readable } from 'node:stream'

/** Reads its number on the host, which bwrap writes to the descriptor of `--info-fd` as soon as the process exists. */
export function firstProcess(info: Readable | undefined): Promise<number> {
  return new Promise((resolve) => {
    let said = ''
    info?.on('error', () => undefined)
    info?.on('data', (chunk: Buffer) => {
      said += chunk.toString('latin1')
      const [, pid] = /"child-pid":\s*(\d+)/.exec(said) ?? []
      if (pid !== undefined) resolve(Number(pid))
    })
  })
}
