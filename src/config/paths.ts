// Paths of a configuration file. No shell expands them before the proxy reads them.

import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'

/** Expands `~` as shells do. */
export function fromHome(path: string, home: string): string {
  return path === '~' || path.startsWith('~/') ? join(home, path.slice(1)) : path
}

export interface PathBase {
  readonly folder: string
  readonly home: string
  /** Collects every file that `absoluteFile` makes absolute. Absent: nothing is collected. */
  readonly files?: Set<string> | undefined
}

export function absolute(path: string, { folder, home }: PathBase): string {
  const whole = fromHome(path, home)
  return isAbsolute(whole) ? whole : resolve(folder, whole)
}

/** Makes the path of a file absolute whose content the proxy obeys. No confined program may write it. */
export function absoluteFile(path: string, base: PathBase): string {
  const whole = absolute(path, base)
  base.files?.add(whole)
  return whole
}

/** Whether the system searches PATH for a program. */
export function isBareName(program: string): boolean {
  return basename(program) === program
}

const editorFolders: readonly string[] = ['.vscode', '.cursor']

/** Returns the project of a file in this folder, if the folder is an editor's folder in a project. */
export function projectOf(folder: string, home: string): string | undefined {
  const project = dirname(folder)
  return editorFolders.includes(basename(folder)) && project !== home ? project : undefined
}

/** The values of `${userHome}` and other variables of editors. Variables of the project exist only in a project. */
export function editorVariables(folder: string, home: string): ReadonlyMap<string, string> {
  const project = projectOf(folder, home)
  const known = new Map([
    ['userHome', home],
    ['pathSeparator', sep],
  ])
  if (project === undefined) return known
  return known.set('workspaceFolder', project).set('workspaceFolderBasename', basename(project))
}
