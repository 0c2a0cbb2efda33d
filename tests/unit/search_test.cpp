#include "meshwise/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "meshwise/rules.h"
#include "search/ranking.h"
#include "search/rule_levels.h"
#include "search/space.h"
#include "support/random_problem.h"

namespace meshwise {
namespace {

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

// A dense model on few A100-like devices; small enough to count by hand.
Request tinyRequest(std::int64_t devices, std::int64_t layers, std::int64_t batch) {
  Request request;
  Model& model = request.model;
  model.layers = layers;
  model.hidden = 1024;
  model.heads = 8;
  model.kvHeads = 8;
  model.headDim = 128;
  model.ffn = 4096;
  model.vocab = 32000;
  Accelerator& chip = request.cluster.accelerator;
  chip.matrixFlopsPerSecond = {19.5e12, 156e12, 312e12, 312e12, 0, 0};
  chip.vectorFlopsPerSecond = 19.5e12;
  chip.memoryBytes = 80e9;
  chip.memoryBytesPerSecond = 2e12;
  chip.computeUnits = 108;
  chip.scaleUpBytesPerSecond = 300e9;
  chip.hostBytesPerSecond = 32e9;
  request.cluster.devices = devices;
  request.cluster.networkBytesPerSecondPerDevice = 25e9;
  request.job.sequenceLength = 1024;
  request.job.globalBatchSequences = batch;
  request.software.launcher = Launcher::None;
  return request;
}

std::vector<Strategy> strategiesOf(const Space& space) {
  std::vector<Strategy> strategies;
  space.forEach([&](const Strategy& strategy) { strategies.push_back(strategy); });
  std::sort(strategies.begin(), strategies.end(), precedes);
  return strategies;
}

std::map<std::string, std::int64_t> removedBy(const SearchReport& report) {
  std::map<std::string, std::int64_t> counts;
  for (const RemovedCount& removed : report.removed) counts[removed.rule] += removed.count;
  return counts;
}

std::int64_t removedIn(const SearchReport& report) {
  std::int64_t sum = 0;
  for (const RemovedCount& removed : report.removed) sum += removed.count;
  return sum;
}

void expectSameAnswer(const SearchResult& a, const SearchResult& b) {
  ASSERT_EQ(a.plans.size(), b.plans.size());
  for (std::size_t i = 0; i < a.plans.size(); ++i) {
    EXPECT_EQ(a.plans[i].strategy, b.plans[i].strategy);
    EXPECT_EQ(a.plans[i].estimate.stepSeconds, b.plans[i].estimate.stepSeconds);
  }
  EXPECT_EQ(removedBy(a.report), removedBy(b.report));
  EXPECT_EQ(a.report.evaluated, b.report.evaluated);
  EXPECT_EQ(a.report.feasible, b.report.feasible);
  EXPECT_EQ(a.bestPossible, b.bestPossible);
}

TEST(Divisors, AreAscendingAndComplete) {
  EXPECT_EQ(divisorsOf(1), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(divisorsOf(12), (std::vector<std::int64_t>{1, 2, 3, 4, 6, 12}));
  EXPECT_EQ(divisorsOf(49), (std::vector<std::int64_t>{1, 7, 49}));
  EXPECT_EQ(divisorsOf(1000003), (std::vector<std::int64_t>{1, 1000003}));
}

// 4 devices, 2 layers, batch 4: 10 ways to write 4 = tensor * context * pipeline * data. Choices of a block:
// micro-batches (divisors of 4 / data: 3, 2, 1) x kinds of context parallelism (2 when context > 1) x sequence
// parallelism (2 when tensor > 1) x 3 recomputations x ZeRO (4 unless data * context = 1) x placements (2 when pipeline
// and data > 1). Two stages hold 1 layer each and 4 stages at most 1, so that nothing can be interleaved.
TEST(SearchSpace, HasTheSizeCountedByHand) {
  const std::int64_t blocks[] = {
      3 * 1 * 2 * 3 * 1 * 1,  // tensor 4
      3 * 2 * 1 * 3 * 4 * 1,  // context 4
      3 * 1 * 1 * 3 * 1 * 1,  // pipeline 4
      1 * 1 * 1 * 3 * 4 * 1,  // data 4
      3 * 2 * 2 * 3 * 4 * 1,  // tensor 2, context 2
      3 * 1 * 2 * 3 * 1 * 1,  // tensor 2, pipeline 2
      2 * 1 * 2 * 3 * 4 * 1,  // tensor 2, data 2
      3 * 2 * 1 * 3 * 4 * 1,  // context 2, pipeline 2
      2 * 2 * 1 * 3 * 4 * 1,  // context 2, data 2
      2 * 1 * 1 * 3 * 4 * 2,  // pipeline 2, data 2
  };
  std::int64_t sum = 0;
  for (const std::int64_t block : blocks) sum += block;
  EXPECT_EQ(sum, 489);
  const Space space(tinyRequest(4, 2, 4));
  EXPECT_EQ(space.blocks().size(), 10u);
  EXPECT_EQ(space.size(), 489);
  EXPECT_EQ(static_cast<std::int64_t>(strategiesOf(space).size()), 489);
}

// The same space from plain loops over all numbers, without any of the tables.
std::vector<Strategy> plainSpace(const Request& request) {
  const std::int64_t devices = request.cluster.devices;
  const std::int64_t batch = request.job.globalBatchSequences;
  const std::int64_t layers = request.model.layers;
  const bool moe = request.model.isMoe();
  const auto splits = [&](std::int64_t stages, std::int64_t* middle) {
    *middle = 1;
    while (*middle * stages < layers) ++*middle;
    std::vector<std::pair<std::int64_t, std::int64_t>> ends = {{-1, -1}};
    const std::int64_t missing = *middle * stages - layers;
    for (std::int64_t first = 0; first <= missing && missing > 0; ++first) {
      const std::int64_t last = missing - first;
      if (std::abs(first - last) <= 1 && *middle - std::max(first, last) >= 1) {
        ends.push_back({*middle - first, *middle - last});
      }
    }
    return ends;
  };
  std::vector<Strategy> all;
  Strategy s;
  for (s.tensor = 1; s.tensor <= devices; ++s.tensor) {
    for (s.context = 1; s.context <= devices; ++s.context) {
      for (s.pipeline = 1; s.pipeline <= devices; ++s.pipeline) {
        for (s.data = 1; s.data <= devices; ++s.data) {
          if (s.tensor * s.context * s.pipeline * s.data != devices) continue;
          for (s.expert = 1; s.expert <= std::max<std::int64_t>(1, request.model.moe.experts); ++s.expert) {
            if (moe && request.model.moe.experts % s.expert != 0) continue;
            for (s.expertTensor = 1; s.expertTensor <= (moe ? s.tensor : 1); ++s.expertTensor) {
              if (s.tensor % s.expertTensor != 0) continue;
              std::int64_t middle = 1;
              for (const auto& [first, last] : splits(s.pipeline, &middle)) {
                s.firstStageLayers = first;
                s.lastStageLayers = last;
                for (s.virtualStages = 1; s.virtualStages <= middle; ++s.virtualStages) {
                  if (middle % s.virtualStages != 0 || (s.pipeline == 1 && s.virtualStages > 1)) continue;
                  s.schedule = s.virtualStages > 1 ? Schedule::Interleaved : Schedule::OneForwardOneBackward;
                  for (s.microBatchSequences = 1; s.microBatchSequences <= batch; ++s.microBatchSequences) {
                    const bool divides = batch % s.data == 0;
                    if (divides ? batch / s.data % s.microBatchSequences != 0 : s.microBatchSequences > 1) continue;
                    for (int bits = 0; bits < 8; ++bits) {
                      s.sequenceParallel = (bits & 1) != 0;
                      s.contextKind = (bits & 2) != 0 ? ContextKind::AllToAll : ContextKind::Ring;
                      s.placement = (bits & 4) != 0 ? Placement::PipelineBeforeData : Placement::DataBeforePipeline;
                      if (s.sequenceParallel && s.tensor == 1) continue;
                      if (s.contextKind == ContextKind::AllToAll && s.context == 1) continue;
                      if (s.placement == Placement::PipelineBeforeData && (s.pipeline == 1 || s.data == 1)) continue;
                      for (s.zeroStage = 0; s.zeroStage <= (s.data * s.context > 1 || moe ? 3 : 0); ++s.zeroStage) {
                        for (const Recompute recompute : {Recompute::None, Recompute::Selective, Recompute::Full}) {
                          s.recompute = recompute;
                          s.recomputeModules.coreAttention = recompute == Recompute::Selective;
                          all.push_back(s);
                        }
                      }
                    }
                  }
                }
              }
            }
          }
        }
      }
    }
  }
  std::sort(all.begin(), all.end(), precedes);
  return all;
}

TEST(SearchSpace, EqualsPlainLoopsOverAllNumbers) {
  for (const std::int64_t devices : {1, 2, 6, 8, 9, 30}) {
    for (const std::int64_t layers : {1, 5, 12}) {
      if (devices == 30 && layers != 5) continue;  // large
      SCOPED_TRACE(std::to_string(devices) + " devices, " + std::to_string(layers) + " layers");
      Request request = tinyRequest(devices, layers, 12);
      EXPECT_EQ(strategiesOf(Space(request)), plainSpace(request));
      request.model.moe.experts = 6;
      request.model.moe.topK = 2;
      request.model.moe.expertFfn = 512;
      if (devices < 30) {
        EXPECT_EQ(strategiesOf(Space(request)), plainSpace(request));
      }
    }
  }
}

TEST(SearchSpace, HasNoStrategyTwice) {
  const std::vector<Strategy> strategies = strategiesOf(Space(tinyRequest(24, 6, 24)));
  for (std::size_t i = 1; i < strategies.size(); ++i) {
    EXPECT_TRUE(precedes(strategies[i - 1], strategies[i]));
  }
}

TEST(SearchSpace, OffersTheLayersOfLlama405bOn16Stages) {
  // 126 layers on 16 stages: the first and the last stage have one layer less (arXiv 2407.21783, section 3.3.2).
  Request request = tinyRequest(16, 126, 16);
  request.limits.pipeline = {16, 16};
  bool found = false;
  Space(request).forEach([&](const Strategy& strategy) {
    found = found || (strategy.firstStageLayers == 7 && strategy.lastStageLayers == 7);
  });
  EXPECT_TRUE(found);
}

TEST(SearchSpace, KeepsToTheLimits) {
  Request request = tinyRequest(64, 12, 64);
  request.limits.tensor = {2, 8};
  request.limits.pipeline = {0, 4};
  request.limits.data = {2, 0};
  request.limits.context = {1, 1};
  request.limits.virtualStages = {3, 3};
  request.limits.microBatchSequences = {1, 2};
  request.limits.zeroStages = {3, 1};
  request.limits.recompute = {Recompute::Full};
  request.limits.schedules = {Schedule::GPipe, Schedule::Interleaved};
  std::int64_t count = 0;
  Space(request).forEach([&](const Strategy& s) {
    ++count;
    EXPECT_TRUE(s.tensor >= 2 && s.tensor <= 8);
    EXPECT_LE(s.pipeline, 4);
    EXPECT_GE(s.data, 2);
    EXPECT_EQ(s.context, 1);
    EXPECT_EQ(s.virtualStages, 3);
    EXPECT_LE(s.microBatchSequences, 2);
    EXPECT_TRUE(s.zeroStage == 1 || s.zeroStage == 3);
    EXPECT_EQ(s.recompute, Recompute::Full);
    EXPECT_EQ(s.schedule, Schedule::Interleaved);
  });
  // tensor 2, 4, 8 x pipeline 2, 4 (one stage has no virtual stages), data = 64 / both; 12 / pipeline layers in 3
  // chunks; 2 micro-batches (every data degree leaves an even rest), sequence parallelism, ZeRO and placement twice.
  // data = 64 / 2 / 2 = 16 down to 64 / 8 / 4 = 2: batch / data = 4 .. 32.
  EXPECT_EQ(count, 3 * 2 * 2 * 2 * 2 * 2);
}

TEST(SearchSpace, IsEmptyWhenAPinDividesNothing) {
  Request request = tinyRequest(8, 4, 8);
  request.limits.tensor = {3, 3};
  EXPECT_EQ(Space(request).size(), 0);
  const SearchResult result = searchStrategies(request);
  EXPECT_TRUE(result.complete);
  EXPECT_TRUE(result.plans.empty());
  EXPECT_TRUE(result.closest.empty());
  EXPECT_EQ(result.report.rawSpace, 0);
  Search search(request);
  search.step(kAll);
  EXPECT_EQ(search.progress(), 1.0);
}

// Do the strategies agree in all choices that are made down to the level?
bool sameDownTo(Level level, const Strategy& a, const Strategy& b) {
  bool same = a.tensor == b.tensor && a.context == b.context && a.pipeline == b.pipeline && a.data == b.data;
  if (level >= Level::Expert) same = same && a.expert == b.expert && a.expertTensor == b.expertTensor;
  if (level >= Level::Pipeline) {
    same = same && a.schedule == b.schedule && a.virtualStages == b.virtualStages &&
           a.firstStageLayers == b.firstStageLayers && a.lastStageLayers == b.lastStageLayers;
  }
  if (level >= Level::MicroBatch) same = same && a.microBatchSequences == b.microBatchSequences;
  if (level >= Level::ContextKind) same = same && a.contextKind == b.contextKind;
  if (level >= Level::SequenceParallel) same = same && a.sequenceParallel == b.sequenceParallel;
  if (level >= Level::Recompute) same = same && a.recompute == b.recompute;
  if (level >= Level::Zero) same = same && a.zeroStage == b.zeroStage;
  if (level >= Level::Placement) same = same && a.placement == b.placement;
  return same;
}

TEST(RuleLevels, NoRuleReadsAChoiceBelowItsLevel) {
  std::vector<std::int64_t> broken(allRules().size(), 0);
  for (std::uint64_t number = 0; number < 250; ++number) {
    testing::Random random(number);
    Request request = testing::randomRequest(random);
    request.software.launcher = random.pick({Launcher::None, Launcher::MegatronLm, Launcher::Torchtitan,
                                             Launcher::DeepSpeed, Launcher::MindSpeed, Launcher::Nanotron,
                                             Launcher::ColossalAi, Launcher::LlmFoundry, Launcher::InternEvo});
    request.limits.launcherRules = true;
    if (random.oneIn(2)) {
      request.limits.schedules = {Schedule::GPipe, Schedule::Interleaved, Schedule::ZeroBubbleH1, Schedule::ZeroBubbleV,
                                  Schedule::DualPipe};
    }
    if (Space(request).size() > 20000) continue;
    for (std::size_t rule = 0; rule < allRules().size(); ++rule) {
      if (!ruleApplies(request, allRules()[rule])) continue;
      const Level level = levelOf(allRules()[rule].code);
      // The space is in the order of the levels: strategies that agree down to one follow each other.
      Strategy before;
      bool verdictBefore = false;
      Space(request).forEach([&](const Strategy& strategy) {
        const bool verdict = breaksRule(request, strategy, static_cast<int>(rule));
        if (sameDownTo(level, before, strategy)) {
          EXPECT_EQ(verdict, verdictBefore)
              << allRules()[rule].code << ": " << testing::describe(before) << " / " << testing::describe(strategy);
        }
        if (verdict) ++broken[rule];
        before = strategy;
        verdictBefore = verdict;
      });
      if (HasFailure()) return;
    }
  }
  // Most rules must have been broken somewhere, or agreeing says little.
  EXPECT_GT(std::count_if(broken.begin(), broken.end(), [](std::int64_t n) { return n > 0; }), 25);
}

TEST(RuleLevels, EveryRuleHasOne) {
  // A rule that reads the placement would be right at Level::Placement; so far there is none.
  for (const Rule& rule : allRules()) EXPECT_LT(levelOf(rule.code), Level::Placement) << rule.code;
}

// 4 devices, batch 6, 2 layers, 2 heads; blocks as in HasTheSizeCountedByHand, with 4, 2 and (data 4 does not divide) 1
// micro-batches: tensor 4: 24, context 4: 96, pipeline 4: 12, data 4: 12, tensor 2 x context 2: 192, tensor 2 x
// pipeline 2: 24, tensor 2 x data 2: 48, context 2 x pipeline 2: 96, context 2 x data 2: 48, pipeline 2 x data 2: 48.
TEST(SearchCounts, AreThoseCountedByHand) {
  Request request = tinyRequest(4, 2, 6);
  request.model.heads = request.model.kvHeads = 2;
  request.model.headDim = 512;
  SearchReport report = searchStrategies(request).report;
  EXPECT_EQ(report.rawSpace, 600);
  std::map<std::string, std::int64_t> counts = removedBy(report);
  EXPECT_EQ(counts["strategy.globalBatch"], 12);     // data 4
  EXPECT_EQ(counts["strategy.headsTensor"], 24);     // tensor 4
  EXPECT_EQ(counts["strategy.pipelineLayers"], 12);  // pipeline 4
  // All-to-all over context 4 (half of 96), and with tensor 2 over context 2 (half of 192), has too few heads.
  EXPECT_EQ(counts["strategy.contextHeads"], 48 + 96);
  EXPECT_EQ(report.rawSpace, report.evaluated + removedIn(report));

  // Megatron-LM has no FSDP with pipelines: half of what is there where ZeRO is a choice of 0 to 3.
  request.software.launcher = Launcher::MegatronLm;
  report = searchStrategies(request).report;
  counts = removedBy(report);
  EXPECT_EQ(counts["strategy.contextHeads"], 48 + 96);
  EXPECT_EQ(counts["megatron.fsdp"], (96 + 48) / 2);
  EXPECT_EQ(report.rawSpace, report.evaluated + removedIn(report));
}

TEST(SearchCounts, TheMemoryBoundCountsEveryLegalStrategyThatCannotFit) {
  Request request = tinyRequest(8, 4, 16);
  request.cluster.accelerator.memoryBytes = 3.5e9;
  const SearchResult found = searchStrategies(request);
  SearchResult all = searchExhaustively(request);
  ASSERT_FALSE(found.plans.empty());
  // The bound is the need itself, so that what it leaves all fits.
  EXPECT_EQ(removedBy(found.report)["search.memoryBound"], all.report.evaluated - all.report.feasible);
  EXPECT_GT(removedBy(found.report)["search.memoryBound"], 0);
  EXPECT_EQ(found.report.feasible, found.report.evaluated);
}

TEST(BestPlans, KeepsTheBestInOrder) {
  BestPlans best(3, fasterThan);
  for (const double seconds : {5.0, 3.0, 4.0, 1.0, 2.0, 6.0}) best.offer({seconds, 0, {}});
  ASSERT_EQ(best.sorted().size(), 3u);
  EXPECT_EQ(best.worst().stepSeconds, 3.0);
  EXPECT_EQ(best.best().stepSeconds, 1.0);
  EXPECT_EQ(best.sorted()[1].stepSeconds, 2.0);
  BestPlans none(0, fasterThan);
  none.offer({1.0, 0, {}});
  EXPECT_TRUE(none.sorted().empty());
}

TEST(RankingOrder, DecidesTiesByMemoryThenByTheChoices) {
  const Request request = tinyRequest(1, 1, 1);
  RankedPlan a;
  a.estimate.stepSeconds = 1;
  a.estimate.memory.peakBytes = 10;
  RankedPlan b = a;
  EXPECT_FALSE(ranksBefore(request, a, b));
  EXPECT_FALSE(ranksBefore(request, b, a));
  b.strategy.placement = Placement::PipelineBeforeData;
  EXPECT_TRUE(ranksBefore(request, a, b));
  a.strategy.tensor = 2;  // the degrees come before the placement
  EXPECT_TRUE(ranksBefore(request, b, a));
  b.estimate.memory.peakBytes = 11;
  EXPECT_TRUE(ranksBefore(request, a, b));
  b.estimate.stepSeconds = 0.5;
  EXPECT_TRUE(ranksBefore(request, b, a));
}

TEST(SearchSteps, SlicesChangeNothing) {
  const Request request = tinyRequest(16, 6, 24);
  const SearchResult whole = searchStrategies(request);
  ASSERT_FALSE(whole.plans.empty());
  for (const std::int64_t budget : {1, 7, 1000}) {
    Search search(request);
    double progress = search.progress();
    double bound = 0;
    int steps = 0;
    while (!search.step(budget)) {
      ++steps;
      EXPECT_GE(search.progress(), progress);
      EXPECT_LE(search.progress(), 1.0);
      progress = search.progress();
      const SearchResult soFar = search.result();
      EXPECT_GE(soFar.bestPossible, bound);
      EXPECT_LE(soFar.bestPossible, whole.plans.front().estimate.stepSeconds);
      EXPECT_LE(soFar.report.evaluated + removedIn(soFar.report), soFar.report.rawSpace);
      bound = soFar.bestPossible;
    }
    EXPECT_GT(steps, 1);
    EXPECT_EQ(search.progress(), 1.0);
    EXPECT_TRUE(search.step(budget));
    expectSameAnswer(search.result(), whole);
    EXPECT_TRUE(search.result().complete);
  }
}

TEST(SearchSteps, StoppedEarlyItHasPlansAndAnHonestBound) {
  const Request request = tinyRequest(32, 12, 96);
  Search search(request);
  EXPECT_FALSE(search.step(200));
  const SearchResult stopped = search.result();
  const SearchResult whole = searchStrategies(request);
  EXPECT_FALSE(stopped.complete);
  EXPECT_FALSE(stopped.plans.empty());
  EXPECT_LE(stopped.bestPossible, whole.plans.front().estimate.stepSeconds);
  EXPECT_GT(stopped.bestPossible, 0.1 * whole.plans.front().estimate.stepSeconds);
  EXPECT_GE(stopped.plans.front().estimate.stepSeconds, whole.plans.front().estimate.stepSeconds);
}

TEST(SearchSteps, MovedSearchGoesOn) {
  const Request request = tinyRequest(8, 4, 8);
  Search search(request);
  search.step(5);
  Search moved = std::move(search);
  moved.step(kAll);
  expectSameAnswer(moved.result(), searchStrategies(request));
}

TEST(Search, AnswersTheSameTwice) {
  const Request request = tinyRequest(16, 8, 32);
  expectSameAnswer(searchStrategies(request), searchStrategies(request));
}

TEST(Search, OneDeviceHasItsFewPlans) {
  // Micro-batch 1, 2 or 4 times three recomputations.
  const SearchResult result = searchStrategies(tinyRequest(1, 2, 4));
  EXPECT_EQ(result.report.rawSpace, 9);
  ASSERT_FALSE(result.plans.empty());
  EXPECT_EQ(result.plans.front().strategy.recompute, Recompute::None);
}

TEST(Search, AnswersNothingWhenNothingIsAsked) {
  Request request = tinyRequest(4, 2, 4);
  request.top = 0;
  const SearchResult result = searchStrategies(request);
  EXPECT_TRUE(result.plans.empty());
  EXPECT_EQ(result.report.rawSpace, result.report.evaluated + removedIn(result.report));
}

TEST(Search, NamesTheClosestPlansWhenNothingFits) {
  Request request = tinyRequest(4, 2, 4);
  request.cluster.accelerator.memoryBytes = 1e6;
  const SearchResult result = searchStrategies(request);
  EXPECT_TRUE(result.complete);
  EXPECT_TRUE(result.plans.empty());
  EXPECT_EQ(result.report.feasible, 0);
  EXPECT_EQ(result.bestPossible, 0);
  ASSERT_FALSE(result.closest.empty());
  EXPECT_FALSE(result.closest.front().estimate.fits);
  for (std::size_t i = 1; i < result.closest.size(); ++i) {
    EXPECT_LE(result.closest[i - 1].estimate.memory.peakBytes, result.closest[i].estimate.memory.peakBytes);
  }
}

TEST(Search, ObjectivesAgreeOnTheOrderAndStateTheirOwnBound) {
  Request request = tinyRequest(8, 4, 16);
  request.cluster.usdPerDeviceHour = 3.6;
  const SearchResult time = searchStrategies(request);
  request.objective = Objective::TokensPerSecondPerDevice;
  const SearchResult tokens = searchStrategies(request);
  request.objective = Objective::Cost;
  const SearchResult cost = searchStrategies(request);
  ASSERT_FALSE(time.plans.empty());
  const double seconds = time.plans.front().estimate.stepSeconds;
  EXPECT_EQ(time.bestPossible, seconds);
  EXPECT_DOUBLE_EQ(tokens.bestPossible, 16 * 1024 / seconds / 8);
  EXPECT_DOUBLE_EQ(cost.bestPossible, 8 * seconds * 0.001);  // 3.6 USD an hour are 0.001 USD a second
  for (std::size_t i = 0; i < time.plans.size(); ++i) {
    EXPECT_EQ(time.plans[i].strategy, tokens.plans[i].strategy);
    EXPECT_EQ(time.plans[i].strategy, cost.plans[i].strategy);
  }
}

}  // namespace
}  // namespace meshwise
