#include "meshwise/search.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "meshwise/rules.h"
#include "search/search_state.h"

namespace meshwise {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr const char* kMemoryBound = "search.memoryBound";
constexpr const char* kTimeBound = "search.timeBound";

std::size_t plansKept(const Request& request, const Space& space) {
  return static_cast<std::size_t>(std::clamp<std::int64_t>(request.top, 0, space.size()));
}

}  // namespace

Search::State::State(const Request& theRequest)
    : request(theRequest),
      space(request),
      rules(request),
      estimator(request),
      capacityBytes(request.cluster.accelerator.memoryBytes * request.limits.memoryFraction),
      best(plansKept(request, space), fasterThan),
      closest(plansKept(request, space), smallerThan),
      removedByRule(allRules().size(), 0) {
  openBlocks();
  std::size_t groupCount = 0;
  std::size_t workCount = 0;
  for (const Visit& open : visits) {
    const Block& b = space.blocks()[open.block];
    groupCount += static_cast<std::size_t>(b.pipelines.size());
    workCount = std::max(workCount, static_cast<std::size_t>(space.sizePerPipeline(b) / space.sizePerRecompute(b)));
  }
  groups.reserve(groupCount);
  works.reserve(workCount);
}

double Search::State::thresholdSeconds() const {
  if (!best.full()) return kInfinity;
  return best.empty() ? -kInfinity : best.worst().stepSeconds;  // empty: none wanted
}

// Estimates the collected works, best bound first, until the bound is behind the plans already known.
void Search::State::evaluateWorks() {
  std::sort(works.begin(), works.end(), [](const Work& a, const Work& b) {
    if (a.leastSeconds != b.leastSeconds) return a.leastSeconds < b.leastSeconds;
    if (a.microBatch != b.microBatch) return a.microBatch < b.microBatch;
    if (a.contextKind != b.contextKind) return a.contextKind < b.contextKind;
    if (a.sequenceParallel != b.sequenceParallel) return a.sequenceParallel < b.sequenceParallel;
    return a.recompute < b.recompute;
  });
  for (const Work& work : works) {
    if (work.leastSeconds > thresholdSeconds()) break;
    strategy.microBatchSequences = space.microBatches()[work.microBatch];
    chooseContextKind(work.contextKind, strategy);
    strategy.sequenceParallel = work.sequenceParallel != 0;
    choose(space.recomputes()[work.recompute], strategy);
    for (std::int64_t bit = 0; bit < 8; ++bit) {
      if ((work.legal & (1u << bit)) == 0 || work.leastSeconds > thresholdSeconds()) continue;
      chooseLast(bit);
      const Estimate estimate = estimator.estimate(strategy);
      ++evaluated;
      ++looked;
      --worksStrategies;
      if (!estimate.fits) continue;
      ++feasible;
      best.offer({estimate.stepSeconds, estimate.memory.peakBytes, strategy});
    }
  }
  removedByTime += worksStrategies;
  worksStrategies = 0;
}

void Search::State::surveyGroup() {
  collect(true);
  if (works.empty()) return;
  double least = kInfinity;
  for (const Work& work : works) least = std::min(least, work.leastSeconds);
  if (least < leastGroupSeconds) {
    leastGroupSeconds = least;
    evaluateWorks();
  } else if (least > thresholdSeconds()) {
    removedByTime += worksStrategies;
  } else {
    groups.push_back({least, static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(expert),
                      static_cast<std::uint32_t>(pipeline), static_cast<std::uint32_t>(worksStrategies)});
  }
}

void Search::State::endSurvey() {
  std::sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) {
    if (a.leastSeconds != b.leastSeconds) return a.leastSeconds < b.leastSeconds;
    if (a.block != b.block) return a.block < b.block;
    if (a.expert != b.expert) return a.expert < b.expert;
    return a.pipeline < b.pipeline;
  });
  pass = Pass::Refine;
}

