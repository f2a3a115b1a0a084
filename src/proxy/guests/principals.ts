// What is known of those who send requests without a session, from one request to the next.

import { PrincipalTasks, type TaskLimits } from '../routing/principal-tasks.js'

/** The tasks of each of them. */
export class Principals {
  readonly #limits: TaskLimits
  readonly #principalsMax: number
  readonly #tasks = new Map<string, PrincipalTasks>()
  #first: string | undefined
  #areSeveral = false

  /** Of more than `principalsMax` the first is forgotten. */
  constructor(limits: TaskLimits, principalsMax: number) {
    this.#limits = limits
    this.#principalsMax = principalsMax
  }

  tasksOf(principal: string): PrincipalTasks {
    const known = this.#tasks.get(principal)
    if (known !== undefined) return known
    this.#first ??= principal
    this.#areSeveral ||= principal !== this.#first
    const [oldest] = this.#tasks.keys()
    if (oldest !== undefined && this.#tasks.size >= this.#principalsMax) this.left(oldest)
    const tasks = new PrincipalTasks(this.#limits, () => !this.#areSeveral)
    this.#tasks.set(principal, tasks)
    return tasks
  }

  /** No request of this one will come any more. */
  left(principal: string): void {
    this.#tasks.get(principal)?.left()
    this.#tasks.delete(principal)
  }
}
