#include "search/rule_levels.h"

#include <algorithm>

#include "meshwise/rules.h"

namespace meshwise {
namespace {

// A rule that is not known here is asked last, when every choice is made: slower, never wrong.
Level levelOf(const Rule&) { return Level::Placement; }

}  // namespace

RuleLevels::RuleLevels(const Request& request) : request_(request) {
  std::uint8_t deepest = 0;
  for (std::size_t rule = 0; rule < allRules().size(); ++rule) {
    const Level level = levelOf(allRules()[rule]);
    settledAt_.push_back(deepest);
    rules_[static_cast<std::size_t>(level)].push_back(static_cast<int>(rule));
    deepest = std::max(deepest, static_cast<std::uint8_t>(level));
  }
}

bool RuleLevels::breaks(int rule, const Strategy& strategy) const { return breaksRule(request_, strategy, rule); }

}  // namespace meshwise
