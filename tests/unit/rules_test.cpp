// Rules on strategies, and how layers and vocabulary are cut. The cases marked c02 to c15 are questions that people
// asked about real frameworks; the link beside each is where. What a Strategy cannot say is left out:
//   c02  embedding and loss counted as layers (flags of the launcher): the same splits are stated by first and last
//        counts instead; 94 layers on 32 x 3 virtual stages exist only with the flags
//   c03  a group size other than the pipeline degree (the schedule test runs 14 micro-batches in groups of 5)
//   c05  Megatron-LM of 2024 and before: one version of each launcher is modelled
//   c08  MindSpeed's legacy argument path
//   c11  Megatron-Bridge with a checkpoint's exact vocabulary is vocabularyMultiple 1
//   c14  method of full recomputation, saved activations spread over tensor ranks, overlap_param_gather without
//        overlap_grad_reduce, environment variables; torch FSDP2 with experts, tied embeddings or the distributed
//        optimizer (a ZeRO stage does not say which of two FSDPs runs, and Megatron's own takes these)
#include "meshwise/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "meshwise/estimate.h"
#include "meshwise/schedule.h"
#include "support/random_problem.h"

namespace meshwise {
namespace {

using Layers = std::vector<std::int64_t>;

// A model with which most degrees go: 64 heads, widths of 2^n.
Request requestFor(Launcher launcher) {
  Request request;
  Model& model = request.model;
  model.layers = 32;
  model.hidden = 8192;
  model.heads = model.kvHeads = 64;
  model.headDim = 128;
  model.ffn = 32768;
  model.vocab = 128256;
  request.cluster.devices = 1;
  request.job.sequenceLength = 8192;
  request.job.globalBatchSequences = 64;
  request.software.launcher = launcher;
  request.software.overlapTensor = false;
  return request;
}

// Sets the number of devices to what the degrees need.
Request fitting(Request request, const Strategy& s) {
  request.cluster.devices = s.tensor * s.pipeline * s.data * s.context;
  return request;
}

std::set<std::string> brokenCodes(const Request& request, const Strategy& strategy) {
  std::set<std::string> codes;
  for (const Issue& issue : checkStrategy(request, strategy)) codes.insert(issue.code);
  return codes;
}

using Codes = std::set<std::string>;

Strategy interleaved(std::int64_t pipeline, std::int64_t virtualStages) {
  Strategy s;
  s.pipeline = pipeline;
  s.virtualStages = virtualStages;
  s.schedule = Schedule::Interleaved;
  return s;
}

// --- c02 https://github.com/NVIDIA/Megatron-LM/issues/1304 ---

struct SplitCase {
  std::int64_t layers, pipeline, first, last;
  bool accepted;
  Layers split;  // when accepted
};

class UnevenStages : public ::testing::TestWithParam<SplitCase> {};

TEST_P(UnevenStages, AreAcceptedWhereMegatronAcceptsThem) {
  const SplitCase& c = GetParam();
  Request request = requestFor(Launcher::MegatronLm);
  request.model.layers = c.layers;
  Strategy s;
  s.pipeline = c.pipeline;
  s.firstStageLayers = c.first;
  s.lastStageLayers = c.last;
  EXPECT_EQ(brokenCodes(fitting(request, s), s), c.accepted ? Codes{} : Codes{"megatron.layersPipeline"});
  if (c.accepted) {
    EXPECT_EQ(stageLayers(c.layers, s), c.split);
  }
}

INSTANTIATE_TEST_SUITE_P(
    CaseC02, UnevenStages,
    ::testing::Values(SplitCase{30, 4, -1, -1, false, {}}, SplitCase{30, 4, 7, 7, true, {7, 8, 8, 7}},
                      SplitCase{46, 4, -1, -1, false, {}}, SplitCase{46, 4, 11, 11, true, {11, 12, 12, 11}},
                      SplitCase{92, 8, -1, -1, false, {}},
                      SplitCase{92, 8, 10, 10, true, {10, 12, 12, 12, 12, 12, 12, 10}},
                      SplitCase{94, 2, -1, -1, true, {47, 47}}, SplitCase{61, 16, -1, -1, false, {}},
                      SplitCase{61, 16, 2, 3, true, {2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3}}));

TEST(UnevenStages, FallOutOfTheEvenSplitWhereNoLauncherRules) {
  // The splits that the launcher's flags give: layers plus embedding and head divide by the stages.
  Strategy s;
  s.pipeline = 4;
  EXPECT_EQ(stageLayers(30, s), (Layers{7, 8, 8, 7}));
  EXPECT_EQ(stageLayers(46, s), (Layers{11, 12, 12, 11}));
  Request request = requestFor(Launcher::None);
  request.model.layers = 30;
  EXPECT_EQ(brokenCodes(fitting(request, s), s), Codes{});
}

TEST(UnevenStages, TheReasonOffersASplitThatIsAccepted) {
  Request request = requestFor(Launcher::MegatronLm);
  request.model.layers = 30;
  Strategy s;
  s.pipeline = 4;
  const Issues issues = checkStrategy(fitting(request, s), s);
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].path, "/strategy/pipeline");
  // Fullest stage 8, then the fewest layers beside the head: 8 + 8 + 8 + 6.
  EXPECT_EQ(issues[0].message,
            "Megatron-LM (d98e8a64, 2026-08): 30 layers do not divide by pipeline 4; state the ends, for example 8 "
            "layers on the first and 6 on the last stage.");
}

// --- c03 https://github.com/NVIDIA/NeMo/issues/14288 ---

