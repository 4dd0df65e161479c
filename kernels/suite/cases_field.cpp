// Owns the cases that the field runs for grouped MMID (k = 256, 128 rows, 32 experts, 8 slots), with the types of this
// engine: 7 types x widths 2, 4, 8, 9, 16 x plain and fused = 70, + width 32 masked for two types = 72, + widths 48 and
// 64 masked = 76. `plain` is the grouped down projection by itself with K = 256 and 128 rows; `fused` is gate and up
// with K = 256 and 128 rows, SwiGLU with limit 1.5 and route weight. Every row of every route is compared, to the bit.
#include "layer.h"

namespace suite {
namespace {

constexpr std::int64_t kExperts = 32, kSlots = 8, kWide = 256, kNarrow = 128;
constexpr float kLimit = 1.5f;

// id = -1 if (t + slot) % 5 == 0, else (3 t + 5 slot) % 32.
std::int32_t fieldMask(std::int64_t t, std::int64_t slot) {
  return (t + slot) % 5 == 0 ? -1 : static_cast<std::int32_t>((3 * t + 5 * slot) % kExperts);
}

void add(Cases& cases, const std::string& group, qk::Type type, std::int64_t width, bool fused, bool masked) {
  const std::string name = std::string(qk::format(type).name) + " width " + std::to_string(width) +
                           (fused ? " fused" : " plain") + (masked ? " masked" : "");
  cases.push_back({group, name, CaseClass::exact, [=](Setup& setup) -> Run {
    // The other projections are fp32, so that only the one under test rounds its inputs.
    const ExpertTypes types = fused ? ExpertTypes{type, type, qk::Type::F32}
                                    : ExpertTypes{qk::Type::F32, qk::Type::F32, type};
    auto layer = std::make_shared<Layer>(setup, types, kExperts, fused ? kWide : kNarrow, fused ? kNarrow : kWide,
                                         kLimit);
    const Routing routing = routingBy(setup.random, width, kSlots, [&](std::int64_t t, std::int64_t slot) {
      return masked ? fieldMask(t, slot) : static_cast<std::int32_t>(setup.random.below(kExperts));
    });
    Floats x(static_cast<std::size_t>(width * layer->hidden));
    for (float& value : x) value = setup.random.uniform(-1, 1);
    const Floats rows = plainRoutes(setup.pool, qk::test::supportedIsas().front(), *layer, routing, x);
    return [=](const Machine& machine, Check& check) {
      const LayerInput input{*layer, routing, x, nullptr};
      for (const qk::MoePlan plan : {qk::MoePlan::serial, qk::MoePlan::grouped}) {
        qk::Counters counters;
        qk::Execution ex{machine.many, machine.isa, counters};
        Destination got(static_cast<std::int64_t>(rows.size()));
        routeRows(ex, plan, input, got, check);
        check.bits(plan == qk::MoePlan::serial ? "serial" : "grouped", got, rows);
        check.that((counters.of(qk::Kernel::groupedGateUp) == 1) == (plan == qk::MoePlan::grouped),
                   "the wrong plan was dispatched");
      }
    };
  }});
}

void addType(Cases& cases, const std::string& group, qk::Type type) {
  for (const std::int64_t width : {2, 4, 8, 9, 16}) {
    for (const bool fused : {false, true}) add(cases, group, type, width, fused, false);
  }
}

}  // namespace

void addFieldCases(Cases& cases) {
  using qk::Type;
  for (const Type type : {Type::ROCmFP2, Type::ROCmFP3, Type::ROCmFP4, Type::Q8_0, Type::Q4_0, Type::Q2_K, Type::MXFP4})
    addType(cases, "mmid/field", type);
  for (const std::int64_t width : {32, 48, 64}) {
    for (const Type type : {Type::ROCmFP2, Type::ROCmFP3}) add(cases, "mmid/field", type, width, width != 32, true);
  }
  addType(cases, "mmid/field-eighth-type", Type::ROCmFP4_FAST);
}

}  // namespace suite
