/** The lines of a telemetry file: what the machine did while a launch ran, read a few times by a process of its own. */
import { z } from 'zod';
import { QualifyError } from '../errors.js';

const count = z.int().min(0);

/** One reading. Counters rise from the start of the machine or process; null is "this system does not say". */
export const telemetrySampleSchema = z.strictObject({
  /** Milliseconds since the launch was first watched. */
  atMs: z.number().min(0),
  /** The fastest CPU's clock. The others may be idle. */
  clockMhz: z.number().min(0).nullable(),
  /** The hottest sensor of the CPU. */
  temperatureC: z.number().nullable(),
  /** Thermal throttling events of all cores. */
  throttles: count.nullable(),
  /** Load average of the last minute. */
  load: z.number().min(0),
  /** `USER_HZ` ticks of all CPUs: not idle, all, of the engine with the harness and this process. */
  busyTicks: count,
  totalTicks: count,
  ownTicks: count,
  /** Of the engine's group. */
  majorFaults: count,
  /** Of everybody. */
  swapIns: count,
  /** Microseconds for which somebody waited for the resource (PSI, `some`). */
  pressureUs: z.strictObject({ cpu: count, memory: count, io: count }).nullable(),
  /** CPU time of the telemetry itself, read with the ticks: after all processes in the first sample, before them in any other. */
  selfCpuMs: z.number().min(0),
  /**
   * Processes that are not ours, by what they used. All of them in the first and the last sample, and in between where somebody whom the
   * samples do not show used more than a twentieth of a CPU; else only those who used most before, or nobody, as all are dear to read. A
   * counter rises by no more than what all of them ran meanwhile: a shell gets the time of old jobs at once, when it looks for them.
   */
  others: z.array(z.strictObject({ pid: count, name: z.string(), cpuTicks: count })).optional(),
  /** Display devices: clock of the shaders, temperature, share of time busy. Empty where there are none. */
  gpus: z.array(
    z.strictObject({
      clockMhz: z.number().nullable(),
      temperatureC: z.number().nullable(),
      busyPercent: z.number().nullable(),
    }),
  ),
  /** Names of other processes that hold a compute device open, and whether the engine does; read with all of `others`, and every fifth sample. */
  gpuUsers: z.strictObject({ engine: z.boolean(), others: z.array(z.string()) }).optional(),
});

export type TelemetrySample = z.infer<typeof telemetrySampleSchema>;

/**
 * Samples of a telemetry file. `where` names it in errors.
 * @throws QualifyError `ERR_QUALIFY_TELEMETRY_INVALID` (exit 16) naming the line
 */
export function parseTelemetry(text: string, where: string): TelemetrySample[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line, index) => {
      try {
        return telemetrySampleSchema.parse(JSON.parse(line));
      } catch (cause) {
        throw new QualifyError('ERR_QUALIFY_TELEMETRY_INVALID', 'A line of telemetry is malformed.', {
          exit: 'invalid',
          where: `${where}:${index + 1}`,
          hint: 'The file was cut or changed; take the run folder from where it was made.',
          cause,
        });
      }
    });
}