TEST(Interleaving, NeedsAMultipleOfThePipelineInMicroBatches) {
  struct Case {
    std::int64_t pipeline, virtualStages, microBatches;
    Codes broken;
  };
  const Case cases[] = {{6, 2, 3, {"megatron.interleavedMicroBatches"}},
                        {4, 2, 4, {}},  // not a multiple of pipeline x virtual stages
                        {4, 4, 12, {}},
                        {4, 2, 6, {"megatron.interleavedMicroBatches"}}};
  for (const Case& c : cases) {
    Request request = requestFor(Launcher::MegatronLm);
    request.model.layers = 48;
    request.job.globalBatchSequences = c.microBatches;
    const Strategy s = interleaved(c.pipeline, c.virtualStages);
    EXPECT_EQ(brokenCodes(fitting(request, s), s), c.broken) << c.pipeline << " " << c.microBatches;
  }
}

TEST(Interleaving, Plain1F1BHasNoRuleOnMicroBatches) {
  Request request = requestFor(Launcher::MegatronLm);
  request.job.globalBatchSequences = 3;
  Strategy s;
  s.pipeline = 4;
  EXPECT_EQ(brokenCodes(fitting(request, s), s), Codes{});
}

TEST(Interleaving, OnTwoRanksNeedsOverlappedSends) {
  Request request = requestFor(Launcher::MegatronLm);
  const Strategy s = interleaved(2, 2);
  request.software.overlapPipeline = false;
  EXPECT_EQ(brokenCodes(fitting(request, s), s), Codes{"megatron.interleavedPipeline"});
  request.software.overlapPipeline = true;
  EXPECT_EQ(brokenCodes(fitting(request, s), s), Codes{});
}

TEST(Interleaving, NeedsAPipeline) {
  const Strategy s = interleaved(1, 2);
  EXPECT_EQ(brokenCodes(requestFor(Launcher::MegatronLm), s), Codes{"strategy.virtualStages"});
}

TEST(Interleaving, DividesTheLayersOfAStage) {
  Request request = requestFor(Launcher::MegatronLm);
  const Strategy s = interleaved(4, 3);  // 8 layers a stage
  EXPECT_EQ(brokenCodes(fitting(request, s), s), Codes{"megatron.layersVirtual"});
  request.software.launcher = Launcher::None;
  EXPECT_EQ(brokenCodes(fitting(request, s), s), Codes{});
}

// --- c04, c05 https://github.com/pytorch/torchtitan/issues/2574 ---

TEST(TensorDegree, OfQwen25With7BIs1And2And4) {
  for (const Launcher launcher : {Launcher::MegatronLm, Launcher::Torchtitan}) {
    Request request = requestFor(launcher);
    request.model.hidden = 3584;
    request.model.heads = 28;
    request.model.kvHeads = 4;
    request.model.ffn = 18944;
    request.model.layers = 28;
    request.job.sequenceLength = 8 * 7 * 1024;
    const auto broken = [&](std::int64_t tensor) {
      Strategy s;
      s.tensor = tensor;
      s.sequenceParallel = tensor > 1;
      s.zeroStage = 0;
      return brokenCodes(fitting(request, s), s);
    };
    for (const std::int64_t tensor : {1, 2, 4}) EXPECT_EQ(broken(tensor), Codes{}) << tensor;
    EXPECT_TRUE(broken(8).contains("strategy.headsTensor"));           // 28 heads % 8
    EXPECT_TRUE(broken(7).contains("strategy.keyValueHeadsTensor"));   // 4 and 7
    EXPECT_TRUE(broken(14).contains("strategy.keyValueHeadsTensor"));  // 4 and 14
    EXPECT_TRUE(broken(28).contains("strategy.ffnTensor"));            // the heads go, 18944 % 28 does not
    EXPECT_FALSE(broken(28).contains("strategy.headsTensor"));
    EXPECT_FALSE(broken(28).contains("strategy.keyValueHeadsTensor"));
  }
}

TEST(TensorDegree, AboveTheKeyValueHeadsDependsOnTheLauncher) {
  struct Case {
    Launcher launcher;
    std::int64_t heads, kvHeads, tensor;
    Codes broken;
  };
  const Case cases[] = {
      {Launcher::MegatronLm, 16, 2, 4, {}},  // replicated
      {Launcher::MegatronLm, 64, 8, 16, {}},
      {Launcher::MegatronLm, 48, 6, 4, {"strategy.keyValueHeadsTensor"}},
      {Launcher::Torchtitan, 16, 2, 4, {"torchtitan.keyValueHeads"}},
      {Launcher::Nanotron, 32, 4, 8, {"nanotron.keyValueHeads"}},
  };
  for (const Case& c : cases) {
    Request request = requestFor(c.launcher);
    request.model.heads = c.heads;
    request.model.kvHeads = c.kvHeads;
    Strategy s;
    s.tensor = c.tensor;
    s.sequenceParallel = true;
    s.zeroStage = 0;
    EXPECT_EQ(brokenCodes(fitting(request, s), s), c.broken) << c.kvHeads << " on " << c.tensor;
  }
}

// --- c06 https://github.com/verl-project/verl/issues/1226 ---

TEST(Ulysses, SplitsHeadsAndKeyValueHeads) {
  Request request = requestFor(Launcher::DeepSpeed);
  request.model.heads = 40;
  request.model.kvHeads = 8;
  request.job.sequenceLength = 3 * 5 * 1024;
  const auto accepts = [&](std::int64_t context) {
    Strategy s;
    s.context = context;
    s.contextKind = ContextKind::AllToAll;
    return checkStrategy(fitting(request, s), s).empty();
  };
  for (const std::int64_t context : {1, 2, 4, 8, 40}) EXPECT_TRUE(accepts(context)) << context;
  for (const std::int64_t context : {5, 10, 20}) EXPECT_FALSE(accepts(context)) << context;  // 8 key-value heads
  for (const std::int64_t context : {3, 16}) EXPECT_FALSE(accepts(context)) << context;      // 40 heads
}

