/** `GET /health`, `/props`, `/slots` and `/metrics`. */
import type { FastifyInstance } from 'fastify';
import { metricsText } from './metrics.js';
import type { ServedEngine } from './served-engine.js';

export function registerStatus(app: FastifyInstance, served: ServedEngine): void {
  app.get('/health', async () => {
    // Throws 503 while the model loads.
    served.open;
    return { status: 'ok' };
  });
  app.get('/props', async () => served.props());
  app.get('/slots', async () => [
    {
      id: 0,
      n_ctx: served.open.engine.contextTokens,
      is_processing: served.inFlight.size > 0,
      speculative: false,
    },
  ]);
  app.get('/metrics', async (_request, reply) => {
    const text = metricsText(served);
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(text);
  });
}
