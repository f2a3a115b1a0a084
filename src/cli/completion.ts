// `completion`: what a shell completes behind the name of the program, from the tables of the commands.

import { type Command, UsageError, command, spelled } from './command-line.js'
import { loadCommands } from './commands.js'
import { say } from './console.js'

export const completionCommand = command({
  name: 'completion',
  takes: 'bash|zsh|fish',
  about: 'prints what completes commands and options in a shell',
  group: 'SET UP',
  details: 'Prints a script for the start file of the shell, which completes commands and options.',
  examples: ['source <(mcps-proxy completion bash)', 'mcps-proxy completion fish | source'],
  options: {},
  wordsMax: 1,
  check: ({ words: [shell = ''] }) => {
    if (!Object.hasOwn(scripts, shell)) throw new UsageError('completion needs bash, zsh or fish')
  },
  run: async ({ words: [shell = ''] }) => {
    await say('stdout', scripts[shell]?.(await loadCommands()) ?? '')
    return 0
  },
})

const scripts: Readonly<Record<string, (commands: readonly Command[]) => string>> = {
  bash: bashScript,
  zsh: (commands) => `autoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`,
  fish: fishScript,
}

/** Where no word fits, the shell completes names of files. */
function bashScript(commands: readonly Command[]): string {
  const cases = commands.map(
    ({ name, options }) => `    ${name}) words="${Object.keys(options).map(spelled).join(' ')} --help" ;;`,
  )
  return `_mcps_proxy() {
  local words
  case "\${COMP_CWORD}:\${COMP_WORDS[1]}" in
    1:*) words="${commands.map(({ name }) => name).join(' ')} help" ;;
${cases.map((each) => each.replace(/^ {4}/, '    *:')).join('\n')}
  esac
  COMPREPLY=($(compgen -W "\${words}" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _mcps_proxy mcps-proxy
`
}

function fishScript(commands: readonly Command[]): string {
  const lines = commands.flatMap(({ name, about, options }) => [
    `complete -c mcps-proxy -n __fish_use_subcommand -f -a ${name} -d ${quoted(about)}`,
    ...Object.entries(options).map(([option, { kind, about: text }]) => {
      const takesValue = kind === 'value' || kind === 'list' ? ' -r' : ''
      return `complete -c mcps-proxy -n '__fish_seen_subcommand_from ${name}' -l ${option}${takesValue} -d ${quoted(text)}`
    }),
  ])
  return `${lines.join('\n')}\n`
}

function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`
}
