// `login`, `logins` and `logout`: logins to remote servers, which all processes of this user share.

import process from 'node:process'
import { askLine } from '../ask/terminal.js'
import { selectSchema } from '../config/config.js'
import { homeOf, ownPath } from '../config/file.js'
import { secretsOfUrl } from '../config/secrets.js'
import { hasUsers } from '../config/front.js'
import { openBrowser } from '../login/browser.js'
import { LoginError } from '../login/login-error.js'
import { type LoginPerson, type ShowCode, logIn, logInByDevice } from '../login/login-flow.js'
import { loginHttp } from '../login/login-http.js'
import { type Login, LoginStore } from '../login/login-store.js'
import { TokenRequests } from '../login/token-requests.js'
import { realRuntime } from '../real-runtime.js'
import { errorText } from '../text/error-text.js'
import { inShell } from '../text/escape.js'
import { unknownName } from '../text/nearest.js'
import { Redactor } from '../text/redactor.js'
import type { FrontConfig } from '../config/configuration.js'
import { type LoginSettings, isRemote } from '../upstream/contracts/server-config.js'
import { loadWithSecrets } from './load.js'
import { type Given, UsageError, command, flag, valued } from './command-line.js'
import { type LoginClientInfo, clientInfoOf, clientOptions, config, schema } from './common-options.js'
import { Failure, note, print, say } from './console.js'

type LoginRuntime = ReturnType<typeof realRuntime>

const user = valued('NAME', 'The user of the HTTP front whose login it is, with "auth.perUser"')

const loginOptions = {
  schema,
  config,
  scope: valued("'SCOPES'", 'Scopes to ask for beside those that the server wants'),
  user,
  'no-browser': flag('Print the address for another browser instead of opening one'),
  device: flag('Show a code, which you enter on another device'),
  ...clientOptions,
}

type LoginTask = Given<typeof loginOptions>

const namesServer = 'the name or the address of a server'

const login = command({
  name: 'login',
  takes: 'NAME | URL',
  about: 'logs in to a remote server, for all clients',
  group: 'SET UP',
  details: `Opens the login of the server's authorization server in a browser, and keeps the tokens below
~/.mcps-proxy/auth, where every client and gateway of this user finds them. They are renewed by
themselves. On a machine without a browser, --no-browser prints the address for another one, and
--device a code, which you enter on any device, where the authorization server has such logins.
With "auth.perUser" of the server, --user names the token of the HTTP front whose login it is, or
ISSUER#SUBJECT of one who logs in there.`,
  examples: ['mcps-proxy login linear', 'mcps-proxy login https://mcp.example.com/mcp --no-browser'],
  options: loginOptions,
  first: namesServer,
  wordsMax: 1,
  conflicts: [['device', 'no-browser', '--device needs no browser of this machine']],
  check: (given) => {
    const [server = ''] = given.words
    const isNamed = !/^https?:/i.test(server)
    const client = clientInfoOf(given)
    if (isNamed && client !== undefined)
      throw new UsageError(
        '--client-info and --client-metadata-url are for an address',
        `set auth.clientId of '${server}'`,
      )
    if (!isNamed && given.user !== undefined)
      throw new UsageError('--user is for a server of the configuration')
  },
  run: (task) =>
    withStore(task.user, async (store, runtime) => {
      const target = await targetOf(task, clientInfoOf(task))
      await checkUser(task.user, target)
      return enter(task, target, store, runtime)
    }),
})

const logins = command({
  name: 'logins',
  about: 'lists the logins, and how long they last',
  group: 'SET UP',
  details: 'Prints one line for each login, and no token.',
  examples: ['mcps-proxy logins'],
  options: { user },
  run: (task) => withStore(task.user, (store, runtime) => list(task.user, store, runtime)),
})

