// The process of a login that outlives its proxy (`login/server-login.ts`). Its input is a `LoginJob`.

import process from 'node:process'
import { readJson } from '../config/json-syntax.js'
import { LoginStore } from '../login/login-store.js'
import { LOGIN_JOB_MS, type LoginJob, ServerLogin } from '../login/server-login.js'
import { realRuntime } from '../real-runtime.js'
import { within } from '../runtime/deadline.js'
import { isObject } from '../text/json-object.js'

export async function runLogIn(): Promise<number> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) text += String(chunk)
  const read = readJson(text)
  if (read.kind !== 'value' || !isLoginJob(read.value)) return 2
  const { folder, target, moreScopes, version } = read.value
  const runtime = realRuntime()
  const store = new LoginStore(folder, runtime)
  const login = new ServerLogin({ target, store, runtime, tell: () => {} })
  await within(login.ask('person', moreScopes, version), LOGIN_JOB_MS, runtime)
  login.close()
  await runtime.close()
  return 0
}

function isLoginJob(value: unknown): value is LoginJob {
  if (!isObject(value) || !isObject(value['target'])) return false
  const { folder, version, moreScopes, target } = value
  return (
    [folder, version, target['url']].every((each) => typeof each === 'string') && Array.isArray(moreScopes)
  )
}
