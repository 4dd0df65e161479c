/** Where things stand in a JSON text: line and column, which a parsed value no longer has. */
import { findNodeAtLocation, type Node, parseTree } from 'jsonc-parser';
import type { Fault } from './faults.js';
import type { Place } from './yaml-text.js';

/**
 * Answers the place of the deepest node on the way to a fault that `text` has. The text is JSON that was parsed already, so that it is no
 * deeper than its reader lets it be.
 */
export function jsonPlaces(text: string): (fault: Pick<Fault, 'path' | 'key'>) => Place {
  const root = parseTree(text);
  return ({ path, key }) => {
    const node = root === undefined ? undefined : deepest(root, path);
    const before = text.slice(0, (keyOf(node, key) ?? node)?.offset ?? 0).split('\n');
    return { line: before.length, col: (before.at(-1) ?? '').length + 1 };
  };
}

function deepest(root: Node, path: readonly PropertyKey[]): Node {
  for (let length = path.length; length > 0; length -= 1) {
    const steps = path.slice(0, length).map((step) => (typeof step === 'number' ? step : String(step)));
    const node = findNodeAtLocation(root, steps);
    if (node !== undefined) return node;
  }
  return root;
}

/** The key of that name, of a node that is a map. */
const keyOf = (node: Node | undefined, key: string | undefined): Node | undefined =>
  key === undefined
    ? undefined
    : node?.children?.map(({ children }) => children?.[0]).find((name) => name?.value === key);
