#include "search/ranking.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "meshwise/search.h"

namespace meshwise {
namespace {

auto degreesOf(const Strategy& s) {
  return std::tie(s.tensor, s.pipeline, s.data, s.context, s.expert, s.expertTensor, s.virtualStages,
                  s.microBatchSequences, s.sequenceParallel);
}

auto choicesOf(const Strategy& s) {
  return std::tie(s.recompute, s.recomputeModules.coreAttention, s.recomputeModules.mlp, s.recomputeModules.layerNorm,
                  s.recomputeModules.moeActivation, s.recomputeModules.mlaUpProjection, s.recomputeLayers, s.zeroStage,
                  s.shardGroup, s.schedule, s.contextKind, s.placement, s.firstStageLayers, s.lastStageLayers,
                  s.offloadActivations);
}

}  // namespace

bool precedes(const Strategy& a, const Strategy& b) {
  if (degreesOf(a) != degreesOf(b)) return degreesOf(a) < degreesOf(b);
  return choicesOf(a) < choicesOf(b);
}

bool fasterThan(const ScoredStrategy& a, const ScoredStrategy& b) {
  if (a.stepSeconds != b.stepSeconds) return a.stepSeconds < b.stepSeconds;
  if (a.peakBytes != b.peakBytes) return a.peakBytes < b.peakBytes;
  return precedes(a.strategy, b.strategy);
}

bool smallerThan(const ScoredStrategy& a, const ScoredStrategy& b) {
  if (a.peakBytes != b.peakBytes) return a.peakBytes < b.peakBytes;
  if (a.stepSeconds != b.stepSeconds) return a.stepSeconds < b.stepSeconds;
  return precedes(a.strategy, b.strategy);
}

double objectiveValue(const Request& request, double stepSeconds) {
  const double devices = static_cast<double>(request.cluster.devices);
  switch (request.objective) {
    case Objective::TokensPerSecondPerDevice: {
      const double tokens =
          static_cast<double>(request.job.globalBatchSequences) * static_cast<double>(request.job.sequenceLength);
      return stepSeconds > 0 ? tokens / (stepSeconds * devices) : std::numeric_limits<double>::infinity();
    }
    case Objective::Cost:
      return stepSeconds * devices * request.cluster.usdPerDeviceHour / 3600;
    case Objective::StepTime:
      break;
  }
  return stepSeconds;
}

bool ranksBefore(const Request&, const RankedPlan& a, const RankedPlan& b) {
  return fasterThan({a.estimate.stepSeconds, a.estimate.memory.peakBytes, a.strategy},
                    {b.estimate.stepSeconds, b.estimate.memory.peakBytes, b.strategy});
}

BestPlans::BestPlans(std::size_t capacity, Order order) : capacity_(capacity), order_(order) {
  heap_.reserve(capacity);
}

void BestPlans::offer(const ScoredStrategy& candidate) {
  if (!full()) {
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end(), order_);
  } else if (capacity_ > 0 && order_(candidate, heap_.front())) {
    std::pop_heap(heap_.begin(), heap_.end(), order_);
    heap_.back() = candidate;
    std::push_heap(heap_.begin(), heap_.end(), order_);
  }
}

const ScoredStrategy& BestPlans::best() const { return *std::min_element(heap_.begin(), heap_.end(), order_); }

std::vector<ScoredStrategy> BestPlans::sorted() const {
  std::vector<ScoredStrategy> plans = heap_;
  std::sort(plans.begin(), plans.end(), order_);
  return plans;
}

}  // namespace meshwise
