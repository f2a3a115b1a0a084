/**
 * The variable that every server gets, with a value of its own, and everything that it starts inherits.
 *
 * By it the guardian knows, on Linux, who has left the server's group and has no living ancestor in it.
 */
export const serverMark = 'MCPS_PROXY_SERVER'
