/** `qualify simulate`: an ordinary session of an engine that makes its times up. What is true of them is known, so verdicts can be judged. */
import { type Command, InvalidArgumentError } from 'commander';
import { QualifyError } from '../errors.js';
import { loadMatrix } from '../matrix/load.js';
import { breachesOf } from '../matrix/rules.js';
import { armSchema, type Matrix } from '../matrix/schema.js';
import { type Simulation, simulationSchema } from '../matrix/simulation.js';
import { note } from './output.js';
import { runAndPrint, type SessionFlags, sessionOptions } from './session-command.js';

interface SimulateFlags extends SessionFlags {
  effect?: number;
  cv?: number;
  launchCv?: number;
  drift?: number;
  walk?: number;
  step?: number;
  warmupRamp?: number;
  secondSlot?: number;
  slowHits?: Pick<Simulation, 'slowHitShare' | 'slowHitPercent'>;
}

type Key = keyof Simulation;

/** A percentage such as `-3%` or `0.5`, in the range of a key of the schema. */
function percentOf(text: string): number {
  const [, number] = /^([+-]?\d+(?:\.\d+)?)\s*%?$/.exec(text) ?? [];
  if (number === undefined) throw new InvalidArgumentError('It must be a percentage, such as -3%.');
  return Number(number);
}

function inRange(schema: { safeParse(value: unknown): { error?: { issues: { message: string }[] } } }) {
  return (text: string): number => {
    const value = percentOf(text);
    const message = schema.safeParse(value).error?.issues[0]?.message;
    if (message !== undefined) throw new InvalidArgumentError(`${message}.`);
    return value;
  };
}

const noise = (key: Key): ((text: string) => number) => inRange(simulationSchema.shape[key]);

/** `3%:8%`: the share of requests that are hit, and how hard at most. */
function slowHits(text: string): Pick<Simulation, 'slowHitShare' | 'slowHitPercent'> {
  const [share, most, ...rest] = text.split(':');
  if (share === undefined || most === undefined || rest.length > 0)
    throw new InvalidArgumentError('It must be share:percent, such as 3%:8%.');
  const slowHitShare = percentOf(share) / 100;
  const found = simulationSchema.safeParse({ slowHitShare, slowHitPercent: percentOf(most) });
  if (!found.success)
    throw new InvalidArgumentError('The share is 0 to 100 %, the most that a hit costs 2 to 50 %.');
  return { slowHitShare, slowHitPercent: found.data.slowHitPercent };
}

/** The noise that was asked for; what was not is left as the matrix has it. */
function askedNoise(flags: SimulateFlags): Partial<Simulation> {
  const asked: [Key, number | undefined][] = [
    ['cvPercent', flags.cv],
    ['launchCvPercent', flags.launchCv],
    ['driftPercent', flags.drift],
    ['walkPercent', flags.walk],
    ['stepPercent', flags.step],
    ['warmupRampPercent', flags.warmupRamp],
    ['secondSlotPercent', flags.secondSlot],
  ];
  const given = asked.filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), ...flags.slowHits };
}

/** The matrix with the noise and the effect of the command line, the effect on every arm but the first. */
function simulated(name: string, flags: SimulateFlags): Matrix {
  const { matrix } = loadMatrix(name);
  if (matrix.simulation === undefined) {
    throw new QualifyError('ERR_QUALIFY_NOT_SIMULATED', `the matrix ${matrix.name} is of real engines`, {
      exit: 'usage',
      hint: 'qualify run measures it; qualify matrix show simulated prints one to start from',
    });
  }
  const simulation = { ...matrix.simulation, ...askedNoise(flags) };
  const { effect } = flags;
  const arms = Object.entries(matrix.arms).map(([arm, own], index): [string, Matrix['arms'][string]] => [
    arm,
    effect === undefined || index === 0 ? own : { ...own, effectPercent: effect },
  ]);
  const made = { ...matrix, simulation, arms: Object.fromEntries(arms) };
  const [breach] = breachesOf(made);
  if (breach !== undefined) throw new Error(`a simulated matrix became none: ${breach.message}`);
  return made;
}

const HELP = `
Nothing is measured: a process waits as long as a noise model says and claims
so. All else is as in \`qualify run\`: launches, proofs, looks, rule, seal, exit
code. The run folder, its report and its manifest say that it is simulated. It
takes the lock of the machine too, as its processes would disturb what another
session measures: --wait waits for that.

  qualify simulate                          nothing differs: should pass
  qualify simulate --effect -3% --cv 1%     should fail: the budget is 2 %
  qualify simulate --drift -4% --slow-hits 3%:8%
                                            a bad machine: should pass

How often it comes out as it should: qualify calibrate --simulated.`;

export function register(program: Command): void {
  const command = program
    .command('simulate')
    .description('run a session of a simulated engine with noise of your choice; measures nothing')
    .argument('[matrix]', 'a matrix with the key `simulation`', 'simulated')
    .option(
      '--effect <percent>',
      'how much faster the change truly is',
      inRange(armSchema.shape.effectPercent),
    )
    .option('--cv <percent>', 'noise of requests (standard deviation)', noise('cvPercent'))
    .option('--launch-cv <percent>', 'noise of launches', noise('launchCvPercent'))
    .option('--drift <percent>', 'change of speed over the rounds of the plan', noise('driftPercent'))
    .option('--walk <percent>', 'random walk of the speed, by launch', noise('walkPercent'))
    .option('--step <percent>', 'one change of speed, somewhere', noise('stepPercent'))
    .option('--warmup-ramp <percent>', 'slowness of the first request, halving', noise('warmupRampPercent'))
    .option('--second-slot <percent>', 'change of what is not first in its round', noise('secondSlotPercent'))
    .option('--slow-hits <share:percent>', 'share of requests hit, and how hard at most', slowHits);
  sessionOptions(command)
    .addHelpText('after', HELP)
    .action(async (name: string, flags: SimulateFlags) => {
      note('SIMULATED: nothing is measured, every time is made up.');
      await runAndPrint(simulated(name, flags), process.cwd(), flags);
    });
}
