// Bytes per parameter by recipe and ZeRO stage, and whole-stage memory, against published arithmetic.
#include "memory/memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "meshwise/estimate.h"

namespace meshwise {
namespace {

Job job(Precision precision = Precision::Bf16) {
  Job j;
  j.sequenceLength = 4096;
  j.globalBatchSequences = 8;
  j.precision = precision;
  return j;
}

double total(const StateBytes& b) { return b.weights + b.gradients + b.optimizer; }

// Megatron-LM, bf16 with fp32 gradients: 18 bytes, 6 + 12/d with the distributed optimizer (its docs' table).
TEST(States, MegatronsTable) {
  const Software megatron;
  EXPECT_DOUBLE_EQ(total(stateBytesPerParameter(job(), megatron, 0, 8)), 18);
  for (const double d : {2.0, 8.0, 64.0}) {
    EXPECT_DOUBLE_EQ(total(stateBytesPerParameter(job(), megatron, 1, d)), 6 + 12 / d);
  }
}

// ZeRO, arXiv 1910.02054, section 3.1 and figure 1: 16, 4 + 12/d, 2 + 14/d and 16/d bytes with 16-bit gradients.
TEST(States, TheZeroPaper) {
  Software deepspeed;
  deepspeed.launcher = Launcher::DeepSpeed;
  deepspeed.fp32GradientAccumulation = false;
  const double d = 64;
  EXPECT_DOUBLE_EQ(total(stateBytesPerParameter(job(Precision::Fp16), deepspeed, 0, d)), 16);
  EXPECT_DOUBLE_EQ(total(stateBytesPerParameter(job(Precision::Fp16), deepspeed, 1, d)), 4 + 12 / d);
  EXPECT_DOUBLE_EQ(total(stateBytesPerParameter(job(Precision::Fp16), deepspeed, 2, d)), 2 + 14 / d);
  EXPECT_DOUBLE_EQ(total(stateBytesPerParameter(job(Precision::Fp16), deepspeed, 3, d)), 16 / d);
}

// FSDP keeps fp32 shards as the parameters themselves: 4 + 4 + 8 bytes, all sharded. All-bf16 keeps 2 + 2 + 4.
TEST(States, FullyShardedAndPureBf16) {
  Software fsdp;
  fsdp.launcher = Launcher::Torchtitan;
  EXPECT_DOUBLE_EQ(total(stateBytesPerParameter(job(), fsdp, 3, 8)), 16.0 / 8);
  Software pure;
  pure.pureBf16 = true;
  pure.fp32GradientAccumulation = false;
  EXPECT_DOUBLE_EQ(total(stateBytesPerParameter(job(), pure, 0, 1)), 8);
}

TEST(States, NeverGrowWithTheStageOrTheRanks) {
  for (const Precision precision :
       {Precision::Fp32, Precision::Fp16, Precision::Bf16, Precision::Fp8, Precision::Nvfp4}) {
    Software s;
    s.launcher = Launcher::DeepSpeed;
    double before = 1e9;
    for (int stage = 0; stage <= 3; ++stage) {
      const double bytes = total(stateBytesPerParameter(job(precision), s, stage, 16));
      EXPECT_LE(bytes, before);
      EXPECT_LE(total(stateBytesPerParameter(job(precision), s, stage, 32)), bytes);
      before = bytes;
    }
  }
}

Request llama2(std::int64_t devices) {
  Request r;
  Model& m = r.model;  // Llama 2 7B: 6,738,415,616 parameters
  m.layers = 32;
  m.hidden = 4096;
  m.heads = m.kvHeads = 32;
  m.headDim = 128;
  m.ffn = 11008;
  m.vocab = 32000;
  r.cluster.devices = devices;
  r.cluster.networkBytesPerSecondPerDevice = 25e9;
  Accelerator& a = r.cluster.accelerator;
  a.matrixFlopsPerSecond.bf16 = 312e12;
  a.memoryBytes = 40e9;
  a.memoryBytesPerSecond = 1.555e12;
  a.computeUnits = 108;
  a.scaleUpBytesPerSecond = 300e9;
  r.job = job();
  r.job.sequenceLength = 64;
  return r;
}

double states(const Request& r, const Strategy& s) {
  const MemoryEstimate m = estimateStrategy(r, s).memory;
  return m.classes[static_cast<std::size_t>(MemoryClass::Weights)] +
         m.classes[static_cast<std::size_t>(MemoryClass::Gradients)] +
         m.classes[static_cast<std::size_t>(MemoryClass::OptimizerStates)];
}

// github.com/NVIDIA/Megatron-LM/issues/606: Llama 2 7B at TP 1 fails on 40 GB with 64 tokens. 18 bytes are 121.3 GB,
// 6 + 12/8 are 50.5 GB; at TP 8 18 bytes are 15.2 GB a device.
TEST(StageMemory, Llama2OnFortyGigabytes) {
  Strategy s;
  s.data = 8;
  s.zeroStage = 0;
  EXPECT_NEAR(states(llama2(8), s), 121.3e9, 0.01 * 121.3e9);
  EXPECT_FALSE(estimateStrategy(llama2(8), s).fits);
  s.zeroStage = 1;
  EXPECT_NEAR(states(llama2(8), s), 50.5e9, 0.01 * 50.5e9);
  EXPECT_FALSE(estimateStrategy(llama2(8), s).fits);
  s.data = 1;
  s.tensor = 8;
  EXPECT_NEAR(states(llama2(8), s), 15.2e9, 0.02 * 15.2e9);
  EXPECT_TRUE(estimateStrategy(llama2(8), s).fits);
}

// 1F1B: the first of p stages keeps p micro-batches, the last one keeps one (arXiv 2104.04473, section 2.2.1).
TEST(StageMemory, EarlierStagesKeepMoreMicroBatches) {
  Request r = llama2(4);
  r.job.sequenceLength = 4096;
  Strategy s;
  s.pipeline = 4;
  const std::vector<StageMemory> stages = stageMemory(r, s);
  const auto activations = [&](std::size_t rank) {
    return stages[rank].bytes[static_cast<std::size_t>(MemoryClass::Activations)];
  };
  ASSERT_EQ(stages.size(), 4u);
  // all four have 8 layers; the embedding keeps nothing here, the head keeps its input and the norm's
  EXPECT_NEAR(activations(0) / activations(1), 4.0 / 3, 1e-9);
  EXPECT_NEAR(activations(1) / activations(2), 3.0 / 2, 1e-9);
  const MemoryEstimate m = estimateStrategy(r, s).memory;
  double peak = 0;
  for (const StageMemory& stage : stages) peak = std::max(peak, stage.total());
  EXPECT_DOUBLE_EQ(m.peakBytes, peak);
}

}  // namespace
}  // namespace meshwise
