/**
 * The byte-level tokenizer of generated models: byte b is id b; ids from 256 on stand for nothing in text. Ids 256 and
 * 257 begin and end a sequence. Requests that must have an exact length send ids instead of text.
 */
import { createHash } from 'node:crypto';
import type { ModelDescription } from './addon.js';

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

/**
 * SHA-256 over the metadata of a GGUF that makes tokens of text: vocabulary, types, merges, special ids (`tokenizer.*`), by name.
 * Each value goes in with its length before it, so that no two vocabularies run together to the same bytes.
 */
export function tokenizerDigest(metadata: ModelDescription['metadata']): string {
  const hash = createHash('sha256');
  const add = (value: string | number | boolean): void => {
    const text = `${typeof value} ${value}`;
    hash.update(`${Buffer.byteLength(text)}:${text}`);
  };
  for (const name of Object.keys(metadata).toSorted()) {
    const value = metadata[name];
    if (!name.startsWith('tokenizer.') || value === undefined) continue;
    add(name);
    const values = Array.isArray(value) ? value : [value];
    add(values.length);
    for (const each of values) add(each);
  }
  return hash.digest('hex');
}
