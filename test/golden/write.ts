/** `npm run golden`: renders the runs of `manifests/` again, after a report was changed on purpose. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { goldenNames, MANIFESTS, renderGolden } from './golden.js';

for (const name of goldenNames()) {
  for (const [file, text] of await renderGolden(name)) writeFileSync(join(MANIFESTS, file), text);
}
