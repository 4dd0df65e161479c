/**
 * JSON Schemas (draft 2020-12) of the documents that people and other programs read or write, made from the schemas that `qualify` itself
 * parses with, so that the two cannot part. `npm run schemas` writes them to docs/schemas.
 */
import { z } from 'zod';
import { gateDecisionSchema } from '../gate/decision.js';
import { gatePolicySchema } from '../gate/policy.js';
import { waiverSchema } from '../gate/waiver.js';
import { entrySchema } from '../journal/entries.js';
import { statementSchema } from '../manifest/statement.js';
import { testResultSchema } from '../manifest/test-result.js';
import { trustPolicySchema } from '../manifest/trust-policy.js';
import { summarySchema } from '../manifest/verification-summary.js';
import { matrixSchema } from '../matrix/schema.js';
import { challengeSchema } from '../plan/challenge.js';
import { planSchema } from '../plan/schema.js';
import { verdictSchema } from '../verdict/schema.js';

/** Where the files can be fetched from, for editors; nothing of `qualify` fetches them. */
const BASE = 'https://raw.githubusercontent.com/qualify-dev/qualify/main/docs/schemas';

interface Document {
  title: string;
  schema: z.ZodType;
  /** `people` leave out what has a default; `qualify` writes everything. */
  writtenBy: 'people' | 'qualify';
}

/** Every document by the name of its schema. */
export const documents = {
  statement: {
    title: 'Statement of a run: line 1 of qualification.intoto.jsonl',
    schema: statementSchema,
    writtenBy: 'qualify',
  },
  'test-result': {
    title: 'Test result of a run: line 2 of qualification.intoto.jsonl',
    schema: testResultSchema,
    writtenBy: 'qualify',
  },
  'verification-summary': {
    title: 'Summary of a verification (SLSA VSA): qualify verify --attest',
    schema: summarySchema,
    writtenBy: 'qualify',
  },
  verdict: { title: 'verdict.json', schema: verdictSchema, writtenBy: 'qualify' },
  plan: { title: 'plan.json', schema: planSchema, writtenBy: 'qualify' },
  'journal-entry': { title: 'A line of journal.jsonl', schema: entrySchema, writtenBy: 'qualify' },
  matrix: { title: 'A matrix (YAML)', schema: matrixSchema, writtenBy: 'people' },
  challenge: { title: 'A challenge', schema: challengeSchema, writtenBy: 'qualify' },
  'trust-policy': { title: 'qualify.trust.json', schema: trustPolicySchema, writtenBy: 'people' },
  'gate-policy': { title: 'qualify.policy.yaml', schema: gatePolicySchema, writtenBy: 'people' },
  'gate-decision': { title: 'qualify gate --json', schema: gateDecisionSchema, writtenBy: 'qualify' },
  waiver: { title: 'Statement of a waiver', schema: waiverSchema, writtenBy: 'qualify' },
} as const satisfies Record<string, Document>;

export type DocumentName = keyof typeof documents;
export const documentNames = Object.keys(documents) as DocumentName[];

/** File name of a schema. */
export const schemaFile = (name: DocumentName): string => `${name}.schema.json`;

/** The JSON Schema of a document. */
function jsonSchema(name: DocumentName): object {
  const { title, schema, writtenBy } = documents[name];
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: writtenBy === 'people' ? 'input' : 'output' });
  return { $schema, $id: `${BASE}/${schemaFile(name)}`, title, ...rest };
}

/** Text of the file of a schema. */
export const renderSchema = (name: DocumentName): string => `${JSON.stringify(jsonSchema(name), null, 2)}\n`;
