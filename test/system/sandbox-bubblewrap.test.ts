// Machines of bubblewrap, made by root, or by whoever runs the tests.

import { machineContract } from '../sandbox/machine-contract.js'
import { sandboxAttacks } from './support/sandbox-attacks.js'
import { sandboxScene } from './support/sandbox-scene.js'

const scene = sandboxScene('root')
machineContract('bubblewrap', () => scene.bubblewrap())
sandboxAttacks('bubblewrap', scene)
