/**
 * The byte-level tokenizer of generated models: byte b is id b; ids from 256 on stand for nothing in text. Ids 256 and
 * 257 begin and end a sequence. Requests that must have an exact length send ids instead of text.
 */

export const BEGIN_OF_SEQUENCE = 256;
export const END_OF_SEQUENCE = 257;
const BYTES = 256;

/** Ids of the UTF-8 bytes of `text`. No begin-of-sequence is added. */
export function tokenize(text: string): number[] {
  return [...Buffer.from(text, 'utf8')];
}

/**
 * Turns ids into text as they come. Bytes that are no valid UTF-8 become U+FFFD, and an id of 256 or more its number in
 * angle brackets (`<300>`), so that text can be read but not turned back into ids without loss.
 */
export class Detokenizer {
  #decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  /** Text that is certain after this id; bytes of an unfinished character wait. */
  push(id: number): string {
    if (id < BYTES) return this.#decoder.decode(Uint8Array.of(id), { stream: true });
    return `${this.#decoder.decode()}<${id}>`;
  }

  /** What still waited. */
  end(): string {
    return this.#decoder.decode();
  }
}

/** Text of a whole sequence of ids. */
export function detokenize(ids: Iterable<number>): string {
  const detokenizer = new Detokenizer();
  let text = '';
  for (const id of ids) text += detokenizer.push(id);
  return text + detokenizer.end();
}
