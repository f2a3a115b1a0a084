/** A token of a model is about so many bytes of text: an estimate, which depends on the model and the language. */
export const TOKEN_BYTES = 4
