// The processes of a call, on the processes of this host.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type TestContext, describe, test } from 'node:test'
import { callMark } from '../../../src/sandbox/agent-messages.js'
import { processesOfCall } from '../../../src/sandbox/guest/guest-program.js'

const skip = process.platform !== 'linux'

/** Two calls that no other process of this host is marked with. */
const [call, other] = [process.pid * 100 + 1, process.pid * 100 + 10]

/** Says its number once it runs; `pid` is that of the process that was left. */
async function started(t: TestContext, line: string, env: Readonly<Record<string, string>>) {
  const child = spawn('sh', ['-c', line], {
    detached: true,
    env: { PATH: process.env['PATH'] ?? '', ...env },
  })
  let said = ''
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()))
  while (!said.endsWith('\n')) await new Promise((resolve) => child.stdout.once('data', resolve))
  const pid = Number(said)
  t.after(() => {
    for (const each of [pid, child.pid ?? pid]) end(each)
  })
  return { child, pid }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

/** A process that leads its session, and whose parents have ended. */
const daemon = '(setsid sh -c "echo \\$\\$; exec sleep 1000" &)'

describe('the processes of a call', { skip }, () => {
  test('are its descendants, and who carries its mark and has left them', async (t) => {
    const first = await started(t, 'sh -c "echo \\$\\$; exec sleep 1000" & wait', {
      [callMark]: String(call),
    })
    const marked = await started(t, daemon, { [callMark]: String(call) })
    // The shell that has left it behind carries the mark too.
    if (marked.child.exitCode === null) await once(marked.child, 'exit')
    const found = processesOfCall(first.child.pid ?? 0, call)
    assert.deepEqual(new Set(found), new Set([first.child.pid, first.pid, marked.pid]))
  })

  test('are none of another call, nor of nobody, nor who only has the mark in another text', async (t) => {
    const first = await started(t, 'echo $$; exec sleep 1000', { [callMark]: String(call) })
    const environments = [
      { [callMark]: String(other) },
      {},
      { TEXT: `${callMark}=${call}`, [`X${callMark}`]: String(call) },
      { [callMark]: `${call} ` },
    ]
    for (const env of environments) await started(t, daemon, env)
    assert.deepEqual(processesOfCall(first.pid, call), [first.pid])
  })
})
