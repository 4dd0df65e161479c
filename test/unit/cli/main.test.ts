import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProgram } from '../../../src/cli/main.js';

test('the list of commands says of each what its own help says', async () => {
  const listed = (await createProgram(undefined)).commands;
  assert.equal(listed.length, 19);
  for (const stub of listed) {
    const program = await createProgram(stub.name());
    const full = program.commands.find((command) => command.name() === stub.name());
    assert.equal(full?.description(), stub.description());
    assert.ok((full?.options.length ?? 0) + (full?.commands.length ?? 0) > 0, `${stub.name()} is not loaded`);
    assert.deepEqual(
      program.commands.map((command) => command.name()),
      listed.map((command) => command.name()),
    );
  }
});
