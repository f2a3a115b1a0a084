// What is known of those who send requests without a session, from one request to the next.

import { PrincipalTasks, type TaskLimits } from '../routing/principal-tasks.js'

/** The tasks of each of them. */
export class Principals {
  readonly #limits: TaskLimits
  readonly #principalsMax: number
  readonly #isPresent: (principal: string) => boolean
  /** The principal that came back longest ago stands first. */
  readonly #tasks = new Map<string, PrincipalTasks>()
  #first: string | undefined
  #areSeveral = false

  /** Of more than `principalsMax` one is forgotten for which `isPresent` is false: one without tasks, where there is one. */
  constructor(limits: TaskLimits, principalsMax: number, isPresent: (principal: string) => boolean) {
    this.#limits = limits
    this.#principalsMax = principalsMax
    this.#isPresent = isPresent
  }

  tasksOf(principal: string): PrincipalTasks {
    this.#first ??= principal
    this.#areSeveral ||= principal !== this.#first
    const known = this.#tasks.get(principal)
    this.#tasks.delete(principal)
    if (known === undefined && this.#tasks.size >= this.#principalsMax) this.#forgetOne()
    const tasks = known ?? new PrincipalTasks(this.#limits, () => !this.#areSeveral)
    this.#tasks.set(principal, tasks)
    return tasks
  }

  /** No request of this one will come any more. */
  left(principal: string): void {
    this.#tasks.get(principal)?.left()
    this.#tasks.delete(principal)
  }

  #forgetOne(): void {
    const absent = [...this.#tasks].filter(([principal]) => !this.#isPresent(principal))
    const [oldest] = absent.find(([, tasks]) => tasks.isIdle) ?? absent[0] ?? []
    if (oldest !== undefined) this.left(oldest)
  }
}
