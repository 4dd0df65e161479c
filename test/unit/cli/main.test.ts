import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from 'commander';
import { createFullProgram, createProgram } from '../../../src/cli/main.js';

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

test('the whole help of every command fits into 80 columns', async () => {
  const wide: string[] = [];
  let looked = 0;
  const look = (command: Command, path: string): void => {
    const pieces: string[] = [];
    const ways = { writeOut: (text: string) => pieces.push(text), getOutHelpWidth: () => 80 };
    command.configureOutput({ ...command.configureOutput(), ...ways }).outputHelp();
    const lines = pieces.join('').split('\n');
    assert.ok(lines.length > 3, path);
    wide.push(...lines.filter((line) => line.length > 80).map((line) => `${path}: ${line}`));
    looked += 1;
    for (const inner of command.commands) look(inner, `${path} ${inner.name()}`);
  };
  look(await createFullProgram(), 'qualify');
  assert.ok(looked > 40, String(looked));
  assert.deepEqual(wide, []);
});
