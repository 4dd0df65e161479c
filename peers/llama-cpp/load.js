// node load.js MODEL: loads a file that `qualify model create` wrote into llama.cpp, evaluates a few tokens, and prints one
// line of JSON. Exit 0 when the model loads, its tokenizer is byte-level and every probability is a number.
import { openPeer } from './peer.js';

const [modelPath] = process.argv.slice(2);
if (modelPath === undefined) {
  console.error('usage: node load.js MODEL.gguf');
  process.exit(64);
}

const text = 'Hello  world\n\u00e9';
const peer = await openPeer(modelPath, 256);
const tokens = Array.from(peer.model.tokenize(text), Number);
const started = process.cpuUsage();
const distributions = await peer.probabilities(tokens);
const spent = process.cpuUsage(started);

const byteLevel = Buffer.from(text).equals(Buffer.from(tokens));
const sums = distributions.map((each) => [...each.values()].reduce((sum, value) => sum + value, 0));
const finite = sums.length === tokens.length && sums.every((sum) => Math.abs(sum - 1) < 1e-3);
const ok = byteLevel && finite;
console.log(
  JSON.stringify({
    ok,
    llamaCpp: peer.release,
    name: peer.model.fileInfo.metadata.general.name,
    vocabulary: distributions[0]?.size,
    byteLevel,
    finite,
    tokens: tokens.length,
    next: distributions.map((each) => Number(each.keys().next().value)),
    cpuMs: Math.round((spent.user + spent.system) / 1000),
  }),
);
process.exit(ok ? 0 : 1);
