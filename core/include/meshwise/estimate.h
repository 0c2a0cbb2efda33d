// The estimate of one strategy: where each second and each byte goes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "meshwise/plan.h"

namespace meshwise {

// Time terms, seconds per step. Names in brackets are the paper's (arXiv 2501.00254, Eq. 1). They add up to
// stepSeconds; `overlapped` (TO) is the only negative one.
enum class TimeTerm {
  Compute,              // TF: forward and backward operators of the slowest stage
  Recompute,            // forward work done again in backward
  TensorCommunication,  // TCT
  TensorReduction,      // TAT: arithmetic inside the tensor-parallel collectives
  ContextCommunication,
  ExpertCommunication,
  PipelineCommunication,  // TCP
  DataCommunication,      // TCD
  DataReduction,          // TAD
  Overlapped,             // TO, negative: communication hidden under compute
  Bubble,                 // TB: span of the pipeline less the slowest stage's busy time
  OptimizerStep,
  Host,  // launch-bound waiting, per-step host work, jitter
};
inline constexpr std::size_t kTimeTermCount = 13;

// Memory classes, bytes on the fullest device at its worst moment.
enum class MemoryClass {
  Weights,
  Gradients,
  OptimizerStates,
  Activations,
  Logits,      // logits and loss working set
  WorkingSet,  // recomputed layer, attention workspace, gathered parameters of ZeRO-3
  CommunicationBuffers,
  Reserve,  // context, libraries, allocator loss
};
inline constexpr std::size_t kMemoryClassCount = 8;

struct StageMemory {
  std::array<double, kMemoryClassCount> bytes{};
  double total() const;
};

struct MemoryEstimate {
  double peakBytes = 0;
  std::int64_t peakStage = 0;
  double allocatedBytes = 0;  // of the peak stage, without Reserve: what a framework reports as allocated
  double capacityBytes = 0;   // device memory times the request's memoryFraction
  std::array<double, kMemoryClassCount> classes{};  // of the peak stage, adds up to peakBytes
};

struct Estimate {
  double stepSeconds = 0;
  double tokensPerSecondPerDevice = 0;
  // 6 * (parameters without the input embedding) + 12 * layers * heads * headDim * seq per token, over the 16-bit
  // dense peak: full attention counted, recomputation not (the PaLM convention, arXiv 2204.02311 appendix B).
  double modelFlopsUtilization = 0;
  std::array<double, kTimeTermCount> time{};
  MemoryEstimate memory;
  bool fits = false;
  Issues reasons;  // why it does not fit, or cannot be launched
};

// Every rule that the strategy breaks: arithmetic of the degrees, and the launcher's own when rules apply.
Issues checkStrategy(const Request& request, const Strategy& strategy);

// Estimate of a strategy that checkStrategy accepts. Pure; microseconds.
Estimate estimateStrategy(const Request& request, const Strategy& strategy);

// Memory of every pipeline stage, for the picture of memory per stage.
std::vector<StageMemory> stageMemory(const Request& request, const Strategy& strategy);

// The strategy's pipeline with the times of its chunks and sends as the estimate has them, for simulatePipeline.
struct PipelineShape;
PipelineShape pipelineShape(const Request& request, const Strategy& strategy);

// Useful work: FLOP of one step by the convention of modelFlopsUtilization.
double modelFlopsPerStep(const Request& request);

}  // namespace meshwise
