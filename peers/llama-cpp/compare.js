// node compare.js MODEL TOKENS.json LOGITS.f64: compares logits of ours with llama.cpp's, position by position.
//
// LOGITS holds [tokens, vocabulary] little-endian numbers, F32 (.f32) or F64 (.f64), of all positions. The model must have been
// created with round trips off, because llama.cpp never rounds keys to FP8 or FP4; unstructured F32 weights say most.
// What is compared is log-probability, since that is what the peer gives. Exact ties in the indexer's top-k are decided
// otherwise by llama.cpp, so single positions may differ: the limits are on the median and on agreement of the best token.
import { readFileSync } from 'node:fs';
import { openPeer } from './peer.js';

const MEDIAN_NMSE_LIMIT = 1e-5; // llama.cpp keeps its keys in F16
const TOP1_LIMIT = 0.98;

const [modelPath, tokensPath, logitsPath] = process.argv.slice(2);
if (modelPath === undefined || tokensPath === undefined || logitsPath === undefined) {
  console.error('usage: node compare.js MODEL.gguf TOKENS.json LOGITS.f32|.f64');
  process.exit(64);
}

const tokens = JSON.parse(readFileSync(tokensPath, 'utf8'));
const bytes = readFileSync(logitsPath);
const width = logitsPath.endsWith('.f64') ? 8 : 4;
const vocabulary = bytes.length / width / tokens.length;
const read = (index) => (width === 8 ? bytes.readDoubleLE(index * 8) : bytes.readFloatLE(index * 4));

/** Log-probabilities of one position, from logits. */
function ours(position) {
  const row = Array.from({ length: vocabulary }, (_, token) => read(position * vocabulary + token));
  const most = row.reduce((best, value) => Math.max(best, value), Number.NEGATIVE_INFINITY);
  const total = Math.log(row.reduce((sum, value) => sum + Math.exp(value - most), 0)) + most;
  return row.map((value) => value - total);
}

const peer = await openPeer(modelPath, Math.max(256, tokens.length + 16));
const distributions = await peer.probabilities(tokens);
const errors = [];
let agreed = 0;
for (const [position, theirs] of distributions.entries()) {
  const row = ours(position);
  const mean = row.reduce((sum, value) => sum + value, 0) / row.length;
  let error = 0;
  let spread = 0;
  for (const [token, value] of row.entries()) {
    error += (Math.log(theirs.get(token)) - value) ** 2;
    spread += (value - mean) ** 2;
  }
  errors.push(error / spread);
  const best = row.indexOf(Math.max(...row));
  if (Number(theirs.keys().next().value) === best) agreed += 1;
}
const sorted = errors.toSorted((a, b) => a - b);
const medianNmse = sorted[Math.floor(sorted.length / 2)];
const top1 = agreed / tokens.length;
const ok = medianNmse <= MEDIAN_NMSE_LIMIT && top1 >= TOP1_LIMIT;
console.log(
  JSON.stringify({
    ok,
    llamaCpp: peer.release,
    positions: tokens.length,
    medianNmse,
    worstNmse: sorted.at(-1),
    beyondLimit: errors.filter((each) => each > MEDIAN_NMSE_LIMIT).length,
    top1,
  }),
);
process.exit(ok ? 0 : 1);
