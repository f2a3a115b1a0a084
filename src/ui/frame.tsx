// One frame: the incoming and the outgoing message, with each edit and its reason.

import type { JSX } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { FrameView, MessageSide, Segment } from '../inspector/protocol.js'
import { apiJson } from './api.js'
import { type JsonLine, type Range, jsonLines, visibleLines } from './json-lines.js'
import { reasons } from './reasons.js'
import { bytesText, count, hexText, short, timeText, visible } from './text.js'
import { VirtualList } from './virtual-list.js'
import { messageText, routeOf } from './wire.js'

const LINE_HEIGHT = 20

/** Deeper objects are folded at first. */
const DEPTH_OPEN = 4

/** The most characters of a value in its line. The view as text shows all. */
const VALUE_LENGTH = 400

interface FrameProps {
  readonly n: number
  readonly about: string | undefined
  /** The numbers of the frames above and below in the table; undefined at the ends of the table. */
  readonly previous: number | undefined
  readonly next: number | undefined
  readonly onOpen: (n: number) => void
}

export function Frame({ n, about, previous, next, onOpen }: FrameProps): JSX.Element {
  const [view, setView] = useState<FrameView | string>('')
  useEffect(() => {
    let isOver = false
    const take = (next: FrameView | string): void => {
      if (!isOver) setView(next)
    }
    apiJson<FrameView>(`/ui/frames/${n}`).then(take, (error: unknown) => take(String(error)))
    return () => {
      isOver = true
    }
  }, [n])
  if (typeof view === 'string')
    return (
      <section aria-label="Frame" class="view">
        <p role="status">{view === '' ? 'Loading…' : view}</p>
      </section>
    )
  const { row, input, output, other, fixture, isOldest } = view
  const isEdited = [input, output].some((side) => side?.segments?.some(({ why }) => why !== undefined))
  return (
    <section aria-label="Frame" class="view">
      <h2>
        {short(messageText(about === undefined ? row : { ...row, about }), 120)}{' '}
        <small>{`frame ${row.n} at ${timeText(row.at)}, ${short(routeOf(row), 120)}`}</small>
      </h2>
      <p class="filters">
        <Step name="Previous" to={previous} onOpen={onOpen} />
        <Step name="Next" to={next} onOpen={onOpen} />
        {other === undefined ? null : (
          <button type="button" onClick={() => onOpen(other)}>
            {row.dir === 'in' ? 'Show the frame that left' : 'Show the frame that came in'}
          </button>
        )}
        <Copy what="fixture line" text={fixture} />
      </p>
      {row.edits === undefined && !isEdited && input !== undefined && output !== undefined ? (
        <p>Forwarded without an edit.</p>
      ) : null}
      <div class="sides">
        {input === undefined ? (
          <NoInput isOldest={isOldest === true} />
        ) : (
          <Side title="Came in" sign="−" side={input} />
        )}
        {output === undefined ? (
          <p class="side">
            Nothing left for it: the proxy answers it, or its server has it under another frame.
          </p>
        ) : (
          <Side title="Left" sign="+" side={output} />
        )}
      </div>
      <Edits sides={[input, output]} />
    </section>
  )
}

function NoInput({ isOldest }: { readonly isOldest: boolean }): JSX.Element {
  const or = isOldest ? ', or the one that came in is older than those that are kept' : ''
  return <p class="side">{`The proxy made this message itself${or}.`}</p>
}

interface StepProps {
  readonly name: string
  readonly to: number | undefined
  readonly onOpen: (n: number) => void
}

function Step({ name, to, onOpen }: StepProps): JSX.Element {
  return (
    <button type="button" disabled={to === undefined} onClick={() => to !== undefined && onOpen(to)}>
      {name}
    </button>
  )
}

/** A button that copies a text. */
function Copy({ what, text }: { readonly what: string; readonly text: string }): JSX.Element {
  const [state, setState] = useState('')
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setState(' (copied)'),
      () => setState(' (the browser refuses it)'),
    )
  }
  return (
    <button type="button" onClick={copy}>
      {`Copy ${what}${state}`}
    </button>
  )
}

interface SideProps {
  readonly title: string
  readonly sign: '+' | '−'
  readonly side: MessageSide
}

function Side({ title, sign, side }: SideProps): JSX.Element {
  const [asText, setAsText] = useState(false)
  const { segments, base64, bytes, keptBytes, service, conn, hop } = side
  const text = useMemo(() => segments?.map((each) => each.text).join(''), [segments])
  const lines = useMemo(() => (text === undefined ? undefined : jsonLines(text)), [text])
  const where = service ?? (hop === 'client' ? `client ${conn ?? ''}` : '')
  const cut = bytes > keptBytes + 2 ? `, of which the first ${bytesText(keptBytes)} are kept` : ''
  return (
    <section class="side" aria-label={title}>
      <h3>
        {title} <small>{`${short(where, 60)}, ${bytesText(bytes)}${cut}`}</small>
      </h3>
      <p class="filters">
        {lines === undefined ? null : (
          <button type="button" aria-pressed={asText} onClick={() => setAsText(!asText)}>
            As text
          </button>
        )}
        {text === undefined ? null : <Copy what="bytes" text={text} />}
      </p>
      {segments === undefined || text === undefined ? (
        <pre tabIndex={0} aria-label="Bytes in hexadecimal">
          {base64 === undefined ? 'Bytes that are no text, with a secret in them.' : hexText(base64)}
        </pre>
      ) : lines === undefined || asText ? (
        <pre tabIndex={0} aria-label="Text">
          <Marked segments={segments} sign={sign} range={{ start: 0, end: text.length }} />
        </pre>
      ) : (
        <Tree title={title} lines={lines} segments={segments} sign={sign} text={text} />
      )}
    </section>
  )
}

