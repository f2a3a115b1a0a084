/** The version in package.json; a test holds the two equal, so that none is read at start. */
export const version = '0.1.0'
