#include "compute/compute.h"

#include <algorithm>
#include <cmath>

namespace meshwise {
namespace {

// Output tiles that libraries choose from, and what they reach of the largest tile's rate: a smaller tile re-reads its
// operands more often. Shapes after the CUTLASS defaults.
struct Tile {
  double m, n, relative;
};
constexpr Tile kTiles[] = {{256, 128, 1.00}, {128, 256, 1.00}, {128, 128, 0.95}, {256, 64, 0.88},
                           {64, 256, 0.88},  {128, 64, 0.82},  {64, 128, 0.82},  {64, 64, 0.66}};
constexpr double kSplits[] = {1, 2, 4, 8};

bool isFlash(AttentionKernel kernel) {
  return kernel == AttentionKernel::Flash1 || kernel == AttentionKernel::Flash2 || kernel == AttentionKernel::Flash3;
}

// Matrix units load 16 bytes at a time: rows that are no multiple of 8 two-byte values take narrower loads. NVIDIA's
// matrix multiplication guide (section 2.2, alignment 8, 4, 2, 1 on A100 with cuBLAS 11).
double alignment(double n, double k) {
  const auto step = [](double size) {
    const double rest = std::fmod(size, 8);
    if (rest == 0) return 1.0;
    if (rest == 4) return 0.75;
    return rest == 2 || rest == 6 ? 0.5 : 0.25;
  };
  return std::min(step(n), step(k));
}

// Keys at which fused attention reaches half of its asymptote (prologue, softmax rescaling, ragged causal edge).
constexpr double kAttentionRampKeys = 160;

}  // namespace

double matrixPeakFor(const Accelerator& accelerator, Precision precision) {
  const MatrixPeaks& p = accelerator.matrixFlopsPerSecond;
  const auto sixteen = [&] {
    if (p.bf16 > 0) return p.bf16;
    if (p.fp16 > 0) return p.fp16;
    return p.tf32 > 0 ? p.tf32 : p.fp32;
  };
  switch (precision) {
    case Precision::Fp32:
      return p.tf32 > 0 ? p.tf32 : p.fp32;
    case Precision::Fp16:
      return p.fp16 > 0 ? p.fp16 : sixteen();
    case Precision::Bf16:
      return sixteen();
    case Precision::Fp8:
    case Precision::Mxfp8:
      return p.fp8 > 0 ? p.fp8 : sixteen();
    case Precision::Nvfp4:
      return p.fp4 > 0 ? p.fp4 : (p.fp8 > 0 ? p.fp8 : sixteen());
  }
  return sixteen();
}

double referencePeak(const Accelerator& accelerator, Precision precision) {
  return matrixPeakFor(accelerator, isLowPrecision(precision) ? Precision::Bf16 : precision);
}

ComputeModel::ComputeModel(const Accelerator& accelerator, const Software& software, Precision precision,
                           bool fp32GradientAccumulation)
    : software_(software), efficiency_(accelerator.efficiency) {
  peak_ = referencePeak(accelerator, precision);
  lowPeak_ = matrixPeakFor(accelerator, precision);
  lowFraction_ = precision == Precision::Nvfp4 ? efficiency_.matrixFractionFp4 : efficiency_.matrixFractionFp8;
  memoryRate_ = accelerator.memoryBytesPerSecond * efficiency_.memoryFraction;
  units_ = static_cast<double>(std::max<std::int64_t>(accelerator.computeUnits, 1));
  launchSeconds_ = software.cudaGraphs ? 0 : efficiency_.launchSeconds * software.launchFactor;
  gradientBytes_ = fp32GradientAccumulation ? 8 : 4;  // read and write the accumulated gradient
  element_ = activationBytes(precision);
  asynchronousUnits_ = accelerator.matrixFlopsPerSecond.fp8 > 0;
}

double ComputeModel::bestMatrixFlopsPerSecond(bool lowPrecision) const {
  return lowPrecision ? lowPeak_ * lowFraction_ : peak_ * efficiency_.matrixFraction;
}

double ComputeModel::bestAttentionFlopsPerSecond() const {
  return peak_ * std::max({efficiency_.attentionForward, efficiency_.attentionBackward, efficiency_.matrixFraction});
}

double ComputeModel::matrixSeconds(double count, double m, double n, double k, bool lowPrecision,
                                   double outputBytes) const {
  if (count <= 0 || m <= 0 || n <= 0 || k <= 0) return 0;
  const double rate = bestMatrixFlopsPerSecond(lowPrecision) * alignment(n, k) / units_;  // of one compute unit
  // Tiles run in waves over the compute units and the last wave may be nearly empty; libraries win back about half of
  // that loss (stream-K, persistent kernels): halfway between whole and fractional waves has the least error on the
  // A100 products of the public operator table (median 2.6 %, 183 products). The K ramp is the cost of filling and
  // draining each tile's pipeline. Splitting K helps products with few tiles.
  double arithmetic = 0;
  for (const Tile& tile : kTiles) {
    const double tiles = count * std::ceil(m / tile.m) * std::ceil(n / tile.n);
    for (const double split : kSplits) {
      if (split > 1 && (tiles >= units_ || k / split < 256)) break;
      const double exact = tiles * split / units_;
      const double waves = 0.5 * (std::ceil(exact) + std::max(exact, 1.0));
      const double ramp = efficiency_.matrixRampK * (lowPrecision ? 2 : 1);
      double seconds = waves * 2 * tile.m * tile.n * (k / split + ramp) / (rate * tile.relative);
      if (split > 1) seconds += split * count * m * n * 8 / memoryRate_;  // partial sums in fp32
      if (arithmetic == 0 || seconds < arithmetic) arithmetic = seconds;
    }
  }
  const double operand = lowPrecision ? lowPeak_ > 3 * peak_ ? 0.5625 : 1.0 : element_;
  const double bytes = count * ((m * k + k * n) * operand + m * n * outputBytes);
  return std::max(arithmetic, bytes / memoryRate_) + efficiency_.kernelSeconds;
}

double ComputeModel::flashRate(const Operator& op, double fraction) const {
  double kernel = 1.0;
  // Flash-1 against flash-2 on A100: 30 to 50 % slower forward and backward (arXiv 2307.08691, figures 4 to 6).
  if (software_.attentionKernel == AttentionKernel::Flash1) kernel = 0.6;
  // The constants are those of a generation's best kernel. On devices with fp8 units (Hopper and later) flash-2 does
  // not use the asynchronous units: flash-3 is 1.5 to 2 times faster forward, 1.5 to 1.75 backward (arXiv 2407.08608).
  if (asynchronousUnits_ && software_.attentionKernel == AttentionKernel::Flash2) kernel = 0.6;
  if (asynchronousUnits_ && software_.attentionKernel == AttentionKernel::Flash1) kernel = 0.4;
  // Narrow heads leave less arithmetic per softmax element (arXiv 2307.08691, figure 4: head dim 64 against 128).
  const double width = op.queryKeyDim <= 64 ? 0.85 : 1.0;
  const double keys = op.visibleKeys / op.passes;
  const double ramp = keys / (keys + kAttentionRampKeys);
  return peak_ * fraction * kernel * width * ramp;
}

namespace {
// Head widths are padded to the kernel's multiple of 32.
double padded(double width) { return std::ceil(width / 32) * 32; }
}  // namespace

double ComputeModel::attentionForwardSeconds(const Operator& op) const {
  if (isFlash(software_.attentionKernel)) {
    const double flops =
        2 * op.batchHeads * op.queries * op.visibleKeys * (padded(op.queryKeyDim) + padded(op.valueDim));
    return flops / flashRate(op, efficiency_.attentionForward) + op.passes * efficiency_.kernelSeconds;
  }
  // Two batched products over the full square; the causal half is not skipped.
  return matrixSeconds(op.batchHeads, op.queries, op.keys, op.queryKeyDim, false, element_) +
         matrixSeconds(op.batchHeads, op.queries, op.valueDim, op.keys, false, element_);
}

double ComputeModel::attentionBackwardSeconds(const Operator& op) const {
  if (isFlash(software_.attentionKernel)) {
    // Five products instead of two: scores again, then gradients of V, P, Q and K.
    const double flops =
        2 * op.batchHeads * op.queries * op.visibleKeys * (3 * padded(op.queryKeyDim) + 2 * padded(op.valueDim));
    return flops / flashRate(op, efficiency_.attentionBackward) + 2 * op.passes * efficiency_.kernelSeconds;
  }
  return matrixSeconds(op.batchHeads, op.queries, op.keys, op.valueDim, false, element_) +
         matrixSeconds(op.batchHeads, op.keys, op.valueDim, op.queries, false, element_) +
         matrixSeconds(op.batchHeads, op.queries, op.queryKeyDim, op.keys, false, element_) +
         matrixSeconds(op.batchHeads, op.keys, op.queryKeyDim, op.queries, false, element_);
}

double ComputeModel::vectorSeconds(double bytes, double kernels) const {
  return bytes / memoryRate_ + kernels * efficiency_.kernelSeconds;
}

OperatorTime ComputeModel::time(const Operator& op) const {
  OperatorTime t;
  switch (op.kind) {
    case OperatorKind::Matrix:
      t.forward = matrixSeconds(op.count, op.m, op.n, op.k, op.lowPrecision, element_);
      t.backwardInput = matrixSeconds(op.count, op.m, op.k, op.n, op.lowPrecision, element_);
      t.backwardWeight = matrixSeconds(op.count, op.k, op.n, op.m, op.lowPrecision, gradientBytes_);
      t.forwardKernels = t.backwardInputKernels = t.backwardWeightKernels = op.count;
      if (op.count > 1) {
        // Grouped experts run as one product each over a few streams: on B200 the public operator table shows 4 to 8
        // microseconds an expert beyond its arithmetic and bytes.
        const double starts = (op.count - 1) * efficiency_.kernelSeconds;
        t.forward += starts;
        t.backwardInput += starts;
        t.backwardWeight += starts;
      }
      break;
    case OperatorKind::Attention: {
      const bool flash = isFlash(software_.attentionKernel);
      t.forward = attentionForwardSeconds(op);
      t.backwardInput = attentionBackwardSeconds(op);
      t.forwardKernels = (flash ? 1 : 2) * op.passes;
      t.backwardInputKernels = (flash ? 2 : 4) * op.passes;
      break;
    }
    case OperatorKind::Vector:
      if (op.forwardBytes > 0) {
        t.forward = vectorSeconds(op.forwardBytes, op.forwardKernels);
        t.forwardKernels = op.forwardKernels;
      }
      if (op.backwardBytes > 0) {
        t.backwardInput = vectorSeconds(op.backwardBytes, op.backwardKernels);
        t.backwardInputKernels = op.backwardKernels;
      }
      break;
  }
  return t;
}

}  // namespace meshwise
