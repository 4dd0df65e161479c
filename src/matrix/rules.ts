/** What a matrix must hold beyond the types of its fields. Each breach names the path it is about. */
import { cellId } from './cell-id.js';
import { cpusOf } from './cpu-list.js';
import { designBreaches } from './design-rules.js';
import { PEER_REVISION, peerExperts } from './engines.js';
import { type Arm, type Matrix, NULL_ARM } from './schema.js';
import { simulationBreaches } from './simulation-rules.js';

/** One breach: where in the matrix, and what to do about it. */
export interface Breach {
  path: (string | number)[];
  message: string;
}

function cellBreaches(matrix: Matrix): Breach[] {
  const seen = new Map<string, number>();
  return matrix.cells.flatMap((cell, index) => {
    const breaches: Breach[] = [];
    const id = cellId(cell);
    const twin = seen.get(id);
    if (twin !== undefined) {
      const message = `cell ${index + 1} has the id "${id}" of cell ${twin + 1}; give one of them an \`id\``;
      breaches.push({ path: ['cells', index], message });
    }
    seen.set(id, index);
    if (cell.phase === 'decode' && cell.generatedTokens < 2) {
      const message = 'a decode cell times the tokens after the first: generate at least 2';
      breaches.push({ path: ['cells', index, 'generatedTokens'], message });
    }
    return breaches;
  });
}

/** Breaches of the looks of a protocol: they rise, and from 6 on they are even. */
export function lookBreaches(looks: readonly number[]): Breach[] {
  return looks.flatMap((look, index) => {
    const path = ['protocol', 'looks', index];
    const before = index === 0 ? 0 : (looks[index - 1] ?? 0);
    if (look <= before) return [{ path, message: `looks must rise: ${look} follows ${before}` }];
    if (look >= 6 && look % 2 === 1) {
      return [
        { path, message: `rounds come in pairs of opposite order: use ${look + 1} instead of ${look}` },
      ];
    }
    return [];
  });
}

/** Caps of cells: a cell can only stop where its protocol looks. */
function capBreaches({ cells, protocol }: Matrix): Breach[] {
  return cells.flatMap(({ cap }, index) => {
    if (cap === undefined || protocol.looks.includes(cap)) return [];
    const message = `a cell stops after a look: use one of ${protocol.looks.join(', ')} instead of ${cap}`;
    return [{ path: ['cells', index, 'cap'], message }];
  });
}

/** Tokens of all prompts of a plan: they are drawn again by everyone who verifies a run. */
const MOST_TOKENS = 32 * 1024 * 1024;

function lengthBreaches({ cells, protocol: { warmups, samples } }: Matrix): Breach[] {
  const each = warmups + samples + 1;
  const tokens = cells.reduce((sum, { promptTokens }) => sum + promptTokens * each, 0);
  if (tokens <= MOST_TOKENS) return [];
  const message = `all prompts together have ${tokens} tokens, at most ${MOST_TOKENS} are drawn: use fewer samples, or shorter prompts`;
  return [{ path: ['protocol', 'samples'], message }];
}

/** The null arm is the plan's: it is made of the reference, so that nobody can choose what it is. */
function nullBreaches({ arms, protocol: { nullRounds, looks } }: Matrix): Breach[] {
  const named = Object.entries(arms).flatMap(([name, { control }]): Breach[] => {
    if (name.toLowerCase() !== NULL_ARM && control !== 'null') return [];
    const message =
      'the null arm is added by the plan; set `protocol.nullRounds`, and name this arm otherwise';
    return [{ path: ['arms', name], message }];
  });
  if (nullRounds % 2 === 0 || nullRounds >= (looks.at(-1) ?? 0)) return named;
  const message = `null rounds come in pairs of opposite order: use ${nullRounds + 1} instead of ${nullRounds}`;
  return [...named, { path: ['protocol', 'nullRounds'], message }];
}

/** A lever-off arm is a head once more, with other switches: without that head it shows nothing. */
function leverOffBreaches({ arms }: Matrix): Breach[] {
  const [reference, ...others] = Object.entries(arms);
  if (reference?.[1].control === 'lever-off') {
    const message = 'the first arm is what the others are compared against; it cannot be a control';
    return [{ path: ['arms', reference[0]], message }];
  }
  const heads = others.filter(([, { control }]) => control === undefined);
  return others.flatMap(([name, arm]) => {
    if (arm.control !== 'lever-off') return [];
    const own = heads.filter(
      ([, { engine, revision }]) => engine === arm.engine && revision === arm.revision,
    );
    if (own.length === 0) {
      const message = `no arm after the first has its revision ${arm.revision}: a lever-off arm is a head with its switches off`;
      return [{ path: ['arms', name, 'revision'], message }];
    }
    const switchesOf = ({ switches }: Arm): string => JSON.stringify(Object.entries(switches).sort());
    const same = own.find(([, head]) => switchesOf(head) === switchesOf(arm));
    if (same === undefined) return [];
    const message = `has the switches of "${same[0]}": turn those off that the change brings`;
    return [{ path: ['arms', name, 'switches'], message }];
  });
}

