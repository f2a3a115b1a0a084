// Starting a child, as one call that always gives a child.
//
// Node reports a failed spawn in three ways: it throws, it emits `error`, or it
// gives an object without streams (when descriptors have run out). Here every
// failure is a child that has ended already and says why.

import type { ChildProcess } from 'node:child_process'
import { Duplex, Readable, Writable } from 'node:stream'
import { hasDescriptors } from './descriptors.js'
import type { Guardian } from './guardian.js'
import type { Child, ChildExit, SpawnSpec } from '../../runtime/runtime.js'
import { type ProcessTree, Strays } from './process-tree.js'
import { endTree, spawnProgram } from './spawn-program.js'
import { errorCode, errorText } from '../../text/error-text.js'

/** Whether each child gets a separate process group, which can be signalled as one. */
const hasGroups = process.platform !== 'win32'

/** Descriptors 0, 1 and 2. */
const STANDARD_STREAMS = 3

/** The part of the guardian that registers process groups. */
type GroupWatch = Pick<Guardian, 'announce' | 'add' | 'withdraw' | 'remove' | 'release'>

/** Starts a child in a separate process group. */
export function spawnChild(spec: SpawnSpec, groups: GroupWatch, tree: ProcessTree): Child {
  if (hasGroups && !hasDescriptors()) return failed('EMFILE')
  try {
    const child = spawnProgram(spec.command, spec.args, {
      cwd: spec.cwd,
      env: { ...spec.env, ...groups.announce() },
      stdio: [
        ...Array.from({ length: STANDARD_STREAMS + (spec.pipes ?? 0) }, () => 'pipe' as const),
        ...(spec.descriptors ?? []),
      ],
      ...spec.identity,
      detached: hasGroups,
      shell: false,
      windowsHide: true,
    })
    return started(child, spec, groups, tree)
  } catch (error) {
    groups.withdraw()
    return failed(errorCode(error) ?? errorText(error))
  }
}

/** Whether this group has no process that the proxy may signal. */
export function isGroupEmpty(group: number): boolean {
  try {
    process.kill(-group, 0)
    return false
  } catch {
    return true
  }
}

function started(
  child: ChildProcess,
  { passesSignals = false }: SpawnSpec,
  groups: GroupWatch,
  tree: ProcessTree,
): Child {
  const { pid, stdin, stdout, stderr } = child
  if (pid === undefined) groups.withdraw()
  else groups.add(pid)
  const exited = exitOf(child)
  // Without descriptors the streams are missing.
  if (!stdin || !stdout || !stderr) return { ...failed('EMFILE'), exited }
  const strays = pid === undefined ? undefined : new Strays(pid, tree)
  const signal = (name: 'SIGTERM' | 'SIGKILL'): boolean => {
    if (passesSignals && name === 'SIGTERM') return child.kill(name)
    strays?.signal(name)
    return signalGroup(pid, name)
  }
  let ended = false
  void exited.then(() => {
    ended = true
    // Windows knows no group, and no children of a process that has ended.
    if (hasGroups) signal('SIGKILL')
    if (pid !== undefined) groups.remove(pid)
  })
  const pipes = child.stdio.slice(STANDARD_STREAMS).filter((stream) => stream instanceof Duplex)
  return {
    pid,
    stdin,
    stdout,
    stderr,
    ...(pipes.length > 0 && { pipes }),
    exited,
    signal: (name) => !ended && signal(name),
    interrupt: () => void child.kill('SIGINT'),
    ...(pid !== undefined && hasGroups && { release: () => groups.release(pid) }),
    ...(strays !== undefined && { survey: () => strays.find(), surveyNow: () => strays.findNow() }),
  }
}

function exitOf(child: ChildProcess): Promise<ChildExit> {
  return new Promise((resolve) => {
    // More than one may come, and an `error` without a listener would end the proxy.
    child.on('error', (error) =>
      resolve({ code: undefined, signal: undefined, spawnError: errorCode(error) ?? errorText(error) }),
    )
    child.once('exit', (code, signal) =>
      resolve({ code: code ?? undefined, signal: signal ?? undefined, spawnError: undefined }),
    )
  })
}

function signalGroup(pid: number | undefined, name: 'SIGTERM' | 'SIGKILL'): boolean {
  if (pid === undefined) return false
  if (!hasGroups) {
    endTree(pid)
    return true
  }
  try {
    return process.kill(-pid, name)
  } catch {
    return false
  }
}

function failed(spawnError: string): Child {
  return {
    pid: undefined,
    stdin: new Writable({ write: (_chunk, _encoding, done) => done() }),
    stdout: Readable.from([]),
    stderr: Readable.from([]),
    exited: Promise.resolve({ code: undefined, signal: undefined, spawnError }),
    signal: () => false,
  }
}
