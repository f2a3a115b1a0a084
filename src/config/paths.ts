// Paths of a configuration file; there is no shell between the file and us.

import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'

/** `~` as shells read it. */
export function fromHome(path: string, home: string): string {
  return path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : path
}

export interface PathBase {
  readonly folder: string
  readonly home: string
  /** Gets every file that `absoluteFile` has made absolute; absent where they are not collected. */
  readonly files?: Set<string> | undefined
}

export function absolute(path: string, { folder, home }: PathBase): string {
  const whole = fromHome(path, home)
  return isAbsolute(whole) ? whole : resolve(folder, whole)
}

/** The same for a file whose content the proxy obeys: no confined program may write it. */
export function absoluteFile(path: string, base: PathBase): string {
  const whole = absolute(path, base)
  base.files?.add(whole)
  return whole
}

/** Whether the system looks a program up in PATH. */
export function isBareName(program: string): boolean {
  return basename(program) === program
}

const editorFolders: readonly string[] = ['.vscode', '.cursor']

/** The project that a file in this folder belongs to, where editors keep one for each project; undefined elsewhere. */
export function projectOf(folder: string, home: string): string | undefined {
  const project = dirname(folder)
  return editorFolders.includes(basename(folder)) && project !== home ? project : undefined
}

/** The values that editors put in for `${userHome}` and the like; the project only where it is known. */
export function editorVariables(folder: string, home: string): ReadonlyMap<string, string> {
  const project = projectOf(folder, home)
  const known = new Map([
    ['userHome', home],
    ['pathSeparator', sep],
  ])
  if (project === undefined) return known
  return known.set('workspaceFolder', project).set('workspaceFolderBasename', basename(project))
}
