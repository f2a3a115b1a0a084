// Machines of bubblewrap, made by an ordinary user.

import { machineContract } from '../sandbox/machine-contract.js'
import { sandboxAttacks } from './support/sandbox-attacks.js'
import { sandboxDefences } from './support/sandbox-defences.js'
import { sandboxScene } from './support/sandbox-scene.js'

const scene = sandboxScene('user')
machineContract('bubblewrap of an ordinary user', () => scene.bubblewrap())
sandboxAttacks('bubblewrap of an ordinary user', scene)
sandboxDefences('bubblewrap of an ordinary user', scene)
