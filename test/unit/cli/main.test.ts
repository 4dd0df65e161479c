import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProgram } from '../../../src/cli/main.js';

test('the list of commands says of each what its own help says', async () => {
  const listed = (await createProgram(undefined)).commands;
  assert.equal(listed.length, 27);
  for (const stub of listed) {
    const program = await createProgram(stub.name());
    const full = program.commands.find((command) => command.name() === stub.name());
    assert.equal(full?.description(), stub.description());
    const parts = [full?.options, full?.commands, full?.registeredArguments];
    assert.ok(
      parts.some((part) => (part?.length ?? 0) > 0),
      `${stub.name()} is not loaded`,
    );
    assert.deepEqual(
      program.commands.map((command) => command.name()).filter((name) => name !== 'complete'),
      listed.map((command) => command.name()),
    );
  }
});
