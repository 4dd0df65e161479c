/** What `verify` says of a run that answers a challenge. */
import { short } from '../digest.js';
import type { Challenge } from '../plan/challenge.js';
import type { Flags } from './issued-challenge.js';
import { printable } from './output.js';

/** Which challenge a run answers, and who says that it was issued. */
export function describeAnswer(challenge: Challenge, { challenge: path }: Flags): string {
  const { repository, pullRequest, head, expiresAt } = challenge;
  const change = `${printable(repository.replaceAll(/\s/g, ' '))}${pullRequest === null ? '' : `#${pullRequest}`}`;
  const which = path === undefined ? 'UNCONFIRMED: check with --challenge' : `the one in ${path}`;
  const isOver = Date.parse(expiresAt) < Date.now();
  const over = isOver
    ? `; it expired at ${expiresAt}, and that the run began before is the signer's word`
    : '';
  return `a challenge for ${change} at ${short(head)}, ${which}${over}`;
}
