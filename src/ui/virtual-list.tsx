// A list of items of one height. The document contains only the visible items. Keys change the active item.

import type { ComponentChildren, JSX, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

/** The number of items above and below the visible ones. */
const SPARE = 10

interface VirtualListProps {
  readonly id: string
  readonly role: 'grid' | 'tree'
  readonly label: string
  readonly count: number
  readonly itemHeight: number
  readonly active: number
  /** Whether the list scrolls to the last item when `count` changes. */
  readonly follows?: boolean
  readonly header?: ComponentChildren
  readonly columns?: number
  readonly render: (index: number) => ComponentChildren
  readonly onMove: (index: number) => void
  /** Returns whether the owner of the list handled the key. */
  readonly onKey: (key: string) => boolean
  /** The person turns the wheel towards the first item while the list follows. */
  readonly onScrollBack?: () => void
}

export function VirtualList(props: VirtualListProps): JSX.Element {
  const { id, role, label, count, itemHeight, active, follows = false, header, columns } = props
  const box = useRef<HTMLDivElement>(null)
  const { sight, look } = useSight(box)
  useLayoutEffect(() => {
    if (follows && box.current !== null) box.current.scrollTop = count * itemHeight
  }, [count, follows])
  useLayoutEffect(() => {
    if (!follows && box.current !== null)
      box.current.scrollTop = active * itemHeight - box.current.clientHeight / 2
  }, [])
  const headHeight = header === undefined ? 0 : itemHeight
  const first = Math.max(0, Math.floor(sight.top / itemHeight) - SPARE)
  const last = Math.min(count, Math.ceil((sight.top + sight.height) / itemHeight) + SPARE)
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = indexAfter(event.key, active, count, Math.floor(sight.height / itemHeight) - 1)
    if (to !== undefined) {
      props.onMove(to)
      bringIntoSight(box.current, to * itemHeight, itemHeight + headHeight)
    } else if (!props.onKey(event.key)) return
    event.preventDefault()
  }
  const items = Array.from({ length: Math.max(0, last - first) }, (_, at) => first + at)
  const isActiveShown = active >= first && active < last
  return (
    <div
      class={`virtual ${role}`}
      role={role}
      aria-label={label}
      {...(role === 'grid' && { 'aria-rowcount': count + 1, 'aria-colcount': columns })}
      aria-activedescendant={isActiveShown ? `${id}-${active}` : undefined}
      tabIndex={0}
      ref={box}
      onScroll={look}
      onWheel={({ deltaY }) => deltaY < 0 && follows && props.onScrollBack?.()}
      onKeyDown={onKeyDown}
    >
      {header}
      <div class="space" role="presentation" style={{ height: `${count * itemHeight}px` }}>
        <div
          role={role === 'grid' ? 'rowgroup' : 'presentation'}
          style={{ transform: `translateY(${first * itemHeight}px)` }}
        >
          {items.map(props.render)}
        </div>
      </div>
    </div>
  )
}

interface Sight {
  readonly top: number
  readonly height: number
}

/** Returns the visible part of the box, and the function that measures it again. */
function useSight(box: RefObject<HTMLDivElement | null>): {
  readonly sight: Sight
  readonly look: () => void
} {
  const [sight, setSight] = useState<Sight>({ top: 0, height: 600 })
  const look = (): void => {
    if (box.current === null) return
    const { scrollTop: top, clientHeight: height } = box.current
    if (top !== sight.top || height !== sight.height) setSight({ top, height })
  }
  useLayoutEffect(look)
  useEffect(() => {
    const watch = new ResizeObserver(look)
    if (box.current !== null) watch.observe(box.current)
    return () => watch.disconnect()
  })
  return { sight, look }
}

/** Returns the active item after a key; undefined for a key that does not move. */
function indexAfter(key: string, active: number, count: number, page: number): number | undefined {
  const moves: Readonly<Record<string, number>> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + Math.max(1, page),
    PageUp: active - Math.max(1, page),
    Home: 0,
    End: count - 1,
  }
  const to = moves[key]
  return to === undefined ? undefined : Math.max(0, Math.min(count - 1, to))
}

function bringIntoSight(box: HTMLDivElement | null, top: number, height: number): void {
  if (box === null) return
  if (top < box.scrollTop) box.scrollTop = top
  else if (top + height > box.scrollTop + box.clientHeight) box.scrollTop = top + height - box.clientHeight
}
