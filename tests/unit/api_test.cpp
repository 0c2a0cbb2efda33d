// The engine as strings: what a page, a file or a terminal can hand it, good and bad.
#include "api.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace {

using nlohmann::json;

const meshwise::Api& api() {
  static meshwise::Api* instance = [] {
    auto* made = new meshwise::Api;
    std::ifstream file("build/catalogue.json");
    std::stringstream text;
    text << file.rdbuf();
    const json loaded = json::parse(made->loadCatalogue(text.str()));
    EXPECT_TRUE(loaded["ok"].get<bool>()) << loaded.dump().substr(0, 500);
    return made;
  }();
  return *instance;
}

json request() {
  return json::parse(R"({
    "version": 1, "model": {"preset": "llama-3-8b"}, "cluster": {"preset": "dgx-h100", "devices": 16},
    "job": {"sequenceLength": 4096, "globalBatchSequences": 32, "precision": "bf16"}, "top": 3})");
}

std::vector<std::string> errorPaths(const json& answer) {
  std::vector<std::string> paths;
  for (const json& issue : answer["issues"]) {
    if (issue["severity"] == "error") paths.push_back(issue["path"].get<std::string>());
  }
  return paths;
}

struct BadField {
  const char* pointer;  // where the value is put
  const char* value;    // JSON
};

// Values that must be refused, each at the field where it stands.
const BadField kBadFields[] = {
    {"/version", "2"},
    {"/version", "\"one\""},
    {"/model", "7"},
    {"/model", "[]"},
    {"/model/preset", "\"no-such-model\""},
    {"/model/preset", "3"},
    {"/model/layers", "0"},
    {"/model/layers", "-1"},
    {"/model/layers", "2.5"},
    {"/model/layers", "1e9"},
    {"/model/layers", "\"many\""},
    {"/model/layers", "[32]"},
    {"/model/hidden", "0"},
    {"/model/hidden", "9007199254740993"},
    {"/model/heads", "0"},
    {"/model/heads", "true"},
    {"/model/kvHeads", "7"},
    {"/model/kvHeads", "64"},
    {"/model/headDim", "-128"},
    {"/model/ffn", "0"},
    {"/model/vocab", "1e12"},
    {"/model/gatedMlp", "1"},
    {"/model/gatedMlp", "\"yes\""},
    {"/model/position", "\"sideways\""},
    {"/model/norm", "\"batch\""},
    {"/model/attention/type", "\"mla2\""},
    {"/model/attention/slidingWindow", "-1"},
    {"/model/moe/experts", "-8"},
    {"/model/mtpLayers", "-1"},
    {"/model/colour", "\"red\""},
    {"/cluster", "null"},
    {"/cluster/preset", "\"no-such-cluster\""},
    {"/cluster/devices", "0"},
    {"/cluster/devices", "-8"},
    {"/cluster/devices", "1e15"},
    {"/cluster/devices", "12.5"},
    {"/cluster/devicesPerNode", "0"},
    {"/cluster/networkGbitPerDevice", "-400"},
    {"/cluster/accelerator", "\"no-such-chip\""},
    {"/cluster/accelerator/memoryBytes", "-1"},
    {"/cluster/accelerator/memoryBytes", "\"80 GB\""},
    {"/cluster/accelerator/efficiency/matrixFraction", "1.5"},
    {"/cluster/accelerator/efficiency/matrixFraction", "0"},
    {"/cluster/accelerator/efficiency/kernelSeconds", "-1e-6"},
    {"/cluster/accelerator/efficiency/warpSpeed", "9"},
    {"/job", "\"train\""},
    {"/job/sequenceLength", "0"},
    {"/job/sequenceLength", "1e300"},
    {"/job/globalBatchSequences", "-32"},
    {"/job/globalBatchSequences", "{}"},
    {"/job/precision", "\"fp7\""},
    {"/job/gradientPrecision", "\"fp64\""},
    {"/job/optimizer", "\"magic\""},
    {"/job/tokenBudget", "-1"},
    {"/software/profile", "\"no-such-stack\""},
    {"/software/attentionKernel", "\"flash9\""},
    {"/software/vectorFactor", "-1"},
    {"/software/launcher", "\"bash\""},
    {"/software/fusedNorm", "\"true\""},
    {"/limits/memoryFraction", "0"},
    {"/limits/memoryFraction", "1.5"},
    {"/limits/tensor", "\"two\""},
    {"/limits/tensor/min", "-2"},
    {"/limits/zeroStages", "[4]"},
    {"/limits/recompute", "[\"sometimes\"]"},
    {"/limits/schedules", "[\"2f2b\"]"},
    {"/limits/launcherRules", "\"no\""},
    {"/objective", "\"beauty\""},
    {"/top", "0"},
    {"/top", "-3"},
    {"/top", "1e9"},
    {"/strategy", "[]"},
    {"/strategy/tensor", "0"},
    {"/strategy/tensor", "-2"},
    {"/strategy/tensor", "1e18"},
    {"/strategy/microBatchSequences", "0.5"},
    {"/strategy/recompute", "\"half\""},
    {"/strategy/recomputeModules", "[\"everything\"]"},
    {"/strategy/zeroStage", "4"},
    {"/strategy/schedule", "\"4f4b\""},
    {"/strategy/tensors", "2"},
    {"/surprise", "{}"},
};

