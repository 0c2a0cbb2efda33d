// Documents to the core's types and back: presets, defaults, faults, runs. Expected values follow from the small
// catalogue of support/documents.h and from the rules that the comments quote.
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "meshwise_codec/catalogue.h"
#include "meshwise_codec/decode.h"
#include "meshwise_codec/encode.h"
#include "meshwise_codec/enums.h"
#include "meshwise_codec/runs.h"
#include "support/documents.h"

namespace meshwise {
namespace {

using nlohmann::json;
using testing::kCatalogueText;
using testing::testCatalogue;

json request() {
  return json::parse(R"({"model": {"preset": "tiny"}, "cluster": {"preset": "pod", "devices": 16},
    "job": {"sequenceLength": 1024, "globalBatchSequences": 64}})");
}

Result<RequestDocument> decode(const json& document) { return decodeRequest(document.dump(), testCatalogue()); }

std::string describe(const Issues& issues) {
  std::string text;
  for (const Issue& issue : issues) text += issue.code + " " + issue.path + ": " + issue.message + "\n";
  return text;
}

// The issue at a path, or a blank one.
Issue issueAt(const Issues& issues, const std::string& path) {
  for (const Issue& issue : issues) {
    if (issue.path == path) return issue;
  }
  return {};
}

// The strategy of a request whose `strategy` has these fields.
Strategy strategyOf(const json& fields, json document = request()) {
  document["strategy"] = fields;
  const Result<RequestDocument> decoded = decode(document);
  EXPECT_TRUE(decoded.ok()) << describe(decoded.issues);
  return decoded.value.strategy;
}

// ---- what is stated, what is not ----

TEST(Decode, NullAndIntegralDoublesAreFine) {
  json document = request();
  document["job"]["sequenceLength"] = 1024.0;
  document["job"]["precision"] = nullptr;
  document["limits"] = nullptr;
  document["top"] = nullptr;
  const Result<RequestDocument> decoded = decode(document);
  ASSERT_TRUE(decoded.ok()) << describe(decoded.issues);
  EXPECT_EQ(decoded.value.request.job.sequenceLength, 1024);
  EXPECT_EQ(decoded.value.request.job.precision, Precision::Bf16);
  EXPECT_EQ(decoded.value.request.top, 10);
}

TEST(Decode, APresetsIdMayStandForTheWholeSection) {
  json document = request();
  document["model"] = "tiny";
  document["software"] = "fsdp";
  const Result<RequestDocument> decoded = decode(document);
  ASSERT_TRUE(decoded.ok()) << describe(decoded.issues);
  EXPECT_EQ(decoded.value.request.model.hidden, 256);
  EXPECT_EQ(decoded.value.request.model.preset, "tiny");
  EXPECT_EQ(decoded.value.request.software.launcher, Launcher::None);
}

TEST(Decode, ShapesThatFollowNeedNotBeStated) {
  json document = request();
  document["model"] = {{"layers", 2}, {"hidden", 96}, {"heads", 6}, {"ffn", 384}, {"vocab", 100}};
  Model model = decode(document).value.request.model;
  EXPECT_EQ(model.kvHeads, 6);
  EXPECT_EQ(model.headDim, 16);  // 96 / 6
  EXPECT_EQ(model.attention.type, AttentionType::Mha);
  EXPECT_EQ(model.norm, Norm::Rms);
  EXPECT_FALSE(model.normBias);
  document["model"]["kvHeads"] = 2;
  document["model"]["gatedMlp"] = false;
  model = decode(document).value.request.model;
  EXPECT_EQ(model.attention.type, AttentionType::Gqa);
  // a plain MLP means a model of the GPT family: LayerNorm with biases
  EXPECT_EQ(model.norm, Norm::Layer);
  EXPECT_TRUE(model.normBias);
}

TEST(Decode, AModelWithoutAPresetStatesItsSizes) {
  json document = request();
  document["model"] = {{"hidden", 100}, {"heads", 3}};
  const Issues issues = decode(document).issues;
  for (const char* path : {"/model/layers", "/model/vocab", "/model/ffn", "/model/headDim"}) {
    EXPECT_EQ(issueAt(issues, path).code, "field.missing") << path << "\n" << describe(issues);
  }
}

TEST(Decode, AMixtureWithoutDenseLayersNeedsNoFfn) {
  json document = request();
  document["model"] = "tiny-moe";
  const Result<RequestDocument> decoded = decode(document);
  EXPECT_TRUE(decoded.ok()) << describe(decoded.issues);
  document["model"] = {{"preset", "tiny-moe"}, {"moe", {{"denseFirstLayers", 1}}}};
  EXPECT_EQ(issueAt(decode(document).issues, "/model/ffn").code, "field.missing");
}

TEST(Decode, AcceleratorsAreReplacedOrChanged) {
  json document = request();
  // an object without a preset changes the accelerator of the cluster's preset
  document["cluster"]["accelerator"] = {{"memoryBytes", 4e10}};
  Accelerator chip = decode(document).value.request.cluster.accelerator;
  EXPECT_EQ(chip.memoryBytes, 4e10);
  EXPECT_EQ(chip.memoryBytesPerSecond, 2e12);
  EXPECT_EQ(chip.preset, "chip-80g");
  document["cluster"] = {{"accelerator", "chip-80g"}, {"devices", 8}};
  chip = decode(document).value.request.cluster.accelerator;
  EXPECT_EQ(chip.memoryBytes, 8e10);
  document["cluster"]["accelerator"] = {{"preset", "chip-80g"}, {"efficiency", {{"matrixFraction", 0.5}}}};
  chip = decode(document).value.request.cluster.accelerator;
  EXPECT_EQ(chip.efficiency.matrixFraction, 0.5);
  EXPECT_EQ(chip.matrixFlopsPerSecond.bf16, 3e14);
}

TEST(Decode, SeveralDomainsNeedANetwork) {
  json document = request();
  document["cluster"] = {{"accelerator", "chip-80g"}, {"devices", 8}};
  EXPECT_TRUE(decode(document).ok());  // one scale-up domain of eight
  document["cluster"]["devices"] = 16;
  EXPECT_EQ(issueAt(decode(document).issues, "/cluster/networkBytesPerSecondPerDevice").code, "field.missing");
  document["cluster"]["networkGbitPerDevice"] = 400;
  const Result<RequestDocument> decoded = decode(document);
  ASSERT_TRUE(decoded.ok()) << describe(decoded.issues);
  EXPECT_EQ(decoded.value.request.cluster.networkBytesPerSecondPerDevice, 5e10);  // 400e9 bits / 8
  document["cluster"]["networkBytesPerSecondPerDevice"] = 4e10;
  EXPECT_EQ(issueAt(decode(document).issues, "/cluster/networkGbitPerDevice").code, "field.conflict");
}

// ---- software profiles ----

TEST(Software, TheLongestFrameworkPrefixPicksTheProfile) {
  const Catalogue& catalogue = testCatalogue();
  EXPECT_EQ(catalogue.profileOfFramework("Megatron-LM (2021), a fork"), "old-megatron");
  EXPECT_EQ(catalogue.profileOfFramework("Megatron-LM 0.14"), "megatron-core-2025");
  EXPECT_EQ(catalogue.profileOfFramework("Titan FSDP2"), "fsdp");
  EXPECT_EQ(catalogue.profileOfFramework("somebody's own"), kDefaultProfile);
  EXPECT_EQ(catalogue.profileOfFramework(""), kDefaultProfile);
}

TEST(Software, ANamedProfileWinsOverTheFramework) {
  json document = request();
  document["job"]["framework"] = "Titan";
  EXPECT_EQ(decode(document).value.request.software.profile, "fsdp");
  document["software"] = {{"profile", "old-megatron"}};
  EXPECT_EQ(decode(document).value.request.software.profile, "old-megatron");
}

TEST(Software, FlashWithoutAVersionIsTheProfilesOwn) {
  json document = request();
  document["software"] = {{"attentionKernel", "flash"}};
  EXPECT_EQ(decode(document).value.request.software.attentionKernel, AttentionKernel::Flash3);
  document["software"]["profile"] = "old-megatron";  // has none of its own
  EXPECT_EQ(decode(document).value.request.software.attentionKernel, AttentionKernel::Flash2);
  document["software"]["attentionKernel"] = "flash1";
  EXPECT_EQ(decode(document).value.request.software.attentionKernel, AttentionKernel::Flash1);
}

TEST(Software, OverlapHasTwoSpellingsThatMustAgree) {
  json document = request();
  document["software"] = {{"overlap", {{"tp", true}, {"dp", false}, {"pp", nullptr}}}};
  const Software software = decode(document).value.request.software;
  EXPECT_TRUE(software.overlapTensor);
  EXPECT_FALSE(software.overlapData);
  EXPECT_TRUE(software.overlapPipeline);  // the default
  document["software"]["overlapTensor"] = false;
  EXPECT_EQ(issueAt(decode(document).issues, "/software/overlap/tp").code, "field.conflict");
}

// ---- strategies ----

TEST(Strategies, TheDataDegreeFollowsFromTheOthers) {
  EXPECT_EQ(strategyOf({{"tensor", 2}, {"pipeline", 2}}).data, 4);  // 16 / (2 * 2)
  json document = request();
  document["strategy"] = {{"tensor", 3}};
  EXPECT_EQ(issueAt(decode(document).issues, "/strategy/data").code, "field.missing");
}

TEST(Strategies, OpenFieldsTakeTheProfilesDefaults) {
  Strategy strategy = strategyOf({{"tensor", 2}});
  EXPECT_EQ(strategy.zeroStage, 1);
  EXPECT_EQ(strategy.microBatchSequences, 2);
  EXPECT_TRUE(strategy.sequenceParallel);
  EXPECT_EQ(strategy.recompute, Recompute::None);
  EXPECT_FALSE(strategyOf({{"tensor", 1}}).sequenceParallel);  // nothing to split
  json document = request();
  document["software"] = "fsdp";
  strategy = strategyOf(json::object(), document);
  EXPECT_EQ(strategy.zeroStage, 3);
  EXPECT_EQ(strategy.recompute, Recompute::Selective);
  EXPECT_TRUE(strategy.recomputeModules.coreAttention);  // what selective means without a list
}

TEST(Strategies, SchedulesFollowFromTheirChunks) {
  EXPECT_EQ(strategyOf({{"pipeline", 2}}).schedule, Schedule::OneForwardOneBackward);
  EXPECT_EQ(strategyOf({{"pipeline", 2}, {"virtualStages", 2}}).schedule, Schedule::Interleaved);
  EXPECT_EQ(strategyOf({{"pipeline", 2}, {"schedule", "zb-v"}}).virtualStages, 2);
  EXPECT_EQ(strategyOf({{"schedule", "none"}}).schedule, Schedule::OneForwardOneBackward);
  json document = request();
  document["strategy"] = {{"pipeline", 2}, {"schedule", "none"}};
  EXPECT_EQ(issueAt(decode(document).issues, "/strategy/schedule").code, "field.conflict");
  document["strategy"] = {{"pipeline", 2}, {"schedule", "interleaved-1f1b"}};
  EXPECT_EQ(issueAt(decode(document).issues, "/strategy/virtualStages").code, "field.missing");
}

TEST(Strategies, ExpertTensorFollowsTensorWhereTheStackDoesSo) {
  json document = request();
  document["model"] = "tiny-moe";
  EXPECT_EQ(strategyOf({{"tensor", 2}}, document).expertTensor, 2);
  EXPECT_EQ(strategyOf({{"tensor", 2}, {"expertTensor", 1}}, document).expertTensor, 1);
  document["software"] = "fsdp";
  EXPECT_EQ(strategyOf({{"tensor", 2}}, document).expertTensor, 1);
  EXPECT_EQ(strategyOf({{"tensor", 2}}).expertTensor, 1);  // a dense model has no experts
}

TEST(Strategies, ModulesBelongToSelectiveRecomputation) {
  const Strategy strategy = strategyOf({{"recompute", "selective"}, {"recomputeModules", {"mlp", "layerNorm"}}});
  EXPECT_TRUE(strategy.recomputeModules.mlp);
  EXPECT_TRUE(strategy.recomputeModules.layerNorm);
  EXPECT_FALSE(strategy.recomputeModules.coreAttention);
  json document = request();
  document["strategy"] = {{"recompute", "full"}, {"recomputeModules", {"mlp"}}};
  EXPECT_EQ(issueAt(decode(document).issues, "/strategy/recomputeModules").code, "field.conflict");
}

TEST(Strategies, DegreesWhoseProductOverflowsAreRefused) {
  json document = request();
  document["strategy"] = {{"tensor", 1048576}, {"data", 1048576}, {"context", 1048576}, {"pipeline", 2048}};
  EXPECT_EQ(issueAt(decode(document).issues, "/strategy").code, "field.range");
}

// ---- limits ----

TEST(RequestLimits, ANumberPinsAndAnObjectBounds) {
  json document = request();
  document["limits"] = {{"tensor", 4}, {"pipeline", {{"max", 8}}}, {"zeroStages", {1, 1, 3}}};
  const Limits limits = decode(document).value.request.limits;
  EXPECT_EQ(limits.tensor.min, 4);
  EXPECT_EQ(limits.tensor.max, 4);
  EXPECT_EQ(limits.pipeline.min, 0);
  EXPECT_EQ(limits.pipeline.max, 8);
  EXPECT_EQ(limits.zeroStages, (std::vector<int>{1, 3}));
  document["limits"] = {{"tensor", {{"min", 8}, {"max", 2}}}};
  EXPECT_EQ(issueAt(decode(document).issues, "/limits/tensor").code, "field.range");
}

TEST(RequestLimits, StrategiesOutsideAreNamed) {
  Limits limits;
  limits.tensor = {2, 4};
  limits.zeroStages = {1};
  Strategy strategy;
  strategy.tensor = 8;
  strategy.zeroStage = 3;
  const Issues issues = checkLimits(limits, strategy);
  ASSERT_EQ(issues.size(), 2u) << describe(issues);
  EXPECT_EQ(issues[0].message, "tensor is 8; the limits of the request allow at least 2 and at most 4.");
  EXPECT_EQ(issues[1].path, "/strategy/zeroStage");
  strategy.tensor = 4;
  strategy.zeroStage = 1;
  EXPECT_TRUE(checkLimits(limits, strategy).empty());
}

// ---- faults ----

TEST(Faults, MessagesSayWhatIsAllowed) {
  struct Case {
    const char* pointer;
    json value;
    const char* message;
  };
  const Case cases[] = {
      {"/top", 0, "top is 0; it must be a whole number from 1 to 1000."},
      {"/job/sequenceLength", "long", "sequenceLength is \"long\"; it must be a whole number from 1 to 100000000."},
      {"/job/sequenceLength", 1.5, "sequenceLength is 1.5; it must be a whole number from 1 to 100000000."},
      {"/limits/memoryFraction", 2, "memoryFraction is 2; it must be a number from 0.01 to 1."},
      {"/limits/launcherRules", json::array(), "launcherRules is an array; it must be true or false."},
      {"/job/precision", "fp17",
       "precision is \"fp17\"; it must be one of \"fp32\", \"fp16\", \"bf16\", \"fp8\", \"mxfp8\", \"nvfp4\". "
       "Did you mean \"fp16\"?"},
      {"/job/sequence_lenght", 1,
       "sequence_lenght is not a field that Meshwise knows. Did you mean \"sequenceLength\"?"},
      {"/job/zzz", 1, "zzz is not a field that Meshwise knows."},
      {"/model/preset", "tinny", "There is no model preset \"tinny\". Near it: \"tiny\"."},
      {"/version", 2, "version is 2; it must be 1, the version of the request that this engine reads."},
  };
  for (const Case& c : cases) {
    json document = request();
    document[json::json_pointer(c.pointer)] = c.value;
    EXPECT_EQ(issueAt(decode(document).issues, c.pointer).message, c.message);
  }
}

TEST(Faults, EveryLeafOfAResolvedRequestIsChecked) {
  json document = request();
  document["strategy"] = {{"tensor", 2}, {"recompute", "selective"}, {"recomputeModules", {"mlp"}}};
  document["limits"] = {{"tensor", {{"min", 1}, {"max", 8}}}, {"zeroStages", {1}}, {"recompute", {"none"}}};
  const Result<RequestDocument> decoded = decode(document);
  ASSERT_TRUE(decoded.ok()) << describe(decoded.issues);
  const json resolved = json::parse(encodeRequest(decoded.value));
  const json flat = resolved.flatten();
  int checked = 0;
  for (const auto& [path, leaf] : flat.items()) {
    json broken = resolved;
    broken[json::json_pointer(path)] = json::object({{"unexpected", 1}});  // no leaf is an object
    const Issues issues = decode(broken).issues;
    bool isFound = false;
    for (const Issue& issue : issues) isFound = isFound || issue.path.rfind(path, 0) == 0;
    EXPECT_TRUE(isFound && hasErrors(issues)) << path << "\n" << describe(issues);
    ++checked;
  }
  EXPECT_GT(checked, 150);
}

TEST(Faults, EveryMisspelledFieldIsNamedWithItsNeighbor) {
  const Result<RequestDocument> decoded = decode(request());
  const json resolved = json::parse(encodeRequest(decoded.value));
  for (const char* section : {"model", "cluster", "job", "software", "limits"}) {
    for (const auto& [key, value] : resolved[section].items()) {
      json broken = resolved;
      broken[section][key + "x"] = value;
      const std::string path = std::string("/") + section + "/" + key + "x";
      const Issue issue = issueAt(decode(broken).issues, path);
      EXPECT_EQ(issue.code, "field.unknown") << path;
      EXPECT_NE(issue.message.find("Did you mean \"" + key + "\"?"), std::string::npos) << issue.message;
    }
  }
}

TEST(Faults, TheCoresChecksComeBesideThoseOfTheFields) {
  json document = request();
  document["model"]["kvHeads"] = 3;  // does not divide 8 heads
  document["job"]["globalBatchSequences"] = 0;
  const Issues issues = decode(document).issues;
  EXPECT_EQ(issueAt(issues, "/model/kvHeads").code, "model.kvHeads") << describe(issues);
  EXPECT_EQ(issueAt(issues, "/job/globalBatchSequences").code, "field.range") << describe(issues);
}

TEST(Faults, TextIsRefusedWithItsPlace) {
  struct Case {
    std::string text;
    const char* code;
    const char* path;
  };
  const std::string nested = std::string(64, '[') + std::string(64, ']');
  const Case cases[] = {
      {"{\"job\": {\"sequenceLength\": 1e999}}", "json.numberTooLarge", "/job/sequenceLength"},
      {"{\"limits\": {\"zeroStages\": [1, 1e999]}}", "json.numberTooLarge", "/limits/zeroStages/1"},
      {"{\"model\": {\"layers\": 1, \"layers\": 2}}", "json.duplicateKey", "/model/layers"},
      {"{\"a/b~c\": 1, \"a/b~c\": 2}", "json.duplicateKey", "/a~1b~0c"},
      {"{\"model\": tiny}", "json.syntax", "/model"},
      {"{} {}", "json.syntax", ""},
      {"{\"model\": \"\xff\"}", "json.syntax", "/model"},
      {"[" + nested + "]", "json.tooDeep", ""},
      {std::string((1 << 20) + 1, ' '), "json.tooLarge", ""},
      {"[]", "field.type", ""},
  };
  for (const Case& c : cases) {
    const Issues issues = decodeRequest(c.text, testCatalogue()).issues;
    ASSERT_FALSE(issues.empty()) << c.text.substr(0, 80);
    EXPECT_EQ(issues[0].code, c.code) << issues[0].message;
    EXPECT_EQ(issues[0].path, c.path) << issues[0].message;
  }
  // at the bounds themselves it is read: the fault is then that no request is in it
  EXPECT_EQ(decodeRequest(nested, testCatalogue()).issues[0].code, "field.type");
  EXPECT_EQ(decodeRequest("[]" + std::string((1 << 20) - 2, ' '), testCatalogue()).issues[0].code, "field.type");
  const Issue place = decodeRequest("{\n \"top\": 1,\n}", testCatalogue()).issues[0];
  EXPECT_NE(place.message.find("line 3, column 1"), std::string::npos) << place.message;
}

TEST(Faults, AFloodOfThemIsCutShort) {
  std::string text = "{";
  for (int i = 0; i < 5000; ++i) text += "\"field" + std::to_string(i) + "\": 1,";
  text += "\"top\": 1}";
  const Issues issues = decodeRequest(text, testCatalogue()).issues;
  EXPECT_EQ(issues.size(), 201u);
  EXPECT_EQ(issues.back().code, "issues.truncated");
}

// ---- catalogues ----

TEST(Catalogues, LoadOnlyWhole) {
  EXPECT_TRUE(loadCatalogue(kCatalogueText).ok()) << describe(loadCatalogue(kCatalogueText).issues);
  json broken = json::parse(kCatalogueText);
  broken["models"]["tiny"]["layers"] = 0;
  broken["clusters"]["pod"]["accelerator"] = "chip-8g";
  broken["software"]["fsdp"]["defaults"]["zeroStage"] = 7;
  broken["accelerators"]["chip-80g"]["colour"] = "green";
  const Issues issues = loadCatalogue(broken.dump()).issues;
  for (const char* path : {"/models/tiny/layers", "/clusters/pod/accelerator/preset",
                           "/software/fsdp/defaults/zeroStage", "/accelerators/chip-80g/colour"}) {
    EXPECT_NE(issueAt(issues, path).code, "") << path << "\n" << describe(issues);
  }
  broken = json::parse(kCatalogueText);
  broken.erase("software");
  EXPECT_EQ(issueAt(loadCatalogue(broken.dump()).issues, "/software").code, "field.missing");
}

// ---- writing ----

TEST(Encode, AResolvedRequestNeedsNoPresets) {
  json document = request();
  document["software"] = "fsdp";
  const std::string text = encodeRequest(decode(document).value);
  const Result<RequestDocument> again = decodeRequest(text, Catalogue{});
  ASSERT_TRUE(again.ok()) << describe(again.issues);
  EXPECT_EQ(encodeRequest(again.value), text);
  EXPECT_EQ(issueAt(again.issues, "/model/preset").severity, Severity::Warning);
  // but one number less, and the preset is needed
  json incomplete = json::parse(text);
  incomplete["cluster"].erase("devicesPerNode");
  EXPECT_FALSE(decodeRequest(incomplete.dump(), Catalogue{}).ok());
}

TEST(Encode, WhatIsNotFiniteBecomesAnIssue) {
  const RequestDocument document = decode(request()).value;
  SearchResult result;
  result.complete = true;
  result.plans.resize(1);
  result.plans[0].estimate.stepSeconds = std::numeric_limits<double>::quiet_NaN();
  result.plans[0].estimate.time[0] = std::numeric_limits<double>::infinity();
  result.report.rawSpace = (std::int64_t{1} << 53) + 1;
  const json answer = json::parse(encodePlanAnswer(document, result, {}));
  EXPECT_TRUE(answer["plans"][0]["estimate"]["stepSeconds"].is_null());
  std::vector<std::string> faults;
  for (const json& issue : answer["issues"]) {
    faults.push_back(issue["code"].get<std::string>() + " " + issue["path"].get<std::string>());
  }
  EXPECT_EQ(faults, (std::vector<std::string>{"internal.nonFinite /plans/0/estimate/stepSeconds",
                                              "internal.nonFinite /plans/0/estimate/time/compute",
                                              "internal.unsafeInteger /search/rawSpace"}));
}

TEST(Encode, EveryTermAndClassHasAName) {
  EXPECT_EQ(enumNames<TimeTerm>().size(), kTimeTermCount);
  EXPECT_EQ(enumNames<MemoryClass>().size(), kMemoryClassCount);
  EXPECT_STREQ(enumName(TimeTerm::Overlapped), "overlapped");
  EXPECT_STREQ(enumName(Schedule::ZeroBubbleH1), "zb-1p");
  AttentionType type{};
  ASSERT_TRUE(enumFromName("mqa", type));  // read, never written
  EXPECT_STREQ(enumName(type), "gqa");
}

// ---- published runs ----

json run() {
  return json::parse(R"json({"id": "r1", "family": "f", "group": "g", "grade": "A", "source": "s", "license": "l",
    "notes": "n", "measured": {"stepSeconds": 1.5, "anything": [1]},
    "model": {"name": null, "layers": 6, "hidden": 256, "heads": 8, "kvHeads": 8, "headDim": 32, "ffn": 1024,
              "vocab": 1000, "gatedMlp": false, "position": null, "norm": null, "attention": {"type": "mha"},
              "moe": null},
    "cluster": {"accelerator": "chip-80g", "devices": 8, "devicesPerNode": 8, "networkGbitPerDevice": 200.0,
                "networkStated": false, "memorySizeStated": true},
    "job": {"sequenceLength": 1024, "globalBatchSequences": 64, "precision": null, "precisionRaw": "fp16",
            "framework": "Megatron-LM (2021)"},
    "strategy": {"tensor": 2, "pipeline": 2, "data": null, "context": 1, "virtualStages": null,
                 "microBatchSequences": null, "recompute": null, "recomputeModules": [], "zeroStage": null,
                 "fsdpGroup": null, "schedule": null},
    "software": {"attentionKernel": null, "fusedNorm": null, "overlap": {"tp": null, "dp": null, "pp": null}}})json");
}

