#include "meshwise/search.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "estimate/estimator.h"
#include "meshwise/rules.h"
#include "search/ranking.h"
#include "search/rule_levels.h"
#include "search/space.h"

namespace meshwise {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr const char* kMemoryBound = "search.memoryBound";
constexpr const char* kTimeBound = "search.timeBound";

// The unit of the search: one block, expert option and pipeline option.
struct Group {
  double leastSeconds = 0;  // least time bound of its strategies
  std::uint32_t block = 0;
  std::uint32_t expert = 0;
  std::uint32_t pipeline = 0;
  std::uint32_t strategies = 0;  // that pass the rules and the memory bound
};

// One way to fill the choices of a group down to recomputation. `legal` has one bit for each ZeRO stage and placement
// that is left: these change neither the work nor the time bound.
struct Work {
  double leastSeconds = 0;
  std::uint32_t microBatch = 0;
  std::uint8_t contextKind = 0;
  std::uint8_t sequenceParallel = 0;
  std::uint8_t recompute = 0;
  std::uint8_t legal = 0;
};

// Kinds of context parallelism, sequence parallelism off and on, recomputations.
constexpr std::size_t kWorkShapes = 2 * 2 * 3;

std::int64_t bitCount(unsigned bits) {
  std::int64_t count = 0;
  for (; bits != 0; bits &= bits - 1) ++count;
  return count;
}

}  // namespace

// Three passes over the groups.
//
// Survey: every group is counted rule by rule, every legal strategy meets the memory bound, every piece of work the
// time bound. Groups with a better bound than all before are evaluated at once, which gives early plans and a
// threshold; those behind the threshold are dropped; the others are kept as one small record each.
// Refine: the kept groups, best bound first, until the next bound is behind the k-th best plan.
// Closest: only when nothing fits: the plans of least memory, so that the user sees what is missing.
struct Search::State {
  explicit State(const Request& request);

  bool step(std::int64_t budget);
  SearchResult result();

  void openBlocks();
  bool nextGroup(bool counting);
  void surveyGroup();
  void endSurvey();
  void refineGroup();
  void endRefine();
  void closestGroup();

  template <class Use>
  void forEachWork(bool counting, Use use);
  unsigned legalLast(bool counting, int broken);
  void collect(bool counting);
  void evaluateWorks();
  void remove(int rule, std::int64_t strategies);
  void chooseLast(std::int64_t bit);
  double thresholdSeconds() const;
  double bestPossible() const;
  double progress() const;
  std::vector<RankedPlan> plansOf(const BestPlans& kept);

  enum class Pass { Survey, Refine, Closest, Done };

  Request request;
  Space space;
  RuleLevels rules;
  Estimator estimator;
  double capacityBytes;
  BestPlans best;
  BestPlans closest;

  Pass pass = Pass::Survey;
  // Blocks and expert options in the order of the survey: strategies with the same tensor, context and expert degrees
  // follow each other, because they share the costs of their layers.
  struct Visit {
    std::uint32_t block, expert;
  };
  std::vector<Visit> visits;
  std::vector<int> brokenBlocks;  // by block: the rule that is broken by its degrees alone
  // Where the survey and the pass for the closest plans are, and which rule is broken by what is chosen so far.
  std::size_t block = 0;
  std::size_t expert = 0;
  std::size_t pipeline = 0;
  std::size_t visit = 0;
  bool entered = false;  // block and expert option of this visit are chosen, pipeline is in use
  int brokenExpert = RuleLevels::kNone;
  int brokenPipeline = RuleLevels::kNone;
  Strategy strategy;  // the choices made so far

  std::vector<Group> groups;
  std::size_t refined = 0;  // groups that the second pass has settled
  double leastGroupSeconds = kInfinity;
  std::vector<Work> works;  // of the current group
  std::int64_t worksStrategies = 0;

  std::vector<std::int64_t> removedByRule;
  std::int64_t removedByMemory = 0;
  std::int64_t removedByTime = 0;
  std::int64_t evaluated = 0;
  std::int64_t feasible = 0;
  std::int64_t looked = 0;  // what step() counts against its budget
};

