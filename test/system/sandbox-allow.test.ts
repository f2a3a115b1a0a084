// What programs of real machines reach where `network.allow` names hosts, made by root, or by whoever runs the tests.

import { sandboxScene } from './support/sandbox-scene.js'
import { allowedHostsHold } from './support/sandbox-egress.js'

allowedHostsHold('bubblewrap', sandboxScene('root'))
