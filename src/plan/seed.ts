/** The seed of a plan, as a user names it. */
import { sha256 } from '../digest.js';

/** 64 hex digits are the seed itself, other text is hashed to one. */
export const seedOf = (text: string): string => (/^[0-9a-f]{64}$/.test(text) ? text : sha256(text));
