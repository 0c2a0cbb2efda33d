// The search against brute force on thousands of small random problems. The problems depend on their number alone, so a
// failure names the problem and any platform can repeat it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "estimate/estimator.h"
#include "meshwise/rules.h"
#include "meshwise/search.h"
#include "search/space.h"
#include "support/random_problem.h"

namespace meshwise {
namespace {

using testing::describe;
using testing::Random;
using testing::randomRequest;

#if defined(__EMSCRIPTEN__)
constexpr std::uint64_t kProblems = 600;
#elif defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
constexpr std::uint64_t kProblems = 300;
#else
constexpr std::uint64_t kProblems = 4000;
#endif

// A random problem whose memory is often just short or just enough: the capacity is drawn around the need of one of its
// own strategies. One in eight problems has no room for anything.
Request problem(std::uint64_t number) {
  Random random(number);
  Request request = randomRequest(random);
  const Space space(request);
  if (space.size() == 0) return request;
  std::int64_t wanted = random.between(0, std::min<std::int64_t>(space.size(), 2000) - 1);
  const bool nothingFits = random.oneIn(8);
  double need = 0;
  Estimator estimator(request);
  space.forEach([&](const Strategy& strategy) {
    if (wanted < 0 && need > 0) return;
    --wanted;
    if (firstBrokenRule(request, strategy) < 0) need = estimator.estimate(strategy).memory.peakBytes;
  });
  if (need == 0) return request;
  const double share = nothingFits ? 0.001 : random.oneIn(4) ? 1.0 : 0.3 + 1.5 * random.fraction();
  request.cluster.accelerator.memoryBytes = need * share / request.limits.memoryFraction;
  return request;
}

void expectSame(const RankedPlan& found, const RankedPlan& reference) {
  EXPECT_EQ(found.strategy, reference.strategy) << describe(found.strategy) << " / " << describe(reference.strategy);
  EXPECT_EQ(found.estimate.stepSeconds, reference.estimate.stepSeconds);
  EXPECT_EQ(found.estimate.tokensPerSecondPerDevice, reference.estimate.tokensPerSecondPerDevice);
  EXPECT_EQ(found.estimate.modelFlopsUtilization, reference.estimate.modelFlopsUtilization);
  EXPECT_EQ(found.estimate.time, reference.estimate.time);
  EXPECT_EQ(found.estimate.memory.peakBytes, reference.estimate.memory.peakBytes);
  EXPECT_EQ(found.estimate.memory.peakStage, reference.estimate.memory.peakStage);
  EXPECT_EQ(found.estimate.memory.classes, reference.estimate.memory.classes);
  EXPECT_EQ(found.estimate.fits, reference.estimate.fits);
}

void expectSame(const std::vector<RankedPlan>& found, const std::vector<RankedPlan>& reference) {
  ASSERT_EQ(found.size(), reference.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    SCOPED_TRACE("plan " + std::to_string(i));
    expectSame(found[i], reference[i]);
  }
}

std::map<std::string, std::int64_t> countsOf(const SearchReport& report, bool withBounds) {
  std::map<std::string, std::int64_t> counts;
  for (const RemovedCount& removed : report.removed) {
    if (withBounds || removed.rule.rfind("search.", 0) != 0) counts[removed.rule] += removed.count;
  }
  return counts;
}

std::int64_t sumOf(const std::map<std::string, std::int64_t>& counts) {
  std::int64_t sum = 0;
  for (const auto& [rule, count] : counts) sum += count;
  return sum;
}

TEST(SearchProperty, TopPlansAndRuleCountsEqualBruteForce) {
  std::int64_t withPlans = 0;
  std::int64_t withoutRoom = 0;
  std::int64_t pruned = 0;
  for (std::uint64_t number = 0; number < kProblems; ++number) {
    SCOPED_TRACE("problem " + std::to_string(number));
    const Request request = problem(number);
    const SearchResult found = searchStrategies(request);
    const SearchResult reference = searchExhaustively(request);
    expectSame(found.plans, reference.plans);
    expectSame(found.closest, reference.closest);
    EXPECT_TRUE(found.complete);
    EXPECT_EQ(found.bestPossible, reference.bestPossible);
    EXPECT_EQ(found.report.rawSpace, reference.report.rawSpace);
    EXPECT_EQ(countsOf(found.report, false), countsOf(reference.report, false));
    EXPECT_EQ(found.report.rawSpace, found.report.evaluated + sumOf(countsOf(found.report, true)));
    EXPECT_LE(found.report.evaluated, reference.report.evaluated);
    EXPECT_LE(found.report.feasible, reference.report.feasible);
    for (std::size_t i = 1; i < found.plans.size(); ++i) {
      EXPECT_TRUE(ranksBefore(request, found.plans[i - 1], found.plans[i]));
    }
    if (!found.plans.empty()) ++withPlans;
    if (!found.closest.empty()) ++withoutRoom;
    if (found.report.evaluated < reference.report.evaluated) ++pruned;
    if (HasFailure()) return;
  }
  // The generator must reach every kind of problem, or the comparison says little.
  EXPECT_GT(withPlans, static_cast<std::int64_t>(kProblems / 3));
  EXPECT_GT(withoutRoom, static_cast<std::int64_t>(kProblems / 20));
  EXPECT_GT(pruned, static_cast<std::int64_t>(kProblems / 3));
}

TEST(SearchProperty, BoundsNeverExceedTheEstimate) {
  std::int64_t checked = 0;
  for (std::uint64_t number = 0; number < kProblems; ++number) {
    SCOPED_TRACE("problem " + std::to_string(number));
    Random random(number + 1000000);
    const Request request = randomRequest(random);
    const Space space(request);
    Estimator estimator(request);
    // Some of the strategies, so that many problems can be visited.
    const std::int64_t stride = std::max<std::int64_t>(1, space.size() / 300);
    std::int64_t index = random.between(0, stride - 1);
    space.forEach([&](const Strategy& strategy) {
      if (index++ % stride != 0 || firstBrokenRule(request, strategy) >= 0) return;
      ++checked;
      const Estimate estimate = estimator.estimate(strategy);
      EXPECT_LE(estimator.stepSecondsLowerBound(strategy), estimate.stepSeconds) << describe(strategy);
      EXPECT_LE(estimator.idealStepSeconds(), estimate.stepSeconds) << describe(strategy);
      EXPECT_GT(estimator.idealStepSeconds(), 0) << describe(strategy);
      EXPECT_LE(estimator.memoryLowerBoundBytes(strategy), estimate.memory.peakBytes) << describe(strategy);
    });
    if (HasFailure()) return;
  }
  EXPECT_GT(checked, static_cast<std::int64_t>(kProblems));
}

// The search asks for one time bound for all ZeRO stages and placements, and for one memory bound for both placements.
TEST(SearchProperty, BoundsHoldForTheChoicesThatTheyIgnore) {
  for (std::uint64_t number = 0; number < kProblems / 10; ++number) {
    SCOPED_TRACE("problem " + std::to_string(number));
    Random random(number + 2000000);
    const Request request = randomRequest(random);
    const Space space(request);
    Estimator estimator(request);
    space.forEach([&](const Strategy& strategy) {
      if (!random.oneIn(20) || firstBrokenRule(request, strategy) >= 0) return;
      Strategy other = strategy;
      other.zeroStage = static_cast<int>(random.between(0, 3));
      other.placement = Placement::PipelineBeforeData;
      EXPECT_EQ(estimator.stepSecondsLowerBound(strategy), estimator.stepSecondsLowerBound(other))
          << describe(strategy);
      other.zeroStage = strategy.zeroStage;
      EXPECT_EQ(estimator.memoryLowerBoundBytes(strategy), estimator.memoryLowerBoundBytes(other))
          << describe(strategy);
    });
    if (HasFailure()) return;
  }
}

TEST(SearchProperty, TheMemoryFloorHoldsForLargerMicroBatches) {
  std::int64_t checked = 0;
  for (std::uint64_t number = 0; number < kProblems / 4; ++number) {
    SCOPED_TRACE("problem " + std::to_string(number));
    Random random(number + 3000000);
    Request request = randomRequest(random);
    if (random.oneIn(2)) {
      request.limits.schedules = {Schedule::GPipe,        Schedule::Interleaved, Schedule::ZeroBubbleH1,
                                  Schedule::ZeroBubble2p, Schedule::ZeroBubbleV, Schedule::DualPipe};
    }
    Estimator estimator(request);
    Space(request).forEach([&](const Strategy& strategy) {
      if (!random.oneIn(50) || firstBrokenRule(request, strategy) >= 0) return;
      const double floor = estimator.memoryFloorBytes(strategy);
      Strategy larger = strategy;
      for (larger.microBatchSequences = 1; larger.microBatchSequences <= request.job.globalBatchSequences;
           ++larger.microBatchSequences) {
        if (larger.microBatchSequences < strategy.microBatchSequences || firstBrokenRule(request, larger) >= 0)
          continue;
        ++checked;
        EXPECT_LE(floor, estimator.estimate(larger).memory.peakBytes)
            << describe(strategy) << " / " << describe(larger);
      }
    });
    if (HasFailure()) return;
  }
  EXPECT_GT(checked, static_cast<std::int64_t>(kProblems));
}

}  // namespace
}  // namespace meshwise