void Search::State::refineGroup() {
  if (refined == groups.size() || groups[refined].leastSeconds > thresholdSeconds()) {
    endRefine();
    return;
  }
  const Group& group = groups[refined++];
  block = group.block;
  expert = group.expert;
  pipeline = group.pipeline;
  choose(space.blocks()[block], strategy);
  choose(space.experts()[expert], strategy);
  choose(space.pipelines()[pipeline], strategy);
  brokenPipeline = RuleLevels::kNone;
  collect(false);
  evaluateWorks();
}

void Search::State::endRefine() {
  for (; refined < groups.size(); ++refined) {
    removedByTime += groups[refined].strategies;
  }
  const bool anyLegal = evaluated + removedByMemory > 0;
  pass = best.empty() && anyLegal ? Pass::Closest : Pass::Done;
  visit = 0;
  entered = false;
}

bool Search::State::step(std::int64_t budget) {
  looked = 0;
  while (pass != Pass::Done && looked < budget) {
    ++looked;
    if (pass == Pass::Refine) {
      refineGroup();
    } else if (!nextGroup(pass == Pass::Survey)) {
      if (pass == Pass::Survey) {
        endSurvey();
      } else {
        pass = Pass::Done;
      }
    } else if (pass == Pass::Survey) {
      surveyGroup();
    } else {
      closestGroup();
    }
  }
  return pass == Pass::Done;
}

double Search::State::bestPossible() const {
  double least = best.empty() ? kInfinity : best.best().stepSeconds;
  if (pass == Pass::Survey) {
    least = std::min(least, estimator.idealStepSeconds());
  } else if (refined < groups.size()) {
    least = std::min(least, std::max(groups[refined].leastSeconds, estimator.idealStepSeconds()));
  }
  return least == kInfinity ? 0 : objectiveValue(request, least);
}

// The survey is nearly all of the work.
double Search::State::progress() const {
  const auto share = [](std::size_t done, std::size_t all) {
    return all == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(all);
  };
  switch (pass) {
    case Pass::Survey:
      return 0.9 * share(visit, visits.size());
    case Pass::Refine:
      return 0.9 + 0.05 * share(refined, groups.size());
    case Pass::Closest:
      return 0.95 + 0.05 * share(visit, visits.size());
    case Pass::Done:
      break;
  }
  return 1;
}

std::vector<RankedPlan> Search::State::plansOf(const BestPlans& kept) {
  std::vector<RankedPlan> plans;
  for (const ScoredStrategy& scored : kept.sorted()) {
    plans.push_back({scored.strategy, estimator.estimate(scored.strategy)});
  }
  return plans;
}

SearchResult Search::State::result() {
  SearchResult result;
  result.plans = plansOf(best);
  result.closest = plansOf(closest);
  result.report.rawSpace = space.size();
  for (std::size_t rule = 0; rule < removedByRule.size(); ++rule) {
    if (removedByRule[rule] == 0) continue;
    const Rule& broken = allRules()[rule];
    result.report.removed.push_back({std::string(broken.code), std::string(broken.text), removedByRule[rule]});
  }
  if (removedByMemory > 0) {
    result.report.removed.push_back(
        {kMemoryBound, "Needs more memory than the device has, by a lower bound.", removedByMemory});
  }
  if (removedByTime > 0) {
    result.report.removed.push_back(
        {kTimeBound, "Cannot be faster than the plans already found, by a lower bound of the step time.",
         removedByTime});
  }
  result.report.evaluated = evaluated;
  result.report.feasible = feasible;
  result.complete = pass == Pass::Done;
  result.bestPossible = bestPossible();
  return result;
}

Search::Search(const Request& request) : state_(std::make_unique<State>(request)) {}
Search::~Search() = default;
Search::Search(Search&&) noexcept = default;
Search& Search::operator=(Search&&) noexcept = default;

bool Search::step(std::int64_t budget) { return state_->step(budget); }

double Search::progress() const { return state_->progress(); }

SearchResult Search::result() const { return state_->result(); }

SearchResult searchStrategies(const Request& request) {
  Search search(request);
  while (!search.step(std::numeric_limits<std::int64_t>::max())) {
  }
  return search.result();
}

}  // namespace meshwise