const logout = command({
  name: 'logout',
  takes: 'NAME | URL',
  about: 'revokes and removes a login',
  group: 'SET UP',
  details:
    'The tokens are revoked where the authorization server can do that, and removed from this machine.',
  examples: ['mcps-proxy logout linear'],
  options: { schema, config, user, force: flag('Remove the login here even if it cannot be revoked') },
  first: namesServer,
  wordsMax: 1,
  run: (task) =>
    withStore(task.user, async (store, runtime) =>
      leave(task.force, await targetOf(task, undefined), store, runtime),
    ),
})

export const loginCommands = { login, logins, logout }

async function withStore(
  whose: string | undefined,
  run: (store: LoginStore, runtime: LoginRuntime) => Promise<number>,
): Promise<number> {
  const runtime = realRuntime()
  try {
    return await run(new LoginStore(ownPath(homeOf(process.env), 'auth'), runtime, whose), runtime)
  } finally {
    await runtime.close()
  }
}

interface Target {
  readonly name: string
  readonly url: string
  readonly settings: Partial<LoginSettings> | undefined
  readonly front?: FrontConfig
}

async function targetOf(
  { words: [server = ''], config: path, schema = 'default' }: Pick<LoginTask, 'words' | 'config' | 'schema'>,
  client: LoginClientInfo | undefined,
): Promise<Target> {
  if (/^https?:\/\//i.test(server)) {
    if (!URL.canParse(server)) throw new Failure('that is not the address of a server', 2)
    return { name: new URL(server).host, url: server, settings: client }
  }
  const config = await loadWithSecrets({ path, env: process.env, servesHttp: false }, { schema, asks: true })
  const { servers } = selectSchema(config, schema)
  const found = servers.find(({ name }) => name === server)
  if (found === undefined) {
    const names = servers.map(({ name }) => name)
    throw new Failure(unknownName(`server of ${config.source}`, server, names), 2)
  }
  if (found.unavailable !== undefined) throw new LoginError(`'${server}': ${found.unavailable}`)
  if (!isRemote(found) || found.login === undefined || found.login.unattended !== undefined)
    throw new Failure(
      `'${server}' needs no login: it is a program, or has credentials in the configuration`,
      2,
    )
  return { name: server, url: found.url, settings: found.login, front: config.server }
}

/** Refuses a login that no client would use, and warns of a user name that may be misspelt. @throws Failure */
async function checkUser(user: string | undefined, { name, settings, front }: Target): Promise<void> {
  if (front === undefined) return
  const isPerUser = settings?.isPerUser === true
  if (user === undefined && isPerUser && hasUsers(front))
    await note(
      `this login is for clients without a name; mcps-proxy login ${inShell(name)} --user NAME makes that of a user`,
    )
  if (user !== undefined && !isPerUser)
    throw new Failure(
      `'${name}' has one login for all users; "perUser": true in its "auth" gives each one a login`,
      2,
    )
  const names = front.tokens?.map((token) => token.name) ?? []
  const isSubject = front.auth?.issuers.some(({ issuer }) => user?.startsWith(`${issuer}#`)) === true
  if (user !== undefined && !isSubject && !names.includes(user)) await note(unknownName('token', user, names))
}

async function enter(
  { scope, device, 'no-browser': isWithoutBrowser }: LoginTask,
  { name, url, settings }: Target,
  store: LoginStore,
  runtime: LoginRuntime,
): Promise<number> {
  const target = { ...settings, url, moreScopes: scope }
  const login =
    device || settings?.isByDevice === true
      ? await logInByDevice(target, store, runtime, showCode)
      : await logIn(target, store, runtime, personFor(!isWithoutBrowser))
  await print(
    `${name}: logged in at ${new URL(login.issuer).host}, and it ${stateOf(login, runtime.wallNow())}`,
  )
  return 0
}

function showCode({ address, userCode, wholeAddress }: Parameters<ShowCode>[0]): Promise<void> {
  const or = wholeAddress === undefined ? '' : `, or open ${wholeAddress}`
  return note(`open ${address} in any browser, and enter the code ${userCode}${or}`)
}

