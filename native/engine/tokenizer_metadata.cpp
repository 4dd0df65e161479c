#include "tokenizer_metadata.h"

#include <array>
#include <stdexcept>

namespace qe {
namespace {

// llama.cpp's token types.
constexpr std::int32_t kNormal = 1;
constexpr std::int32_t kControl = 3;
constexpr std::int32_t kUnused = 5;

// UTF-8 of a code point below U+0800, which is all that the spelling of bytes needs.
std::string utf8(unsigned codePoint) {
  if (codePoint < 0x80) return std::string(1, static_cast<char>(codePoint));
  return {static_cast<char>(0xc0u | (codePoint >> 6)), static_cast<char>(0x80u | (codePoint & 0x3fu))};
}

bool standsForItself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
}

}  // namespace

std::vector<std::string> byteLevelTokens(std::int64_t vocabulary) {
  std::vector<std::string> tokens;
  unsigned moved = 0;
  for (unsigned byte = 0; byte < 256; ++byte) tokens.push_back(utf8(standsForItself(byte) ? byte : 0x100 + moved++));
  tokens.emplace_back("<|bos|>");
  tokens.emplace_back("<|eos|>");
  for (std::int64_t id = kFirstPadding; id < vocabulary; ++id) tokens.push_back("<|pad-" + std::to_string(id) + "|>");
  return tokens;
}

void writeTokenizer(GgufWriter& writer, std::int64_t vocabulary) {
  if (vocabulary < kFirstPadding) {
    throw std::invalid_argument("a byte-level vocabulary has at least 258 tokens, not " + std::to_string(vocabulary));
  }
  std::vector<std::int32_t> types(static_cast<std::size_t>(vocabulary), kUnused);
  for (std::int64_t id = 0; id < kByteTokens; ++id) types[static_cast<std::size_t>(id)] = kNormal;
  types[static_cast<std::size_t>(kBeginToken)] = kControl;
  types[static_cast<std::size_t>(kEndToken)] = kControl;
  // A byte-pair tokenizer must have a merge; this one can never apply, so every byte stays a token of its own.
  const std::array<std::string, 1> merges = {"<|bos|> <|eos|>"};
  writer.text("tokenizer.ggml.model", "gpt2");
  writer.text("tokenizer.ggml.pre", "default");
  writer.texts("tokenizer.ggml.tokens", byteLevelTokens(vocabulary));
  writer.integers("tokenizer.ggml.token_type", types);
  writer.texts("tokenizer.ggml.merges", merges);
  writer.count("tokenizer.ggml.bos_token_id", kBeginToken);
  writer.count("tokenizer.ggml.eos_token_id", kEndToken);
  writer.boolean("tokenizer.ggml.add_bos_token", false);
}

}  // namespace qe