namespace {

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

// Settles the blocks that break a rule as a whole and lines up the others.
void Search::State::openBlocks() {
  const std::vector<Block>& blocks = space.blocks();
  std::vector<std::uint32_t> row;  // open blocks with the same tensor and context
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& b = blocks[i];
    choose(b, strategy);
    strategy.microBatchSequences = space.microBatches()[b.microBatches.begin];
    brokenBlocks.push_back(rules.check(Level::Block, strategy, RuleLevels::kNone));
    if (rules.settled(brokenBlocks[i], Level::Block)) {
      remove(brokenBlocks[i], space.sizeOf(b));
    } else {
      row.push_back(static_cast<std::uint32_t>(i));
    }
    const bool rowEnds =
        i + 1 == blocks.size() || blocks[i + 1].tensor != b.tensor || blocks[i + 1].context != b.context;
    if (!rowEnds) continue;
    for (std::size_t option = b.experts.begin; option < b.experts.end; ++option) {
      for (const std::uint32_t open : row) visits.push_back({open, static_cast<std::uint32_t>(option)});
    }
    row.clear();
  }
}

void Search::State::remove(int rule, std::int64_t strategies) {
  removedByRule[static_cast<std::size_t>(rule)] += strategies;
}

double Search::State::thresholdSeconds() const {
  if (!best.full()) return kInfinity;
  return best.full() && !best.empty() ? best.worst().stepSeconds : -kInfinity;
}

void Search::State::chooseLast(std::int64_t bit) {
  const std::int64_t placements = space.blocks()[block].placementChoices;
  strategy.zeroStage = space.zeroStages()[static_cast<std::size_t>(bit / placements)];
  choosePlacement(bit % placements, strategy);
}

// The ZeRO stages and placements that break no rule, one bit each.
unsigned Search::State::legalLast(bool counting, int broken) {
  const Block& b = space.blocks()[block];
  unsigned legal = 0;
  for (std::int64_t zero = 0; zero < b.zeroChoices; ++zero) {
    chooseLast(zero * b.placementChoices);
    const int brokenZero = rules.check(Level::Zero, strategy, broken);
    if (rules.settled(brokenZero, Level::Zero)) {
      if (counting) remove(brokenZero, b.placementChoices);
      continue;
    }
    for (std::int64_t placement = 0; placement < b.placementChoices; ++placement) {
      choosePlacement(placement, strategy);
      const int brokenLast = rules.check(Level::Placement, strategy, brokenZero);
      if (brokenLast == RuleLevels::kNone) {
        legal |= 1u << (zero * b.placementChoices + placement);
      } else if (counting) {
        remove(brokenLast, 1);
      }
    }
  }
  return legal;
}

// Calls use(work) for each piece of work of the current group with at least one legal strategy. When counting, all
// strategies that break a rule are removed on the way.
template <class Use>
void Search::State::forEachWork(bool counting, Use use) {
  const Block& b = space.blocks()[block];
  // True when nothing below these choices has to be looked at.
  const auto skip = [&](int broken, Level level, std::int64_t strategies) {
    if (broken == RuleLevels::kNone) return false;
    if (!counting) return true;
    if (!rules.settled(broken, level)) return false;
    remove(broken, strategies);
    ++looked;
    return true;
  };
  Work work;
  for (std::size_t batch = b.microBatches.begin; batch < b.microBatches.end; ++batch) {
    strategy.microBatchSequences = space.microBatches()[batch];
    work.microBatch = static_cast<std::uint32_t>(batch);
    const int brokenBatch = rules.check(Level::MicroBatch, strategy, brokenPipeline);
    if (skip(brokenBatch, Level::MicroBatch, space.sizePerMicroBatch(b))) continue;
    for (std::int64_t kind = 0; kind < b.contextKindChoices; ++kind) {
      chooseContextKind(kind, strategy);
      work.contextKind = static_cast<std::uint8_t>(kind);
      const int brokenKind = rules.check(Level::ContextKind, strategy, brokenBatch);
      if (skip(brokenKind, Level::ContextKind, space.sizePerContextKind(b))) continue;
      for (std::int64_t sequence = 0; sequence < b.sequenceParallelChoices; ++sequence) {
        strategy.sequenceParallel = sequence != 0;
        work.sequenceParallel = static_cast<std::uint8_t>(sequence);
        const int brokenSequence = rules.check(Level::SequenceParallel, strategy, brokenKind);
        if (skip(brokenSequence, Level::SequenceParallel, space.sizePerSequenceParallel(b))) continue;
        for (std::size_t recompute = 0; recompute < space.recomputes().size(); ++recompute) {
          choose(space.recomputes()[recompute], strategy);
          work.recompute = static_cast<std::uint8_t>(recompute);
          const int brokenRecompute = rules.check(Level::Recompute, strategy, brokenSequence);
          if (skip(brokenRecompute, Level::Recompute, space.sizePerRecompute(b))) continue;
          looked += space.sizePerRecompute(b);
          work.legal = static_cast<std::uint8_t>(legalLast(counting, brokenRecompute));
          if (work.legal != 0) use(work);
        }
      }
    }
  }
}

