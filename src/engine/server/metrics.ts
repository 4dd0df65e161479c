/** The Prometheus text of `/metrics`: llama-server's names for what it also counts, `qualify_…` for what is ours. */
import type { ServedEngine } from './served-engine.js';

interface Metric {
  name: string;
  help: string;
  type: 'counter' | 'gauge';
  samples: [labels: string, value: number][];
}

const one = (name: string, type: Metric['type'], help: string, value: number): Metric => ({
  name,
  help,
  type,
  samples: [['', value]],
});

const labelled = (label: string, values: Record<string, number>): Metric['samples'] =>
  Object.entries(values).map(([key, value]) => [`{${label}="${key.replace(/["\\\n]/g, '_')}"}`, value]);

function collect(served: ServedEngine): Metric[] {
  const { totals, inFlight } = served;
  const { engine } = served.open;
  return [
    one('llamacpp:prompt_tokens_total', 'counter', 'Prompt tokens evaluated.', totals.promptTokens),
    one('llamacpp:prompt_seconds_total', 'counter', 'Seconds of prompt evaluation.', totals.promptSeconds),
    one('llamacpp:tokens_predicted_total', 'counter', 'Tokens generated.', totals.predictedTokens),
    one(
      'llamacpp:tokens_predicted_seconds_total',
      'counter',
      'Seconds of generation.',
      totals.predictedSeconds,
    ),
    one('llamacpp:requests_processing', 'gauge', 'Requests that run.', Math.min(1, inFlight.size)),
    one('llamacpp:requests_deferred', 'gauge', 'Requests that wait.', Math.max(0, inFlight.size - 1)),
    one('qualify_requests_total', 'counter', 'Requests that ended.', totals.requests),
    one('qualify_requests_cancelled_total', 'counter', 'Requests that were cancelled.', totals.cancelled),
    one(
      'qualify_cache_tokens_total',
      'counter',
      'Prompt tokens taken from the prefix cache.',
      totals.cacheTokens,
    ),
    {
      name: 'qualify_kernel_runs_total',
      help: 'Times a kernel really ran.',
      type: 'counter',
      samples: labelled('kernel', engine.counters()),
    },
    {
      name: 'qualify_memory_bytes',
      help: 'Bytes held besides the mapped file.',
      type: 'gauge',
      samples: labelled('kind', engine.memory()),
    },
  ];
}

/** Exposition format 0.0.4. */
export function metricsText(served: ServedEngine): string {
  return collect(served)
    .map(({ name, help, type, samples }) =>
      [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} ${type}`,
        ...samples.map(([labels, value]) => `${name}${labels} ${value}`),
      ].join('\n'),
    )
    .join('\n')
    .concat('\n');
}
