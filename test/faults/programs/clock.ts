// Preloaded into the program under test: the time of day jumps by up to ten days, forwards and back,
// several times a second. What an elapsed time is measured by goes on as it does.

const DAYS_MS = 10 * 86_400_000
const EVERY_MS = 50

const RealDate = Date
let offsetMs = 0
setInterval(() => {
  offsetMs = Math.round((2 * Math.random() - 1) * DAYS_MS)
}, EVERY_MS).unref()

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: unknown[]) =>
    args.length > 0 ? Reflect.construct(target, args) : new target(target.now() + offsetMs),
  get: (target, name, receiver): unknown =>
    name === 'now' ? () => target.now() + offsetMs : Reflect.get(target, name, receiver),
})
