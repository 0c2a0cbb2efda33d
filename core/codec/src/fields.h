// The fields of every document, each named once: the same list reads and writes. Private to the codec.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json_value.h"
#include "meshwise_codec/enums.h"

namespace meshwise {

// Bounds of what a document may state. Products of the sizes below stay inside 63 bits: a mixture of experts has at
// most layers * experts * 3 * hidden * expertFfn = 2^11 * 2^12 * 3 * 2^17 * 2^20 parameters.
inline constexpr std::int64_t kMaxLayers = 2048;
inline constexpr std::int64_t kMaxHidden = 131072;
inline constexpr std::int64_t kMaxHeads = 8192;
inline constexpr std::int64_t kMaxHeadDim = 8192;
inline constexpr std::int64_t kMaxFfn = 1048576;
inline constexpr std::int64_t kMaxVocab = 4194304;
inline constexpr std::int64_t kMaxExperts = 4096;
inline constexpr std::int64_t kMaxSequenceLength = 100000000;
inline constexpr std::int64_t kMaxBatch = 16777216;
inline constexpr std::int64_t kMaxDevices = 1048576;
inline constexpr std::int64_t kMaxExtraParameters = 1000000000000;
inline constexpr double kMaxBytes = 1e15;
inline constexpr double kMaxBytesPerSecond = 1e15;
inline constexpr double kMaxFlopsPerSecond = 1e21;
inline constexpr double kMaxSeconds = 60;

// The name of `known` nearest to `name`, or "" when none is near. Case and separators do not count.
std::string nearestName(std::string_view name, const std::vector<std::string>& known);

// Up to three names near to `name`, also those that contain or continue it.
std::vector<std::string> nearNames(std::string_view name, const std::vector<std::string>& known);

// Reads the fields of one object. A field that is absent or null keeps the value that the variable has already.
class ObjectReader {
 public:
  // `value` may be null (then every field is absent).
  ObjectReader(const JsonValue* value, std::string path, IssueSink& sink);

  const std::string& path() const { return path_; }
  IssueSink& sink() { return sink_; }

  // Whether the key is there and not null.
  bool has(std::string_view key) const;
  // The member, or nullptr when absent or null. Marks the key as known.
  const JsonValue* get(const char* key);
  // Declares a key whose content is for people, or that another field can stand for: it never counts as absent.
  void label(const char* key) { known_.emplace_back(key); }

  bool integer(const char* key, std::int64_t& out, std::int64_t min, std::int64_t max);
  bool number(const char* key, double& out, double min, double max);
  bool boolean(const char* key, bool& out);
  bool text(const char* key, std::string& out);

  template <class E>
  bool choice(const char* key, E& out) {
    const JsonValue* value = get(key);
    return value != nullptr && readChoice(*value, joinPath(path_, key), out);
  }
  template <class E>
  bool choiceOrNull(const char* key, E& out, E) {
    return choice(key, out);
  }
  template <class E>
  bool readChoice(const JsonValue& value, const std::string& path, E& out) {
    if (value.isString() && enumFromName(value.text, out)) return true;
    std::vector<std::string> names;
    for (const EnumName<E>& entry : enumNames<E>()) names.emplace_back(entry.name);
    reportChoice(value, path, names);
    return false;
  }
  bool readInteger(const JsonValue& value, const std::string& path, std::int64_t& out, std::int64_t min,
                   std::int64_t max);

  // "<key> is missing; it <rule>."
  void missing(const char* key, const std::string& rule);
  void fault(std::string code, std::string path, std::string message) {
    sink_.add(std::move(code), std::move(path), std::move(message));
  }

  // Keys that were asked for and were absent or null: 0 means that the object states everything.
  std::size_t absentCount() const { return absent_; }

  // Reports every member that nobody asked for.
  void finish();

 private:
  void reportChoice(const JsonValue& value, const std::string& path, const std::vector<std::string>& names);

