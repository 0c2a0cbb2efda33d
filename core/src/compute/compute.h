// Seconds of operators on one device. Private to the core.
#pragma once

#include "meshwise/plan.h"
#include "operators/operators.h"

namespace meshwise {

// Device seconds and kernels of one operator, by direction.
struct OperatorTime {
  double forward = 0, backwardInput = 0, backwardWeight = 0;
  double forwardKernels = 0, backwardInputKernels = 0, backwardWeightKernels = 0;
};

class ComputeModel {
 public:
  ComputeModel(const Accelerator& accelerator, const Software& software, Precision precision,
               bool fp32GradientAccumulation);

  // `count` products (m x k) * (k x n), 16 bit or the recipe's low precision. `outputBytes`: bytes moved per result.
  double matrixSeconds(double count, double m, double n, double k, bool lowPrecision, double outputBytes) const;
  double attentionForwardSeconds(const Operator& op) const;
  double attentionBackwardSeconds(const Operator& op) const;
  double vectorSeconds(double bytes, double kernels) const;
  OperatorTime time(const Operator& op) const;

  double matrixPeak(bool lowPrecision) const { return lowPrecision ? lowPeak_ : peak_; }
  // The most that matrix products can reach, FLOP/s: no estimate computes faster (used by lower bounds).
  double bestMatrixFlopsPerSecond(bool lowPrecision) const;
  double bestAttentionFlopsPerSecond() const;
  double launchSeconds() const { return launchSeconds_; }
  double memoryBytesPerSecond() const { return memoryRate_; }

 private:
  double flashRate(const Operator& op, double fraction) const;

  const Software& software_;
  Efficiency efficiency_;
  double peak_ = 0, lowPeak_ = 0, lowFraction_ = 0;
  double memoryRate_ = 0;
  double units_ = 0;
  double launchSeconds_ = 0;
  double gradientBytes_ = 8;
  double element_ = 2;
  bool asynchronousUnits_ = false;
};

// Dense matrix peak for the compute type, FLOP/s; falls back to the next wider type that the device has.
double matrixPeakFor(const Accelerator& accelerator, Precision precision);
// The 16-bit (or fp32) peak that model FLOP utilization is stated against.
double referencePeak(const Accelerator& accelerator, Precision precision);

}  // namespace meshwise