TEST(Ulysses, OnMindSpeedSplitsHeadsOverContextAndTensor) {
  Request request = requestFor(Launcher::MindSpeed);
  request.job.sequenceLength = 32768;
  Strategy s;
  s.context = s.tensor = 8;
  s.contextKind = ContextKind::AllToAll;
  EXPECT_EQ(brokenCodes(fitting(request, s), s), Codes{});
  request.model.heads = request.model.kvHeads = 40;
  EXPECT_EQ(brokenCodes(fitting(request, s), s), Codes{"strategy.contextHeads"});
}

// --- c07 https://github.com/verl-project/verl/pull/4855 ---

TEST(ExpertParallelism, RegroupsTheRanksOfAStage) {
  struct Case {
    std::int64_t world, tensor, pipeline, expert, expertTensor, experts;
    bool accepted;
  };
  const Case cases[] = {
      {64, 4, 16, 4, 1, 128, true},  {64, 4, 16, 4, 4, 128, false}, {4, 4, 1, 4, 1, 128, true},
      {4, 4, 1, 4, 4, 128, false},   {48, 2, 6, 8, 1, 128, true},   {64, 2, 2, 32, 1, 128, true},
      {64, 2, 2, 32, 2, 128, false}, {12, 4, 1, 6, 1, 60, true},    {16, 1, 1, 16, 1, 60, false},
      {16, 1, 1, 16, 1, 128, true},
  };
  for (const Case& c : cases) {
    Request request = requestFor(Launcher::MegatronLm);
    request.model.layers = 96;
    request.model.moe.experts = c.experts;
    request.model.moe.topK = 2;
    request.model.moe.expertFfn = 4096;
    request.cluster.devices = c.world;
    request.job.globalBatchSequences = 2 * 3 * c.world;
    Strategy s;
    s.tensor = c.tensor;
    s.pipeline = c.pipeline;
    s.data = c.world / (c.tensor * c.pipeline);
    s.expert = c.expert;
    s.expertTensor = c.expertTensor;
    s.sequenceParallel = c.tensor > 1;
    EXPECT_EQ(checkStrategy(request, s).empty(), c.accepted)
        << "world " << c.world << " tensor " << c.tensor << " pipeline " << c.pipeline << " expert " << c.expert
        << " x " << c.expertTensor;
  }
}

TEST(ExpertParallelism, NeedsAWorldThatDividesBothWays) {
  // World 32 with 2 x 6 dense ranks, and world 6 with tensor 4: no data degree makes the product.
  for (const auto& [world, tensor, pipeline] : {std::array<std::int64_t, 3>{32, 2, 6}, {6, 4, 1}}) {
    Request request = requestFor(Launcher::MegatronLm);
    request.cluster.devices = world;
    for (std::int64_t data = 1; data <= world; ++data) {
      Strategy s;
      s.tensor = tensor;
      s.pipeline = pipeline;
      s.data = data;
      EXPECT_TRUE(brokenCodes(request, s).contains("strategy.worldSize"));
    }
  }
}

TEST(ExpertParallelism, NeedsExperts) {
  Request request = requestFor(Launcher::None);
  request.cluster.devices = 2;
  Strategy s;
  s.data = 2;
  s.expert = 2;
  EXPECT_EQ(brokenCodes(request, s), Codes{"strategy.expert"});
}

// --- c08 https://github.com/NVIDIA-NeMo/RL/pull/3563 ---

TEST(SequenceLength, DividesByWhatEachLauncherAsks) {
  struct Case {
    Launcher launcher;
    ContextKind kind;
    std::int64_t sequence, context, tensor;
    Codes broken;
  };
  const auto ring = ContextKind::Ring;
  const auto ulysses = ContextKind::AllToAll;
  const Case cases[] = {
      {Launcher::MegatronLm, ring, 8192, 4, 8, {}},
      {Launcher::MegatronLm, ring, 4128, 4, 8, {}},  // 32 * 129; the joint divisor is 4 lcm(2, 8) = 32
      {Launcher::Torchtitan, ring, 4128, 4, 8, {"torchtitan.sequence"}},  // 8 * 2 * 4 = 64
      {Launcher::MegatronLm, ring, 4100, 4, 1, {"megatron.contextSequence"}},
      {Launcher::MegatronLm, ring, 4104, 4, 4, {"strategy.sequenceParallel"}},  // 1026 % 4
      {Launcher::MindSpeed, ulysses, 4100, 4, 1, {"megatron.contextSequence"}},
      {Launcher::MindSpeed, ring, 4100, 4, 1, {"megatron.contextSequence"}},
  };
  for (const Case& c : cases) {
    Request request = requestFor(c.launcher);
    request.job.sequenceLength = c.sequence;
    Strategy s;
    s.context = c.context;
    s.contextKind = c.kind;
    s.tensor = c.tensor;
    s.sequenceParallel = c.tensor > 1;
    s.zeroStage = 0;
    EXPECT_EQ(brokenCodes(fitting(request, s), s), c.broken)
        << c.sequence << " over " << c.context << " x " << c.tensor;
  }
}

