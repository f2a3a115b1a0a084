// Which principal is forgotten where there are more than are remembered.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import type { HeldTask } from '../../src/mcp/call.js'
import { Principals } from '../../src/proxy/guests/principals.js'
import type { PrincipalTasks } from '../../src/proxy/routing/principal-tasks.js'

const limits = { tasksMax: 4, taskIdLengthMax: 100 }

/** A task that runs. */
function begin(tasks: PrincipalTasks, id: string, dropped: string[] = []): void {
  const task: HeldTask = {
    id,
    source: { service: 's', list: () => Promise.resolve([]) },
    isGone: false,
    isOver: false,
    request: () => {},
    drop: () => void dropped.push(id),
  }
  assert.equal(tasks.keep(task), undefined)
}

test('one that is not here and has no tasks goes first, whoever came first', () => {
  const present = new Set(['busy'])
  const principals = new Principals(limits, 3, (principal) => present.has(principal))
  const dropped: string[] = []
  begin(principals.tasksOf('busy'), 'one', dropped)
  begin(principals.tasksOf('away'), 'two', dropped)
  const idle = principals.tasksOf('idle')
  const busy = principals.tasksOf('busy')
  principals.tasksOf('new')
  assert.deepEqual(dropped, [])
  assert.equal(principals.tasksOf('busy'), busy, 'the busy one is remembered')
  assert.deepEqual(dropped, [])
  assert.notEqual(principals.tasksOf('idle'), idle)
})

test('where all others have tasks, one that is not here is forgotten, and never one that is', () => {
  const present = new Set(['busy'])
  const principals = new Principals(limits, 2, (principal) => present.has(principal))
  const dropped: string[] = []
  begin(principals.tasksOf('busy'), 'one', dropped)
  begin(principals.tasksOf('away'), 'two', dropped)
  principals.tasksOf('new')
  assert.deepEqual(dropped, ['two'])
})
