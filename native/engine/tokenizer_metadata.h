// Owns the byte-level tokenizer that a created model carries: one token a byte, two special tokens, padding.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gguf_writer.h"

namespace qe {

inline constexpr std::int64_t kByteTokens = 256;  // ids 0..255 are the bytes
inline constexpr std::int64_t kBeginToken = 256;  // <|bos|>
inline constexpr std::int64_t kEndToken = 257;    // <|eos|>
inline constexpr std::int64_t kFirstPadding = 258;  // <|pad-258|> and on

// Token texts in GPT-2's spelling of bytes (the printable ones are themselves, others are moved to U+0100 and on).
std::vector<std::string> byteLevelTokens(std::int64_t vocabulary);

// Writes tokenizer.ggml.*: model gpt2, pre default. Throws std::invalid_argument for a vocabulary below 258.
void writeTokenizer(GgufWriter& writer, std::int64_t vocabulary);

}  // namespace qe
