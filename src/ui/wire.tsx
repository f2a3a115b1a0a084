// The Wire: the table of all frames. `inspector/rows.ts` makes the rows.

import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Filter, type Row, type RowsStore, indexOfFrame, noFilter } from './rows-store.js'
import { bytesText, count, msText, short, timeText } from './text.js'
import { VirtualList } from './virtual-list.js'

const ROW_HEIGHT = 24

/** The interval between two counts that a screen reader reads aloud. */
const SPOKEN_MS = 5000

/** The most characters of names and texts in a cell. */
const NAME_LENGTH = 80
const TEXT_LENGTH = 160

/** The most characters of the names in the route, so that both ends are visible. */
const CLIENT_LENGTH = 14
const SERVER_LENGTH = 22

const columns = ['Time', 'From → to', 'Message', 'Id', 'Bytes', 'Took', 'Edits', 'Text'] as const

interface WireProps {
  readonly store: RowsStore
  /** The frame of the active row; undefined follows the latest frame. */
  readonly place: number | undefined
  readonly onPlace: (place: number | undefined) => void
  readonly selected: ReadonlySet<number>
  readonly onSelect: (selected: ReadonlySet<number>) => void
  readonly onOpen: (n: number) => void
}

export function Wire({ store, place, onPlace, selected, onSelect, onOpen }: WireProps): JSX.Element {
  const [, redraw] = useState(0)
  const { shown } = store
  const follows = place === undefined
  const at = follows ? shown.length - 1 : indexOfFrame(shown, place)
  const setFilter = (filter: Filter): void => {
    store.setFilter(filter)
    redraw((n) => n + 1)
  }
  const move = (index: number): void => onPlace(shown[index]?.n)
  const onKey = (key: string): boolean => {
    const row = shown[at]
    if (key === 'Enter' && row !== undefined) onOpen(row.n)
    else if (key === ' ' && row !== undefined) onSelect(toggled(selected, row.n))
    else return false
    return true
  }
  const renderRow = (index: number): JSX.Element | null => {
    const row = shown[index]
    if (row === undefined) return null
    const facts = { row, index, isActive: index === at, isSelected: selected.has(row.n) }
    const open = (): void => {
      move(index)
      onOpen(row.n)
    }
    return <WireRow key={row.n} {...facts} onOpen={open} />
  }
  return (
    <section aria-label="Wire" class="view">
      <Filters store={store} onChange={setFilter}>
        <Follow isOn={follows} onChange={() => (follows ? move(at) : onPlace(undefined))} />
      </Filters>
      <Counts store={store} selected={selected.size} />
      <VirtualList
        id="row"
        role="grid"
        label="Frames. Enter opens a frame, space selects it for export."
        count={shown.length}
        itemHeight={ROW_HEIGHT}
        active={at}
        follows={follows}
        columns={columns.length}
        header={<Header />}
        render={renderRow}
        onMove={move}
        onKey={onKey}
        onScrollBack={() => move(at)}
      />
    </section>
  )
}

interface FollowProps {
  readonly isOn: boolean
  readonly onChange: () => void
}

function Follow({ isOn, onChange }: FollowProps): JSX.Element {
  return (
    <label>
      <input type="checkbox" checked={isOn} onChange={onChange} /> Follow
    </label>
  )
}

function toggled(selected: ReadonlySet<number>, n: number): ReadonlySet<number> {
  const next = new Set(selected)
  if (!next.delete(n)) next.add(n)
  return next
}

function Header(): JSX.Element {
  return (
    <div role="rowgroup" class="head">
      <div role="row" class="row" aria-rowindex={1}>
        {columns.map((name, at) => (
          <span key={name} role="columnheader" aria-colindex={at + 1}>
            {name}
          </span>
        ))}
      </div>
    </div>
  )
}

interface WireRowProps {
  readonly row: Row
  readonly index: number
  readonly isActive: boolean
  readonly isSelected: boolean
  readonly onOpen: () => void
}