// Fills `works` with what passes the memory bound, and bounds its time. The micro-batches come in ascending order:
// where one needs too much by the bound for larger ones too, these need not be priced.
void Search::State::collect(bool counting) {
  works.clear();
  worksStrategies = 0;
  std::array<unsigned, kWorkShapes> hopeless{};  // ZeRO stages and placements, one bit each
  const Block& b = space.blocks()[block];
  const unsigned placements = (1u << b.placementChoices) - 1;
  forEachWork(counting, [&](Work& work) {
    unsigned& lost =
        hopeless[static_cast<std::size_t>((work.contextKind * 2 + work.sequenceParallel) * 3) + work.recompute];
    unsigned kept = 0;
    for (std::int64_t zero = 0; zero < b.zeroChoices; ++zero) {
      const unsigned both = placements << (zero * b.placementChoices);
      if ((work.legal & both & ~lost) == 0) continue;
      chooseLast(zero * b.placementChoices);
      if (estimator.memoryLowerBoundBytes(strategy) <= capacityBytes) {
        kept |= work.legal & both;
      } else if (estimator.memoryFloorBytes(strategy) > capacityBytes) {
        lost |= both;
      }
    }
    if (counting) {
      removedByMemory += bitCount(work.legal & ~kept);
    }
    if (kept == 0) return;
    work.legal = static_cast<std::uint8_t>(kept);
    work.leastSeconds = estimator.stepSecondsLowerBound(strategy);
    worksStrategies += bitCount(kept);
    works.push_back(work);
  });
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

// Moves to the next group that has to be looked at; false at the end of the space. When counting, the parts in between,
// which break a rule as a whole, are removed.
bool Search::State::nextGroup(bool counting) {
  const auto skip = [&](int broken, Level level, std::int64_t strategies) {
    if (broken == RuleLevels::kNone) return false;
    if (!counting) return true;
    if (!rules.settled(broken, level)) return false;
    remove(broken, strategies);
    return true;
  };
  for (; visit < visits.size(); ++visit, entered = false) {
    block = visits[visit].block;
    expert = visits[visit].expert;
    const Block& b = space.blocks()[block];
    if (!entered) {
      choose(b, strategy);
      choose(space.experts()[expert], strategy);
      brokenExpert = rules.check(Level::Expert, strategy, brokenBlocks[block]);
      if (skip(brokenExpert, Level::Expert, space.sizePerExpert(b))) continue;
      pipeline = b.pipelines.begin;
      entered = true;
    } else {
      ++pipeline;
    }
    for (; pipeline < b.pipelines.end; ++pipeline) {
      choose(space.pipelines()[pipeline], strategy);
      brokenPipeline = rules.check(Level::Pipeline, strategy, brokenExpert);
      if (!skip(brokenPipeline, Level::Pipeline, space.sizePerPipeline(b))) return true;
    }
  }
  return false;
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

void Search::State::closestGroup() {
  forEachWork(false, [&](const Work& work) {
    for (std::int64_t bit = 0; bit < 8; ++bit) {
      if ((work.legal & (1u << bit)) == 0) continue;
      chooseLast(bit);
      if (closest.full() && !closest.empty() && estimator.memoryLowerBoundBytes(strategy) > closest.worst().peakBytes) {
        continue;
      }
      const Estimate estimate = estimator.estimate(strategy);
      closest.offer({estimate.stepSeconds, estimate.memory.peakBytes, strategy});
    }
  });
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
