/** What a session does where its matrix says nothing else: read from the schema's defaults, so that it cannot differ from them. */
import { budgetsSchema, protocolSchema } from '../matrix/schema.js';
import { levelPerLook } from '../plan/build.js';
import { decide } from '../verdict/zone.js';
import type { Protocol } from './matrices.js';
import { orderContradicts, vetoes } from './veto.js';

const { warmups, samples, looks, nullRounds } = protocolSchema.parse({});

/** Eight cells under the default protocol and budget. */
export const standardProtocol: Protocol = {
  cells: 8,
  warmups,
  samples,
  looks,
  levelPerLook: levelPerLook(looks.length),
  marginPercent: budgetsSchema.parse({}).prefill,
  nullRounds,
  vetoes,
  contradiction: orderContradicts,
  decide,
};