TEST(SequenceLength, TheReasonNamesTheNextValidOnes) {
  Request request = requestFor(Launcher::MegatronLm);
  request.job.sequenceLength = 4100;
  Strategy s;
  s.context = 4;
  const Issues issues = checkStrategy(fitting(request, s), s);
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].path, "/strategy/context");
  EXPECT_EQ(issues[0].message,
            "Megatron-LM (d98e8a64, 2026-08): sequence 4100 does not divide by 2 x context 4. The nearest that do are "
            "4096 and 4104.");
}

// --- c09 ---

TEST(GlobalBatch, IsMicroBatchTimesAccumulationTimesData) {
  const auto broken = [](Launcher launcher, std::int64_t global, std::int64_t micro, std::int64_t data) {
    Request request = requestFor(launcher);
    request.job.globalBatchSequences = global;
    Strategy s;
    s.data = data;
    s.microBatchSequences = micro;
    return checkStrategy(fitting(request, s), s);
  };
  for (const Launcher launcher : {Launcher::DeepSpeed, Launcher::MegatronLm}) {
    const Issues issues = broken(launcher, 256, 2, 7);
    ASSERT_EQ(issues.size(), 1u);
    EXPECT_EQ(issues[0].code, "strategy.globalBatch");
    EXPECT_EQ(
        issues[0].message,
        "The global batch of 256 sequences does not divide by micro-batch 2 x data 7. The nearest that do are 252 "
        "and 266.");
    EXPECT_TRUE(broken(launcher, 252, 2, 7).empty());
  }
  Request request = requestFor(Launcher::MegatronLm);
  request.job.globalBatchSequences = 252;
  Strategy s;
  s.data = 7;
  s.microBatchSequences = 2;
  EXPECT_EQ(microBatchesPerReplica(request, s), 18);
  // Less than one micro-batch a rank.
  ASSERT_EQ(broken(Launcher::MegatronLm, 4, 1, 8).size(), 1u);
  EXPECT_EQ(broken(Launcher::MegatronLm, 4, 1, 8)[0].code, "strategy.globalBatch");
}

// --- c11 https://github.com/hpcaitech/ColossalAI/pull/6124 ---

TEST(PaddedVocabulary, IsTheNextMultipleTimesTensor) {
  struct Case {
    std::int64_t multiple, vocab, tensor, padded;
  };
  constexpr std::int64_t kMegatron = 128, kColossalAi = 64, kExact = 1;
  const Case cases[] = {
      {kMegatron, 128256, 8, 129024}, {kMegatron, 128256, 2, 128256},   {kMegatron, 32001, 2, 32256},
      {kMegatron, 32000, 2, 32000},   {kMegatron, 151936, 1, 151936},   {kMegatron, 151936, 2, 152064},
      {kMegatron, 151936, 8, 152576}, {kMegatron, 151669, 4, 152064},   {kMegatron, 50257, 1, 50304},
      {kMegatron, 50257, 8, 51200},   {kColossalAi, 128256, 8, 128512}, {kExact, 151936, 2, 151936}};
  for (const Case& c : cases) {
    Request request = requestFor(Launcher::MegatronLm);
    request.model.vocab = c.vocab;
    request.software.vocabularyMultiple = c.multiple;
    Strategy s;
    s.tensor = c.tensor;
    EXPECT_EQ(paddedVocabulary(request, s), c.padded) << c.vocab << " on " << c.tensor;
  }
}

// --- c12 https://github.com/huggingface/nanotron/pull/329 ---

TEST(WorldSize, IsTheProductOfTheDegrees) {
  const auto broken = [](Launcher launcher, std::int64_t world, std::int64_t data, std::int64_t tensor,
                         std::int64_t pipeline) {
    Request request = requestFor(launcher);
    request.model.layers = 36;
    request.cluster.devices = world;
    Strategy s;
    s.data = data;
    s.tensor = tensor;
    s.pipeline = pipeline;
    s.sequenceParallel = tensor > 1;
    s.zeroStage = 0;
    return brokenCodes(request, s);
  };
  EXPECT_EQ(broken(Launcher::Nanotron, 8, 16, 2, 1), Codes{"strategy.worldSize"});
  EXPECT_EQ(broken(Launcher::Nanotron, 8, 4, 2, 1), Codes{});
  for (std::int64_t data = 1; data <= 24; ++data) {
    EXPECT_TRUE(broken(Launcher::MegatronLm, 24, data, 8, 2).contains("strategy.worldSize"));  // 24 % 16
  }
  EXPECT_EQ(broken(Launcher::MegatronLm, 24, 2, 4, 3), Codes{});
  EXPECT_EQ(broken(Launcher::Torchtitan, 64, 2, 8, 4), Codes{});
}

// --- c13 megatron/core/transformer/moe/moe_layer.py ---

TEST(SequenceParallelism, IsAskedForByExpertsOnTensorRanks) {
  for (const std::int64_t experts : {0, 8}) {
    for (const std::int64_t tensor : {1, 2}) {
      for (const bool sequence : {false, true}) {
        if (tensor == 1 && sequence) continue;
        Request request = requestFor(Launcher::MegatronLm);
        request.model.moe.experts = experts;
        request.model.moe.topK = experts > 0 ? 2 : 0;
        request.model.moe.expertFfn = 4096;
        Strategy s;
        s.tensor = tensor;
        s.sequenceParallel = sequence;
        const bool refused = experts > 0 && tensor > 1 && !sequence;
        EXPECT_EQ(brokenCodes(fitting(request, s), s), refused ? Codes{"megatron.moeSequenceParallel"} : Codes{});
      }
    }
  }
}

// --- c14 megatron/core/transformer/transformer_config.py, megatron/training/arguments.py ---

