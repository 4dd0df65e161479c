/** Errors that a client of the server sees, in llama-server's shape. */
import type { FastifyError, FastifyInstance } from 'fastify';
import type { z } from 'zod';

type ErrorType =
  | 'invalid_request_error'
  | 'exceed_context_size_error'
  | 'not_found_error'
  | 'unavailable_error'
  | 'server_error';

export class ServerError extends Error {
  readonly status: number;
  readonly type: ErrorType;
  readonly details: Record<string, number>;

  constructor(status: number, type: ErrorType, message: string, details: Record<string, number> = {}) {
    super(message);
    this.status = status;
    this.type = type;
    this.details = details;
  }
}

/** `{"error": {"code", "message", "type", …}}`. */
export function errorBody(error: ServerError): { error: Record<string, string | number> } {
  return { error: { code: error.status, message: error.message, type: error.type, ...error.details } };
}

/** `prompt[0]`, `stream_options.include_usage`; the whole body is `body`. */
function pathText(path: readonly PropertyKey[]): string {
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return text === '' ? 'body' : text.replace(/^\./, '');
}

/** Checks a body against a schema. @throws ServerError 400 whose message begins with the field's name. */
export function parseBody<T extends z.ZodType>(schema: T, body: unknown): z.infer<T> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const message = parsed.error.issues.map((issue) => `${pathText(issue.path)}: ${issue.message}`).join('; ');
  throw new ServerError(400, 'invalid_request_error', message);
}

function toServerError(error: FastifyError | Error, bodyLimit: number | undefined): ServerError {
  if (error instanceof ServerError) return error;
  if ('code' in error && error.code === 'FST_ERR_CTP_BODY_TOO_LARGE' && bodyLimit !== undefined) {
    const message = `body: larger than the limit of ${bodyLimit} bytes, which follows from the server's --context`;
    return new ServerError(413, 'invalid_request_error', message);
  }
  const status = 'statusCode' in error ? error.statusCode : undefined;
  if (status !== undefined && status >= 400 && status < 500) {
    return new ServerError(status, 'invalid_request_error', error.message);
  }
  return new ServerError(500, 'server_error', error.message);
}

/** Makes every failure of a route an answer in the dialect. */
export function registerErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, _request, reply) => {
    const known = toServerError(error, app.initialConfig.bodyLimit);
    if (known.status === 500) process.stderr.write(`${error.stack ?? error.message}\n`);
    return reply.status(known.status).send(errorBody(known));
  });
  app.setNotFoundHandler((request, reply) => {
    const error = new ServerError(404, 'not_found_error', `no ${request.method} ${request.url} here`);
    return reply.status(404).send(errorBody(error));
  });
}
