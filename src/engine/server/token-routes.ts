/** `POST /tokenize` and `POST /detokenize`. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { BEGIN_OF_SEQUENCE, detokenize, tokenize } from '../tokenizer.js';
import { parseBody } from './server-error.js';

const tokenizeSchema = z.object({
  content: z.string(),
  add_special: z.boolean().default(false),
  with_pieces: z.boolean().default(false),
});
const detokenizeSchema = z.object({ tokens: z.array(z.int().min(0)) });

export function registerTokens(app: FastifyInstance): void {
  app.post('/tokenize', async (request) => {
    const body = parseBody(tokenizeSchema, request.body);
    const ids = [...(body.add_special ? [BEGIN_OF_SEQUENCE] : []), ...tokenize(body.content)];
    return { tokens: body.with_pieces ? ids.map((id) => ({ id, piece: detokenize([id]) })) : ids };
  });
  app.post('/detokenize', async (request) => ({
    content: detokenize(parseBody(detokenizeSchema, request.body).tokens),
  }));
}
