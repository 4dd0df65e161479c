/** A calibration as people read it, 80 columns wide. */

import type { Calibration, CellCalibration, Planted, SessionRecord } from '../analysis/calibration.js';
import type { Bounded } from '../analysis/noise.js';
import { counted } from '../counted.js';
import { plainText } from './escape.js';
import { labelled, wrap } from './wrap.js';

type Line = [label: string, text: string];

const WIDTH = 80;
const LABEL = 16;

const percent = (share: number): string => `${(100 * share).toFixed(2)} %`;
const signed = (share: number): string => `${share < 0 ? '' : '+'}${percent(share)}`;
const range = ({ lower, upper }: Bounded, show = percent): string => `${show(lower)} to ${show(upper)}`;
const points = (value: number): string => value.toFixed(value < 1 ? 2 : 1);
const marginText = ({ rounds, ...own }: CellCalibration['margins'][number]): string =>
  `${points(own.percent)} % by ${counted(rounds, 'round')} (${points(own.lowerPercent)} to ${points(own.upperPercent)})`;

function cellLines({ workload, id, noise, margins }: CellCalibration): Line[] {
  const { request, launch, launchToRequest, round, slot } = noise;
  const ofRequests = launchToRequest === null ? '' : `, ${launchToRequest.toFixed(2)} times that of requests`;
  return [
    [id, `${workload}; ${counted(noise.rounds, 'round')} of ${counted(noise.sessions, 'A/A session')}`],
    [
      '  requests',
      request === null ? 'one a launch: not known' : `${percent(request)} CV inside of launches`,
    ],
    ['  launches', launch === null ? 'not known' : `${percent(launch)} SD between them${ofRequests}`],
    ['  a round', `${percent(round.value)} SD of the log ratio (90 % interval ${range(round)})`],
    [
      '  second place',
      `${signed(slot.value)} against the first of a round (95 % interval ${range(slot, signed)})`,
    ],
    [
      '  margin',
      `${margins.map(marginText).join(', ')}: the smallest that an unchanged cell passes 9 times in 10`,
    ],
  ];
}

function alarmLines({ alarms }: Calibration): Line[] {
  const { cells, failed, improved, refused, failShare } = alarms;
  const without = refused === 0 ? '' : `; ${refused} more without all proofs`;
  const share = `${percent(failShare.lower)} to ${percent(failShare.upper)}`;
  const text = `${failed} of ${cells} equal cells called a fail (95 % interval ${share}), ${improved} improved${without}`;
  return [['false alarms', text]];
}

function plantedLine({ percent: planted, found, cells }: Planted): Line {
  const told = cells.map(({ id, verdict, detail, rounds, marginPercent }) => {
    const how = detail === null ? verdict : `${verdict}, ${detail}`;
    return `${id} ${how} after ${counted(rounds, 'round')} under a margin of ${marginPercent} %`;
  });
  return ['planted', `slowdown of ${planted} %: ${found ? 'found' : 'NOT FOUND'}; ${told.join('; ')}`];
}

/** What this call measured and what all sessions of the machine say together. Ends without a line feed. */
export function describeCalibration(records: readonly SessionRecord[], calibration: Calibration): string {
  const [first] = records;
  const clock = first?.clock === 'cpu' ? 'CPU' : 'wall';
  const title = `Calibration of ${first?.cpu ?? 'this machine'}, engine ${first?.engine ?? 'none'}, by ${clock} time`;
  const planted = calibration.planted.at(-1);
  const lines: Line[] = [
    ...calibration.cells.flatMap(cellLines),
    ...alarmLines(calibration),
    ...(planted === undefined ? [] : [plantedLine(planted)]),
    ...records.map(({ session, plantedPercent, result, runFolder }): Line => {
      const what = plantedPercent === null ? 'A/A' : `planted ${plantedPercent} %`;
      return ['session', `${what}, ${result}: ${session} in ${runFolder}`];
    }),
  ];
  return [
    ...wrap(plainText(title), WIDTH),
    '',
    ...lines.flatMap(([label, text]) => labelled(plainText(label), plainText(text), LABEL, WIDTH)),
  ].join('\n');
}
