// Starts and ends a program as the system wants it.
//
// Windows starts only `.exe` and `.com` by themselves: `npx`, `uvx` and most programs of npm are `.cmd` files, which
// cross-spawn starts through `cmd.exe` with their arguments escaped. It ends a process without its children, so that
// `taskkill` has to end the tree.

import { type ChildProcess, type SpawnOptions, execFile, spawn } from 'node:child_process'

type Spawn = (command: string, args: readonly string[], options: SpawnOptions) => ChildProcess

/** Returns immediately; a failed start emits `error`. @throws the errors of `child_process.spawn` */
export function spawnProgram(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
  platform: string = process.platform,
): ChildProcess {
  return platform === 'win32' ? crossSpawn()(command, args, options) : spawn(command, [...args], options)
}

/** Ends a process of Windows with everything that it has started. */
export function endTree(pid: number, run: typeof execFile = execFile): void {
  // Without `/F` only programs with a window end.
  run('taskkill', ['/T', '/F', '/PID', String(pid)], { windowsHide: true }, () => {
    // A process that has ended already is none of ours any more.
  })
}

const load: () => unknown = () => requireLate('cross-spawn')

function crossSpawn(): Spawn {
  const loaded = load()
  if (isSpawn(loaded)) return loaded
  throw new TypeError('the package cross-spawn gives no function')
}

/** `scripts/build.mjs` bundles the package in the place of the call. */
function requireLate(path: string): unknown {
  // oxlint-disable-next-line no-restricted-globals -- this loads code, and nothing else.
  const { createRequire } = process.getBuiltinModule('node:module')
  const load: (path: string) => unknown = createRequire(import.meta.url)
  return load(path)
}

function isSpawn(value: unknown): value is Spawn {
  return typeof value === 'function'
}
