// Validation of what a request describes: every fault at once, with its path and what is allowed. Counting parameters
// has its own test.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "meshwise/cluster.h"
#include "meshwise/model.h"
#include "meshwise/plan.h"

namespace meshwise {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Request soundRequest() {
  Request request;
  Model& model = request.model;
  model.layers = 32;
  model.hidden = 4096;
  model.heads = 32;
  model.kvHeads = 8;
  model.headDim = 128;
  model.ffn = 14336;
  model.vocab = 128256;
  Accelerator& chip = request.cluster.accelerator;
  chip.matrixFlopsPerSecond.bf16 = 312e12;
  chip.vectorFlopsPerSecond = 19.5e12;
  chip.memoryBytes = 80e9;
  chip.memoryBytesPerSecond = 2e12;
  chip.computeUnits = 108;
  chip.scaleUpBytesPerSecond = 300e9;
  request.cluster.devices = 64;
  request.cluster.networkBytesPerSecondPerDevice = 25e9;
  request.job.sequenceLength = 8192;
  request.job.globalBatchSequences = 256;
  return request;
}

Model soundMoe() {
  Model model = soundRequest().model;
  model.moe.experts = 64;
  model.moe.topK = 6;
  model.moe.expertFfn = 1408;
  model.moe.sharedExperts = 2;
  model.moe.denseFirstLayers = 1;
  return model;
}

Model soundMla() {
  Model model = soundRequest().model;
  model.kvHeads = 32;
  model.attention.type = AttentionType::Mla;
  model.attention.kvLoraRank = 512;
  model.attention.qkNopeHeadDim = 128;
  model.attention.qkRopeHeadDim = 64;
  model.attention.vHeadDim = 128;
  return model;
}

using Paths = std::set<std::string>;

Paths pathsOf(const Issues& issues) {
  Paths paths;
  for (const Issue& issue : issues) {
    if (issue.severity == Severity::Error) paths.insert(issue.path);
  }
  return paths;
}

TEST(Validation, FindsNothingInSoundDescriptions) {
  EXPECT_TRUE(validateRequest(soundRequest()).empty());
  EXPECT_TRUE(validateModel(soundMoe(), "/model").empty());
  EXPECT_TRUE(validateModel(soundMla(), "/model").empty());
}

// One fault each; the path is where the user has to look.
struct Fault {
  const char* path;
  std::function<void(Request&)> spoil;
};

TEST(Validation, FindsEachFaultAtItsPath) {
  const auto model = [](auto field, auto value) { return [=](Request& r) { r.model.*field = value; }; };
  const auto chip = [](auto field, auto value) { return [=](Request& r) { r.cluster.accelerator.*field = value; }; };
  const auto efficiency = [](auto field, double value) {
    return [=](Request& r) { r.cluster.accelerator.efficiency.*field = value; };
  };
  const std::vector<Fault> faults = {
      {"/model/layers", model(&Model::layers, 0)},
      {"/model/layers", model(&Model::layers, 10'001)},
      {"/model/hidden", model(&Model::hidden, 1'000'001)},
      {"/model/hidden", model(&Model::hidden, -4096)},
      {"/model/heads", model(&Model::heads, 0)},
      {"/model/kvHeads", model(&Model::kvHeads, 0)},
      {"/model/kvHeads", model(&Model::kvHeads, 12)},  // 32 % 12
      {"/model/kvHeads", model(&Model::kvHeads, 64)},  // more than heads
      {"/model/headDim", model(&Model::headDim, 0)},
      {"/model/ffn", model(&Model::ffn, 0)},
      {"/model/vocab", model(&Model::vocab, 100'000'001)},
      {"/model/vocab", model(&Model::vocab, 0)},
      {"/model/normsPerLayer", model(&Model::normsPerLayer, -1)},
      {"/model/mtpLayers", model(&Model::mtpLayers, -1)},
      {"/model/attention/slidingWindow", [](Request& r) { r.model.attention.slidingWindow = -1; }},
      {"/cluster/devices", [](Request& r) { r.cluster.devices = 0; }},
      {"/cluster/devices", [](Request& r) { r.cluster.devices = 10'000'001; }},
      {"/cluster/devicesPerNode", [](Request& r) { r.cluster.devicesPerNode = 0; }},
      {"/cluster/networkBytesPerSecondPerDevice", [](Request& r) { r.cluster.networkBytesPerSecondPerDevice = 0; }},
      {"/cluster/networkBytesPerSecondPerDevice", [](Request& r) { r.cluster.networkBytesPerSecondPerDevice = kNaN; }},
      {"/cluster/networkOversubscription", [](Request& r) { r.cluster.networkOversubscription = 0.5; }},
      {"/cluster/usdPerDeviceHour", [](Request& r) { r.cluster.usdPerDeviceHour = -1; }},
      {"/cluster/accelerator/memoryBytes", chip(&Accelerator::memoryBytes, 0.0)},
      {"/cluster/accelerator/memoryBytes", chip(&Accelerator::memoryBytes, kInfinity)},
      {"/cluster/accelerator/memoryBytesPerSecond", chip(&Accelerator::memoryBytesPerSecond, kNaN)},
      {"/cluster/accelerator/scaleUpDomain", chip(&Accelerator::scaleUpDomain, 0)},
      {"/cluster/accelerator/scaleUpBytesPerSecond", chip(&Accelerator::scaleUpBytesPerSecond, 0.0)},
      {"/cluster/accelerator/powerWatts", chip(&Accelerator::powerWatts, -1.0)},
      {"/cluster/accelerator/matrixFlopsPerSecond",
       [](Request& r) { r.cluster.accelerator.matrixFlopsPerSecond = {}; }},
      {"/cluster/accelerator/matrixFlopsPerSecond/fp8",
       [](Request& r) { r.cluster.accelerator.matrixFlopsPerSecond.fp8 = -1; }},
      {"/cluster/accelerator/efficiency/matrixFraction", efficiency(&Efficiency::matrixFraction, 1.01)},
      {"/cluster/accelerator/efficiency/matrixFraction", efficiency(&Efficiency::matrixFraction, 0)},
      {"/cluster/accelerator/efficiency/attentionForward", efficiency(&Efficiency::attentionForward, kNaN)},
      {"/cluster/accelerator/efficiency/scaleOutFraction", efficiency(&Efficiency::scaleOutFraction, -0.5)},
      {"/cluster/accelerator/efficiency/kernelSeconds", efficiency(&Efficiency::kernelSeconds, -1e-6)},
      {"/cluster/accelerator/efficiency/overlapContention", efficiency(&Efficiency::overlapContention, 1.5)},
      {"/job/sequenceLength", [](Request& r) { r.job.sequenceLength = 100'000'001; }},
      {"/job/sequenceLength", [](Request& r) { r.job.sequenceLength = 0; }},
      {"/job/globalBatchSequences", [](Request& r) { r.job.globalBatchSequences = 0; }},
      {"/job/tokenBudget", [](Request& r) { r.job.tokenBudget = -1; }},
      {"/software/launchFactor", [](Request& r) { r.software.launchFactor = -1; }},
      {"/software/allocatorFraction", [](Request& r) { r.software.allocatorFraction = 1.5; }},
      {"/software/vocabularyMultiple", [](Request& r) { r.software.vocabularyMultiple = 0; }},
      {"/limits/memoryFraction", [](Request& r) { r.limits.memoryFraction = 0; }},
      {"/limits/memoryFraction", [](Request& r) { r.limits.memoryFraction = 1.2; }},
      {"/limits/tensor",
       [](Request& r) {
         r.limits.tensor = {8, 4};
       }},
      {"/limits/microBatchSequences/min",
       [](Request& r) {
         r.limits.microBatchSequences = {-1, 0};
       }},
      {"/limits/zeroStages",
       [](Request& r) {
         r.limits.zeroStages = {1, 4};
       }},
      {"/top", [](Request& r) { r.top = 0; }},
  };
  for (const Fault& fault : faults) {
    Request request = soundRequest();
    fault.spoil(request);
    const Issues issues = validateRequest(request);
    EXPECT_EQ(pathsOf(issues), Paths{fault.path});
    for (const Issue& issue : issues) {
      EXPECT_FALSE(issue.code.empty());
      EXPECT_NE(issue.message.find(';'), std::string::npos) << issue.message;  // the value; what is allowed
    }
  }
}

TEST(Validation, FindsEachFaultOfExperts) {
  const auto broken = [](auto spoil) {
    Model model = soundMoe();
    spoil(model);
    return pathsOf(validateModel(model, "/model"));
  };
  EXPECT_EQ(broken([](Model& m) { m.moe.topK = 65; }), Paths{"/model/moe/topK"});  // more than there are
  EXPECT_EQ(broken([](Model& m) { m.moe.topK = 0; }), Paths{"/model/moe/topK"});
  EXPECT_EQ(broken([](Model& m) { m.moe.expertFfn = 0; }), Paths{"/model/moe/expertFfn"});
  EXPECT_EQ(broken([](Model& m) { m.moe.moeEvery = 0; }), Paths{"/model/moe/moeEvery"});
  EXPECT_EQ(broken([](Model& m) { m.moe.denseFirstLayers = 33; }), Paths{"/model/moe/denseFirstLayers"});
  EXPECT_EQ(broken([](Model& m) { m.moe.imbalanceFactor = 0.9; }), Paths{"/model/moe/imbalanceFactor"});
  EXPECT_EQ(broken([](Model& m) { m.moe.capacityFactor = kNaN; }), Paths{"/model/moe/capacityFactor"});
  // Without dense layers there is no ordinary MLP to give a width.
  EXPECT_EQ(broken([](Model& m) {
              m.ffn = 0;
              m.moe.denseFirstLayers = 0;
            }),
            Paths{});
}

TEST(Validation, FindsEachFaultOfLatentAttention) {
  Model model = soundMla();
  model.attention.kvLoraRank = 0;
  model.attention.vHeadDim = 0;
  EXPECT_EQ(pathsOf(validateModel(model, "/model")),
            (Paths{"/model/attention/kvLoraRank", "/model/attention/vHeadDim"}));
}

TEST(Validation, NamesAllFaultsAtOnce) {
  Request request = soundRequest();
  request.model.layers = 0;
  request.model.vocab = -5;
  request.cluster.devices = 0;
  request.job.sequenceLength = 0;
  request.limits.memoryFraction = 2;
  EXPECT_EQ(pathsOf(validateRequest(request)), (Paths{"/model/layers", "/model/vocab", "/cluster/devices",
                                                      "/job/sequenceLength", "/limits/memoryFraction"}));
}

TEST(Validation, WordsTheValueAndTheRange) {
  Model model = soundRequest().model;
  model.layers = 20'000;
  const Issues issues = validateModel(model, "/model");
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].code, "value.outOfRange");
  EXPECT_EQ(issues[0].message, "layers is 20000; it must be a whole number from 1 to 10000.");
}

TEST(Validation, PutsPathsUnderTheGivenOne) {
  Model model = soundRequest().model;
  model.layers = 0;
  EXPECT_EQ(pathsOf(validateModel(model, "/models/my-model")), Paths{"/models/my-model/layers"});
}

TEST(Validation, OneDomainNeedsNoNetwork) {
  Request request = soundRequest();
  request.cluster.devices = 8;
  request.cluster.networkBytesPerSecondPerDevice = 0;
  EXPECT_TRUE(validateRequest(request).empty());
  request.cluster.devices = 1;
  request.cluster.accelerator.scaleUpBytesPerSecond = 0;  // nor one device any link
  EXPECT_TRUE(validateRequest(request).empty());
}

TEST(Validation, RemarksOnNarrowProductsWithoutUnits) {
  Request request = soundRequest();
  request.job.precision = Precision::Fp8;
  const Issues issues = validateRequest(request);
  ASSERT_EQ(issues.size(), 1u);
  EXPECT_EQ(issues[0].severity, Severity::Warning);
  EXPECT_EQ(issues[0].path, "/job/precision");
  EXPECT_FALSE(hasErrors(issues));  // it can be planned all the same
  request.cluster.accelerator.matrixFlopsPerSecond.fp8 = 1979e12;
  EXPECT_TRUE(validateRequest(request).empty());
  request.job.precision = Precision::Nvfp4;
  EXPECT_EQ(validateRequest(request).size(), 1u);
}

TEST(Cluster, DomainIsNeverLargerThanTheCluster) {
  Cluster cluster = soundRequest().cluster;
  cluster.accelerator.scaleUpDomain = 72;
  cluster.devices = 16;
  EXPECT_EQ(cluster.domainDevices(), 16);
  cluster.devices = 576;
  EXPECT_EQ(cluster.domainDevices(), 72);
}

TEST(Model, LayersAreMixturesFromTheFirstSparseOne) {
  Model model = soundMoe();  // one dense layer, then all
  EXPECT_FALSE(model.isMoeLayer(0));
  EXPECT_TRUE(model.isMoeLayer(1));
  model.moe.denseFirstLayers = 0;
  model.moe.moeEvery = 2;  // GShard: every other layer, the second first
  EXPECT_FALSE(model.isMoeLayer(0));
  EXPECT_TRUE(model.isMoeLayer(1));
  EXPECT_FALSE(model.isMoeLayer(2));
}

}  // namespace
}  // namespace meshwise
