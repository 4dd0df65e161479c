/** The digest that names a build: what it was made from, by what recipe and with which tools. */
import { createHash } from 'node:crypto';

/** SHA-256 over (digest of the source tree, digest of the recipe, versions of the tools by name). Pure. */
export function buildDigestOf(
  treeDigest: string,
  recipeDigest: string,
  toolchain: Readonly<Record<string, string>>,
): string {
  const versions = Object.entries(toolchain).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([treeDigest, recipeDigest, versions]))
    .digest('hex');
}
