// Commands that install a package before they run it.

import { basename } from 'node:path'

/** Programs that always do so. */
const alone: ReadonlySet<string> = new Set(['npx', 'bunx', 'uvx', 'pnpx'])

/** Programs that do so with these arguments. */
const withArgs: Readonly<Record<string, readonly string[]>> = {
  npm: ['exec', 'x'],
  pnpm: ['dlx'],
  yarn: ['dlx'],
  bun: ['x'],
  uv: ['tool run', 'x'],
}

/** Whether a start may download a package first. */
export function isInstaller(command: string, args: readonly string[]): boolean {
  const program = basename(command.replaceAll('\\', '/'))
    .toLowerCase()
    .replace(/\.(?:cmd|exe|ps1)$/, '')
  const [first = '', ...rest] = args
  if (program === 'cmd' && first.toLowerCase() === '/c') return isInstaller(rest[0] ?? '', rest.slice(1))
  if (alone.has(program)) return true
  return (withArgs[program] ?? []).some((words) => `${args.join(' ')} `.startsWith(`${words} `))
}