TEST(Combinations, ThatMegatronRefuses) {
  Request request = requestFor(Launcher::MegatronLm);
  Strategy offload;
  offload.offloadActivations = true;
  EXPECT_EQ(brokenCodes(request, offload), Codes{});
  offload.recompute = Recompute::Selective;
  EXPECT_EQ(brokenCodes(request, offload), Codes{"megatron.offload"});
  offload.recompute = Recompute::None;
  offload.pipeline = 2;
  EXPECT_EQ(brokenCodes(fitting(request, offload), offload), Codes{"megatron.offload"});

  Strategy tensor;
  tensor.tensor = 2;
  request.software.overlapTensor = true;
  EXPECT_EQ(brokenCodes(fitting(request, tensor), tensor), Codes{"megatron.overlapTensor"});
  tensor.sequenceParallel = true;
  EXPECT_EQ(brokenCodes(fitting(request, tensor), tensor), Codes{});

  Strategy fsdp;
  fsdp.zeroStage = 3;
  fsdp.data = 2;
  EXPECT_EQ(brokenCodes(fitting(request, fsdp), fsdp), Codes{});
  fsdp.pipeline = 2;
  EXPECT_EQ(brokenCodes(fitting(request, fsdp), fsdp), Codes{"megatron.fsdp"});
}

TEST(Combinations, SelectiveRecomputationHasNoLayerCount) {
  const Request request = requestFor(Launcher::MegatronLm);
  Strategy s;
  s.recompute = Recompute::Selective;
  s.recomputeLayers = 4;
  EXPECT_EQ(brokenCodes(request, s), Codes{"strategy.recomputeLayers"});
  s.recompute = Recompute::Full;
  EXPECT_EQ(brokenCodes(request, s), Codes{});
  s.pipeline = 8;  // 4 layers a stage
  EXPECT_EQ(brokenCodes(fitting(request, s), s), Codes{});
  s.recomputeLayers = 5;
  EXPECT_EQ(brokenCodes(fitting(request, s), s), Codes{"strategy.recomputeLayers"});
}

// --- c15 https://github.com/NVIDIA/Megatron-LM/issues/1778 ---

TEST(Combinations, StageCountsNeedAPipeline) {
  const Request request = requestFor(Launcher::MegatronLm);
  Strategy s;
  EXPECT_EQ(brokenCodes(request, s), Codes{});
  s.lastStageLayers = 10;
  EXPECT_EQ(brokenCodes(request, s), Codes{"strategy.stageLayers"});
}

// --- Launchers one by one. ---

TEST(Torchtitan, CutsMoreThanTwoStagesARankByLayersPerStage) {
  // 32 layers, input and output are 34 units. 4 x 4 stages: 3 units each give 12 stages, 2 give 17: neither is 16. 4 x
  // 3: 3 each give 12. pipeline_parallel.py of torchtitan.
  Request request = requestFor(Launcher::Torchtitan);
  const auto broken = [&](std::int64_t virtualStages) {
    Strategy s = interleaved(4, virtualStages);
    s.zeroStage = 3;
    return brokenCodes(fitting(request, s), s);
  };
  EXPECT_EQ(broken(2), Codes{});
  EXPECT_EQ(broken(3), Codes{});
  EXPECT_EQ(broken(4), Codes{"torchtitan.stages"});
}

TEST(Launchers, RunOnlyTheirOwnSchedules) {
  const auto accepts = [](Launcher launcher, Schedule schedule) {
    const Request request = requestFor(launcher);
    Strategy s;
    s.pipeline = 4;
    s.schedule = schedule;
    s.virtualStages =
        schedule == Schedule::Interleaved || schedule == Schedule::ZeroBubbleV || schedule == Schedule::DualPipe ? 2
                                                                                                                 : 1;
    s.zeroStage = 0;
    return checkStrategy(fitting(request, s), s).empty();
  };
  using enum Schedule;
  const std::set<Schedule> all = {OneForwardOneBackward, GPipe,       Interleaved, ZeroBubbleH1,
                                  ZeroBubble2p,          ZeroBubbleV, DualPipe};
  const auto expectOnly = [&](Launcher launcher, const std::set<Schedule>& known) {
    for (const Schedule schedule : all) {
      EXPECT_EQ(accepts(launcher, schedule), known.contains(schedule))
          << static_cast<int>(launcher) << " " << static_cast<int>(schedule);
    }
  };
  expectOnly(Launcher::None, all);
  expectOnly(Launcher::MegatronLm, {OneForwardOneBackward, Interleaved});
  expectOnly(Launcher::Torchtitan, {OneForwardOneBackward, GPipe, Interleaved, ZeroBubbleV, DualPipe});
  expectOnly(Launcher::DeepSpeed, {OneForwardOneBackward});
  expectOnly(Launcher::Nanotron, {OneForwardOneBackward, GPipe});
  expectOnly(Launcher::ColossalAi, {OneForwardOneBackward, Interleaved, ZeroBubbleV});
  expectOnly(Launcher::LlmFoundry, {});
}

TEST(Launchers, AreSilentWhenTheirRulesAreOff) {
  Request request = requestFor(Launcher::MegatronLm);
  request.model.layers = 30;
  Strategy s;
  s.pipeline = 4;
  request.limits.launcherRules = false;
  EXPECT_EQ(brokenCodes(fitting(request, s), s), Codes{});
  s.tensor = 3;  // arithmetic holds always
  EXPECT_FALSE(brokenCodes(fitting(request, s), s).empty());
}

