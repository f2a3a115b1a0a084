// Makes each stage of a start one chunk of the bundle.
//
// A file that several entries share belongs to a chunk of exactly those entries, and everything that is loaded late is an entry.
// So a start would open fifty small chunks, at more than half a millisecond each. Each file that is loaded late and needs one of a stage
// imports all its files here: they have been loaded anyway, and all belong to the same entries.

import { resolve } from 'node:path'
import { build } from 'esbuild'

/**
 * The statements to be added to files of a build with these options, by their paths.
 *
 * A stage is named by the file that it begins with, an entry or loaded by `import()`: it is what is loaded with that file, unless an
 * earlier stage has it.
 */
export async function importsOfStages(options, stages) {
  const { metafile } = await build({ ...options, metafile: true, write: false })
  const graph = metafile.inputs
  const written = new Set(Object.values(metafile.outputs).flatMap(({ inputs }) => Object.keys(inputs)))
  // A file of types alone would have a chunk, and an empty one.
  // A package without side effects is not kept by such a statement; it is where the file is that needs it.
  const parts = partsOf(graph, stages).map((part) =>
    part.filter((file) => written.has(file) && !file.startsWith('node_modules/')),
  )
  return new Map(
    lateEntries(graph).map((entry) => {
      // A file of a stage that is loaded late as well keeps its place in the order of that stage, and has a separate chunk.
      const others = parts.filter((part) => !part.includes(entry))
      return [resolve(entry), importsOf(closureOf(graph, entry), others)]
    }),
  )
}

/** All files of the parts of which something is needed. */
function importsOf(needed, parts) {
  return parts
    .filter((part) => part.some((file) => needed.has(file)))
    .flat()
    .map((file) => `import ${JSON.stringify(specifierOf(file))}\n`)
    .join('')
}

/** The module that a plugin has made, such as that of a builtin, is found by its own name again. */
function specifierOf(file) {
  const [, made] = /^[a-z-]{2,}:(.+)$/.exec(file) ?? []
  return made ?? resolve(file)
}

/** Without the files that the stages begin with: one that is imported by what it waits for would wait for ever. */
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

/** The files that are loaded with this one. */
function closureOf(graph, file, found = new Set()) {
  if (found.has(file)) return found
  found.add(file)
  for (const { kind, external, path } of graph[file].imports)
    if (kind !== 'dynamic-import' && !external) closureOf(graph, path, found)
  return found
}
