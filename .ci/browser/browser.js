/** Opens pages in the system's Chromium. */
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';

/** Below a container's root there is no user namespace for a sandbox; what is opened here is ours. */
const flags = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--force-color-profile=srgb'];

/** Starts a browser; `CHROMIUM` names another than Debian's. */
export const openBrowser = () =>
  puppeteer.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: flags });

/** Opens a file, and notes what it says and asks for beside itself. */
export async function openPage(browser, url, { width, scheme, scale = 1 }) {
  const page = await browser.newPage();
  const said = [];
  const asked = [];
  page.on('console', (message) => said.push(message.text()));
  page.on('pageerror', (error) => said.push(String(error)));
  page.on('request', (request) => asked.push(request.url()));
  await page.setViewport({ width, height: 900, deviceScaleFactor: scale });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  await page.goto(url);
  return { page, said, asked };
}

/** A picture of the first `height` pixels, or of the whole page. */
export async function picture(page, path, height = Number.POSITIVE_INFINITY) {
  const { width, whole } = await page.evaluate(() => ({
    width: document.documentElement.clientWidth,
    whole: document.documentElement.scrollHeight,
  }));
  const clip = { x: 0, y: 0, width, height: Math.min(height, whole) };
  await page.screenshot({ path, clip, captureBeyondViewport: true });
}

/** A module of the compiled source, by its path below `dist`. */
export const compiled = (path) => import(fileURLToPath(new URL(`../../dist/${path}`, import.meta.url)));
