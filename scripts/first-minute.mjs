// Makes docs/first-minute.svg, an animated terminal with the first commands of a new user and their real output.
//
// Every command runs in a home folder with only the file of one client. `npx` is a script that starts the
// servers in node_modules, so that nothing is downloaded. The paths are shown as if npm had installed the
// package.
//
// usage: node scripts/first-minute.mjs, after npm run build

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const home = mkdtempSync(join(tmpdir(), 'first-minute-'))

const commands = [
  'cat ~/.cursor/mcp.json',
  'mcps-proxy import cursor --yes',
  'mcps-proxy doctor',
  'mcps-proxy tools memory',
  'mcps-proxy call memory__search_nodes query=Ada',
  'mcps-proxy import --undo',
]

const clientFile = `{
  "mcpServers": {
    "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "${home}"] },
    "memory": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"] }
  }
}
`

function prepare() {
  mkdirSync(join(home, '.cursor'))
  writeFileSync(join(home, '.cursor', 'mcp.json'), clientFile)
  mkdirSync(join(home, 'bin'))
  const memory = join(home, 'memory.jsonl')
  writeFileSync(
    memory,
    '{"type":"entity","name":"Ada","entityType":"person","observations":["likes engines"]}\n',
  )
  const npx = `#!/bin/sh\nexport MEMORY_FILE_PATH="${memory}"\nshift\nname=$1\nshift\nexec node "${root}/node_modules/$name/dist/index.js" "$@"\n`
  const own = `#!/bin/sh\nexec node "${root}/dist/cli.js" "$@"\n`
  for (const [name, text] of Object.entries({ npx, 'mcps-proxy': own })) {
    writeFileSync(join(home, 'bin', name), text)
    chmodSync(join(home, 'bin', name), 0o755)
  }
}

function linesOf(command) {
  const path = [join(home, 'bin'), dirname(process.execPath), '/usr/bin', '/bin'].join(delimiter)
  const env = { HOME: home, PATH: path }
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', `${command} 2>&1`], {
    cwd: home,
    env,
    encoding: 'utf8',
    timeout: 60_000,
  })
  if (status !== 0) throw new Error(`${command} ended with ${status}:\n${stdout}${stderr}`)
  return stdout
    .replaceAll(process.execPath, '/usr/bin/node')
    .replaceAll(root, '/usr/lib/node_modules/mcps-proxy')
    .replaceAll(home, '/home/ada')
    .trimEnd()
    .split('\n')
}

const columns = 116
const [lineHeight, charWidth, margin] = [17, 7.55, 16]
/** How long the picture shows a command before its output, how long for each line, and the pause after it. */
const [typedSeconds, lineSeconds, restSeconds] = [1, 0.3, 2]

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

function cut(text) {
  return text.length > columns ? `${text.slice(0, columns - 1)}…` : text
}

function classOf(line) {
  if (line.startsWith('$')) return ' class="c"'
  if (line.startsWith('+')) return ' class="a"'
  return line.startsWith('-') ? ' class="d"' : ''
}

function sceneOf({ lines, begin, end }, index, total) {
  const percent = (seconds) => `${((seconds / total) * 100).toFixed(2)}%`
  const texts = lines.map((line, at) => {
    const y = margin + lineHeight * (at + 2)
    return `<text x="${margin}" y="${y}"${classOf(line)}>${escaped(cut(line))}</text>`
  })
  const css = `@keyframes s${index} { 0% { opacity: 0 } ${percent(begin)} { opacity: 1 } ${percent(end)} { opacity: 0 } }
.s${index} { animation: s${index} ${total}s step-end infinite }`
  return { css, svg: `<g class="s s${index}">\n${texts.join('\n')}\n</g>` }
}

function pictureOf(scenes) {
  const total = scenes.at(-1).end
  const rows = Math.max(...scenes.map(({ lines }) => lines.length))
  const width = Math.round(columns * charWidth + 2 * margin)
  const height = lineHeight * (rows + 2) + margin
  const drawn = scenes.map((scene, index) => sceneOf(scene, index, total))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title">
<title id="title">The first minute: import the servers of a client, look at them, call a tool, and give everything back</title>
<style>
text { font: 12.5px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d6deeb; white-space: pre }
.c { fill: #ffffff; font-weight: 600 } .a { fill: #7fd88f } .d { fill: #ff8f8f }
.s { opacity: 0 }
${drawn.map(({ css }) => css).join('\n')}
@media (prefers-reduced-motion: reduce) { .s { animation: none } .s2 { opacity: 1 } }
</style>
<rect width="${width}" height="${height}" rx="10" fill="#131a24"/>
<circle cx="20" cy="16" r="5" fill="#ff5f57"/><circle cx="38" cy="16" r="5" fill="#febc2e"/><circle cx="56" cy="16" r="5" fill="#28c840"/>
${drawn.map(({ svg }) => svg).join('\n')}
</svg>
`
}

try {
  prepare()
  let at = 0
  const scenes = commands.map((command) => {
    const lines = [`$ ${command}`, ...linesOf(command)]
    const begin = at
    at += Math.round(typedSeconds + lineSeconds * lines.length + restSeconds)
    return { lines, begin, end: at }
  })
  writeFileSync(join(root, 'docs', 'first-minute.svg'), pictureOf(scenes))
} finally {
  rmSync(home, { recursive: true, force: true })
}
