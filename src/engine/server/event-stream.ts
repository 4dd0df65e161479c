/** Server-sent events on a raw response. */
import type { FastifyReply } from 'fastify';

interface EventStream {
  send(data: unknown): void;
  /** Ends the stream; OpenAI's closes with `data: [DONE]`. */
  end(last?: '[DONE]'): void;
}

/** Takes the response over from the framework and opens the stream. */
export function openEventStream(reply: FastifyReply): EventStream {
  reply.hijack();
  const { raw } = reply;
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  raw.flushHeaders();
  return {
    send: (data) => void raw.write(`data: ${JSON.stringify(data)}\n\n`),
    end: (last) => void raw.end(last === undefined ? '' : `data: ${last}\n\n`),
  };
}