  const JsonValue* value_ = nullptr;
  std::string path_;
  IssueSink& sink_;
  std::vector<std::string> known_;
  std::size_t absent_ = 0;
};

// Writes the fields of one object; the same calls as ObjectReader.
class ObjectWriter {
 public:
  void integer(const char* key, std::int64_t value, std::int64_t = 0, std::int64_t = 0) {
    object_.add(key, JsonValue::of(value));
  }
  void number(const char* key, double value, double = 0, double = 0) { object_.add(key, JsonValue::of(value)); }
  void boolean(const char* key, bool value) { object_.add(key, JsonValue::of(value)); }
  void text(const char* key, const std::string& value) { object_.add(key, JsonValue::of(std::string_view(value))); }
  template <class E>
  void choice(const char* key, E value) {
    object_.add(key, JsonValue::of(enumName(value)));
  }
  template <class E>
  void choiceOrNull(const char* key, E value, E nullValue) {
    if (value == nullValue) {
      object_.add(key, JsonValue::null());
    } else {
      choice(key, value);
    }
  }
  void add(const char* key, JsonValue value) { object_.add(key, std::move(value)); }
  JsonValue take() { return std::move(object_); }

 private:
  JsonValue object_ = JsonValue::object();
};

// ---- The fields. V is ObjectReader or ObjectWriter, T the (const) struct. Nested objects are the callers' affair.
// ----

template <class V, class T>
void visitAttention(V& v, T& a) {
  v.choice("type", a.type);
  v.integer("qLoraRank", a.qLoraRank, 0, kMaxHidden);
  v.integer("kvLoraRank", a.kvLoraRank, 0, kMaxHidden);
  v.integer("qkNopeHeadDim", a.qkNopeHeadDim, 0, kMaxHeadDim);
  v.integer("qkRopeHeadDim", a.qkRopeHeadDim, 0, kMaxHeadDim);
  v.integer("vHeadDim", a.vHeadDim, 0, kMaxHeadDim);
  v.integer("slidingWindow", a.slidingWindow, 0, kMaxSequenceLength);
  v.integer("localPeriod", a.localPeriod, 0, kMaxLayers);
  v.boolean("chunked", a.chunked);
}

template <class V, class T>
void visitMoe(V& v, T& m) {
  v.integer("experts", m.experts, 0, kMaxExperts);
  v.integer("topK", m.topK, 0, kMaxExperts);
  v.integer("expertFfn", m.expertFfn, 0, kMaxFfn);
  v.integer("sharedExperts", m.sharedExperts, 0, kMaxExperts);
  v.integer("sharedExpertFfn", m.sharedExpertFfn, 0, kMaxFfn);
  v.integer("denseFirstLayers", m.denseFirstLayers, 0, kMaxLayers);
  v.integer("moeEvery", m.moeEvery, 1, kMaxLayers);
  v.boolean("sharedExpertGate", m.sharedExpertGate);
  v.boolean("expertBias", m.expertBias);
  v.boolean("routerBias", m.routerBias);
  v.number("imbalanceFactor", m.imbalanceFactor, 1, 1000);
  v.number("capacityFactor", m.capacityFactor, 0, 1000);
}

template <class V, class T>
void visitBiases(V& v, T& b) {
  v.boolean("qkv", b.qkv);
  v.boolean("attentionOutput", b.attentionOutput);
  v.boolean("mlp", b.mlp);
  v.boolean("lmHead", b.lmHead);
}

template <class V, class T>
void visitModel(V& v, T& m) {
  v.text("name", m.name);
  v.integer("layers", m.layers, 1, kMaxLayers);
  v.integer("hidden", m.hidden, 1, kMaxHidden);
  v.integer("heads", m.heads, 1, kMaxHeads);
  v.integer("kvHeads", m.kvHeads, 1, kMaxHeads);
  v.integer("headDim", m.headDim, 1, kMaxHeadDim);
  v.integer("ffn", m.ffn, 0, kMaxFfn);
  v.integer("vocab", m.vocab, 1, kMaxVocab);
  v.boolean("gatedMlp", m.gatedMlp);
  v.boolean("tiedEmbeddings", m.tiedEmbeddings);
  v.choice("position", m.position);
  v.integer("positionRows", m.positionRows, 0, kMaxSequenceLength);
  v.choice("norm", m.norm);
  v.boolean("normBias", m.normBias);
  v.integer("normsPerLayer", m.normsPerLayer, 0, 16);
  v.boolean("finalNorm", m.finalNorm);
  v.boolean("embeddingNorm", m.embeddingNorm);
  v.choice("qkNorm", m.qkNorm);
  v.boolean("parallelBlock", m.parallelBlock);
  v.integer("mtpLayers", m.mtpLayers, 0, 64);
  v.integer("extraParameters", m.extraParameters, -kMaxExtraParameters, kMaxExtraParameters);
  v.integer("maxSequenceLength", m.maxSequenceLength, 0, kMaxSequenceLength);
}

template <class V, class T>
void visitMatrixPeaks(V& v, T& p) {
  v.number("fp32", p.fp32, 0, kMaxFlopsPerSecond);
  v.number("tf32", p.tf32, 0, kMaxFlopsPerSecond);
  v.number("fp16", p.fp16, 0, kMaxFlopsPerSecond);
  v.number("bf16", p.bf16, 0, kMaxFlopsPerSecond);
  v.number("fp8", p.fp8, 0, kMaxFlopsPerSecond);
  v.number("fp4", p.fp4, 0, kMaxFlopsPerSecond);
}

template <class V, class T>
void visitEfficiency(V& v, T& e) {
  v.number("matrixFraction", e.matrixFraction, 1e-3, 1);
  v.number("matrixFractionFp8", e.matrixFractionFp8, 1e-3, 1);
  v.number("matrixFractionFp4", e.matrixFractionFp4, 1e-3, 1);
  v.number("matrixRampK", e.matrixRampK, 0, 1e6);
  v.number("attentionForward", e.attentionForward, 1e-3, 1);
  v.number("attentionBackward", e.attentionBackward, 1e-3, 1);
  v.number("memoryFraction", e.memoryFraction, 1e-3, 1);
  v.number("kernelSeconds", e.kernelSeconds, 0, kMaxSeconds);
  v.number("launchSeconds", e.launchSeconds, 0, kMaxSeconds);
  v.number("scaleUpFraction", e.scaleUpFraction, 1e-3, 1);
  v.number("scaleUpLatencySeconds", e.scaleUpLatencySeconds, 0, kMaxSeconds);
  v.number("scaleOutFraction", e.scaleOutFraction, 1e-3, 1);
  v.number("scaleOutLatencySeconds", e.scaleOutLatencySeconds, 0, kMaxSeconds);
  v.number("scaleOutGrowth", e.scaleOutGrowth, 0, 10);
  v.number("overlapContention", e.overlapContention, 0, 1);
  v.number("stepSeconds", e.stepSeconds, 0, kMaxSeconds);
  v.number("jitterFraction", e.jitterFraction, 0, 1);
}

template <class V, class T>
void visitAccelerator(V& v, T& a) {
  v.text("name", a.name);
  v.text("vendor", a.vendor);
  v.number("vectorFlopsPerSecond", a.vectorFlopsPerSecond, 0, kMaxFlopsPerSecond);
  v.number("memoryBytes", a.memoryBytes, 0, kMaxBytes);
  v.number("memoryBytesPerSecond", a.memoryBytesPerSecond, 0, kMaxBytesPerSecond);
  v.number("cacheBytes", a.cacheBytes, 0, kMaxBytes);
  v.integer("computeUnits", a.computeUnits, 0, 1000000);
  v.number("powerWatts", a.powerWatts, 0, 1e6);
  v.choice("scaleUpTopology", a.scaleUpTopology);
  v.number("scaleUpBytesPerSecond", a.scaleUpBytesPerSecond, 0, kMaxBytesPerSecond);
  v.integer("scaleUpDomain", a.scaleUpDomain, 1, kMaxDevices);
  v.number("hostBytesPerSecond", a.hostBytesPerSecond, 0, kMaxBytesPerSecond);
}

template <class V, class T>
void visitCluster(V& v, T& c) {
  v.text("name", c.name);
  v.integer("devices", c.devices, 1, kMaxDevices);
  v.integer("devicesPerNode", c.devicesPerNode, 1, kMaxDevices);
  v.number("networkBytesPerSecondPerDevice", c.networkBytesPerSecondPerDevice, 0, kMaxBytesPerSecond);
  v.number("networkOversubscription", c.networkOversubscription, 1, 1000);
  v.integer("devicesPerLeaf", c.devicesPerLeaf, 0, kMaxDevices);
  v.boolean("inNetworkReduction", c.inNetworkReduction);
  v.number("usdPerDeviceHour", c.usdPerDeviceHour, 0, 1e6);
}

template <class V, class T>
void visitJob(V& v, T& j) {
  v.integer("sequenceLength", j.sequenceLength, 1, kMaxSequenceLength);
  v.integer("globalBatchSequences", j.globalBatchSequences, 1, kMaxBatch);
  v.choice("precision", j.precision);
  v.choiceOrNull("gradientPrecision", j.gradientPrecision, GradientPrecision::Auto);
  v.choice("optimizer", j.optimizer);
  v.number("tokenBudget", j.tokenBudget, 0, 1e18);
}

template <class V, class T>
void visitSoftware(V& v, T& s) {
  v.choice("launcher", s.launcher);
  v.choice("attentionKernel", s.attentionKernel);
  v.boolean("fusedNorm", s.fusedNorm);
  v.boolean("fusedMlp", s.fusedMlp);
  v.boolean("fusedCrossEntropy", s.fusedCrossEntropy);
  v.boolean("parallelLogits", s.parallelLogits);
  v.boolean("dropout", s.dropout);
  v.boolean("cudaGraphs", s.cudaGraphs);
  v.number("launchFactor", s.launchFactor, 0, 1000);
  v.number("launchSpreadFraction", s.launchSpreadFraction, 0, 10);
  v.number("vectorFactor", s.vectorFactor, 0, 1000);
  v.boolean("fp32GradientAccumulation", s.fp32GradientAccumulation);
  v.boolean("pureBf16", s.pureBf16);
  v.boolean("overlapTensor", s.overlapTensor);
  v.boolean("overlapData", s.overlapData);
  v.boolean("overlapParameterGather", s.overlapParameterGather);
  v.boolean("overlapPipeline", s.overlapPipeline);
  v.boolean("scatterGatherPipeline", s.scatterGatherPipeline);
  v.boolean("deduplicatedDispatch", s.deduplicatedDispatch);
  v.boolean("overlapExpert", s.overlapExpert);
  v.boolean("asyncTensorBackward", s.asyncTensorBackward);
  v.number("reservedBytes", s.reservedBytes, 0, kMaxBytes);
  v.number("allocatorFraction", s.allocatorFraction, 0, 1);
  v.integer("vocabularyMultiple", s.vocabularyMultiple, 1, 1000000);
}

// Fields of a strategy that are plain. `schedule`, `recomputeModules` and `zeroStage` need care on reading.
template <class V, class T>
void visitStrategyDegrees(V& v, T& s) {
  v.integer("tensor", s.tensor, 1, kMaxDevices);
  v.integer("pipeline", s.pipeline, 1, kMaxLayers);
  v.integer("data", s.data, 1, kMaxDevices);
  v.integer("context", s.context, 1, kMaxDevices);
  v.integer("expert", s.expert, 1, kMaxDevices);
  v.integer("expertTensor", s.expertTensor, 1, kMaxDevices);
  v.integer("virtualStages", s.virtualStages, 1, kMaxLayers);
  v.integer("microBatchSequences", s.microBatchSequences, 1, kMaxBatch);
  v.boolean("sequenceParallel", s.sequenceParallel);
  v.choice("recompute", s.recompute);
  v.integer("recomputeLayers", s.recomputeLayers, 0, kMaxLayers);
  v.integer("fsdpGroup", s.shardGroup, 0, kMaxDevices);
  v.choice("contextKind", s.contextKind);
  v.choice("placement", s.placement);
  v.integer("firstStageLayers", s.firstStageLayers, -1, kMaxLayers);
  v.integer("lastStageLayers", s.lastStageLayers, -1, kMaxLayers);
  v.boolean("offloadActivations", s.offloadActivations);
}

// Modules of selective recomputation with all their names; the first of a module is the one that is written.
struct RecomputeModuleName {
  bool RecomputeModules::*member;
  const char* name;
};
std::span<const RecomputeModuleName> recomputeModuleNames();

}  // namespace meshwise
