// Operators of a layer against closed forms from the literature.
#include "operators/operators.h"

#include <gtest/gtest.h>

#include "memory/memory.h"
#include "meshwise/estimate.h"

namespace meshwise {
namespace {

// GPT-3 175B (arXiv 2005.14165): 96 layers, h 12288, 96 heads, plain MLP of 4h.
Model gpt3() {
  Model m;
  m.layers = 96;
  m.hidden = 12288;
  m.heads = m.kvHeads = 96;
  m.headDim = 128;
  m.ffn = 4 * 12288;
  m.vocab = 51200;
  m.gatedMlp = false;
  m.position = Position::Learned;
  m.norm = Norm::Layer;
  m.normBias = true;
  m.biases = {true, true, true, false};
  return m;
}

Job job() {
  Job j;
  j.sequenceLength = 2048;
  j.globalBatchSequences = 64;
  j.precision = Precision::Fp16;
  return j;
}

Software megatron2022() {
  Software s;
  s.attentionKernel = AttentionKernel::UnfusedFusedSoftmax;
  s.dropout = true;
  return s;
}

double matrixFlops(const OperatorList& list) {
  double sum = 0;
  for (const Operator& op : list) {
    if (op.kind == OperatorKind::Matrix) sum += 2 * op.count * op.m * op.n * op.k;
  }
  return sum;
}

double parameters(const OperatorList& list) {
  double sum = 0;
  for (const Operator& op : list) sum += op.parameters;
  return sum;
}

// A layer's forward products cost 24 b s h^2 for f = 4h and as many key-value heads as heads (arXiv 2104.04473,
// appendix): 8 b s h^2 attention, 16 b s h^2 MLP. Sharded over t ranks: a t-th each.
TEST(LayerOperators, ProductsCostWhatTheClosedFormSays) {
  const double bsh2 = 2.0 * 2048 * 12288 * 12288;
  for (const double t : {1.0, 8.0}) {
    Shard shard;
    shard.tensor = t;
    shard.microBatch = 2;
    EXPECT_DOUBLE_EQ(matrixFlops(layerOperators(gpt3(), job(), megatron2022(), shard, {})), 24 * bsh2 / t);
  }
}

// Grouped queries: 2 b s h^2 (1 + k/a) for queries, keys and values... = 4 b s h^2 (1 + k/a) with the output product; a
// gated MLP has three products of 2 b s h f (seed: 12 s h^2 (1 + k/a) and 6 c s h f with backward, c = 3).
TEST(LayerOperators, GroupedQueriesAndGatesAreCounted) {
  Model m = gpt3();
  m.hidden = 4096;
  m.heads = 32;
  m.kvHeads = 8;
  m.ffn = 14336;
  m.gatedMlp = true;
  const double s = 2048, h = 4096;
  EXPECT_DOUBLE_EQ(matrixFlops(layerOperators(m, job(), megatron2022(), Shard{}, {})),
                   4 * s * h * h * (1 + 8.0 / 32) + 3 * 2 * s * h * 14336);
}

// Causal attention sees half of the square: 2 products of 2 s (s/2) h each.
TEST(LayerOperators, FusedAttentionSkipsTheMaskedHalf) {
  for (const Operator& op : layerOperators(gpt3(), job(), megatron2022(), Shard{}, {})) {
    if (op.kind != OperatorKind::Attention) continue;
    EXPECT_DOUBLE_EQ(2 * op.batchHeads * op.queries * op.visibleKeys * (op.queryKeyDim + op.valueDim),
                     2.0 * 2048 * 2048 * 12288);
  }
}

// A window of w keys on a sequence of S: w - w^2 / 2S on average (the first w queries see fewer).
TEST(LayerOperators, AWindowLimitsWhatAQuerySees) {
  Model m = gpt3();
  m.attention.slidingWindow = 512;
  for (const Operator& op : layerOperators(m, job(), megatron2022(), Shard{}, {false, true})) {
    if (op.kind != OperatorKind::Attention) continue;
    EXPECT_DOUBLE_EQ(op.visibleKeys, 512 - 512.0 * 512 / (2 * 2048));
  }
}

// Korthikanti et al., arXiv 2205.05198, table 2: s b h (10 + 24/t + 5 a s / (h t)) without sequence parallelism,
// s b h / t (34 + 5 a s / h) with it, 34 s b h / t with selective recomputation, 2 s b h with full.
TEST(Activations, EqualKorthikanti) {
  const double s = 2048, h = 12288, a = 96, b = 1, t = 8;
  const double sbh = s * b * h;
  Shard shard;
  shard.tensor = t;
  OperatorList list = layerOperators(gpt3(), job(), megatron2022(), shard, {});
  EXPECT_NEAR(activationBytesOf(list, Recompute::None, {}, 2 * sbh).saved / (sbh * (10 + 24 / t + 5 * a * s / (h * t))),
              1, 1e-12);
  EXPECT_DOUBLE_EQ(activationBytesOf(list, Recompute::Full, {}, 2 * sbh).saved, 2 * sbh);
  shard.sequenceParallel = true;
  list = layerOperators(gpt3(), job(), megatron2022(), shard, {});
  EXPECT_NEAR(activationBytesOf(list, Recompute::None, {}, 2 * sbh).saved / (sbh / t * (34 + 5 * a * s / h)), 1, 1e-12);
  RecomputeModules core;
  core.coreAttention = true;
  EXPECT_NEAR(activationBytesOf(list, Recompute::Selective, core, 2 * sbh).saved / (34 * sbh / t), 1, 1e-12);
}

// Over the tensor ranks a layer's weights add up; what is replicated (norms, biases after the reduction) repeats.
TEST(Parameters, OfTheRanksAddUpToTheLayer) {
  const Model m = gpt3();
  const ParameterCount count = countParameters(m);
  const double layer = static_cast<double>(count.attentionPerLayer + count.denseMlpPerLayer + count.normsPerLayer);
  EXPECT_DOUBLE_EQ(parameters(layerOperators(m, job(), megatron2022(), Shard{}, {})), layer);
  Shard shard;
  shard.tensor = 8;
  const double replicated = 2 * 2.0 * m.hidden + 2.0 * m.hidden;  // two norms with bias; two output biases
  EXPECT_DOUBLE_EQ(8 * parameters(layerOperators(m, job(), megatron2022(), shard, {})), layer + 7 * replicated);
}

// Tokens routed to K experts of E over e ranks: every rank computes its share of all pairs, K per token.
TEST(Experts, TheRanksTogetherComputeEveryRoutedToken) {
  Model m = gpt3();
  m.moe.experts = 64;
  m.moe.topK = 6;
  m.moe.expertFfn = 1408;
  m.gatedMlp = true;
  for (const double e : {1.0, 8.0}) {
    for (const double et : {1.0, 2.0}) {
      Shard shard;
      shard.expert = e;
      shard.expertTensor = et;
      double flops = 0;
      for (const Operator& op : layerOperators(m, job(), megatron2022(), shard, {true, false})) {
        if (op.part == Part::Expert && op.kind == OperatorKind::Matrix) flops += 2 * op.count * op.m * op.n * op.k;
      }
      // one rank with its own 2048 tokens: 3 products of 2 h f for each of 6 experts a token
      EXPECT_NEAR(flops / (2048.0 * 6 * 3 * 2 * 12288 * 1408), 1, 1e-12) << e << " " << et;
    }
  }
}

}  // namespace
}  // namespace meshwise
