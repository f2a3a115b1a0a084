// Exports frames as a file for `mcps-proxy replay`.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { StatusReport } from '../inspector/protocol.js'
import { api } from './api.js'
import { rangesOf } from './ranges.js'
import type { RowsStore } from './rows-store.js'
import { bytesText, count } from './text.js'

interface ExportProps {
  readonly store: RowsStore
  readonly selected: ReadonlySet<number>
  readonly status: StatusReport
}

export function Export({ store, selected, status }: ExportProps): JSX.Element {
  const [said, setSaid] = useState('')
  const { frames, bytes } = status.kept
  const cut = store.rows.filter((row) => row.cut).length
  const get = (ranges: string): void => {
    setSaid('…')
    download(ranges, 'session.jsonl').then(
      () => setSaid('The browser has session.jsonl.'),
      (error: unknown) => setSaid(String(error)),
    )
  }
  return (
    <section aria-label="Export" class="view scrolls">
      <h2>A recording of these messages</h2>
      <p>
        {`The proxy keeps ${count(frames, 'message')}, ${bytesText(bytes)} with their edits. `}
        {cut > 0
          ? `${count(cut, 'message')} of them ${cut === 1 ? 'is' : 'are'} longer than what is kept and will be cut. `
          : ''}
        A recording replays when it has the messages of its clients from their first one on, and no message is
        cut or redacted; its first line says how many are.
      </p>
      <p class="filters">
        <button type="button" onClick={() => get('')}>
          All that is kept
        </button>
        <button
          type="button"
          disabled={store.shown.length === 0}
          onClick={() => get(rangesOf(store.shown.map(({ n }) => n)))}
        >
          {`What the filter shows (${store.shown.length})`}
        </button>
        <button type="button" disabled={selected.size === 0} onClick={() => get(rangesOf([...selected]))}>
          {`Selected rows (${selected.size})`}
        </button>
      </p>
      <p role="status">{said}</p>
      <h3>Replay it</h3>
      <pre class="snippet">mcps-proxy replay session.jsonl</pre>
    </section>
  )
}

async function download(ranges: string, name: string): Promise<void> {
  const response = await api('/ui/export', { method: 'POST', body: ranges })
  const address = URL.createObjectURL(await response.blob())
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  URL.revokeObjectURL(address)
}
