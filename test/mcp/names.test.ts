import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { type NamedItem, PublicNames, publicName } from '../../src/mcp/names.js'

const PLAIN = /^[A-Za-z0-9_-]{1,64}$/

interface Service {
  readonly service: string
  readonly prefix: boolean
  readonly names: readonly string[]
}

function service(name: string, names: readonly string[], prefix = true): Service {
  return { service: name, prefix, names }
}

/** The name that two items would have, and these items. */
type Collision = readonly [name: string, earlier: NamedItem, later: NamedItem]

function resolveNames(services: readonly Service[]): {
  readonly publicNames: readonly ReadonlyMap<string, string>[]
  readonly targets: ReadonlyMap<string, NamedItem>
  readonly collisions: readonly Collision[]
} {
  const collisions: Collision[] = []
  const targets = new Map<string, NamedItem>()
  const table = new PublicNames((...collision) => collisions.push(collision))
  const publicNames = services.map(({ service, prefix, names }) => {
    const shown = names.map((own) => {
      const name = table.add({ service, original: own }, prefix ? publicName(service, own) : own)
      targets.set(name, { service, original: own })
      return [own, name] as const
    })
    return new Map(shown)
  })
  return { publicNames, targets, collisions }
}

describe('publicName', () => {
  const cases = [
    ['a plain name is kept', 'Time', 'get_current_time', 'Time__get_current_time'],
    ['separators inside are kept', 'a__b', 'c__d', 'a__b__c__d'],
    ['64 characters are kept', 'a'.repeat(30), 'b'.repeat(32), `${'a'.repeat(30)}__${'b'.repeat(32)}`],
    ['65 are shortened', 'a'.repeat(30), 'b'.repeat(33), `${'a'.repeat(30)}__${'b'.repeat(21)}_HASH`],
    ['odd characters are replaced', 'git', 'repo/list', 'git__repo_list_HASH'],
    ['letters outside ASCII are replaced', 'wetter', 'vorhersage_für', 'wetter__vorhersage_f_r_HASH'],
    ['a dot is odd', 'a', 'b.c', 'a__b_c_HASH'],
  ] as const
  for (const [title, one, own, want] of cases)
    it(title, () => {
      const name = publicName(one, own)
      assert.equal(want.endsWith('HASH') ? name.replace(/[0-9a-z]{10}$/, 'HASH') : name, want)
      assert.match(name, PLAIN)
    })

  it('is the same in every run', () =>
    assert.equal(publicName('git', 'repo/list'), 'git__repo_list_evyamqns97'))

  it('tells apart what only the hash can', () => {
    assert.notEqual(publicName('a', 'b/c'), publicName('a', 'b.c'))
    assert.notEqual(publicName('a', '\ud800'), publicName('a', '\ud801'))
    assert.notEqual(publicName('a/', 'b__c'), publicName('a/__b', 'c'))
  })
})

it('the earlier server keeps a public name, and the later gets one that depends on itself alone', () => {
  const first = resolveNames([service('a', ['b__c']), service('a__b', ['c'])])
  const other = resolveNames([service('x', ['y']), service('a', ['b__c']), service('a__b', ['c'])])
  assert.equal(first.publicNames[0]?.get('b__c'), 'a__b__c')
  const later = first.publicNames[1]?.get('c') ?? ''
  assert.match(later, /^a__b__c_[0-9a-z]{10}$/)
  assert.equal(other.publicNames[2]?.get('c'), later)
  assert.deepEqual(first.collisions, [
    ['a__b__c', { service: 'a', original: 'b__c' }, { service: 'a__b', original: 'c' }],
  ])
})

it('public names without a prefix are the names as they are, odd ones too', () => {
  const names = ['résumé/now', '', '__proto__', 'x'.repeat(200)]
  const { publicNames } = resolveNames([service('a', names, false)])
  assert.deepEqual([...(publicNames[0]?.values() ?? [])], names)
})

describe('properties of public names', () => {
  // Few distinct pieces, so that names collide often.
  const piece = fc.constantFrom('a', 'b', '__', '_', 'A', '/', 'ü', 'x'.repeat(40))
  const name = fc.oneof(
    fc.array(piece, { maxLength: 4 }).map((parts) => parts.join('')),
    fc.string({ unit: 'binary' }),
  )
  const offers = fc.uniqueArray(
    fc.record({ service: name, prefix: fc.boolean(), names: fc.uniqueArray(name, { maxLength: 6 }) }),
    { selector: (offer) => offer.service, maxLength: 6 },
  )
  const services = offers.map((list) =>
    list.map((offer) => service(offer.service, offer.names, offer.prefix)),
  )

  it('every name leads back to its offer, and to no other', () =>
    fc.assert(
      fc.property(services, (list) => {
        const { publicNames, targets } = resolveNames(list)
        list.forEach((offer, index) => {
          for (const own of offer.names) {
            const target = targets.get(publicNames[index]?.get(own) ?? 'none')
            assert.deepEqual(target, { service: offer.service, original: own })
          }
        })
        assert.equal(
          targets.size,
          list.reduce((sum, offer) => sum + offer.names.length, 0),
        )
      }),
      { numRuns: 500 },
    ))

  it('a prefixed name keeps to the alphabet and the length', () =>
    fc.assert(
      fc.property(services, (list) => {
        const { publicNames } = resolveNames(list)
        list.forEach((offer, index) => {
          if (offer.prefix) for (const each of publicNames[index]?.values() ?? []) assert.match(each, PLAIN)
        })
      }),
      { numRuns: 500 },
    ))

  it('what is added later changes nothing before it', () =>
    fc.assert(
      fc.property(services, fc.nat(6), (list, count) => {
        const all = resolveNames(list).publicNames.slice(0, count)
        assert.deepEqual(resolveNames(list.slice(0, count)).publicNames, all)
      }),
      { numRuns: 500 },
    ))
})
