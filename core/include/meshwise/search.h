// The exact search: every strategy of the space is evaluated or excluded by proof.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "meshwise/estimate.h"

namespace meshwise {

struct RankedPlan {
  Strategy strategy;
  Estimate estimate;
};

struct RemovedCount {
  std::string rule;    // stable name of the rule or bound
  std::string reason;  // one line for the user
  std::int64_t count = 0;
};

struct SearchReport {
  std::int64_t rawSpace = 0;  // strategies before any rule
  std::vector<RemovedCount> removed;
  std::int64_t evaluated = 0;  // full estimates; rawSpace = evaluated + sum of removed
  std::int64_t feasible = 0;   // of the evaluated, those that fit
};

struct SearchResult {
  std::vector<RankedPlan> plans;  // best first, at most request.top
  SearchReport report;
  bool complete = false;  // false: stopped early; plans are the best so far
  // What nothing left can beat, in the unit of the objective: seconds, tokens per second and device, USD per step.
  // Equals the best plan's when complete; 0 when it is complete without a plan.
  double bestPossible = 0;
  // Only when complete and nothing fits: the plans of least peak memory, least first, at most request.top.
  std::vector<RankedPlan> closest;
};

// Total order of plans: objective, then peak memory, then the degrees and choices in a fixed order, smaller first. With
// devices and batch given every objective orders plans by step time. Native and WebAssembly agree.
bool ranksBefore(const Request& request, const RankedPlan& a, const RankedPlan& b);

// A search that runs in slices, so that its owner can show progress and cancel.
class Search {
 public:
  explicit Search(const Request& request);  // the request must be valid
  ~Search();
  Search(Search&&) noexcept;
  Search& operator=(Search&&) noexcept;

  // Looks at about `budget` more strategies (parts that fall as a whole count once; it stops between parts of a few
  // thousand strategies at most); true when the space is exhausted. The slices change nothing in the answer.
  bool step(std::int64_t budget);
  // Share of the work that is done, 0..1, never falling; 1 = step() has returned true.
  double progress() const;
  // The best so far; final when step() returned true.
  SearchResult result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

SearchResult searchStrategies(const Request& request);

// The reference for tests: estimates every legal strategy, no bounds.
SearchResult searchExhaustively(const Request& request);

}  // namespace meshwise