/** A list that no engine could be pinned to would end the session at its first launch, after the builds. */
function cpuBreaches({ engine: { cpus } }: Matrix): Breach[] {
  if (cpus === undefined || cpusOf(cpus) !== null) return [];
  const message = `"${cpus}" is no list of CPUs: ranges rise, each CPU stands once, and the highest is 8191; write 0-1 or 0,2`;
  return [{ path: ['engine', 'cpus'], message }];
}

/** What arms of another engine than ours cannot have. */
function peerBreaches({ arms, model, protocol }: Matrix): Breach[] {
  const engines = new Set(Object.values(arms).map(({ engine }) => engine));
  if (!engines.has('node-llama-cpp')) return [];
  const breaches = Object.entries(arms).flatMap(([name, { engine, revision, switches }]): Breach[] => {
    if (engine !== 'node-llama-cpp') return [];
    const own = ['worktree', PEER_REVISION].includes(revision)
      ? []
      : [{ path: ['arms', name, 'revision'], message: 'node-llama-cpp has one revision: leave it out' }];
    const unknown = Object.keys(switches).map((key) => ({
      path: ['arms', name, 'switches', key],
      message: 'node-llama-cpp knows no switches: leave them out',
    }));
    const slowed =
      arms[name]?.plantedSlowdownPercent === undefined
        ? []
        : [
            {
              path: ['arms', name, 'plantedSlowdownPercent'],
              message: 'no slowdown can be planted in node-llama-cpp: leave it out',
            },
          ];
    return [...own, ...unknown, ...slowed];
  });
  if (engines.size > 1 && protocol.parity === 'exact') {
    const message =
      'two engines round differently, so their bits cannot agree: use `bounded` and give limits in `protocol.bounded`';
    breaches.push({ path: ['protocol', 'parity'], message });
  }
  if ('preset' in model && !peerExperts.includes(model.experts)) {
    const message = `llama.cpp does not read ${model.experts}: use one of ${peerExperts.join(', ')}`;
    breaches.push({ path: ['model', 'experts'], message });
  }
  if ('preset' in model && model.roundTrips && engines.size > 1) {
    const message = 'llama.cpp never rounds keys, so that outputs could not agree: set `roundTrips: false`';
    breaches.push({ path: ['model'], message });
  }
  return breaches;
}

function boundedBreaches({ protocol }: Matrix): Breach[] {
  if (protocol.parity === 'bounded' && protocol.bounded === undefined) {
    const message =
      'parity `bounded` needs its limits: bounded: { top1: 0.8, common: 0.4, meanLogProbability: 1 }';
    return [{ path: ['protocol', 'parity'], message }];
  }
  if (protocol.parity !== 'bounded' && protocol.bounded !== undefined) {
    return [{ path: ['protocol', 'bounded'], message: 'these limits are for parity `bounded` only' }];
  }
  return [];
}

function armNameBreaches({ arms }: Matrix): Breach[] {
  const names = Object.keys(arms);
  const compared = Object.values(arms).filter(({ control }) => control === undefined);
  const tooFew =
    compared.length < 2 ? [{ path: ['arms'], message: 'a comparison needs two arms or more' }] : [];
  const numbers = names.filter((arm) => /^\d+$/.test(arm));
  const unordered = numbers.map((arm) => ({
    path: ['arms', arm],
    message: `an arm named by a number alone loses its place in the order: use "pr-${arm}"`,
  }));
  const alike = names.flatMap((arm, index) => {
    const twin = names.slice(0, index).find((other) => other.toLowerCase() === arm.toLowerCase());
    const message = `arms "${twin}" and "${arm}" differ only in case; give one of them another name`;
    return twin === undefined ? [] : [{ path: ['arms', arm], message }];
  });
  return [...tooFew, ...unordered, ...alike];
}

function decisiveBreaches({ cells }: Matrix): Breach[] {
  if (cells.some((cell) => cell.required)) return [];
  return [{ path: ['cells'], message: 'no cell is required: nothing could ever fail' }];
}

/** In the order in which breaches are told. */
const RULES: readonly ((matrix: Matrix) => Breach[])[] = [
  armNameBreaches,
  decisiveBreaches,
  cellBreaches,
  ({ protocol }) => lookBreaches(protocol.looks),
  capBreaches,
  lengthBreaches,
  cpuBreaches,
  nullBreaches,
  leverOffBreaches,
  boundedBreaches,
  peerBreaches,
  designBreaches,
  simulationBreaches,
];

/** Every breach of a matrix whose fields are all of the right type; empty when it can be planned. */
export const breachesOf = (matrix: Matrix): Breach[] => RULES.flatMap((rule) => rule(matrix));

const leftOut = new Error('a field that is wrong');

/** Some fields of an object, which nobody can take for the whole of it: whoever asks for another, or for all, is thrown out. */
export const onlySound = (fields: object): object =>
  new Proxy(fields, {
    get(_, name) {
      if (!Object.hasOwn(fields, name)) throw leftOut;
      return Reflect.get(fields, name);
    },
    has() {
      throw leftOut;
    },
    ownKeys() {
      throw leftOut;
    },
  });

/** Breaches of what `onlySound` made of a matrix: of each rule that reads no field which is left out. */
export function breachesOfPart(part: object): Breach[] {
  return RULES.flatMap((rule) => {
    try {
      return rule(part as Matrix);
    } catch (error) {
      if (error === leftOut) return [];
      throw error;
    }
  });
}
