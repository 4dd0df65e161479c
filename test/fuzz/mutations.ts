/** Inputs for readers: good files that were damaged, by bytes and by meaning, and bytes that never were a file. */
import fc from 'fast-check';

/** One change of a text; places are shares of its length, so that a shorter failure is still the same failure. */
interface Edit {
  how: 'flip' | 'cut' | 'double' | 'insert' | 'end';
  at: number;
  length: number;
  piece: Buffer;
}

const OFTEN = [
  ...['', '\0', '\n', '\r\n', '\u2028', '\ufeff', '\u001b[2J', '\ud800', '::error::x', '=cmd', ' ', '\t'],
  ...['null', 'true', '-0', '1e999', 'NaN', 'Infinity', '9007199254740993', '1e308', '-1', '0x10'],
  ...[
    '"__proto__":',
    '"constructor":',
    '"toString":',
    '"\\u0061"',
    '"\\ud800"',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
  ],
  ...['__proto__: {a: 1}\n', '&a [*a, *a]', '*a', '!!js/function x', '<<: *a', '---\n', '? ', '|\n', '- '],
  ...['../', '/', '..', '=', '==', '-', '_', '+', 'A', 'ssh-ed25519 ', '-----BEGIN PUBLIC KEY-----\n'],
].map((text) => Buffer.from(text));

const edit = (pieces: readonly Buffer[]): fc.Arbitrary<Edit> =>
  fc.record({
    how: fc.constantFrom<Edit['how']>('flip', 'cut', 'double', 'insert', 'insert', 'end'),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.nat(40),
    piece: fc.oneof(
      fc.constantFrom(...OFTEN, ...pieces),
      fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
    ),
  });

function apply(bytes: Buffer, { how, at, length, piece }: Edit): Buffer {
  const place = Math.min(bytes.length, Math.floor(at * (bytes.length + 1)));
  const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)];
  switch (how) {
    case 'flip': {
      const changed = Buffer.from(bytes);
      if (place < bytes.length) changed[place] = (changed[place] ?? 0) ^ (1 << (length % 8));
      return changed;
    }
    case 'cut':
      return Buffer.concat([before, after.subarray(length)]);
    case 'double':
      return Buffer.concat([before, after.subarray(0, length), after]);
    case 'insert':
      return Buffer.concat([before, piece, after]);
    case 'end':
      return before;
  }
}

/** `samples` after up to four edits (also none), or any bytes at all. `pieces` of the format's own grammar are put in, too. */
export function damagedBytes(
  samples: readonly (string | Buffer)[],
  pieces: readonly string[] = [],
): fc.Arbitrary<Buffer> {
  const edits = fc.array(edit(pieces.map((piece) => Buffer.from(piece))), { maxLength: 4 });
  const damaged = fc
    .tuple(fc.constantFrom(...samples), edits)
    .map(([sample, list]) => list.reduce(apply, Buffer.from(sample)));
  const any = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
  return fc.oneof({ weight: 12, arbitrary: damaged }, { weight: 1, arbitrary: any });
}

/** `damagedBytes` as the text that most readers are given. */
export const damagedText = (
  samples: readonly string[],
  pieces: readonly string[] = [],
): fc.Arbitrary<string> => damagedBytes(samples, pieces).map((bytes) => bytes.toString('utf8'));

const oddNumbers = [0, -0, -1, 0.5, 1e308, -1e308, 5e-324, 2 ** 31, 2 ** 32, 2 ** 53, 2 ** 53 + 2, 1e21];
const oddTexts = [
  '',
  '0',
  '-1',
  '__proto__',
  'constructor',
  'toString',
  '../x',
  '\0',
  '\ud83d\ude00',
  'a'.repeat(300),
];

/** A value that a field does not expect. */
const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, [], {}, [[]], [null], ...oddNumbers, ...oddTexts),
  fc.jsonValue({ maxDepth: 2 }),
  // Deep, for readers that call themselves.
  fc.nat(60).map((depth) => JSON.parse('['.repeat(depth) + ']'.repeat(depth) || 'null') as unknown),
);

/** One change of a value's meaning: which of its places, and what happens there. */
interface Change {
  at: number;
  how: 'replace' | 'remove' | 'repeat' | 'swap' | 'scale';
  value: unknown;
  key: string;
}

const change: fc.Arbitrary<Change> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  how: fc.constantFrom<Change['how']>('replace', 'replace', 'remove', 'repeat', 'swap', 'scale'),
  value: oddValue,
  key: fc.constantFrom('extra', 'constructor', 'toString', 'hasOwnProperty', 'length', ''),
});

type Place = { holder: Record<string, unknown> | unknown[]; key: string };

function placesOf(value: unknown, found: Place[] = []): Place[] {
  if (typeof value !== 'object' || value === null) return found;
  const holder = value as Record<string, unknown>;
  for (const key of Object.keys(holder)) {
    found.push({ holder, key });
    placesOf(holder[key], found);
  }
  return found;
}

function make({ at, how, value, key: newKey }: Change, root: { value: unknown }): void {
  const places = placesOf(root);
  const { holder, key } = places[Math.floor(at * places.length)] ?? { holder: root, key: 'value' };
  const record = holder as Record<string, unknown>;
  switch (how) {
    case 'replace':
      record[key] = structuredClone(value);
      return;
    case 'remove':
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else delete record[key];
      return;
    case 'repeat':
      if (Array.isArray(holder)) holder.splice(Number(key), 0, structuredClone(holder[Number(key)]));
      else record[newKey] = structuredClone(record[key]);
      return;
    case 'swap': {
      const other = Object.keys(holder).find(
        (name) => name !== key && typeof record[name] === typeof record[key],
      );
      if (other !== undefined) [record[key], record[other]] = [record[other], record[key]];
      return;
    }
    case 'scale':
      if (typeof record[key] === 'number') record[key] = -10 * record[key] + 1;
      else if (typeof record[key] === 'string') record[key] += 'x';
  }
}

/** `samples` with `least` to `most` of their fields changed, removed, repeated or exchanged; still JSON. */
export const damagedValue = (samples: readonly unknown[], most = 3, least = 0): fc.Arbitrary<unknown> =>
  fc
    .tuple(fc.constantFrom(...samples), fc.array(change, { minLength: least, maxLength: most }))
    .map(([sample, changes]) => {
      const root = { value: structuredClone(sample) };
      for (const one of changes) make(one, root);
      return root.value;
    });

/** Files of JSON that were damaged, half of them by meaning and half by bytes. */
export const damagedJson = (
  samples: readonly unknown[],
  spell: (value: unknown) => string = (value) => JSON.stringify(value) ?? '',
): fc.Arbitrary<Buffer> =>
  fc.oneof(
    damagedValue(samples).map((value) => Buffer.from(spell(value))),
    damagedBytes(samples.map(spell)),
  );