Result<RunDocument> decodeRow(const json& row) { return decodeRun(row.dump(), testCatalogue()); }

TEST(Runs, WhatARowLeavesOpenIsTheFrameworksDefault) {
  const Result<RunDocument> decoded = decodeRow(run());
  ASSERT_TRUE(decoded.ok()) << describe(decoded.issues);
  EXPECT_EQ(decoded.value.id, "r1");
  const RequestDocument& document = decoded.value.document;
  EXPECT_EQ(document.request.software.profile, "old-megatron");
  EXPECT_FALSE(document.request.software.fusedNorm);
  EXPECT_FALSE(document.request.limits.launcherRules);  // the run happened
  EXPECT_EQ(document.precisionRaw, "fp16");
  EXPECT_EQ(document.strategy.data, 2);  // 8 / (2 * 2)
  EXPECT_EQ(document.strategy.zeroStage, 0);
  EXPECT_EQ(document.strategy.recompute, Recompute::Full);
  EXPECT_EQ(document.strategy.virtualStages, 1);
  EXPECT_EQ(document.strategy.microBatchSequences, 1);
}

TEST(Runs, ADegreeThatDoesNotFollowIsAnIssue) {
  json row = run();
  row["strategy"]["tensor"] = nullptr;
  row["strategy"].erase("pipeline");
  const Result<RunDocument> decoded = decodeRow(row);
  EXPECT_EQ(issueAt(decoded.issues, "/strategy/tensor").code, "run.missingDegree");
  EXPECT_EQ(issueAt(decoded.issues, "/strategy/pipeline").code, "run.missingDegree");
  EXPECT_EQ(decoded.value.id, "r1");  // says which run it was
  row = run();
  row["job"]["globalBatchSequences"] = nullptr;
  EXPECT_EQ(issueAt(decodeRow(row).issues, "/job/globalBatchSequences").code, "field.missing");
}

TEST(Runs, UnknownFieldsAreNotPassedOver) {
  json row = run();
  row["strategy"]["sequenceParalel"] = true;
  row["colour"] = "red";
  const Issues issues = decodeRow(row).issues;
  EXPECT_EQ(issueAt(issues, "/strategy/sequenceParalel").code, "field.unknown");
  EXPECT_EQ(issueAt(issues, "/colour").code, "field.unknown");
}

TEST(Runs, ZeroBubbleRowsAreReadAsTheirSourceSays) {
  json row = run();
  row["strategy"]["schedule"] = "zb-2p-half";
  EXPECT_EQ(decodeRow(row).value.document.strategy.schedule, Schedule::ZeroBubble2p);
  // interleaved rows of that family hold one layer per chunk: (6 layers + 2) / 2 ranks
  row["strategy"]["schedule"] = "interleaved-1f1b";
  EXPECT_EQ(issueAt(decodeRow(row).issues, "/strategy/virtualStages").code, "field.missing");
  row["family"] = "zb";
  EXPECT_EQ(decodeRow(row).value.document.strategy.virtualStages, 4);
}

}  // namespace
}  // namespace meshwise