// Breaks each of the remaining rules alone, or with the rules named.
struct BreakingCase {
  const char* rule;
  Launcher launcher;
  std::function<void(Request&, Strategy&)> change;
};

TEST(Rules, EachIsBrokenByWhatItIsAbout) {
  const auto experts = [](Request& r) {
    r.model.moe.experts = 12;
    r.model.moe.topK = 2;
    r.model.moe.expertFfn = 4096;
  };
  const BreakingCase cases[] = {
      {"strategy.degree", Launcher::None, [](Request&, Strategy& s) { s.zeroStage = 4; }},
      {"strategy.sequenceContext", Launcher::None,
       [](Request& r, Strategy& s) {
         s.context = 3;
         r.job.sequenceLength = 1000;
       }},
      {"strategy.shardGroup", Launcher::None,
       [](Request&, Strategy& s) {
         s.data = 8;
         s.shardGroup = 3;
       }},
      {"strategy.expertTensor", Launcher::None,
       [&](Request& r, Strategy& s) {
         experts(r);
         s.data = 4;
         s.expert = 4;
         s.expertTensor = 2;
       }},
      {"strategy.pipelineLayers", Launcher::None,
       [](Request& r, Strategy& s) {
         r.model.layers = 7;
         s.pipeline = 8;
       }},
      {"strategy.dualPipe", Launcher::None,
       [](Request& r, Strategy& s) {
         s.pipeline = 4;
         s.schedule = Schedule::DualPipe;
         s.virtualStages = 2;
         r.job.globalBatchSequences = 7;
       }},
      {"torchtitan.expert", Launcher::Torchtitan,
       [&](Request& r, Strategy& s) {
         experts(r);
         s.data = 6;
         s.expert = 6;
         s.shardGroup = 3;
         r.job.globalBatchSequences = 60;
       }},
      {"torchtitan.tied", Launcher::Torchtitan,
       [](Request& r, Strategy& s) {
         r.model.tiedEmbeddings = true;
         s.pipeline = 2;
       }},
      {"torchtitan.sequenceParallel", Launcher::Torchtitan, [](Request&, Strategy& s) { s.tensor = 2; }},
      {"torchtitan.zero", Launcher::Torchtitan, [](Request&, Strategy& s) { s.zeroStage = 1; }},
      {"deepspeed.pipelineZero", Launcher::DeepSpeed,
       [](Request&, Strategy& s) {
         s.pipeline = 2;
         s.zeroStage = 2;
       }},
      {"mindspeed.alibi", Launcher::MindSpeed,
       [](Request& r, Strategy& s) {
         r.model.position = Position::Alibi;
         s.context = 2;
       }},
      {"mindspeed.expertTensor", Launcher::MindSpeed,
       [&](Request& r, Strategy& s) {
         experts(r);
         s.tensor = 8;
         s.sequenceParallel = true;
         s.expert = 2;
       }},
      {"mindspeed.virtual", Launcher::MindSpeed,
       [](Request&, Strategy& s) {
         s = interleaved(4, 2);
         s.firstStageLayers = s.lastStageLayers = 4;
       }},
      {"nanotron.sequence", Launcher::Nanotron,
       [](Request& r, Strategy& s) {
         s.context = 2;
         r.job.sequenceLength = 1002;
       }},
      {"nanotron.zero", Launcher::Nanotron, [](Request&, Strategy& s) { s.zeroStage = 2; }},
      {"colossalai.pipelineZero", Launcher::ColossalAi,
       [](Request&, Strategy& s) {
         s.pipeline = 2;
         s.zeroStage = 2;
       }},
      {"colossalai.expertData", Launcher::ColossalAi,
       [&](Request& r, Strategy& s) {
         experts(r);
         s.tensor = 4;
         s.expert = 4;
       }},
      {"fsdp.pipeline", Launcher::LlmFoundry, [](Request&, Strategy& s) { s.tensor = 2; }},
  };
  for (const BreakingCase& c : cases) {
    Request request = requestFor(c.launcher);
    Strategy s;
    s.zeroStage = c.launcher == Launcher::Torchtitan ? 3 : 1;
    EXPECT_EQ(brokenCodes(request, s), Codes{});
    c.change(request, s);
    EXPECT_EQ(brokenCodes(fitting(request, s), s), Codes{c.rule});
  }
}

TEST(Rules, HaveDistinctCodesAndAReasonForTheUser) {
  std::set<std::string_view> codes;
  for (const Rule& rule : allRules()) {
    EXPECT_TRUE(codes.insert(rule.code).second) << rule.code;
    EXPECT_EQ(rule.code.substr(0, 9) == "strategy.", rule.launcher == Launcher::None) << rule.code;
    EXPECT_EQ(rule.path.substr(0, 9), "/strategy") << rule.code;
    EXPECT_GT(rule.text.size(), 20u) << rule.code;
    EXPECT_EQ(rule.text.back(), '.') << rule.code;
  }
}

TEST(Rules, AllBrokenOnesAreNamedAtOnce) {
  Request request = requestFor(Launcher::MegatronLm);
  request.cluster.devices = 10;
  request.job.globalBatchSequences = 5;
  Strategy s;
  s.tensor = 3;    // 64 heads, and not 10 devices
  s.data = 2;      // 5 sequences
  s.pipeline = 5;  // 32 layers
  EXPECT_EQ(brokenCodes(request, s),
            (Codes{"strategy.worldSize", "strategy.globalBatch", "strategy.headsTensor", "strategy.keyValueHeadsTensor",
                   "strategy.ffnTensor", "megatron.layersPipeline"}));
}

// --- The fast checks against the worded one. ---

