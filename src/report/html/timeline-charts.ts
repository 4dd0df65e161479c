/** The timeline drawn: launches in lanes by arm, and below them one strip for each thing that was watched. */
import { type Chart, label } from './chart.js';
import { armLook, colour } from './palette.js';
import { armScales } from './samples-chart.js';
import type { TimedLaunch, Timeline } from './timeline.js';

/** Width of the axis at the left, the same in all strips, so that what is above another is at the same time. */
const axisUnits = 84;
/** Rounds that are numbered at most. */
const mostNumbers = 12;

interface Strip {
  title: string;
  description: string;
  axis: string;
  of: (launch: TimedLaunch) => { low: number; value: number; high: number } | null;
}

const single = (value: number | null) => (value === null ? null : { low: value, value, high: value });

const strips: readonly Strip[] = [
  {
    title: 'Clock of the CPU by launch',
    description: 'Lowest, median and highest clock of the fastest CPU in the course of each launch, in MHz.',
    axis: 'clock, MHz',
    of: ({ clockMhz }) =>
      clockMhz === null ? null : { low: clockMhz.low, value: clockMhz.median, high: clockMhz.high },
  },
  {
    title: 'Load average by launch',
    description: 'Highest load average of one minute in the course of each launch.',
    axis: 'load',
    of: ({ highestLoad }) => single(highestLoad),
  },
  {
    title: 'CPU time of others by launch',
    description: 'Percent of the machine that other processes used during each launch.',
    axis: 'others, %',
    of: ({ othersPercent }) => single(othersPercent),
  },
  {
    title: 'Temperature by launch',
    description: 'Highest temperature of the CPU in the course of each launch, in degrees Celsius.',
    axis: '°C',
    of: ({ highestC }) => single(highestC),
  },
];

function timeAxis({ launches, events }: Timeline, isLast: boolean) {
  const end = Math.max(
    ...launches.map(({ toMinutes }) => toMinutes),
    ...events.map(({ atMinutes }) => atMinutes),
  );
  return {
    type: 'quantitative' as const,
    title: isLast ? 'minutes since the first launch' : null,
    scale: { domain: [0, Math.max(end, 1e-3)], nice: false },
    // A label that reaches over the end would make this strip narrower than those above it.
    axis: { grid: false, labelBound: true, ...(!isLast && { labels: false, ticks: false }) },
  };
}

function lanes(
  timeline: Timeline,
  scales: ReturnType<typeof armScales>,
  width: number,
  isLast: boolean,
): Chart {
  const { launches, events } = timeline;
  const rounds = new Set(launches.map(({ round }) => round)).size;
  const step = Math.ceil(rounds / mostNumbers);
  const numbered = launches.filter(({ round, position }) => position === 0 && round % step === 0);
  const x = timeAxis(timeline, isLast);
  const bars = launches.map(({ arm, fromMinutes, toMinutes, left }) => ({
    arm: label(arm),
    from: fromMinutes,
    to: toMinutes,
    left: left !== null,
  }));
  const y = {
    field: 'arm',
    type: 'nominal' as const,
    sort: scales.color.domain,
    title: null,
    axis: {
      domain: false,
      ticks: false,
      minExtent: axisUnits,
      maxExtent: axisUnits,
      labelLimit: axisUnits - 4,
    },
    scale: { paddingInner: 0.35, paddingOuter: 0.2 },
  };
  const color = { field: 'arm', type: 'nominal' as const, scale: scales.color, legend: null };
  const bar = (left: boolean, mark: object) => ({
    data: { values: bars.filter((own) => own.left === left) },
    mark: { type: 'bar' as const, ...mark },
    encoding: { y, x: { field: 'from', ...x }, x2: { field: 'to' } },
  });
  const filled = bar(false, { opacity: 0.9, stroke: colour('page'), strokeWidth: 0.5 });
  const hollow = bar(true, { filled: false, strokeDash: [2, 2], strokeWidth: 1.5 });
  const order = launches.map(({ arm, left }) => (left === null ? arm : `${arm} (${left})`)).join(', ');
  return {
    title: 'Launches in order',
    description: `Each launch from its start to its end, by arm. In order: ${order}.`,
    spec: {
      width,
      height: (isLast ? 66 : 34) + 26 * scales.color.domain.length,
      autosize: { type: 'fit', contains: 'padding' },
      layer: [
        { ...filled, encoding: { ...filled.encoding, color } },
        { ...hollow, encoding: { ...hollow.encoding, color } },
        {
          data: { values: events.map(({ atMinutes, text }) => ({ at: atMinutes, text: label(text) })) },
          mark: { type: 'rule', color: colour('text'), strokeDash: [3, 2] },
          encoding: { x: { field: 'at', ...x } },
        },
        {
          data: {
            values: numbered.map(({ fromMinutes, round }) => ({ from: fromMinutes, round: round + 1 })),
          },
          mark: {
            type: 'text',
            align: 'left',
            baseline: 'bottom',
            fontSize: 11,
            y: -2,
            color: colour('muted'),
          },
          encoding: { x: { field: 'from', ...x }, text: { field: 'round' } },
        },
      ],
    },
  };
}

function stripChart(
  strip: Strip,
  timeline: Timeline,
  scales: ReturnType<typeof armScales>,
  width: number,
  isLast: boolean,
): Chart {
  const values = timeline.launches.flatMap((launch) => {
    const seen = strip.of(launch);
    const at = (launch.fromMinutes + launch.toMinutes) / 2;
    return seen === null ? [] : [{ arm: label(launch.arm), at, ...seen }];
  });
  const x = timeAxis(timeline, isLast);
  const y = {
    type: 'quantitative' as const,
    title: null,
    scale: { zero: false },
    axis: { tickCount: 3, minExtent: axisUnits, maxExtent: axisUnits, format: '~r' },
  };
  const color = { field: 'arm', type: 'nominal' as const, scale: scales.color, legend: null };
  return {
    title: strip.title,
    description: strip.description,
    spec: {
      width,
      height: isLast ? 92 : 60,
      autosize: { type: 'fit', contains: 'padding' },
      data: { values },
      layer: [
        {
          mark: { type: 'rule', strokeWidth: 1.5 },
          encoding: { x: { field: 'at', ...x }, y: { field: 'low', ...y }, y2: { field: 'high' }, color },
        },
        {
          mark: { type: 'point', filled: true, size: 26, opacity: 1 },
          encoding: {
            x: { field: 'at', ...x },
            y: { field: 'value', ...y },
            color,
            shape: { field: 'arm', type: 'nominal', scale: scales.shape, legend: null },
          },
        },
      ],
    },
  };
}

/** A strip with the words that stand beside it. */
interface DrawnStrip {
  axis: string;
  chart: Chart;
}

/** Charts from top to bottom, all of one width in units; empty when there was no launch. */
export function timelineCharts(timeline: Timeline, armNames: readonly string[], width: number): DrawnStrip[] {
  if (timeline.launches.length === 0) return [];
  const launched = new Set(timeline.launches.map(({ arm }) => arm));
  const scales = armScales(
    armNames.map((arm, index) => ({ arm, look: armLook(index) })).filter(({ arm }) => launched.has(arm)),
  );
  const watched = strips.filter(({ of }) => timeline.launches.some((launch) => of(launch) !== null));
  return [
    { axis: 'launches', chart: lanes(timeline, scales, width, watched.length === 0) },
    ...watched.map((strip, index) => ({
      axis: strip.axis,
      chart: stripChart(strip, timeline, scales, width, index === watched.length - 1),
    })),
  ];
}
