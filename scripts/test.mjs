// Runs tests.
//
// usage: node scripts/test.mjs fast          all tests that are not slow and need no system programs
//        node scripts/test.mjs slow          the simulator's seeds and the load runs
//        node scripts/test.mjs system        tests that need nginx, HAProxy, bubblewrap, Podman or Chromium
//        node scripts/test.mjs instances     several gateways under load and faults, one test file after the other
//        node scripts/test.mjs FILE…         files whose path ends like this: test/cli/args.test.ts, cli/args
//        node scripts/test.mjs FOLDER/…      the files of a folder in groups, as in the first three: test/cli/
//
// Named files run within seconds, because the script translates only changed sources and does not check types.
// Options of `node --test`, such as --test-name-pattern=WORDS, may precede the names.

import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'

const root = resolve(import.meta.dirname, '..')
/** With PROOF=full, which runs the full counts, some files take half an hour. */
const fileTimeoutMs = process.env['PROOF'] === 'full' ? 7_200_000 : 1_200_000
/** More files than processors, because most tests wait for processes. */
const filesAtOnce = 6

const sets = {
  fast: (path) => !isSlow(path) && !isOfSystem(path),
  slow: isSlow,
  system: (path) => isOfSystem(path) && !isOfInstances(path),
  instances: isOfInstances,
}

function isSlow(path) {
  return /^test\/(?:faults|sim)\//.test(path)
}

function isOfSystem(path) {
  return path.startsWith('test/system/')
}

/** Whether a test needs the whole machine. */
function isOfInstances(path) {
  return /^test\/system\/(?:cluster|restart)/.test(path)
}

/** A file that measures the memory, the handles or the time of its process needs a separate one. */
const measuresItsProcess = /memoryUsage|getActiveResourcesInfo|setFlagsFromString|costRatio/
const filesInOneMax = 6

/** Tests in these folders take long, so they begin first. `node --test` sorts files by their paths. */
const slowFolders = ['test/cli', 'test/login', 'test/replay']

function needsItsProcess(path) {
  return isSlow(path) || isOfSystem(path) || measuresItsProcess.test(readFileSync(join(root, path), 'utf8'))
}

function folderOf(path) {
  return path.split('/').slice(0, -1).slice(0, 2).join('/')
}

/**
 * Returns the files that processes run. Most of them import several test files of one folder, because a process
 * takes longer to load the sources than to run the tests of most files.
 */
function grouped(paths) {
  const alone = paths.filter(needsItsProcess)
  const groups = Array.from(new Set(paths.map(folderOf))).flatMap((folder) => {
    const own = paths.filter((path) => folderOf(path) === folder && !alone.includes(path))
    const count = Math.ceil(own.length / filesInOneMax)
    return Array.from({ length: count }, (_, i) => {
      const group = join('build', slowFolders.includes(folder) ? '.first' : '', folder, `all-${i + 1}.js`)
      const imports = own
        .filter((_, at) => at % count === i)
        .map((path) => `import '${join(root, compiled(path))}'\n`)
      mkdirSync(join(root, group, '..'), { recursive: true })
      writeFileSync(join(root, group), imports.join(''))
      return group
    })
  })
  return [...groups, ...alone.map(compiled)]
}

function sourcesBelow(folder) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => name.endsWith('.ts') && !name.includes('node_modules'))
    .map((name) => join(folder, name))
    .toSorted()
}

function changedAt(path) {
  return statSync(join(root, path), { throwIfNoEntry: false })?.mtimeMs ?? 0
}

function compiled(path) {
  return join('build', path.replace(/\.ts$/, '.js'))
}

function run(...args) {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
  return status ?? 1
}

/** Updates the parts of `build` that a test run needs. */
async function translate() {
  const all = ['src', 'test', 'bench', 'examples'].flatMap(sourcesBelow)
  const changed = all.filter((path) => changedAt(path) > changedAt(compiled(path)))
  // `build` is no longer the output of the compiler.
  if (changed.length > 0) rmSync(join(root, 'build/.inputs'), { force: true })
  await build({
    entryPoints: changed.map((path) => join(root, path)),
    outdir: join(root, 'build'),
    outbase: root,
    format: 'esm',
    target: 'node20.19',
    logLevel: 'warning',
  })
  const newest = Math.max(...sourcesBelow('src').map(changedAt))
  if (newest < changedAt('build/program/cli.js')) return
  for (const step of [['scripts/guests.mjs', 'build/src'], ['scripts/test-programs.mjs']])
    if (run(...step) !== 0) process.exit(1)
}

/** Whether a test starts the command in `dist`. */
function needsPackage(path) {
  return isOfSystem(path) || /dist\/cli\.js|'dist'/.test(readFileSync(join(root, path), 'utf8'))
}

const args = process.argv.slice(2)
const names = args.filter((arg) => !arg.startsWith('-'))
const options = args.filter((arg) => arg.startsWith('-'))
const tests = sourcesBelow('test').filter((path) => path.endsWith('.test.ts'))
const set = names.length === 1 ? sets[names[0]] : undefined
const isInGroups = set !== undefined || names.some((name) => name.endsWith('/'))
const chosen =
  set === undefined
    ? names.flatMap((name) => {
        const found = tests.filter((path) =>
          name.endsWith('/') ? path.startsWith(name) : path.replace(/\.test\.ts$/, '').endsWith(nameOf(name)),
        )
        if (found.length === 0) throw new Error(`no test file ends in ${name}`)
        return found
      })
    : tests.filter(set)
if (chosen.length === 0) throw new Error('usage: node scripts/test.mjs fast|slow|system|instances|FILE…')

function nameOf(file) {
  return file.replace(/^build\//, '').replace(/(?:\.test)?(?:\.[jt]s)?$/, '')
}

if (set === undefined) {
  mkdirSync(join(root, 'build'), { recursive: true })
  await translate()
  if (chosen.some(needsPackage)) run('scripts/make.mjs', 'dist')
}
process.exitCode = run(
  '--test',
  `--test-reporter=${join(root, 'scripts/test-times.mjs')}`,
  `--test-concurrency=${names[0] === 'instances' ? 1 : filesAtOnce}`,
  `--test-timeout=${fileTimeoutMs}`,
  ...options,
  ...(isInGroups ? grouped(chosen) : chosen.map(compiled)),
)