Strategy randomStrategy(testing::Random& random, std::int64_t devices) {
  // Mostly divisors, so that some strategies are legal; now and then anything.
  const auto degree = [&](std::int64_t most) {
    if (random.oneIn(40)) return random.between(-2, 70);
    return testing::divisorOf(random, std::max<std::int64_t>(1, most));
  };
  Strategy s;
  s.tensor = degree(devices);
  s.pipeline = s.tensor > 0 ? degree(devices / s.tensor) : 1;
  s.context = random.oneIn(3) ? degree(devices) : 1;
  std::int64_t left = devices;
  for (const std::int64_t part : {s.tensor, s.pipeline, s.context}) left = part > 0 ? left / part : left;
  s.data = random.oneIn(10) ? degree(devices) : std::max<std::int64_t>(1, left);
  s.expert = random.oneIn(3) ? random.between(1, 8) : 1;
  s.expertTensor = random.oneIn(6) ? random.between(1, 4) : 1;
  s.schedule = static_cast<Schedule>(random.oneIn(2) ? 0 : random.between(0, 6));
  s.virtualStages = random.oneIn(3) ? random.between(1, 4) : 1;
  s.microBatchSequences = random.oneIn(3) ? random.between(0, 8) : 1;
  s.sequenceParallel = random.oneIn(2);
  s.recompute = static_cast<Recompute>(random.between(0, 2));
  s.recomputeLayers = random.oneIn(5) ? random.between(0, 9) : 0;
  s.zeroStage = static_cast<int>(random.oneIn(20) ? random.between(-1, 5) : random.between(0, 3));
  s.shardGroup = random.oneIn(5) ? random.between(-1, 8) : 0;
  s.contextKind = random.oneIn(2) ? ContextKind::Ring : ContextKind::AllToAll;
  s.firstStageLayers = random.oneIn(8) ? random.between(-2, 6) : -1;
  s.lastStageLayers = random.oneIn(8) ? random.between(-2, 6) : -1;
  s.offloadActivations = random.oneIn(10);
  return s;
}

TEST(FirstBrokenRule, AgreesWithTheWordedCheck) {
  constexpr int kStrategies = 20000;
  int legal = 0;
  std::set<std::string> seen;
  for (int i = 0; i < kStrategies; ++i) {
    testing::Random random(static_cast<std::uint64_t>(i));
    Request request = testing::randomRequest(random);
    request.software.launcher = static_cast<Launcher>(random.between(0, 8));
    const Strategy s = randomStrategy(random, request.cluster.devices);
    const Issues issues = checkStrategy(request, s);
    const int first = firstBrokenRule(request, s);
    ASSERT_EQ(first < 0, issues.empty()) << testing::describe(s);
    std::vector<std::string> worded, alone;
    for (const Issue& issue : issues) {
      EXPECT_EQ(issue.severity, Severity::Error);
      EXPECT_FALSE(issue.message.empty());
      worded.push_back(issue.code);
    }
    for (std::size_t rule = 0; rule < allRules().size(); ++rule) {
      if (breaksRule(request, s, static_cast<int>(rule))) alone.emplace_back(allRules()[rule].code);
    }
    ASSERT_EQ(worded, alone) << testing::describe(s);
    if (first >= 0) {
      ASSERT_EQ(worded.front(), allRules()[static_cast<std::size_t>(first)].code);
    }
    if (first < 0) ++legal;
    seen.insert(worded.begin(), worded.end());
  }
  // Both verdicts are common, and nearly every rule has spoken.
  EXPECT_GT(legal, kStrategies / 50);
  EXPECT_GT(seen.size(), allRules().size() - 6);
}

TEST(FirstBrokenRule, TakesHostileNumbers) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const Request request = requestFor(Launcher::MegatronLm);
  for (const std::int64_t value : {kHuge, kHuge / 2, std::int64_t{1} << 32, std::int64_t{0}, -kHuge}) {
    Strategy all;
    all.tensor = all.pipeline = all.data = all.context = all.expert = all.expertTensor = all.virtualStages =
        all.microBatchSequences = all.shardGroup = all.recomputeLayers = all.firstStageLayers = all.lastStageLayers =
            value;
    EXPECT_GE(firstBrokenRule(request, all), 0);
    EXPECT_FALSE(checkStrategy(request, all).empty());
    for (std::int64_t Strategy::*field :
         {&Strategy::tensor, &Strategy::pipeline, &Strategy::data, &Strategy::context, &Strategy::expert,
          &Strategy::expertTensor, &Strategy::virtualStages, &Strategy::microBatchSequences}) {
      Strategy one;
      one.*field = value;
      EXPECT_GE(firstBrokenRule(request, one), 0);
      EXPECT_FALSE(checkStrategy(request, one).empty());
    }
  }
}

// --- How layers are cut. ---

TEST(LayerSplit, HasTheUnevenSplitsOfPublishedRuns) {
  Strategy s;
  s.pipeline = 8;
  // Qi et al. arXiv 2401.10241, table 3: 22 layers on 8 ranks, first and last one layer less.
  EXPECT_EQ(stageLayers(22, s), (Layers{2, 3, 3, 3, 3, 3, 3, 2}));
  // Llama 3 405B (arXiv 2407.21783, section 3.3.2): 126 layers on 16 stages, one layer less on the first and the last.
  s.pipeline = 16;
  EXPECT_EQ(stageLayers(126, s), (Layers{7, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 7}));
  // One layer short: the last stage, with the head, has it less.
  s.pipeline = 4;
  EXPECT_EQ(stageLayers(31, s), (Layers{8, 8, 8, 7}));
  // Otherwise the earliest middle stages take the rest.
  EXPECT_EQ(stageLayers(29, s), (Layers{7, 8, 7, 7}));
  s.pipeline = 2;
  EXPECT_EQ(stageLayers(7, s), (Layers{4, 3}));
}

