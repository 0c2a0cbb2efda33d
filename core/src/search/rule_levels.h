// Which rules can be decided before all choices are made, so that a broken rule removes a whole part of the space at
// once and is still counted as if every strategy had been looked at. Private to the core.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "meshwise/plan.h"

namespace meshwise {

// The choices of a strategy in the order in which the search makes them.
enum class Level : std::uint8_t {
  Block,  // tensor, context, pipeline, data
  Expert,
  Pipeline,  // schedule, virtual stages, layers of the end stages
  MicroBatch,
  ContextKind,
  SequenceParallel,
  Recompute,
  Zero,
  Placement,
};
inline constexpr std::size_t kLevelCount = 9;

// The level at which the rule of that code (allRules) can be decided.
Level levelOf(std::string_view code);

// The rules that hold for a request, by the level at which the last choice that they depend on is made.
//
// A part of the space is counted under the first rule in the order of allRules() that each of its strategies breaks.
// `broken` is the least index of a rule known to be broken, kNone = none yet; a part is settled when no rule that comes
// before `broken` is left to be decided.
class RuleLevels {
 public:
  static constexpr int kNone = 1 << 20;

  explicit RuleLevels(const Request& request);

  // The least broken rule once the choices of `level` are made, given the one known from the levels above.
  int check(Level level, const Strategy& strategy, int broken) const {
    for (const int rule : rules_[static_cast<std::size_t>(level)]) {
      if (rule >= broken) break;
      if (breaks(rule, strategy)) return rule;
    }
    return broken;
  }

  bool settled(int broken, Level level) const {
    return broken != kNone && settledAt_[static_cast<std::size_t>(broken)] <= static_cast<std::uint8_t>(level);
  }

 private:
  bool breaks(int rule, const Strategy& strategy) const;

  const Request& request_;
  std::array<std::vector<int>, kLevelCount> rules_;  // ascending
  std::vector<std::uint8_t> settledAt_;              // by rule: deepest level of the rules before it
};

}  // namespace meshwise
