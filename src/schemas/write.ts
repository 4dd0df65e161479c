/** `npm run schemas`: writes docs/schemas. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { harnessFolder } from '../harness.js';
import { documentNames, renderSchema, schemaFile } from './json-schemas.js';

const folder = join(harnessFolder, 'docs/schemas');
mkdirSync(folder, { recursive: true });
for (const name of documentNames) writeFileSync(join(folder, schemaFile(name)), renderSchema(name));
