import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A key folder that does not exist: for verifications in which no key of the user may say anything, or be in the way. */
export const NO_KEYS = join(tmpdir(), `no-keys-${randomUUID()}`);
