// The estimator with what strategies share computed once. Private to the core.
#pragma once

#include <memory>

#include "meshwise/estimate.h"

namespace meshwise {

// Holds a request and memoises layer costs. Same answers as estimateStrategy. Not thread-safe.
class Estimator {
 public:
  explicit Estimator(const Request& request);
  ~Estimator();
  Estimator(Estimator&&) noexcept;
  Estimator& operator=(Estimator&&) noexcept;

  // The strategy must pass checkStrategy.
  Estimate estimate(const Strategy& strategy);

  // Never above estimate(strategy).stepSeconds; cheap. The same for all ZeRO stages and placements.
  double stepSecondsLowerBound(const Strategy& strategy);
  // Never above the step time of any strategy.
  double idealStepSeconds() const;
  // Never above estimate(strategy).memory.peakBytes; cheap. The same for both placements.
  double memoryLowerBoundBytes(const Strategy& strategy);
  // Never above the peak memory of the strategy, nor of the same one with any larger micro-batch.
  double memoryFloorBytes(const Strategy& strategy);

 private:
  friend std::vector<StageMemory> stageMemory(const Request&, const Strategy&);
  friend PipelineShape pipelineShape(const Request& request, const Strategy& strategy);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace meshwise
