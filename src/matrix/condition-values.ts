/** How a value stands in the conditions of a launch: printable, short, and without what names a person or a place. Pure. */
import { sha256 } from '../digest.js';

const LONGEST = 160;
const HEAD = 80;

/** Printable ASCII of at most 160 characters; what is longer keeps its beginning and is told apart by its digest. */
export function conditionText(text: string): string {
  const printable = text.replace(
    /[^\x20-\x7e]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
  return printable.length <= LONGEST
    ? printable
    : `${printable.slice(0, HEAD)}... sha256:${sha256(text).slice(0, 16)}`;
}

/** Variables whose value is another for each launch by design. */
const OWN_VARIABLES = ['HOME', 'TMPDIR', 'QUALIFY_LAUNCH'];

/**
 * Variables that steer an engine, its runtime, its allocator or its loader. One that is set in a process stands in its conditions,
 * whether somebody asked for it or not.
 */
const STEERING =
  /^(DFLASH|LUCE|GGML|LLAMA|VLLM|SGLANG|HIP|HSA|ROCR|ROCM|AMD|GPU|CUDA|NVIDIA|NCCL|VK|OMP|GOMP|KMP|MKL|OPENBLAS|BLIS|MALLOC|GLIBC|LD|NODE|UV|V8)_/;

export const isSteering = (name: string): boolean => STEERING.test(name);

/** Variables that are told even when they are not set: unset is a value of its own. */
export const WATCHED_VARIABLES = [
  'PATH',
  'LANG',
  'LC_ALL',
  'HOME',
  'TMPDIR',
  'LD_PRELOAD',
  'LD_LIBRARY_PATH',
  'GLIBC_TUNABLES',
  'MALLOC_ARENA_MAX',
  'NODE_OPTIONS',
  'UV_THREADPOOL_SIZE',
  'OMP_NUM_THREADS',
  'CUDA_VISIBLE_DEVICES',
  'HIP_VISIBLE_DEVICES',
  'ROCR_VISIBLE_DEVICES',
  'HSA_OVERRIDE_GFX_VERSION',
] as const;

/**
 * A variable as conditions tell it: null when unset, the empty text when empty, `own` for the folders and the mark that `given`
 * has for this launch, a digest where the value holds a path.
 */
export function variableText(
  name: string,
  value: string | undefined,
  given: Readonly<Record<string, string>>,
): string | null {
  if (value === undefined) return null;
  if (OWN_VARIABLES.includes(name) && value === given[name]) return 'own';
  return value.includes('/') ? `sha256:${sha256(value)}` : conditionText(value);
}
