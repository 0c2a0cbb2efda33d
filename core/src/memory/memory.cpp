#include "memory/memory.h"

#include <algorithm>

namespace meshwise {

bool usesFp32Gradients(const Job& job, const Software& software) {
  if (job.gradientPrecision == GradientPrecision::Fp32) return true;
  if (job.gradientPrecision == GradientPrecision::Bf16) return false;
  return software.fp32GradientAccumulation || job.precision == Precision::Fp32;
}

StateBytes stateBytesPerParameter(const Job& job, const Software& software, int zeroStage, double shards) {
  StateBytes b;
  const bool fp32 = job.precision == Precision::Fp32;
  b.weights = fp32 ? 4 : 2;
  b.gradients = usesFp32Gradients(job, software) ? 4 : 2;
  if (software.launcher == Launcher::DeepSpeed && b.gradients == 4 && !fp32 && zeroStage < 3) {
    // the bf16 optimizer accumulates in fp32 beside the 16-bit gradients of backward (DeepSpeed
    // runtime/bf16_optimizer.py)
    b.gradients += 2;
  }
  const double moments = job.optimizer == Optimizer::Adam ? 2 : 1;
  if (software.pureBf16) {
    b.optimizer = 2 * moments;
  } else {
    b.optimizer = 4 * moments + (fp32 ? 0 : 4);  // moments and the fp32 master copy
  }
  const bool fsdp = zeroStage == 3 && software.launcher != Launcher::DeepSpeed && !software.pureBf16 && !fp32;
  if (fsdp) {
    // FSDP keeps fp32 shards as the parameters themselves and gathers them in 16 bit: no second copy.
    b.weights = 4;
    b.optimizer -= 4;
  }
  if (isLowPrecision(job.precision) && !fsdp) {
    // quantized copies for the products, as they are and transposed, cached over the micro-batches
    b.weights += 2 * linearInputBytes(job.precision);
  }
  if (zeroStage >= 1) b.optimizer /= shards;
  if (zeroStage >= 2) b.gradients /= shards;
  if (zeroStage >= 3) b.weights /= shards;
  return b;
}

bool isRecomputed(const Operator& op, const RecomputeModules& modules) {
  switch (op.part) {
    case Part::CoreAttention:
      return modules.coreAttention;
    case Part::Mlp:
    case Part::MlpActivation:
      return modules.mlp;
    case Part::Norm:
      return modules.layerNorm;
    case Part::ExpertActivation:
      return modules.moeActivation;
    case Part::MlaUpProjection:
      return modules.mlaUpProjection;
    default:
      return false;
  }
}

ActivationBytes activationBytesOf(const OperatorList& list, Recompute recompute, const RecomputeModules& modules,
                                  double layerInputBytes) {
  ActivationBytes a;
  double widest = 0;
  bool normPending = false;  // the next product's kept input is a norm's output
  for (const Operator& op : list) {
    a.full += op.savedBytes;
    widest = std::max(widest, std::max(op.forwardBytes, op.backwardBytes));
    bool dropped = false;
    if (recompute == Recompute::Selective) {
      const bool matrix = op.kind == OperatorKind::Matrix;
      // A module keeps its input and drops what it computes inside. Inputs are the matrix operators' kept bytes.
      dropped = isRecomputed(op, modules) && !matrix && op.part != Part::Norm;
      // Norm recomputation drops the output, which is what the following product keeps.
      if (matrix && normPending && modules.layerNorm) dropped = true;
      if (op.part == Part::Norm) normPending = true;
      if (matrix) normPending = false;
    }
    if (!dropped) a.saved += op.savedBytes;
  }
  if (recompute == Recompute::Full) a.saved = std::min(layerInputBytes, a.full);
  // Backward holds the gradient of the widest operator's result and operand beside what was kept.
  a.working = 0.5 * widest;
  if (recompute == Recompute::Full) a.working += a.full;
  if (recompute == Recompute::Selective) a.working += std::max(0.0, a.full - a.saved);
  return a;
}

double logitsBytes(const Software& software, double tokens, double localVocabulary, double element) {
  double each = element + 2;  // fused: logits and their gradient
  if (!software.fusedCrossEntropy) {
    const bool vocabularyParallel = software.launcher == Launcher::MegatronLm ||
                                    software.launcher == Launcher::MindSpeed ||
                                    software.launcher == Launcher::DeepSpeed;
    // Megatron's vocabulary-parallel loss works in one fp32 copy in place and casts its gradient. PyTorch's own keeps
    // the fp32 cast, the log-softmax, and both gradients.
    each = vocabularyParallel ? element + 4 + element : element + 4 + 4 + 4 + element;
  }
  return tokens * localVocabulary * each;
}

}  // namespace meshwise