TEST(BadInput, EachFaultIsReportedAtItsField) {
  for (const BadField& bad : kBadFields) {
    json document = request();
    const json::json_pointer pointer(bad.pointer);
    const json value = json::parse(bad.value);
    // an accelerator override needs an object to stand in
    if (std::string(bad.pointer).rfind("/cluster/accelerator/", 0) == 0) {
      document["cluster"]["accelerator"] = {{"preset", "h100-sxm-80g"}};
    }
    document[pointer] = value;
    for (const auto function : {&meshwise::Api::validate, &meshwise::Api::plan}) {
      const json answer = json::parse((api().*function)(document.dump()));
      bool found = false;
      for (const std::string& path : errorPaths(answer)) found = found || path.rfind(bad.pointer, 0) == 0;
      EXPECT_TRUE(found) << bad.pointer << " = " << bad.value << ": " << answer["issues"].dump();
      EXPECT_FALSE(answer.contains("plans") && !answer["plans"].empty()) << bad.pointer << " = " << bad.value;
    }
  }
}

TEST(BadInput, AllFaultsComeAtOnce) {
  json document = request();
  document["model"]["heads"] = 0;
  document["cluster"]["devices"] = -1;
  document["job"]["precision"] = "fp7";
  document["top"] = 0;
  const std::vector<std::string> paths = errorPaths(json::parse(api().validate(document.dump())));
  for (const char* path : {"/model/heads", "/cluster/devices", "/job/precision", "/top"}) {
    EXPECT_NE(std::find(paths.begin(), paths.end(), path), paths.end()) << path;
  }
}

TEST(BadInput, TextThatIsNoDocumentIsRefusedWithItsPlace) {
  for (const char* text :
       {"", " ", "{", "[1,2", "{\"version\":1,}", "nul", "{\"a\":NaN}", "{\"a\":1e999}", "\"text\"", "17",
        "{\"version\":1} trailing", "\xff\xfe", "{\"version\":01}", "{\"version\":1,\"version\":1}"}) {
    for (const auto function : {&meshwise::Api::validate, &meshwise::Api::plan, &meshwise::Api::estimate,
                                &meshwise::Api::explain, &meshwise::Api::timeline, &meshwise::Api::estimateRun}) {
      const json answer = json::parse((api().*function)(text));
      EXPECT_FALSE(answer["issues"].empty()) << text;
    }
  }
  const auto message = json::parse(api().validate("{\n  \"version\": }"))["issues"][0]["message"].get<std::string>();
  EXPECT_NE(message.find('2'), std::string::npos) << "names the line: " << message;
}

TEST(BadInput, DepthAndSizeAreBounded) {
  const std::string deep(100000, '[');
  EXPECT_FALSE(json::parse(api().plan(deep))["issues"].empty());
  std::string large(3 << 20, 'x');
  large.insert(0, "{\"version\":1,\"model\":\"").append("\"}");
  EXPECT_FALSE(json::parse(api().plan(large))["issues"].empty());
}

TEST(BadInput, MutatedDocumentsNeverBreakTheEngine) {
  // A linear congruential generator (Numerical Recipes): the same mutations on every machine.
  std::uint32_t state = 1;
  const auto next = [&](std::uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
  };
  json base = request();
  base["strategy"] = {{"tensor", 2}, {"pipeline", 2}, {"data", 4}, {"microBatchSequences", 1}};
  const std::string text = base.dump();
  const std::string alphabet = "{}[]\",:0123456789eE+-.truefalsn \\u\n\x01\xc3";
  for (int i = 0; i < 2000; ++i) {
    std::string mutated = text;
    for (std::uint32_t k = 0; k <= next(4); ++k) {
      const std::uint32_t at = next(static_cast<std::uint32_t>(mutated.size()));
      switch (next(3)) {
        case 0:
          mutated[at] = alphabet[next(static_cast<std::uint32_t>(alphabet.size()))];
          break;
        case 1:
          mutated.erase(at, 1 + next(5));
          break;
        default:
          mutated.insert(at, 1, alphabet[next(static_cast<std::uint32_t>(alphabet.size()))]);
      }
      if (mutated.empty()) mutated.push_back(' ');
    }
    const json answer = json::parse(api().estimate(mutated), nullptr, false);
    ASSERT_FALSE(answer.is_discarded()) << mutated;
    ASSERT_TRUE(answer.contains("issues")) << mutated;
  }
}

