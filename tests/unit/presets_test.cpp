// Every preset as the engine sees it. Reads build/catalogue.json, which scripts/build_catalogue.mjs writes, and the
// presets themselves for what was published about them.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "meshwise/model.h"
#include "meshwise_codec/catalogue.h"

namespace meshwise {
namespace {

std::string readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

nlohmann::json readJsonFile(const std::string& path) {
  return nlohmann::json::parse(readFile(path), nullptr, /*allow_exceptions=*/false);
}

class Presets : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string text = readFile("build/catalogue.json");
    ASSERT_FALSE(text.empty()) << "build/catalogue.json is missing: run scripts/build catalogue";
    loaded() = loadCatalogue(text);
  }
  static Result<Catalogue>& loaded() {
    static Result<Catalogue> result;
    return result;
  }
  static const Catalogue& catalogue() { return loaded().value; }
};

TEST_F(Presets, LoadWithoutAFault) {
  for (const Issue& issue : loaded().issues) ADD_FAILURE() << issue.path << ": " << issue.message;
  EXPECT_EQ(catalogue().models.size(), 142u);
  EXPECT_EQ(catalogue().accelerators.size(), 57u);
  EXPECT_EQ(catalogue().clusters.size(), 60u);
  EXPECT_EQ(catalogue().software.size(), 21u);
}

// tests/golden/parameter_counts.json was counted by other code.
TEST_F(Presets, ParametersOfAllModelsMatchTheIndependentCount) {
  const nlohmann::json golden = readJsonFile("tests/golden/parameter_counts.json").at("models");
  EXPECT_EQ(golden.size(), catalogue().models.size());
  for (const auto& [id, model] : catalogue().models) {
    SCOPED_TRACE(id);
    const ParameterCount count = countParameters(model);
    const nlohmann::json& expected = golden.at(id);
    EXPECT_EQ(count.total, expected.at("total").get<std::int64_t>());
    EXPECT_EQ(count.active, expected.at("active").get<std::int64_t>());
    EXPECT_EQ(count.embedding, expected.at("embedding").get<std::int64_t>());
    EXPECT_EQ(count.lmHead, expected.at("lmHead").get<std::int64_t>());
    EXPECT_EQ(count.mtp, expected.at("mtp").get<std::int64_t>());
  }
}

// `adjust` is what a checkpoint stores beyond the shape, such as a vision tower or a copy of tied weights.
TEST_F(Presets, ExactPublishedCountsAreReproduced) {
  int exact = 0;
  for (const auto& [id, model] : catalogue().models) {
    SCOPED_TRACE(id);
    const nlohmann::json published = readJsonFile("presets/models/" + id + ".json").at("published");
    if (!published.at("exact").get<bool>()) continue;
    ++exact;
    const std::int64_t adjust = published.value("adjust", std::int64_t{0});
    EXPECT_EQ(countParameters(model).total, published.at("parameters").get<std::int64_t>() - adjust);
  }
  EXPECT_EQ(exact, 113);
}

// A published name is rounded, a paper's label more so: 5 % covers all of them (Aquila2 7B has 7.30B).
TEST_F(Presets, RoundedPublishedCountsAreNear) {
  for (const auto& [id, model] : catalogue().models) {
    SCOPED_TRACE(id);
    const nlohmann::json published = readJsonFile("presets/models/" + id + ".json").at("published");
    if (published.at("exact").get<bool>()) continue;
    const double total = static_cast<double>(countParameters(model).total);
    EXPECT_NEAR(total / published.at("parameters").get<double>(), 1, 0.05);
  }
}

// Units: a datasheet number each, converted by hand.
TEST_F(Presets, QuantitiesArriveInBaseUnits) {
  const Accelerator& h100 = catalogue().accelerators.at("h100-sxm-80g");
  EXPECT_EQ(h100.matrixFlopsPerSecond.bf16, 989.5e12);
  EXPECT_EQ(h100.memoryBytesPerSecond, 3.35e12);
  EXPECT_NEAR(h100.memoryBytes, 79.18 * 1024 * 1024 * 1024, 1);  // what PyTorch sees, GiB
  EXPECT_EQ(h100.scaleUpBytesPerSecond, 450e9);
  EXPECT_EQ(catalogue().accelerators.at("mtt-s5000").memoryBytes, 80e9);  // nominal GB
  const Cluster& dgx = catalogue().clusters.at("dgx-h100");
  EXPECT_EQ(dgx.networkBytesPerSecondPerDevice, 50e9);  // 400 Gbit/s
  EXPECT_EQ(dgx.accelerator.preset, "h100-sxm-80g");
}

TEST_F(Presets, AClusterOverridesItsAccelerator) {
  EXPECT_EQ(catalogue().accelerators.at("mi250x").scaleUpDomain, 8);
  EXPECT_EQ(catalogue().clusters.at("frontier").accelerator.scaleUpDomain, 4);
}

TEST_F(Presets, AnUnpublishedNetworkHasNoSpeed) {
  EXPECT_EQ(catalogue().clusters.at("kuae-s5000").networkBytesPerSecondPerDevice, 0);
  EXPECT_EQ(catalogue().clusters.at("neocloud-market").networkBytesPerSecondPerDevice, 0);
}

TEST_F(Presets, EfficienciesArePhysical) {
  for (const auto& [id, accelerator] : catalogue().accelerators) {
    SCOPED_TRACE(id);
    const Efficiency& e = accelerator.efficiency;
    for (const double fraction : {e.matrixFraction, e.matrixFractionFp8, e.matrixFractionFp4, e.attentionForward,
                                  e.attentionBackward, e.memoryFraction, e.scaleUpFraction, e.scaleOutFraction}) {
      EXPECT_GT(fraction, 0);
      EXPECT_LE(fraction, 1);
    }
    EXPECT_GT(accelerator.memoryBytes, 8e9);
    EXPECT_GT(accelerator.memoryBytesPerSecond, 1e11);
  }
}

// Labels of published runs; the right profile is the one of that stack and year.
TEST_F(Presets, FrameworkLabelsPickTheirProfile) {
  const std::pair<const char*, const char*> kLabels[] = {
      {"Megatron-LM (2021)", "megatron-lm-2021"},
      {"Megatron-LM fork (zero bubble)", "megatron-zero-bubble-2023"},
      {"Megatron-LM 0.14-era + TE 2.11 (fused cross entropy)", "megatron-core-2025"},
      {"Megatron-DeepSpeed", "megatron-deepspeed-2022"},
      {"Megatron-Bridge NeMo 25.09", "megatron-bridge-2025"},
      {"NeMo 24.07", "nemo-2024"},
      {"NeMo launcher-2024-04-22", "nemo-2024"},
      {"NeMo via DGX Cloud recipes 24.11", "nemo-2024"},
      {"NeMo via DGX Cloud recipes 25.02", "nemo-2025"},
      {"MaxText via DGX Cloud recipes 25.02", "maxtext"},
      {"DeepSpeed ZeRO-3", "deepspeed-zero"},
      {"llm-foundry/Composer FSDP", "fsdp-llm-foundry"},
      {"torchtitan FSDP2", "torchtitan-compile"},
      {"InternEvo", "internevo"},
      {"ModelLink / MindSpeed-LLM / MindFormers", "modellink-mindspeed"},
      {"HAI-LLM", "hai-llm"},
      {"an unknown stack", kDefaultProfile},
  };
  for (const auto& [label, profile] : kLabels) EXPECT_EQ(catalogue().profileOfFramework(label), profile) << label;
}

}  // namespace
}  // namespace meshwise
