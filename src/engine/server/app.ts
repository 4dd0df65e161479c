/** The HTTP server of the embedded engine. */
import fastify, { type FastifyInstance } from 'fastify';
import { registerCompletion } from './completion-route.js';
import { registerOpenai } from './openai-routes.js';
import type { ServedEngine } from './served-engine.js';
import { registerErrors } from './server-error.js';
import { registerStatus } from './status-routes.js';
import { registerTokens } from './token-routes.js';

/** An id and its comma take at most 9 bytes; text at most 6 a byte when everything is escaped. */
const BODY_BYTES_PER_TOKEN = 10;
const BODY_BYTES_BESIDES = 1 << 16;

/** The server for an engine, not yet listening. */
export function createApp(served: ServedEngine): FastifyInstance {
  const app = fastify({
    bodyLimit: served.options.contextTokens * BODY_BYTES_PER_TOKEN + BODY_BYTES_BESIDES,
    // Prefills may take long, and a harness keeps its connection open between samples.
    requestTimeout: 0,
    connectionTimeout: 0,
    keepAliveTimeout: 600_000,
    forceCloseConnections: 'idle',
  });
  // A connection that was busy when closing began would else be kept alive, and keep the process alive.
  app.addHook('onSend', async (_request, reply) => {
    if (served.isClosing) reply.header('connection', 'close');
  });
  // What curl -d calls its JSON when it is not told otherwise.
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    app.getDefaultJsonParser('error', 'error'),
  );
  registerErrors(app);
  registerStatus(app, served);
  registerTokens(app);
  registerCompletion(app, served);
  registerOpenai(app, served);
  return app;
}
