// What a search remembers between its slices. Private to the search room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "estimate/estimator.h"
#include "meshwise/search.h"
#include "search/ranking.h"
#include "search/rule_levels.h"
#include "search/space.h"

namespace meshwise {

// Three passes over the groups.
//
// Survey: every group is counted rule by rule, every legal strategy meets the memory bound, every piece of work the
// time bound. Groups with a better bound than all before are evaluated at once, which gives early plans and a
// threshold; those behind the threshold are dropped; the others are kept as one small record each.
// Refine: the kept groups, best bound first, until the next bound is behind the k-th best plan.
// Closest: only when nothing fits: the plans of least memory, so that the user sees what is missing.
struct Search::State {
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

  bool skips(bool counting, int broken, Level level, std::int64_t strategies);
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
  double leastGroupSeconds = std::numeric_limits<double>::infinity();
  std::vector<Work> works;  // of the current group
  std::int64_t worksStrategies = 0;

  std::vector<std::int64_t> removedByRule;
  std::int64_t removedByMemory = 0;
  std::int64_t removedByTime = 0;
  std::int64_t evaluated = 0;
  std::int64_t feasible = 0;
  std::int64_t looked = 0;  // what step() counts against its budget
};

}  // namespace meshwise
