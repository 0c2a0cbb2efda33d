// The total order of plans and the best few of those seen. Private to the core.
#pragma once

#include <cstddef>
#include <vector>

#include "meshwise/plan.h"

namespace meshwise {

// What the order needs to know of a plan.
struct ScoredStrategy {
  double stepSeconds = 0;
  double peakBytes = 0;
  Strategy strategy;
};

// Fixed order of the choices, smaller degrees and plainer choices first; the last word where two plans cost the same.
bool precedes(const Strategy& a, const Strategy& b);

// By step time, peak memory, choices. With the devices and the batch given, every objective orders plans by step time.
bool fasterThan(const ScoredStrategy& a, const ScoredStrategy& b);

// By peak memory, step time, choices: how close plans come to fitting.
bool smallerThan(const ScoredStrategy& a, const ScoredStrategy& b);

using Order = bool (*)(const ScoredStrategy&, const ScoredStrategy&);

// The request's objective for a plan of that step time: seconds, tokens per second and device, or USD per step (0 when
// the price is unknown).
double objectiveValue(const Request& request, double stepSeconds);

// Keeps the best `capacity` of all that were offered. Allocates only when it is made.
class BestPlans {
 public:
  BestPlans(std::size_t capacity, Order order);

  void offer(const ScoredStrategy& candidate);

  bool empty() const { return heap_.empty(); }
  bool full() const { return heap_.size() >= capacity_; }
  // The worst one kept; only when full() and capacity > 0.
  const ScoredStrategy& worst() const { return heap_.front(); }
  // Linear in the capacity; only when not empty().
  const ScoredStrategy& best() const;
  // Best first.
  std::vector<ScoredStrategy> sorted() const;

 private:
  std::size_t capacity_;
  Order order_;
  std::vector<ScoredStrategy> heap_;  // the worst on top
};

}  // namespace meshwise
