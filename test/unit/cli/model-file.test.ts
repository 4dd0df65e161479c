import assert from 'node:assert/strict';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { refuseExisting, requireModelFile, writeModel } from '../../../src/cli/model-file.js';
import { scratchFolder } from '../../support/folder.js';

it('refuses links, dangling or not, folders and devices as output, forced or not', async (context) => {
  const folder = await scratchFolder(context);
  const target = join(folder, 'target');
  const link = join(folder, 'link');
  const dangling = join(folder, 'dangling');
  await writeFile(target, 'mine');
  await symlink(target, link);
  await symlink(join(folder, 'nothing'), dangling);
  const refusal = { code: 'ERR_QUALIFY_EXISTS', exitCode: 64, message: /is no regular file/ };
  for (const out of [link, dangling, folder, '/dev/full'])
    for (const force of [false, true]) await assert.rejects(refuseExisting(out, force), refusal);
  await assert.rejects(refuseExisting(target, false), { message: /exists already/ });
  await refuseExisting(target, true);
  await refuseExisting(join(folder, 'new'), false);
});

it('names what is no model file for what it is', async (context) => {
  const folder = await scratchFolder(context);
  const none = join(folder, 'none');
  const refusal = { code: 'ERR_QUALIFY_MODEL_FILE', exitCode: 64 };
  await assert.rejects(requireModelFile(none), { ...refusal, message: `there is no model file ${none}` });
  const message = `${folder} is a directory, not a model file`;
  await assert.rejects(requireModelFile(folder), { ...refusal, message });
  await assert.rejects(requireModelFile('/dev/null'), {
    ...refusal,
    message: '/dev/null is no regular file',
  });
});

it('takes what names an input for a mistake of the user there, and anything else for a failure at the output', async (context) => {
  const out = join(await scratchFolder(context), 'out');
  const failing = (message: string) =>
    writeModel(out, 'writing', () => Promise.reject(new Error(message)), ['/in.gguf', '/imatrix.gguf']);
  await assert.rejects(failing('/imatrix.gguf: is damaged'), { exitCode: 64, where: '/imatrix.gguf' });
  await assert.rejects(failing('/in.gguf: cannot be opened'), { exitCode: 64, where: '/in.gguf' });
  await assert.rejects(failing('the disk is broken'), { exitCode: 15, where: out });
});
