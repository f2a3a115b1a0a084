// Events for programs that embed the proxy.

import { EventEmitter } from 'eventemitter3'
import type { LogSink } from '../runtime/runtime.js'

/** A listener of an event. */
export type EventListener<Event> = (event: Event) => unknown

/** A source of events, by name. */
export interface EventSource<Events> {
  /**
   * Calls `listener` for each event of that name, until the caller calls the returned function.
   *
   * A listener that throws or rejects is logged, and has no other effect.
   */
  on<Name extends keyof Events & string>(name: Name, listener: EventListener<Events[Name]>): () => void
}

/** Listeners by event name. */
export type EventListeners<Events> = { readonly [Name in keyof Events]?: EventListener<Events[Name]> }

/** Calls listeners. A listener that fails disturbs neither the other listeners nor the work that it observes. */
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

  /** Whether an event has a listener. Without a listener, the caller need not build the event. */
  has(name: keyof Events & string): boolean {
    return this.#emitter.listenerCount(name) > 0
  }

  /** Adds the listeners for the lifetime of the emitter. */
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
