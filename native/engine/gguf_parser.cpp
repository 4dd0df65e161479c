#include "gguf_parser.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>

#include "byte_cursor.h"
#include "gguf_format.h"

namespace qe {
namespace {

// What a file that is no GGUF v3 is instead, as far as its first bytes tell.
std::string foreignKind(const MappedFile& file) {
  const auto* bytes = reinterpret_cast<const char*>(file.data());
  const std::string magic(bytes, std::min<std::uint64_t>(file.size(), 4));
  for (const char* legacy : {"lmgg", "fmgg", "tjgg", "algg"}) {
    if (magic == legacy) return "is a GGML file of before GGUF; convert it with llama.cpp's tools";
  }
  if (file.size() > 8 && bytes[8] == '{') return "is a safetensors file; convert it to GGUF with llama.cpp's tools";
  if (magic.rfind("PK", 0) == 0) return "is a zip archive (PyTorch checkpoint?); convert it to GGUF";
  return "does not start with 'GGUF', so it is not a model file";
}

void parseMagicAndVersion(const MappedFile& file, ByteCursor& cursor) {
  if (file.size() < 4 || std::memcmp(file.data(), "GGUF", 4) != 0) cursor.fail(foreignKind(file));
  cursor.number<std::uint32_t>();
  cursor.reading("GGUF version");
  const auto version = cursor.number<std::uint32_t>();
  if (version == kGgufVersion) return;
  if ((version & 0xffffu) == 0) cursor.fail("the file is big-endian; this engine reads little-endian GGUF v3");
  if (version < kGgufVersion) {
    cursor.fail("the file is GGUF v" + std::to_string(version) + "; rewrite it as v3 with llama.cpp's gguf tools");
  }
  cursor.fail("the file is GGUF v" + std::to_string(version) + ", which is newer than this engine (v3)");
}

Scalar parseScalar(ByteCursor& cursor, GgufType type) {
  switch (type) {
    case GgufType::uint8: return std::int64_t{cursor.number<std::uint8_t>()};
    case GgufType::int8: return std::int64_t{cursor.number<std::int8_t>()};
    case GgufType::uint16: return std::int64_t{cursor.number<std::uint16_t>()};
    case GgufType::int16: return std::int64_t{cursor.number<std::int16_t>()};
    case GgufType::uint32: return std::int64_t{cursor.number<std::uint32_t>()};
    case GgufType::int32: return std::int64_t{cursor.number<std::int32_t>()};
    case GgufType::int64: return cursor.number<std::int64_t>();
    case GgufType::float32: return double{cursor.number<float>()};
    case GgufType::float64: return cursor.number<double>();
    case GgufType::string: return cursor.text();
    case GgufType::uint64: {
      const auto value = cursor.number<std::uint64_t>();
      if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        cursor.fail("the value " + std::to_string(value) + " is above 2^63 - 1, which this engine does not read");
      }
      return static_cast<std::int64_t>(value);
    }
    case GgufType::boolean: {
      const auto value = cursor.number<std::uint8_t>();
      if (value > 1) cursor.fail("a boolean is " + std::to_string(value) + " where 0 or 1 is wanted; corrupt file");
      return value == 1;
    }
    case GgufType::array: break;
  }
  cursor.fail("value type " + std::to_string(static_cast<std::uint32_t>(type)) +
              " is not one that can stand here (types are 0 to 12, arrays are not nested); corrupt file");
}

MetadataEntry parseMetadataEntry(ByteCursor& cursor, std::uint64_t index) {
  MetadataEntry entry;
  entry.offsetBytes = cursor.offset();
  cursor.reading("key of metadata entry " + std::to_string(index));
  entry.key = cursor.text();
  if (entry.key.empty()) cursor.fail("is empty; corrupt file");
  cursor.reading("metadata '" + entry.key + "'");
  auto type = static_cast<GgufType>(cursor.number<std::uint32_t>());
  std::uint64_t count = 1;
  if (type == GgufType::array) {
    entry.isArray = true;
    type = static_cast<GgufType>(cursor.number<std::uint32_t>());
    count = cursor.number<std::uint64_t>();
    // Every element takes a byte at least, so a count above that is a lie; the elements themselves check the rest.
    if (count > cursor.remaining()) {
      cursor.fail("claims " + std::to_string(count) + " elements but only " + std::to_string(cursor.remaining()) +
                  " bytes remain; truncated or corrupt file");
    }
  }
  for (std::uint64_t i = 0; i < count; ++i) entry.values.push_back(parseScalar(cursor, type));
  entry.sizeBytes = cursor.offset() - entry.offsetBytes;
  return entry;
}

std::uint64_t parseAlignment(const std::vector<MetadataEntry>& metadata, ByteCursor& cursor) {
  for (const MetadataEntry& entry : metadata) {
    if (entry.key != "general.alignment") continue;
    cursor.reading("metadata 'general.alignment'");
    const auto* value = entry.isArray ? nullptr : std::get_if<std::int64_t>(&entry.values.front());
    if (value == nullptr || *value < 8 || *value > (1 << 20) || (*value & (*value - 1)) != 0) {
      cursor.fail("is not a power of two from 8 to 1048576; corrupt file");
    }
    return static_cast<std::uint64_t>(*value);
  }
  return kGgufDefaultAlignment;
}

// Bytes of a tensor, from its dimensions alone.
std::uint64_t tensorBytes(const Tensor& tensor, ByteCursor& cursor) {
  const qk::Format& format = qk::format(tensor.type);
  if (tensor.dims.front() % format.weights != 0) {
    cursor.fail("rows of " + std::to_string(tensor.dims.front()) + " values do not fill whole " +
                std::string(format.name) + " blocks of " + std::to_string(format.weights) + "; corrupt file");
  }
  std::uint64_t blocks = static_cast<std::uint64_t>(tensor.dims.front() / format.weights);
  std::uint64_t bytes = 0;
  bool overflow = false;
  for (std::size_t i = 1; i < tensor.dims.size(); ++i) {
    overflow = overflow || __builtin_mul_overflow(blocks, static_cast<std::uint64_t>(tensor.dims[i]), &blocks);
  }
  overflow = overflow || __builtin_mul_overflow(blocks, static_cast<std::uint64_t>(format.bytes), &bytes);
  // No format has more than 3.2 values a byte, so the count of values fits whenever this does.
  if (overflow || bytes > std::numeric_limits<std::uint64_t>::max() / 64) {
    cursor.fail("dimensions " + tensor.shape() + " are larger than any file; corrupt file");
  }
  return bytes;
}

// offsetBytes is left relative to the start of the data section, which is not known yet.
Tensor parseTensor(ByteCursor& cursor, std::uint64_t index) {
  Tensor tensor;
  cursor.reading("name of tensor " + std::to_string(index));
  tensor.name = cursor.text();
  if (tensor.name.empty()) cursor.fail("is empty; corrupt file");
  cursor.reading("tensor '" + tensor.name + "'");
  const auto dimCount = cursor.number<std::uint32_t>();
  if (dimCount == 0 || dimCount > kGgufMaxDims) {
    cursor.fail("has " + std::to_string(dimCount) + " dimensions where 1 to 4 are possible; corrupt file");
  }
  for (std::uint32_t i = 0; i < dimCount; ++i) {
    const auto dim = cursor.number<std::uint64_t>();
    if (dim == 0 || dim > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      cursor.fail("dimension " + std::to_string(i) + " is " + std::to_string(dim) + "; corrupt file");
    }
    tensor.dims.push_back(static_cast<std::int64_t>(dim));
  }
  const auto type = cursor.number<std::uint32_t>();
  if (qk::findFormat(type) == nullptr) {
    cursor.fail("has type id " + std::to_string(type) +
                ", which this engine does not read; it reads " + qk::formatNames());
  }
  tensor.type = static_cast<qk::Type>(type);
  tensor.sizeBytes = tensorBytes(tensor, cursor);
  tensor.offsetBytes = cursor.number<std::uint64_t>();
  return tensor;
}

// Turns relative offsets into checked pointers into the mapping.
void placeTensors(const MappedFile& file, ByteCursor& cursor, GgufHeader& header) {
  const std::uint64_t available = header.dataOffsetBytes > file.size() ? 0 : file.size() - header.dataOffsetBytes;
  std::vector<const Tensor*> byOffset;
  for (Tensor& tensor : header.tensors) {
    cursor.reading("tensor '" + tensor.name + "'");
    if (tensor.offsetBytes % header.alignment != 0) {
      cursor.fail("starts at data offset " + std::to_string(tensor.offsetBytes) + ", which is not a multiple of " +
                  std::to_string(header.alignment) + "; corrupt file");
    }
    if (tensor.offsetBytes > available || tensor.sizeBytes > available - tensor.offsetBytes) {
      cursor.fail("takes " + std::to_string(tensor.sizeBytes) + " bytes from data offset " +
                  std::to_string(tensor.offsetBytes) + ", beyond the end of the file (" + std::to_string(available) +
                  " bytes of data); it is truncated, fetch or create it again");
    }
    tensor.offsetBytes += header.dataOffsetBytes;
    tensor.data = file.data() + tensor.offsetBytes;
    byOffset.push_back(&tensor);
  }
  std::sort(byOffset.begin(), byOffset.end(),
            [](const Tensor* left, const Tensor* right) { return left->offsetBytes < right->offsetBytes; });
  for (std::size_t i = 1; i < byOffset.size(); ++i) {
    if (byOffset[i - 1]->offsetBytes + byOffset[i - 1]->sizeBytes > byOffset[i]->offsetBytes) {
      cursor.reading("tensor '" + byOffset[i]->name + "'");
      cursor.fail("overlaps tensor '" + byOffset[i - 1]->name + "'; corrupt file");
    }
  }
}

}  // namespace

GgufHeader parseGguf(const MappedFile& file) {
  ByteCursor cursor(file);
  parseMagicAndVersion(file, cursor);
  GgufHeader header;
  cursor.reading("tensor count");
  const auto tensorCount = cursor.number<std::uint64_t>();
  cursor.reading("metadata count");
  const auto metadataCount = cursor.number<std::uint64_t>();

  std::unordered_set<std::string> seen;
  for (std::uint64_t i = 0; i < metadataCount; ++i) {
    header.metadata.push_back(parseMetadataEntry(cursor, i));
    if (!seen.insert(header.metadata.back().key).second) cursor.fail("appears twice; corrupt file");
  }
  header.alignment = parseAlignment(header.metadata, cursor);

  seen.clear();
  for (std::uint64_t i = 0; i < tensorCount; ++i) {
    header.tensors.push_back(parseTensor(cursor, i));
    if (!seen.insert(header.tensors.back().name).second) cursor.fail("appears twice; corrupt file");
  }
  header.dataOffsetBytes = alignUp(cursor.offset(), header.alignment);
  placeTensors(file, cursor, header);
  return header;
}

}  // namespace qe
