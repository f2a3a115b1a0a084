// The page of the inspector: its views, and the feed with their data.

import { type JSX, render } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { StatusReport } from '../inspector/protocol.js'
import { ApiError, apiJson, readFeed, takeKey } from './api.js'
import { Frame } from './frame.js'
import { RowsStore, indexOfFrame } from './rows-store.js'
import { Clients } from './clients.js'
import { Export } from './export.js'
import { Servers } from './servers.js'
import { Usage } from './usage.js'
import { Wire } from './wire.js'

const views = ['wire', 'frame', 'servers', 'usage', 'clients', 'export'] as const
type View = (typeof views)[number]

const STATUS_MS = 2000

/** The delay before the page opens an ended feed again. */
const AGAIN_MS = 1000

function viewOf(hash: string): View {
  return views.find((view) => hash.startsWith(`#/${view}`)) ?? 'wire'
}

function App({ hasKey }: { readonly hasKey: boolean }): JSX.Element {
  const store = useMemo(() => new RowsStore(), [])
  const hash = useHash()
  const [selected, setSelected] = useState<ReadonlySet<number>>(new Set())
  const [place, setPlace] = useState<number>()
  const trouble = useFeed(store, hasKey)
  const view = viewOf(hash)
  const n = Number(/^#\/frame\/(\d+)$/.exec(hash)?.[1] ?? store.last)
  return (
    <>
      <header>
        <h1>mcps-proxy</h1>
        <nav aria-label="Views">
          {views.map((each) => (
            <a key={each} href={`#/${each}`} aria-current={each === view ? 'page' : undefined}>
              {each[0]?.toUpperCase() + each.slice(1)}
            </a>
          ))}
        </nav>
        <p role="status" class="trouble">
          {trouble}
        </p>
      </header>
      <main>
        {view === 'wire' ? (
          <Wire
            store={store}
            place={place}
            onPlace={setPlace}
            selected={selected}
            onSelect={setSelected}
            onOpen={open}
          />
        ) : null}
        {view === 'frame' && n > 0 ? <FrameInTable store={store} n={n} onPlace={setPlace} /> : null}
        {view === 'frame' && n === 0 ? <p role="status">No frame has come yet.</p> : null}
        {view === 'wire' || view === 'frame' ? null : (
          <WithStatus>
            {(status, refresh) => {
              switch (view) {
                case 'servers':
                  return <Servers status={status} refresh={refresh} />
                case 'usage':
                  return <Usage rows={status.usage} />
                case 'clients':
                  return <Clients status={status} />
                case 'export':
                  return <Export store={store} selected={selected} status={status} />
              }
            }}
          </WithStatus>
        )}
      </main>
    </>
  )
}

interface FrameInTableProps {
  readonly store: RowsStore
  readonly n: number
  readonly onPlace: (n: number) => void
}

/** Shows a frame with buttons for the previous and the next frame of the table. */
function FrameInTable({ store, n, onPlace }: FrameInTableProps): JSX.Element {
  const { rows, shown } = store
  const at = indexOfFrame(shown, n)
  const isShown = shown[at]?.n === n
  const row = rows[indexOfFrame(rows, n)]
  const step = (next: number): void => {
    onPlace(next)
    open(next)
  }
  return (
    <Frame
      n={n}
      about={row?.n === n ? row.about : undefined}
      previous={shown[at - 1]?.n}
      next={shown[isShown ? at + 1 : at]?.n}
      onOpen={step}
    />
  )
}

function useHash(): string {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    // A new key belongs to another start of the proxy, which has other messages.
    const changed = (): void => (location.hash.startsWith('#key=') ? reload() : setHash(location.hash))
    addEventListener('hashchange', changed)
    return () => removeEventListener('hashchange', changed)
  }, [])
  return hash
}

function reload(): void {
  takeKey()
  location.reload()
}

function open(n: number): void {
  location.hash = `#/frame/${n}`
}

/** Fills the store, and returns the text of a problem. */
function useFeed(store: RowsStore, hasKey: boolean): string {
  const [trouble, setTrouble] = useState('')
  const [, redraw] = useState(0)
  const due = useRef(false)
  useEffect(() => {
    if (!hasKey)
      return setTrouble('This address has no key: open the one that mcps-proxy printed when it started.')
    const ended = new AbortController()
    const show = (): void => {
      if (due.current) return
      due.current = true
      requestAnimationFrame(() => {
        due.current = false
        redraw((count) => count + 1)
      })
    }
    const opened = (): void => {
      setTrouble('')
      store.clear()
      show()
    }
    const follow = async (): Promise<void> => {
      while (!ended.signal.aborted) {
        try {
          await readFeed(ended.signal, opened, (line) => {
            store.take(line)
            show()
          })
        } catch (error) {
          setTrouble(error instanceof ApiError ? error.message : 'The proxy does not answer.')
          if (error instanceof ApiError && error.status === 401) return
        }
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
      }
    }
    void follow()
    return () => ended.abort()
  }, [store, hasKey])
  return trouble
}

interface WithStatusProps {
  readonly children: (status: StatusReport, refresh: () => void) => JSX.Element
}

/** Requests the status regularly, and passes it to the view below. */
function WithStatus({ children }: WithStatusProps): JSX.Element {
  const [status, setStatus] = useState<StatusReport | string>('Loading…')
  const [asked, setAsked] = useState(0)
  useEffect(() => {
    let isOver = false
    const take = (next: StatusReport | string): void => {
      if (!isOver) setStatus(next)
    }
    const ask = (): void => {
      if (!document.hidden)
        apiJson<StatusReport>('/ui/status').then(take, (error: unknown) => take(String(error)))
    }
    ask()
    const timer = setInterval(ask, STATUS_MS)
    return () => {
      isOver = true
      clearInterval(timer)
    }
  }, [asked])
  if (typeof status === 'string') return <p role="status">{status}</p>
  return children(status, () => setAsked(asked + 1))
}

const root = document.getElementById('app')
if (root !== null) render(<App hasKey={takeKey() !== undefined} />, root)