TEST(Requests, ResolvedOnesResolveToThemselves) {
  for (const char* model : {"llama-3-8b", "deepseek-v3", "gpt-2-xl", "gemma-3-27b", "bloom-176b", "gpt-oss-120b"}) {
    json document = request();
    document["model"]["preset"] = model;
    const json first = json::parse(api().validate(document.dump()));
    ASSERT_TRUE(errorPaths(first).empty()) << first["issues"].dump();
    const json second = json::parse(api().validate(first["request"].dump()));
    EXPECT_EQ(first["request"], second["request"]) << model;
  }
}

TEST(Requests, OverridesReplaceThePresetsNumbers) {
  json document = request();
  document["model"]["layers"] = 16;
  document["cluster"]["networkGbitPerDevice"] = 100;
  const json resolved = json::parse(api().validate(document.dump()))["request"];
  EXPECT_EQ(resolved["model"]["layers"], 16);
  EXPECT_EQ(resolved["model"]["hidden"], 4096);  // Llama 3 8B
  // 100 Gb/s are 12.5e9 bytes/s
  EXPECT_DOUBLE_EQ(resolved["cluster"]["networkBytesPerSecondPerDevice"].get<double>(), 12.5e9);
}

TEST(Answers, PlansAreRankedAndTheirTermsAddUp) {
  const json answer = json::parse(api().plan(request().dump()));
  ASSERT_EQ(answer["plans"].size(), 3u);
  double before = 0;
  for (const json& plan : answer["plans"]) {
    const json& e = plan["estimate"];
    EXPECT_GE(e["stepSeconds"].get<double>(), before);
    before = e["stepSeconds"].get<double>();
    double sum = 0;
    for (const auto& [name, term] : e["time"].items()) sum += term.get<double>();
    EXPECT_NEAR(sum / before, 1, 1e-12);
    double bytes = 0;
    for (const auto& [name, part] : e["memory"]["classes"].items()) bytes += part.get<double>();
    EXPECT_NEAR(bytes / e["memory"]["peakBytes"].get<double>(), 1, 1e-12);
    EXPECT_LE(e["modelFlopsUtilization"].get<double>(), 1);
  }
  std::int64_t removed = 0;
  for (const auto& [rule, count] : answer["search"]["removed"].items()) removed += count.get<std::int64_t>();
  EXPECT_EQ(answer["search"]["rawSpace"].get<std::int64_t>(),
            removed + answer["search"]["evaluated"].get<std::int64_t>());
}

TEST(Answers, ASearchInSlicesEndsLikeOneInOneGo) {
  const std::string text = request().dump();
  meshwise::SearchJob job(api(), text);
  double progress = 0;
  for (int i = 0; i < 100000; ++i) {
    const json state = json::parse(job.step(50));
    EXPECT_GE(state["progress"].get<double>(), progress);
    progress = state["progress"].get<double>();
    if (state["done"].get<bool>()) break;
  }
  EXPECT_EQ(job.take(), api().plan(text));
}

TEST(Answers, AStrategyIsExplained) {
  json document = request();
  document["strategy"] = {{"tensor", 3}, {"pipeline", 1}, {"data", 16}, {"microBatchSequences", 1}};
  json answer = json::parse(api().explain(document.dump()));
  EXPECT_EQ(answer["verdict"], "refused");
  document["strategy"] = {{"tensor", 1}, {"pipeline", 1}, {"data", 16}, {"microBatchSequences", 2}, {"zeroStage", 0}};
  answer = json::parse(api().explain(document.dump()));
  // 8.03e9 parameters x 18 bytes are 145 GB on each device
  EXPECT_EQ(answer["verdict"], "doesNotFit") << answer["summary"];
}

TEST(Answers, ARunWithoutDegreesGetsAnIssueAndNoNumber) {
  const json row = {{"id", "x"}, {"model", {{"preset", "llama-3-8b"}}}, {"strategy", json::object()}};
  const json answer = json::parse(api().estimateRun(row.dump()));
  EXPECT_TRUE(answer["stepSeconds"].is_null());
  EXPECT_FALSE(answer["issues"].empty());
}

}  // namespace
