#!/usr/bin/env node
// A browser without a window: follows every redirect, and keeps cookies.

const cookies = new Map()
let address = process.argv[2]
for (let steps = 0; address !== undefined && steps < 20; steps++) {
  const { host } = new URL(address)
  const own = cookies.get(host) ?? new Map()
  cookies.set(host, own)
  const cookie = [...own].map(([name, value]) => `${name}=${value}`).join('; ')
  const response = await fetch(address, { redirect: 'manual', headers: cookie === '' ? {} : { cookie } })
  for (const line of response.headers.getSetCookie()) {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (name !== undefined) own.set(name, value)
  }
  const next = response.headers.get('location')
  address = next === null ? undefined : new URL(next, address).href
}
