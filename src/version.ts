/** The version in package.json. A test compares the two, so the program need not read package.json. */
export const version = '0.1.0'
