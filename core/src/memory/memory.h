// Bytes on one device. Private to the core.
#pragma once

#include "meshwise/estimate.h"
#include "operators/operators.h"

namespace meshwise {

// Bytes per local parameter that stay for the whole step, after sharding over `shards` ranks by the ZeRO stage.
// bf16 with fp32 gradients and Adam: 2 + 4 + 12 = 18 without sharding, 6 + 12/d with a distributed optimizer
// (Megatron-LM docs, distributed optimizer table); DeepSpeed with 16-bit gradients 16 (arXiv 1910.02054, section 3.1).
struct StateBytes {
  double weights = 0, gradients = 0, optimizer = 0;
};
StateBytes stateBytesPerParameter(const Job& job, const Software& software, int zeroStage, double shards);

bool usesFp32Gradients(const Job& job, const Software& software);

// What one layer keeps per micro-batch until its backward under the recomputation policy, and what exists only while it
// runs. `full` is the same without recomputation.
struct ActivationBytes {
  double saved = 0;
  double full = 0;
  double working = 0;  // widest transient of forward or backward
};
ActivationBytes activationBytesOf(const OperatorList& list, Recompute recompute, const RecomputeModules& modules,
                                  double layerInputBytes);

// Is this operator run again in backward under selective recomputation of these modules?
bool isRecomputed(const Operator& op, const RecomputeModules& modules);

// Logits and loss of one micro-batch on the last stage.
double logitsBytes(const Software& software, double tokens, double localVocabulary, double element);

}  // namespace meshwise
