#include <algorithm>
#include <string>
#include <vector>

#include "estimate/estimator.h"
#include "meshwise/rules.h"
#include "meshwise/search.h"
#include "search/ranking.h"
#include "search/space.h"

namespace meshwise {
namespace {

// The first `count` of the plans in the given order.
std::vector<RankedPlan> firstOf(std::vector<ScoredStrategy> scored, Order order, std::int64_t count,
                                Estimator& estimator) {
  std::sort(scored.begin(), scored.end(), order);
  std::vector<RankedPlan> plans;
  for (const ScoredStrategy& plan : scored) {
    if (static_cast<std::int64_t>(plans.size()) >= count) break;
    plans.push_back({plan.strategy, estimator.estimate(plan.strategy)});
  }
  return plans;
}

}  // namespace

SearchResult searchExhaustively(const Request& request) {
  const Space space(request);
  Estimator estimator(request);
  std::vector<std::int64_t> removed(allRules().size(), 0);
  std::vector<ScoredStrategy> fitting;
  std::vector<ScoredStrategy> tooLarge;
  SearchResult result;
  space.forEach([&](const Strategy& strategy) {
    ++result.report.rawSpace;
    const int broken = firstBrokenRule(request, strategy);
    if (broken >= 0) {
      ++removed[static_cast<std::size_t>(broken)];
      return;
    }
    ++result.report.evaluated;
    const Estimate estimate = estimator.estimate(strategy);
    (estimate.fits ? fitting : tooLarge).push_back({estimate.stepSeconds, estimate.memory.peakBytes, strategy});
  });
  for (std::size_t rule = 0; rule < removed.size(); ++rule) {
    if (removed[rule] == 0) continue;
    result.report.removed.push_back(
        {std::string(allRules()[rule].code), std::string(allRules()[rule].text), removed[rule]});
  }
  result.report.feasible = static_cast<std::int64_t>(fitting.size());
  if (fitting.empty()) result.closest = firstOf(std::move(tooLarge), smallerThan, request.top, estimator);
  result.plans = firstOf(std::move(fitting), fasterThan, request.top, estimator);
  result.complete = true;
  if (!result.plans.empty()) result.bestPossible = objectiveValue(request, result.plans.front().estimate.stepSeconds);
  return result;
}

}  // namespace meshwise