function WireRow({ row, index, isActive, isSelected, onOpen }: WireRowProps): JSX.Element {
  const cells = [
    timeText(row.at),
    routeOf(row),
    messageText(row),
    row.id ?? '',
    bytesText(row.bytes) + (row.cut ? ' (cut)' : ''),
    msText(row.ms),
    (row.edits ?? []).map((why) => `±${why}`).join(' '),
    row.text,
  ]
  const kind = row.failed ? 'failed' : row.kind
  return (
    <div
      id={`row-${index}`}
      role="row"
      class={`row ${kind}${isActive ? ' active' : ''}`}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      onClick={onOpen}
    >
      {cells.map((text, at) => (
        <span key={at} role="gridcell" aria-colindex={at + 1}>
          {at === 0 && isSelected ? '✓ ' : ''}
          {short(text, at === 7 ? TEXT_LENGTH : NAME_LENGTH)}
        </span>
      ))}
    </div>
  )
}

export function routeOf({ hop, dir, client = '', service = '', schema }: Row): string {
  const other = hop === 'client' ? `client ${short(client, CLIENT_LENGTH)}` : short(service, SERVER_LENGTH)
  const proxy = schema === 'default' ? 'proxy' : `proxy/${schema}`
  return dir === 'in' ? `${other} → ${proxy}` : `${proxy} → ${other}`
}

export function messageText({ kind, method, name, about, failed }: Row): string {
  if (method !== undefined) return name === undefined ? method : `${method} ${name}`
  if (kind === 'result' || kind === 'error') return `${failed ? '✗' : '✓'} ${about ?? kind}`
  return kind === 'batch' ? 'several messages' : 'no message'
}

function Counts({ store, selected }: { readonly store: RowsStore; readonly selected: number }): JSX.Element {
  const { rows, shown, errors, skipped } = store
  const isEmpty = rows.length === 0 && skipped === 0
  const none = 'No message has passed since a page was opened: older ones are not kept.'
  const words = isEmpty
    ? none
    : [
        count(rows.length, 'frame'),
        ...(shown.length < rows.length ? [`${shown.length.toLocaleString('en')} shown`] : []),
        count(errors, 'error'),
        ...(skipped > 0 ? [`${skipped.toLocaleString('en')} left out, more than a page shows`] : []),
        ...(selected > 0 ? [`${selected} selected`] : []),
      ].join(', ')
  return (
    <>
      <p class="counts">{words}</p>
      <Spoken text={words} />
    </>
  )
}

/** Repeats a text for a screen reader, at intervals, because a screen reader reads each change aloud. */
function Spoken({ text }: { readonly text: string }): JSX.Element {
  const latest = useRef(text)
  const [spoken, setSpoken] = useState(text)
  latest.current = text
  useEffect(() => {
    const timer = setInterval(() => setSpoken(latest.current), SPOKEN_MS)
    return () => clearInterval(timer)
  }, [])
  return (
    <p role="status" class="unseen">
      {spoken}
    </p>
  )
}

interface FiltersProps {
  readonly store: RowsStore
  readonly onChange: (filter: Filter) => void
  readonly children: JSX.Element
}

function Filters({ store, onChange, children }: FiltersProps): JSX.Element {
  const { filter } = store
  const [text, setText] = useState(filter.text)
  // A short delay avoids one search for each letter.
  useEffect(() => {
    const timer = setTimeout(() => text !== filter.text && onChange({ ...filter, text }), 150)
    return () => clearTimeout(timer)
  }, [text])
  const choice = (
    label: string,
    name: 'schema' | 'server' | 'client' | 'method',
    values: string[],
  ): JSX.Element => (
    <label>
      {label}{' '}
      <select
        value={filter[name]}
        onChange={({ currentTarget: { value } }) => onChange({ ...filter, [name]: value })}
      >
        <option value="">all</option>
        {values.map((value) => (
          <option key={value} value={value}>
            {short(value, NAME_LENGTH)}
          </option>
        ))}
      </select>
    </label>
  )
  const schemas = store.values('schema')
  return (
    <form class="filters" aria-label="Filters" onSubmit={(event) => event.preventDefault()}>
      {schemas.length > 1 ? choice('Schema', 'schema', schemas) : null}
      {choice('Server', 'server', store.values('service'))}
      {choice('Client', 'client', store.values('client'))}
      {choice('Method', 'method', store.values('method'))}
      <label>
        <input
          type="checkbox"
          checked={filter.errors}
          onChange={() => onChange({ ...filter, errors: !filter.errors })}
        />{' '}
        Errors only
      </label>
      <label>
        Text <input type="search" value={text} onInput={({ currentTarget: { value } }) => setText(value)} />
      </label>
      <button
        type="button"
        onClick={() => {
          setText('')
          onChange(noFilter)
        }}
      >
        Clear filters
      </button>
      {children}
    </form>
  )
}
