/** Finds prompts of a plan: by name, and by cell and kind. A journal of thousands of lines asks for each of them. */
import type { Plan, Prompt } from './schema.js';

interface PromptIndex {
  byId: Map<string, Prompt>;
  byCell: Map<string, Prompt[]>;
}

type Prompts = Plan['prompts'];

const indexes = new WeakMap<Prompts, PromptIndex>();

function indexOf(prompts: Prompts): PromptIndex {
  const known = indexes.get(prompts);
  if (known) return known;
  const index: PromptIndex = { byId: new Map(), byCell: new Map() };
  for (const prompt of prompts) {
    // Of two with one name the first counts, as it does for who reads the plan from its beginning.
    if (!index.byId.has(prompt.id)) index.byId.set(prompt.id, prompt);
    const key = `${prompt.kind} ${prompt.cell}`;
    index.byCell.set(key, [...(index.byCell.get(key) ?? []), prompt]);
  }
  indexes.set(prompts, index);
  return index;
}

/** The prompt of a name. */
export const findPrompt = ({ prompts }: Pick<Plan, 'prompts'>, id: string): Prompt | undefined =>
  indexOf(prompts).byId.get(id);

/** Prompts of a cell of one kind, in the order of the plan. */
export const promptsOf = (
  { prompts }: Pick<Plan, 'prompts'>,
  cell: string,
  kind: Prompt['kind'],
): readonly Prompt[] => indexOf(prompts).byCell.get(`${kind} ${cell}`) ?? [];
