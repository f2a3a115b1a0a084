// Events for programs that embed the proxy.

import { EventEmitter } from 'eventemitter3'
import type { LogSink } from '../runtime/runtime.js'

/** A listener of an event. */
export type EventListener<Event> = (event: Event) => unknown

/** A source of events, by their names. */
export interface EventSource<Events> {
  /**
   * Calls `listener` for each event of that name, until the function is called that this gives.
   *
   * A listener that throws, or whose promise is rejected, is logged; nothing else comes of it.
   */
  on<Name extends keyof Events & string>(name: Name, listener: EventListener<Events[Name]>): () => void
}

/** Listeners by the names of their events. */
export type EventListeners<Events> = { readonly [Name in keyof Events]?: EventListener<Events[Name]> }

/** Tells listeners of events; one that fails does not disturb the others, nor what the event is about. */
export class Emitter<Events> implements EventSource<Events> {
  readonly #emitter = new EventEmitter<string>()
  readonly #log: LogSink

  constructor(log: LogSink) {
    this.#log = log
  }

  on<Name extends keyof Events & string>(name: Name, listener: EventListener<Events[Name]>): () => void {
    const guarded = (event: Events[Name]): void => this.#guard(name, () => listener(event))
    this.#emitter.on(name, guarded)
    return () => void this.#emitter.off(name, guarded)
  }

  /** Whether an event has a listener: without one it need not be made. */
  has(name: keyof Events & string): boolean {
    return this.#emitter.listenerCount(name) > 0
  }

  /** All of them, until the end. */
  add(listeners: EventListeners<Events>): void {
    for (const name in listeners) {
      const listener = listeners[name]
      if (listener !== undefined) this.on(name, listener)
    }
  }

  emit<Name extends keyof Events & string>(name: Name, event: Events[Name]): void {
    this.#emitter.emit(name, event)
  }

  #guard(name: string, listen: () => unknown): void {
    try {
      const listened = listen()
      if (listened instanceof Promise) listened.catch((error: unknown) => this.#failed(name, error))
    } catch (error) {
      this.#failed(name, error)
    }
  }

  #failed(name: string, error: unknown): void {
    this.#log({ level: 'error', message: `a listener of '${name}' events failed`, details: { error } })
  }
}
