/** `npm run man`: writes `docs/qualify.1`. */
import { writeFileSync } from 'node:fs';
import { createFullProgram } from './main.js';
import { renderManPage } from './man-page.js';

writeFileSync(new URL('../../../docs/qualify.1', import.meta.url), renderManPage(await createFullProgram()));
