/** Pictures of a report for the documentation: `node .ci/browser/pictures.js REPORT.html FOLDER`. */
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openBrowser, openPage, picture } from './browser.js';

const [report, folder] = process.argv.slice(2);
if (report === undefined || folder === undefined) {
  console.error('node .ci/browser/pictures.js REPORT.html FOLDER');
  process.exit(64);
}
const shots = [
  { name: 'report.png', width: 1280, scheme: 'light', height: 1480 },
  { name: 'report-dark.png', width: 1280, scheme: 'dark', height: 1480 },
];
const browser = await openBrowser();
try {
  for (const { name, height, ...view } of shots) {
    const { page } = await openPage(browser, pathToFileURL(resolve(report)).href, view);
    await picture(page, join(folder, name), height);
    console.log(join(folder, name));
  }
} finally {
  await browser.close();
}
