// Times of single operators against hand-worked tiles, bytes and launches.
#include "compute/compute.h"

#include <gtest/gtest.h>

namespace meshwise {
namespace {

// 100 units of 1 TFLOP/s each, 1 TB/s, nothing lost, no ramp, no launch.
Accelerator plain() {
  Accelerator a;
  a.matrixFlopsPerSecond.bf16 = 100e12;
  a.matrixFlopsPerSecond.fp8 = 200e12;
  a.memoryBytesPerSecond = 1e12;
  a.computeUnits = 100;
  a.efficiency.matrixFraction = a.efficiency.matrixFractionFp8 = a.efficiency.memoryFraction = 1;
  a.efficiency.matrixRampK = 0;
  a.efficiency.kernelSeconds = 0;
  a.efficiency.launchSeconds = 0;
  return a;
}

// 200 tiles of 256 x 128 on 100 units are two full waves: all of the peak.
TEST(MatrixSeconds, FullWavesReachThePeak) {
  const ComputeModel compute(plain(), Software{}, Precision::Bf16, true);
  const double m = 256 * 20, n = 128 * 10, k = 4096;
  EXPECT_NEAR(compute.matrixSeconds(1, m, n, k, false, 2), 2 * m * n * k / 100e12, 1e-15);
  const ComputeModel fp8(plain(), Software{}, Precision::Fp8, true);
  EXPECT_NEAR(fp8.matrixSeconds(1, m, n, k, true, 2), 2 * m * n * k / 200e12, 1e-15);
}

// One row of a long product moves all of B: 2 bytes x (k + k n + n), and no tile can hide that.
TEST(MatrixSeconds, ThinProductsAreBoundByMemory) {
  const ComputeModel compute(plain(), Software{}, Precision::Bf16, true);
  EXPECT_NEAR(compute.matrixSeconds(1, 8, 8192, 8192, false, 2), 2.0 * (8 * 8192 + 8192.0 * 8192 + 8 * 8192) / 1e12,
              1e-12);
}

// A ramp of K0 adds the time of K0 more columns: half of the rate at K = K0.
TEST(MatrixSeconds, ShortProductsPayTheRamp) {
  Accelerator a = plain();
  const ComputeModel without(a, Software{}, Precision::Bf16, true);
  a.efficiency.matrixRampK = 512;
  const ComputeModel with(a, Software{}, Precision::Bf16, true);
  const double m = 256 * 20, n = 128 * 10;
  EXPECT_NEAR(with.matrixSeconds(1, m, n, 512, false, 2) / without.matrixSeconds(1, m, n, 512, false, 2), 2, 1e-9);
}

// 150 columns are no multiple of 8: matrix units load 4 bytes at a time instead of 16.
TEST(MatrixSeconds, RowsThatAreNotAlignedAreSlower) {
  const ComputeModel compute(plain(), Software{}, Precision::Bf16, true);
  EXPECT_GT(compute.matrixSeconds(64, 2048, 2048, 150, false, 0),
            1.5 * compute.matrixSeconds(64, 2048, 2048, 152, false, 0));
}

TEST(MatrixSeconds, NeverBeatsThePeakAndGrowsWithTheWork) {
  const ComputeModel compute(plain(), Software{}, Precision::Bf16, true);
  double before = 0;
  for (double m = 8; m <= 65536; m *= 2) {
    const double seconds = compute.matrixSeconds(1, m, 4096, 4096, false, 2);
    EXPECT_GE(seconds, 2 * m * 4096 * 4096 / 100e12 * (1 - 1e-12));
    EXPECT_GE(seconds, before);
    before = seconds;
  }
}

TEST(VectorSeconds, AreBytesAndKernels) {
  Accelerator a = plain();
  a.efficiency.kernelSeconds = 3e-6;
  EXPECT_NEAR(ComputeModel(a, Software{}, Precision::Bf16, true).vectorSeconds(1e9, 2), 1e-3 + 6e-6, 1e-15);
}

TEST(Peaks, FallBackToWhatTheDeviceHas) {
  Accelerator a = plain();
  EXPECT_EQ(matrixPeakFor(a, Precision::Fp8), 200e12);
  EXPECT_EQ(matrixPeakFor(a, Precision::Nvfp4), 200e12);  // no fp4 units: fp8
  EXPECT_EQ(referencePeak(a, Precision::Fp8), 100e12);    // utilization is stated against 16 bit
  a.matrixFlopsPerSecond.fp8 = 0;
  EXPECT_EQ(matrixPeakFor(a, Precision::Fp8), 100e12);
}

}  // namespace
}  // namespace meshwise
