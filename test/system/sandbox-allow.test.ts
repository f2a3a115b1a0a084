// `network.allow` on machines that root makes, or the user who runs the tests.

import { sandboxScene } from './support/sandbox-scene.js'
import { allowedHostsHold } from './support/sandbox-egress.js'

allowedHostsHold('bubblewrap', sandboxScene('root'))
