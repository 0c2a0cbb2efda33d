// What is asked: the job, the software that runs it, one strategy, and a whole request.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "meshwise/cluster.h"
#include "meshwise/model.h"
#include "meshwise/result.h"

namespace meshwise {

// Compute type of the matrix products and what is stored beside it.
enum class Precision { Fp32, Fp16, Bf16, Fp8, Mxfp8, Nvfp4 };
enum class GradientPrecision { Auto, Fp32, Bf16 };  // Auto: the software profile's own
enum class Optimizer { Adam, Sgd };

struct Job {
  std::int64_t sequenceLength = 0;
  std::int64_t globalBatchSequences = 0;
  Precision precision = Precision::Bf16;
  GradientPrecision gradientPrecision = GradientPrecision::Auto;
  Optimizer optimizer = Optimizer::Adam;
  double tokenBudget = 0;  // tokens of the whole training; 0 = not asked
};

enum class AttentionKernel { Flash2, Flash1, UnfusedFusedSoftmax, UnfusedTorch, Flash3 };
enum class Launcher { None, MegatronLm, Torchtitan, DeepSpeed, MindSpeed, Nanotron, ColossalAi, LlmFoundry, InternEvo };
enum class Switch { Auto, Off, On };  // Auto: the profile's own

// A software profile: which stack runs the step. Few, named, physical switches (estimator.md sections 4 and 6).
struct Software {
  std::string profile = "megatron-core-2025";
  Launcher launcher = Launcher::MegatronLm;  // whose validity rules apply
  AttentionKernel attentionKernel = AttentionKernel::Flash2;
  bool fusedNorm = true;           // one kernel per norm; otherwise a chain of element-wise kernels
  bool fusedMlp = true;            // activation and gate in one kernel; bias, dropout and residual fused
  bool fusedCrossEntropy = false;  // loss without a stored fp32 copy of the logits
  bool parallelLogits = true;  // the loss works on each tensor rank's part of the vocabulary; else on gathered logits
  bool dropout = false;        // dropout masks stored and applied (models of the GPT-3 era)
  bool cudaGraphs = false;     // no per-kernel launch cost on the host
  double launchFactor = 1.0;   // host time per kernel over the accelerator's launchSeconds (eager Python > 1)
  // Processes that launch kernels drift apart: host time grows by this per doubling of the tensor ranks that wait for
  // each other in every layer.
  double launchSpreadFraction = 0.0;
  double vectorFactor = 1.0;             // bytes moved by vector operators over the fused minimum
  bool fp32GradientAccumulation = true;  // main gradients in fp32 when Auto
  bool pureBf16 = false;                 // no fp32 master copy (llm-foundry PURE)
  bool overlapTensor = false;            // ring-fused products and collectives (TE user buffers, MC2)
  bool overlapData = true;               // gradient reduce-scatter and parameter all-gather beside compute
  bool overlapParameterGather = true;    // the parameter all-gather of ZeRO-1 and 2 beside the next forward
  bool overlapPipeline = true;           // asynchronous point-to-point
  bool scatterGatherPipeline =
      false;  // tensor ranks send a slice each and gather on arrival (arXiv 2104.04473, section 4.1)
  bool deduplicatedDispatch = false;      // routed tokens cross to each scale-up domain once (DeepEP)
  bool overlapExpert = false;             // all-to-all under the other half batch or shared experts
  bool asyncTensorBackward = true;        // input-gradient all-reduce beside the weight gradient (paper Eq. 12)
  double reservedBytes = 1.5e9;           // context, communicators, workspace
  double allocatorFraction = 0.04;        // lost to fragmentation, of allocated bytes
  std::int64_t vocabularyMultiple = 128;  // vocabulary is padded to this times tensor
};

enum class Recompute { None, Selective, Full };
// What selective recomputation drops and computes again (Megatron-Core names).
struct RecomputeModules {
  bool coreAttention = false;
  bool mlp = false;
  bool layerNorm = false;
  bool moeActivation = false;
  bool mlaUpProjection = false;

  bool operator==(const RecomputeModules&) const = default;
};

enum class Schedule { OneForwardOneBackward, GPipe, Interleaved, ZeroBubbleH1, ZeroBubble2p, ZeroBubbleV, DualPipe };
enum class ContextKind { Ring, AllToAll };  // ring attention with causal balance; DeepSpeed Ulysses
// Ranks are numbered innermost first; which of the wide groups varies faster beyond tensor and context.
enum class Placement { DataBeforePipeline, PipelineBeforeData };

// One parallel layout. Degrees multiply: tensor * context * pipeline * data = devices. Expert parallelism regroups the
// tensor * context * data ranks of one pipeline stage and is no factor of that product.
struct Strategy {
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t data = 1;
  std::int64_t context = 1;
  std::int64_t expert = 1;
  std::int64_t expertTensor = 1;
  std::int64_t virtualStages = 1;  // model chunks per pipeline rank
  std::int64_t microBatchSequences = 1;
  bool sequenceParallel = false;
  Recompute recompute = Recompute::None;
  RecomputeModules recomputeModules;
  std::int64_t recomputeLayers = 0;  // Full: first k layers of each rank; 0 = all
  int zeroStage = 1;
  std::int64_t shardGroup = 0;  // ranks that share the ZeRO shards; 0 = all data * context ranks
  Schedule schedule = Schedule::OneForwardOneBackward;
  ContextKind contextKind = ContextKind::Ring;
  Placement placement = Placement::DataBeforePipeline;
  std::int64_t firstStageLayers = -1;  // layers of the first / last stage when stated; -1 = even split
  std::int64_t lastStageLayers = -1;
  bool offloadActivations = false;

  bool operator==(const Strategy&) const = default;
};

// Allowed range of one degree; 0 = no bound.
struct Range {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

struct Limits {
  double memoryFraction = 1.0;  // share of the device's memory that a plan may use
  Range tensor, pipeline, data, context, expert, expertTensor, virtualStages, microBatchSequences;
  std::vector<int> zeroStages;       // empty = 0..3
  std::vector<Recompute> recompute;  // empty = all
  std::vector<Schedule> schedules;   // empty = the launcher's usual: 1F1B and interleaved
  bool launcherRules = true;         // drop what the launcher would refuse
};

enum class Objective { StepTime, TokensPerSecondPerDevice, Cost };

struct Request {
  Model model;
  Cluster cluster;
  Job job;
  Software software;
  Limits limits;
  Objective objective = Objective::StepTime;
  std::int64_t top = 10;
};

// Faults of everything but a strategy, all at once.
Issues validateRequest(const Request& request);

}  // namespace meshwise