TEST(LayerSplit, OfChunksFollowsThePathOfAToken) {
  Strategy s = interleaved(4, 2);
  // 30 + 2 units over 8 chunks of 4: rank 0 has chunks 0 and 4, rank 3 chunks 3 and 7.
  EXPECT_EQ(stageLayers(30, s), (Layers{7, 8, 8, 7}));
  EXPECT_EQ(layersOfChunk(30, s, 0, 0), 3);
  EXPECT_EQ(layersOfChunk(30, s, 0, 1), 4);
  EXPECT_EQ(firstLayerOfChunk(30, s, 0, 1), 3 + 4 + 4 + 4);
  s.schedule = Schedule::ZeroBubbleV;  // the first rank has the first and the last chunk
  EXPECT_EQ(stageLayers(30, s), (Layers{6, 8, 8, 8}));
  EXPECT_EQ(firstLayerOfChunk(30, s, 0, 1), 27);
}

TEST(LayerSplit, ChunksFollowEachOtherWithoutGaps) {
  testing::Random random(11);
  for (int i = 0; i < 4000; ++i) {
    Strategy s;
    s.pipeline = random.between(1, 12);
    s.schedule = random.pick({Schedule::OneForwardOneBackward, Schedule::Interleaved, Schedule::ZeroBubbleV});
    s.virtualStages = s.schedule == Schedule::OneForwardOneBackward ? 1
                      : s.schedule == Schedule::ZeroBubbleV         ? 2
                                                                    : random.between(1, 5);
    const std::int64_t layers = random.between(s.pipeline * s.virtualStages, 100);
    if (s.pipeline > 1 && random.oneIn(2)) {
      if (random.oneIn(2)) s.firstStageLayers = random.between(1, layers / s.pipeline);
      if (random.oneIn(2)) s.lastStageLayers = random.between(1, layers / s.pipeline);
      if (s.pipeline == 2 && s.firstStageLayers > 0) s.lastStageLayers = layers - s.firstStageLayers;
    }
    // The chunks in the order of a token, each starting where the one before it ends.
    std::vector<std::pair<std::int64_t, std::int64_t>> places(static_cast<std::size_t>(s.pipeline * s.virtualStages));
    for (std::int64_t rank = 0; rank < s.pipeline; ++rank) {
      std::int64_t ofRank = 0;
      for (std::int64_t chunk = 0; chunk < s.virtualStages; ++chunk) {
        places[static_cast<std::size_t>(globalStage(s.schedule, s.pipeline, rank, chunk))] = {rank, chunk};
        ofRank += layersOfChunk(layers, s, rank, chunk);
      }
      ASSERT_EQ(layersOfStage(layers, s, rank), ofRank);
    }
    std::int64_t next = 0;
    for (const auto& [rank, chunk] : places) {
      ASSERT_EQ(firstLayerOfChunk(layers, s, rank, chunk), next) << testing::describe(s) << " of " << layers;
      next += layersOfChunk(layers, s, rank, chunk);
    }
    ASSERT_EQ(next, layers) << testing::describe(s) << " of " << layers;
    const Layers split = stageLayers(layers, s);
    if (s.firstStageLayers > 0) {
      EXPECT_EQ(split.front(), s.firstStageLayers);
    }
    if (s.lastStageLayers > 0) {
      EXPECT_EQ(split.back(), s.lastStageLayers);
    }
    ASSERT_EQ(std::accumulate(split.begin(), split.end(), std::int64_t{0}), layers);
  }
}

TEST(StateUnevenStages, FindsWhatMegatronAcceptsWithTheLeastFullestStage) {
  for (std::int64_t layers = 2; layers <= 64; ++layers) {
    for (std::int64_t pipeline = 2; pipeline <= 8; ++pipeline) {
      for (std::int64_t chunks = 1; chunks <= 3; ++chunks) {
        Request request = requestFor(Launcher::MegatronLm);
        request.model.layers = layers;
        request.job.globalBatchSequences = pipeline;
        Strategy s = interleaved(pipeline, chunks);
        if (chunks == 1) s.schedule = Schedule::OneForwardOneBackward;
        // Brute force over what may be stated.
        std::int64_t fullest = 0;
        for (std::int64_t first = 1; first < layers; ++first) {
          for (std::int64_t last = 1; first + last <= layers; ++last) {
            s.firstStageLayers = first;
            s.lastStageLayers = last;
            if (firstBrokenRule(fitting(request, s), s) >= 0) continue;
            const Layers split = stageLayers(layers, s);
            const std::int64_t most = *std::max_element(split.begin(), split.end());
            if (fullest == 0 || most < fullest) fullest = most;
          }
        }
        s.firstStageLayers = s.lastStageLayers = -1;
        const bool found = stateUnevenStages(layers, s);
        ASSERT_EQ(found, fullest > 0) << layers << " on " << pipeline << " x " << chunks;
        if (!found) continue;
        EXPECT_EQ(brokenCodes(fitting(request, s), s), Codes{}) << layers << " on " << pipeline << " x " << chunks;
        const Layers split = stageLayers(layers, s);
        EXPECT_EQ(*std::max_element(split.begin(), split.end()), fullest)
            << layers << " on " << pipeline << " x " << chunks;
      }
    }
  }
}

}  // namespace
}  // namespace meshwise