interface TreeProps {
  readonly title: string
  readonly lines: readonly JsonLine[]
  readonly segments: readonly Segment[]
  readonly sign: '+' | '−'
  readonly text: string
}

function Tree({ title, lines, segments, sign, text }: TreeProps): JSX.Element {
  const deep = useMemo(() => deepLines(lines), [lines])
  const [folded, setFolded] = useState<ReadonlySet<number>>(deep)
  const [active, setActive] = useState(0)
  useEffect(() => setFolded(deep), [deep])
  const shown = useMemo(() => visibleLines(lines, folded), [lines, folded])
  const turn = (at: number): void => {
    const next = new Set(folded)
    if (!next.delete(at)) next.add(at)
    setFolded(next)
  }
  const onKey = (key: string): boolean => {
    const at = shown[active] ?? 0
    const { below = 0, depth = 0 } = lines[at] ?? {}
    const isFolded = folded.has(at)
    if (below > 0 && (key === 'Enter' || key === (isFolded ? 'ArrowRight' : 'ArrowLeft'))) turn(at)
    else if (key === 'ArrowLeft') setActive(parentOf(shown, lines, active, depth))
    else return key === 'ArrowRight'
    return true
  }
  const id = sign === '+' ? 'out' : 'in'
  return (
    <VirtualList
      id={id}
      role="tree"
      label={`${title}, as a tree. Right and left open and fold.`}
      count={shown.length}
      itemHeight={LINE_HEIGHT}
      active={active}
      render={(index) => {
        const at = shown[index] ?? 0
        const line = lines[at]
        if (line === undefined) return null
        const facts = { line, segments, sign, text, isFolded: folded.has(at), isActive: index === active }
        const choose = (): void => {
          setActive(index)
          if (line.below > 0) turn(at)
        }
        return <TreeLine key={at} id={`${id}-${index}`} {...facts} onChoose={choose} />
      }}
      onMove={setActive}
      onKey={onKey}
    />
  )
}

function deepLines(lines: readonly JsonLine[]): ReadonlySet<number> {
  return new Set(lines.flatMap(({ depth, below }, at) => (depth >= DEPTH_OPEN && below > 1 ? [at] : [])))
}

/** Returns the index in `shown` of the line that contains the active line. */
function parentOf(
  shown: readonly number[],
  lines: readonly JsonLine[],
  active: number,
  depth: number,
): number {
  for (let at = active - 1; at > 0; at--) if ((lines[shown[at] ?? 0]?.depth ?? 0) < depth) return at
  return 0
}

interface TreeLineProps extends Omit<TreeProps, 'lines' | 'title'> {
  readonly id: string
  readonly line: JsonLine
  readonly isFolded: boolean
  readonly isActive: boolean
  readonly onChoose: () => void
}

function TreeLine({
  id,
  line,
  segments,
  sign,
  text,
  isFolded,
  isActive,
  onChoose,
}: TreeLineProps): JSX.Element {
  const { depth, key, value, below, children } = line
  const end = Math.min(value.end, value.start + VALUE_LENGTH)
  const rest = end < value.end ? `… ${count(value.end - value.start, 'character')}` : ''
  const closing = text[value.start] === '{' ? '}' : ']'
  return (
    <div
      id={id}
      role="treeitem"
      aria-level={depth + 1}
      aria-selected={isActive}
      {...(below > 0 && { 'aria-expanded': !isFolded })}
      class={`line${isActive ? ' active' : ''}`}
      style={{ paddingLeft: `${depth * 16 + 16}px` }}
      onClick={onChoose}
    >
      <span class="fold" aria-hidden="true">
        {below === 0 ? '' : isFolded ? '▸' : '▾'}
      </span>
      {key.end === 0 ? null : (
        <>
          <b>
            <Marked segments={segments} sign={sign} range={key} />
          </b>
          {': '}
        </>
      )}
      <Marked segments={segments} sign={sign} range={{ start: value.start, end }} />
      {isFolded ? ` … ${count(children, 'item')} ${closing}` : rest}
    </div>
  )
}

interface MarkedProps {
  readonly segments: readonly Segment[]
  readonly sign: '+' | '−'
  readonly range: Range
}

function Marked({ segments, sign, range }: MarkedProps): JSX.Element {
  const pieces: JSX.Element[] = []
  let at = 0
  for (const { text, why, redacted } of segments) {
    const part = text.slice(Math.max(0, range.start - at), Math.max(0, range.end - at))
    at += text.length
    if (part === '' || at <= range.start) continue
    const shown = visible(part)
    const Edit = sign === '+' ? 'ins' : 'del'
    if (why !== undefined)
      pieces.push(
        <Edit key={at} class={`edit edit-${why}`}>
          <small>{`${sign}${why} `}</small>
          {shown}
        </Edit>,
      )
    else pieces.push(redacted ? <mark key={at}>{shown}</mark> : <span key={at}>{shown}</span>)
    if (at >= range.end) break
  }
  return <>{pieces}</>
}

function Edits({ sides }: { readonly sides: readonly (MessageSide | undefined)[] }): JSX.Element | null {
  const whys = sides.flatMap((side) => side?.segments ?? []).flatMap(({ why }) => why ?? [])
  if (whys.length === 0) return null
  return (
    <section aria-label="Edits">
      <h3>Edits</h3>
      <dl>
        {[...new Set(whys)].map((why) => (
          <div key={why}>
            <dt class={`edit edit-${why}`}>{why}</dt>
            <dd>{reasons[why] ?? ''}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
