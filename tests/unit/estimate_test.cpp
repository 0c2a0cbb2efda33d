// The step: terms, bubble, scaling and what may never happen.
#include "meshwise/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "estimate/estimator.h"
#include "meshwise/rules.h"
#include "search/space.h"
#include "support/random_problem.h"

namespace meshwise {
namespace {

double term(const Estimate& e, TimeTerm t) { return e.time[static_cast<std::size_t>(t)]; }

Request request(std::int64_t devices = 8) {
  Request r;
  Model& m = r.model;
  m.layers = 32;
  m.hidden = 4096;
  m.heads = 32;
  m.kvHeads = 8;
  m.headDim = 128;
  m.ffn = 14336;
  m.vocab = 128256;
  r.cluster.devices = devices;
  r.cluster.networkBytesPerSecondPerDevice = 50e9;
  Accelerator& a = r.cluster.accelerator;
  a.matrixFlopsPerSecond.bf16 = 989e12;
  a.memoryBytes = 80e9;
  a.memoryBytesPerSecond = 3.35e12;
  a.computeUnits = 132;
  a.scaleUpBytesPerSecond = 450e9;
  r.job.sequenceLength = 4096;
  r.job.globalBatchSequences = 64;
  return r;
}

// Llama 3 8B: 8,030,261,248 parameters, 525,336,576 of them the input table. 6 of the rest and 12 L a d s a token.
TEST(ModelFlops, FollowTheirConvention) {
  const double weights = 8030261248.0 - 525336576.0;
  const double perToken = 6 * weights + 12.0 * 32 * 32 * 128 * 4096;
  EXPECT_NEAR(modelFlopsPerStep(request()) / (perToken * 64 * 4096), 1, 1e-9);
}

// Full recomputation runs each layer's forward once more: a third of forward and backward where products dominate.
TEST(Recompute, AddsOneForward) {
  Strategy s;
  s.data = 8;
  Strategy full = s;
  full.recompute = Recompute::Full;
  const Estimate without = estimateStrategy(request(), s);
  const Estimate with = estimateStrategy(request(), full);
  EXPECT_DOUBLE_EQ(term(without, TimeTerm::Recompute), 0);
  EXPECT_DOUBLE_EQ(term(with, TimeTerm::Compute), term(without, TimeTerm::Compute));
  EXPECT_NEAR(term(with, TimeTerm::Recompute) / term(with, TimeTerm::Compute), 0.30, 0.05);
}

// m micro-batches over p equal stages: the bubble is (p - 1) / m of the busy time (arXiv 2104.04473, section 2.2.1);
// the embedding and the head make the ends longer, so a little less of the slowest stage.
TEST(Bubble, IsTheFillAndDrainOfThePipeline) {
  Request r = request();
  r.model.vocab = 128;  // ends like the middle
  r.software.vocabularyMultiple = 1;
  Strategy s;
  s.pipeline = 8;
  const Estimate e = estimateStrategy(r, s);
  const double busy =
      term(e, TimeTerm::Compute) + term(e, TimeTerm::Host) - r.cluster.accelerator.efficiency.stepSeconds;
  EXPECT_NEAR(term(e, TimeTerm::Bubble) / busy, 7.0 / 64, 0.01);
}

// Communication inside a node of data ranks only: ZeRO-0 moves twice what the gradients' scatter moves.
TEST(DataParallel, AFasterNetworkNeverSlowsTheStep) {
  Request slow = request(64);
  Request fast = slow;
  fast.cluster.networkBytesPerSecondPerDevice *= 4;
  for (const int stage : {0, 1, 3}) {
    Strategy s;
    s.data = 64;
    s.zeroStage = stage;
    EXPECT_LE(estimateStrategy(fast, s).stepSeconds, estimateStrategy(slow, s).stepSeconds) << stage;
  }
}

TEST(TensorParallel, SequenceParallelismSavesMemoryAndMovesTheSameBytes) {
  Strategy plain;
  plain.tensor = 8;
  Strategy sequence = plain;
  sequence.sequenceParallel = true;
  EXPECT_LT(estimateStrategy(request(), sequence).memory.peakBytes,
            estimateStrategy(request(), plain).memory.peakBytes);
}

// What must hold for any legal strategy of any problem: 100,000 of them, seeded.
TEST(AnyStrategy, IsFiniteAddsUpAndStaysBelowThePeak) {
  std::int64_t looked = 0;
  for (std::uint64_t seed = 1; looked < 100000 && seed < 40000; ++seed) {
    testing::Random random(seed);
    const Request r = testing::randomRequest(random);
    Estimator estimator(r);
    const Space space(r);
    if (space.size() > 50000) continue;
    std::vector<Strategy> sample;
    space.forEach([&](const Strategy& s) {
      if (sample.size() < 200 && random.oneIn(4) && firstBrokenRule(r, s) < 0) sample.push_back(s);
    });
    for (const Strategy& s : sample) {
      ++looked;
      const Estimate e = estimator.estimate(s);
      ASSERT_TRUE(std::isfinite(e.stepSeconds) && e.stepSeconds > 0);
      double sum = 0;
      for (std::size_t t = 0; t < kTimeTermCount; ++t) {
        ASSERT_TRUE(std::isfinite(e.time[t]));
        if (t != static_cast<std::size_t>(TimeTerm::Overlapped)) {
          ASSERT_GE(e.time[t], 0) << t;
        }
        sum += e.time[t];
      }
      ASSERT_LE(term(e, TimeTerm::Overlapped), 0);
      ASSERT_DOUBLE_EQ(sum, e.stepSeconds);
      // hidden communication is communication
      ASSERT_LE(-term(e, TimeTerm::Overlapped),
                (term(e, TimeTerm::TensorCommunication) + term(e, TimeTerm::TensorReduction) +
                 term(e, TimeTerm::ContextCommunication) + term(e, TimeTerm::ExpertCommunication) +
                 term(e, TimeTerm::PipelineCommunication) + term(e, TimeTerm::DataCommunication) +
                 term(e, TimeTerm::DataReduction)) *
                    (1 + 1e-9));
      double bytes = 0;
      for (const double b : e.memory.classes) {
        ASSERT_GE(b, 0);
        bytes += b;
      }
      ASSERT_NEAR(bytes / e.memory.peakBytes, 1, 1e-9);
      ASSERT_LE(estimator.stepSecondsLowerBound(s), e.stepSeconds);
      ASSERT_LE(estimator.memoryLowerBoundBytes(s), e.memory.peakBytes);
    }
  }
  EXPECT_GE(looked, 100000);
}

}  // namespace
}  // namespace meshwise
