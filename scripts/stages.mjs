// Makes each stage of a start one chunk of the bundle.
//
// esbuild makes one chunk of the files that the same entries share, and every target of `import()` is an entry.
// So a start would open fifty small chunks, at more than half a millisecond each. Here each late entry that
// needs a file of a stage imports the whole stage, which is loaded anyway. Then all its files have the same
// entries.

import { resolve } from 'node:path'
import { build } from 'esbuild'

/**
 * Returns the import statements to add to files of a build with these options, by the paths of the files.
 *
 * The name of a stage is its first file, an entry or the target of an `import()`. The stage has all files that
 * are loaded with the first file, except files of an earlier stage.
 */
export async function importsOfStages(options, stages) {
  const { metafile } = await build({ ...options, metafile: true, write: false })
  const graph = metafile.inputs
  const written = new Set(Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs)))
  // A file of types would add an empty chunk. An import statement does not keep a package without side effects,
  // which stays with the file that needs it.
  const parts = partsOf(graph, stages).map((part) =>
    part.filter((file) => written.has(file) && !file.startsWith('node_modules/')),
  )
  return new Map(
    lateEntries(graph).map((entry) => {
      // A late entry within a stage keeps its place in the order of the stage, and has a separate chunk.
      const others = parts.filter((part) => !part.includes(entry))
      return [resolve(entry), importsOf(closureOf(graph, entry), others)]
    }),
  )
}

/** Returns imports of all files of each part that contains a needed file. */
function importsOf(needed, parts) {
  return parts
    .filter((part) => part.some((file) => needed.has(file)))
    .flat()
    .map((file) => `import ${JSON.stringify(specifierOf(file))}\n`)
    .join('')
}

/** Returns the original name of a module that a plugin has made, such as a builtin; the path of other files. */
function specifierOf(file) {
  const [, made] = /^[a-z-]{2,}:(.+)$/.exec(file) ?? []
  return made ?? resolve(file)
}

/** Leaves out the first file of each stage: if a file that it awaits imported it, both would wait for ever. */
function partsOf(graph, stages) {
  const taken = new Set(stages)
  return stages.map((begin) => {
    const files = [...closureOf(graph, begin)].filter((file) => !taken.has(file))
    for (const file of files) taken.add(file)
    return files
  })
}

function lateEntries(graph) {
  const imports = Object.values(graph).flatMap((input) => input.imports)
  return imports.flatMap(({ kind, external, path }) => (kind === 'dynamic-import' && !external ? [path] : []))
}

/** Returns the files that Node loads with this file. */
function closureOf(graph, file, found = new Set()) {
  if (found.has(file)) return found
  found.add(file)
  for (const { kind, external, path } of graph[file].imports)
    if (kind !== 'dynamic-import' && !external) closureOf(graph, path, found)
  return found
}