/** Without a browser, the person opens the address elsewhere, and pastes the last address of that browser. */
function personFor(opensBrowser: boolean): LoginPerson {
  if (opensBrowser)
    return {
      show: async (startPage) => {
        const isOpen = await openBrowser(startPage, process.env)
        const words = isOpen
          ? 'The login is in your browser; or open'
          : 'Open this address in a browser of this machine'
        await say('stderr', `${words}: ${startPage}\n`)
      },
    }
  return {
    show: (_, address) => say('stderr', `Open this address in any browser:\n${address}\n`),
    paste: async () => {
      const text = await askLine('Then paste the address that the browser was sent to: ')
      if (text !== '') return text
      throw new LoginError(
        'the input has ended, so that no address can be pasted; run it on a terminal, or without --no-browser on the machine of the browser',
      )
    },
  }
}

function stateOf({ expiresAtMs, refreshToken }: Login, nowMs: number): string {
  if (refreshToken !== undefined) return 'is renewed by itself'
  if (expiresAtMs === undefined) return 'ends when the server says so'
  return expiresAtMs <= nowMs ? 'is over' : `ends ${new Date(expiresAtMs).toISOString()}`
}

async function list(only: string | undefined, store: LoginStore, runtime: LoginRuntime): Promise<number> {
  const chosen = store.all().filter(({ user }) => only === undefined || user === only)
  const lines = chosen.map((login) => {
    const url = new Redactor(secretsOfUrl(login.url)).clean(login.url)
    const whose = login.user === undefined ? '' : `  of ${login.user}`
    return `${url}${whose}  at ${new URL(login.issuer).host}, ${stateOf(login, runtime.wallNow())}`
  })
  await print(...lines)
  if (lines.length > 0) return 0
  const [whose, more] = only === undefined ? ['', ''] : [` of '${only}'`, ` --user ${inShell(only)}`]
  await note(`there is no login${whose}; mcps-proxy login NAME${more} makes one`)
  return 0
}

/** Keeps a login whose tokens may still be valid, because no other copy exists, unless the removal is forced. */
async function leave(
  isForced: boolean,
  { name, url }: Target,
  store: LoginStore,
  runtime: LoginRuntime,
): Promise<number> {
  const whose = store.user === undefined ? '' : ` of '${store.user}'`
  const { kept, isRevocable } = await store.withLock(url, async () => {
    // A process that renewed the tokens meanwhile has stored new ones, and those must be revoked.
    const login = store.read(url)
    if (login === undefined) throw new LoginError(`there is no login to '${name}'${whose}`)
    const kept = await whyNotRevoked(login, runtime)
    if (kept === undefined || isForced) store.remove(url)
    return { kept, isRevocable: login.revocationEndpoint !== undefined }
  })
  if (kept !== undefined && !isForced)
    throw new Failure(
      `the login to '${name}' is not revoked: ${kept}; try again, or run it with --force to remove the login here alone`,
    )
  const isRevoked = kept === undefined && isRevocable
  const more = isRevoked ? '' : ' here; its tokens are not revoked, and end when their time is over'
  await print(`${name}: logged out${more}`)
  return 0
}

/** Undefined if the tokens are revoked, or if the authorization server revokes no tokens. */
async function whyNotRevoked(login: Login, runtime: LoginRuntime): Promise<string | undefined> {
  const { issuer, tokenEndpoint, revocationEndpoint, client, refreshToken, accessToken, url } = login
  if (revocationEndpoint === undefined) return undefined
  const server = { issuer, token_endpoint: tokenEndpoint, revocation_endpoint: revocationEndpoint }
  try {
    const requests = await TokenRequests.of(server, loginHttp(runtime, new URL(url)))
    await requests.revoke(client, refreshToken ?? accessToken)
    return undefined
  } catch (error) {
    return errorText(error)
  }
}
