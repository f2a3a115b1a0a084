// What a client asks for, before it is put into words.

import type { RequestMeta } from './request-meta.js'
import type { Spelling } from './plan.js'

/** What a request is besides its text. */
export interface Asking {
  readonly method: string
  readonly service: string | undefined
  readonly budgetMs: number
  readonly mustSucceed: boolean
  readonly spelling: Spelling
  /** With a progress token, equal to those of other clients. */
  readonly token: boolean
  /** It says by itself what it is. */
  readonly meta?: RequestMeta
}

/** An id in one of the ways in which clients write it. */
export function spelt(spelling: Spelling, count: number): string {
  switch (spelling) {
    case 'number':
      return String(count)
    case 'string':
      return `"${count}"`
    case 'decimal':
      return `${count}.0`
    case 'text':
      return `"é${count}\\u0041"`
  }
}
