// Owns the list of all cases.
#include "case.h"

namespace suite {

Floats Random::normals(std::int64_t n, float sigma) {
  Floats values(static_cast<std::size_t>(n));
  for (float& value : values) value = sigma * normal();
  return values;
}

Doubles doubles(std::span<const float> values) { return Doubles(values.begin(), values.end()); }

Cases allCases(bool thorough) {
  Cases cases;
  addFieldCases(cases);
  addExpertCases(cases, thorough);
  addOwnerCases(cases);
  addMatmulCases(cases, thorough);
  addRouteCases(cases, thorough);
  addAttentionCases(cases, thorough);
  addIndexerCases(cases, thorough);
  addHyperCases(cases, thorough);
  addElementCases(cases, thorough);
  return cases;
}

}  // namespace suite
