#include "resolve.h"

#include <algorithm>
#include <optional>

namespace meshwise {
namespace {

// A section may be the id of a preset instead of an object.
class SectionValue {
 public:
  explicit SectionValue(const JsonValue* value, const char* key = "preset") : value_(value) {
    if (value_ != nullptr && value_->isString()) {
      object_ = JsonValue::object();
      object_.add(key, *value_);
      value_ = &object_;
    }
  }
  const JsonValue* get() const { return value_; }

 private:
  const JsonValue* value_;
  JsonValue object_;
};

// The preset that an object starts from.
class PresetChoice {
 public:
  // Reads `key`; copies the preset of that id into `out` where there is one.
  template <class Map, class T>
  PresetChoice(ObjectReader& reader, const char* key, const Map& presets, T& out) : key_(key) {
    if (!reader.has(key)) {
      reader.label(key);
      return;
    }
    isNamed_ = true;
    isReadable_ = reader.text(key, id_);
    if (!isReadable_) return;
    const auto found = presets.find(id_);
    if (found == presets.end()) {
      ids_ = idsOf(presets);
    } else {
      isFound_ = true;
      out = found->second;
    }
  }

  bool isNamed() const { return isNamed_; }
  bool isFound() const { return isFound_; }
  const std::string& id() const { return id_; }

  // An unknown preset is no fault when the object states every number itself (`absent` fields = 0): then the id is a
  // label, as in a link whose preset has been renamed since.
  void report(ObjectReader& reader, const char* kind, std::size_t absent) const {
    if (!isReadable_ || isFound_) return;
    const std::string path = joinPath(reader.path(), key_);
    if (absent == 0) {
      reader.sink().add("preset.unknown", path,
                        std::string("There is no ") + kind + " preset \"" + id_ +
                            "\"; the numbers that the document states are used.",
                        Severity::Warning);
      return;
    }
    std::string message = std::string("There is no ") + kind + " preset \"" + id_.substr(0, 80) + "\"";
    message += ids_.empty() ? ": the catalogue has none." : ".";
    const std::vector<std::string> near = nearNames(id_, ids_);
    for (std::size_t i = 0; i < near.size(); ++i) message += (i == 0 ? " Near it: \"" : ", \"") + near[i] + "\"";
    if (!near.empty()) message += ".";
    reader.sink().add("preset.unknown", path, message);
  }

 private:
  const char* key_;
  bool isNamed_ = false;
  bool isReadable_ = false;
  bool isFound_ = false;
  std::string id_;
  std::vector<std::string> ids_;
};

void readLabels(ObjectReader& reader, Labels labels) {
  for (const char* label : labels) reader.label(label);
}

// Reads a nested object; returns how many of its fields were left open.
template <class Visit>
std::size_t readNested(ObjectReader& parent, const char* key, Visit visit) {
  const JsonValue* value = parent.get(key);
  ObjectReader reader(value, joinPath(parent.path(), key), parent.sink());
  visit(reader);
  reader.finish();
  return reader.absentCount();
}

}  // namespace

bool resolveModel(const JsonValue* given, const std::string& path, const Catalogue& catalogue, Labels labels,
                  IssueSink& sink, Model& out) {
  const std::size_t before = sink.errorCount();
  if (given == nullptr || given->isNull()) {
    sink.missing(path, "must be {\"preset\": id} or the sizes of a model");
    return false;
  }
  const SectionValue value(given);
  ObjectReader reader(value.get(), path, sink);
  if (sink.errorCount() != before) return false;  // not an object
  Model model;
  const PresetChoice preset(reader, "preset", catalogue.models, model);
  if (preset.isNamed()) model.preset = preset.id();
  readLabels(reader, labels);
  visitModel(reader, model);
  std::size_t absent = reader.absentCount();
  absent += readNested(reader, "biases", [&](ObjectReader& r) { visitBiases(r, model.biases); });
  bool isAttentionTypeStated = false;
  absent += readNested(reader, "attention", [&](ObjectReader& r) {
    visitAttention(r, model.attention);
    isAttentionTypeStated = r.has("type");
  });
  absent += readNested(reader, "moe", [&](ObjectReader& r) { visitMoe(r, model.moe); });
  reader.finish();
  preset.report(reader, "model", absent);

  if (!preset.isNamed()) {
    for (const char* key : {"layers", "hidden", "heads", "vocab"}) {
      if (!reader.has(key)) reader.missing(key, "must be stated in a model without a preset");
    }
    if (!reader.has("kvHeads")) model.kvHeads = model.heads;
    if (!reader.has("headDim") && model.isMla()) {
      model.headDim = std::max<std::int64_t>(1, model.attention.vHeadDim);  // MLA states its widths apart
    } else if (!reader.has("headDim") && model.heads > 0 && model.hidden > 0) {
      if (model.hidden % model.heads == 0) {
        model.headDim = model.hidden / model.heads;
      } else {
        reader.missing("headDim", "must be stated where hidden (" + std::to_string(model.hidden) +
                                      ") is not a multiple of heads (" + std::to_string(model.heads) + ")");
      }
    }
    // Models with learned positions or a plain MLP are of the GPT family, which has LayerNorm with biases.
    if (!reader.has("norm")) {
      model.norm = model.position == Position::Learned || !model.gatedMlp ? Norm::Layer : Norm::Rms;
    }
    if (!reader.has("normBias")) model.normBias = model.norm == Norm::Layer;
  }
  if (!isAttentionTypeStated && !model.isMla() && (!preset.isNamed() || reader.has("kvHeads"))) {
    model.attention.type = model.kvHeads == model.heads ? AttentionType::Mha : AttentionType::Gqa;
  }
  const bool hasDenseLayers = !model.isMoe() || model.moe.denseFirstLayers > 0 || model.moe.moeEvery > 1;
  if (model.ffn == 0 && hasDenseLayers && (preset.isFound() || !preset.isNamed())) {
    const std::string range =
        "must be a whole number from 1 to " + std::to_string(kMaxFfn) + " in a model with dense layers";
    if (reader.has("ffn")) {
      // A fault of its type or range has been reported already.
      if (const JsonValue* ffn = value.get()->find("ffn"); ffn->kind == JsonValue::Kind::Integer && ffn->integer == 0) {
        sink.refuse("field.range", joinPath(path, "ffn"), "0", range);
      }
    } else {
      reader.missing("ffn", range);
    }
  }
  out = model;
  return sink.errorCount() == before;
}

bool resolveAccelerator(const JsonValue* given, const std::string& path, const Catalogue& catalogue, Labels labels,
                        IssueSink& sink, Accelerator& out) {
  const std::size_t before = sink.errorCount();
  const SectionValue value(given);
  ObjectReader reader(value.get(), path, sink);
  if (sink.errorCount() != before) return false;
  Accelerator accelerator = out;
  const PresetChoice preset(reader, "preset", catalogue.accelerators, accelerator);
  if (preset.isNamed()) {
    if (!preset.isFound()) accelerator = Accelerator{};
    accelerator.preset = preset.id();
  }
  readLabels(reader, labels);
  visitAccelerator(reader, accelerator);
  std::size_t absent = reader.absentCount();
  absent += readNested(reader, "matrixFlopsPerSecond",
                       [&](ObjectReader& r) { visitMatrixPeaks(r, accelerator.matrixFlopsPerSecond); });
  absent += readNested(reader, "efficiency", [&](ObjectReader& r) { visitEfficiency(r, accelerator.efficiency); });
  reader.finish();
  preset.report(reader, "accelerator", absent);
  out = accelerator;
  return sink.errorCount() == before;
}

bool resolveCluster(const JsonValue* given, const std::string& path, const Catalogue& catalogue, Labels labels,
                    bool devicesRequired, IssueSink& sink, Cluster& out) {
  const std::size_t before = sink.errorCount();
  if (given == nullptr || given->isNull()) {
    sink.missing(path, "must be {\"preset\": id, \"devices\": n} or an accelerator, its node and its network");
    return false;
  }
  const SectionValue value(given);
  ObjectReader reader(value.get(), path, sink);
  if (sink.errorCount() != before) return false;
  Cluster cluster;
  const PresetChoice preset(reader, "preset", catalogue.clusters, cluster);
  if (preset.isNamed()) cluster.preset = preset.id();
  readLabels(reader, labels);
  reader.label("networkStated");
  reader.label("memorySizeStated");
  visitCluster(reader, cluster);

  double gigabitPerSecond = 0;
  std::size_t absent = reader.absentCount();
  if (reader.number("networkGbitPerDevice", gigabitPerSecond, 0, 1e6)) {
    const double bytesPerSecond = gigabitPerSecond * 1e9 / 8;
    if (reader.has("networkBytesPerSecondPerDevice") && cluster.networkBytesPerSecondPerDevice != bytesPerSecond) {
      reader.fault("field.conflict", joinPath(path, "networkGbitPerDevice"),
                   "networkGbitPerDevice disagrees with networkBytesPerSecondPerDevice; state one of them.");
    }
    cluster.networkBytesPerSecondPerDevice = bytesPerSecond;
  }

  const JsonValue* accelerator = reader.get("accelerator");
  if (accelerator != nullptr) {
    const std::string acceleratorPath = joinPath(path, "accelerator");
    // An object without a preset changes the accelerator of the cluster's preset.
    resolveAccelerator(accelerator, acceleratorPath, catalogue, {}, sink, cluster.accelerator);
  } else {
    ++absent;
    if (!preset.isNamed()) {
      reader.missing("accelerator",
                     "must be the id of an accelerator preset, or an object, in a cluster without a preset");
    }
  }
  reader.finish();
  preset.report(reader, "cluster", absent);

  if (devicesRequired && !reader.has("devices") && cluster.devices == 0 && (preset.isFound() || !preset.isNamed())) {
    reader.missing("devices", "must be a whole number from 1 to " + std::to_string(kMaxDevices));
  }
  const bool hasNetwork = reader.has("networkBytesPerSecondPerDevice") || reader.has("networkGbitPerDevice") ||
                          cluster.networkBytesPerSecondPerDevice > 0;
  const bool isAcceleratorKnown = preset.isFound() || (!preset.isNamed() && accelerator != nullptr);
  if (devicesRequired && !hasNetwork && isAcceleratorKnown && cluster.devices > cluster.accelerator.scaleUpDomain) {
    reader.missing("networkBytesPerSecondPerDevice",
                   "must be stated where the devices do not share one scale-up domain (" +
                       std::to_string(cluster.accelerator.scaleUpDomain) +
                       " devices): bytes per second of one device's network adapter, one direction");
  }
  out = cluster;
  return sink.errorCount() == before;
}

bool resolveJob(const JsonValue* value, const std::string& path, IssueSink& sink, Job& out, std::string& framework,
                std::string& precisionRaw) {
  const std::size_t before = sink.errorCount();
  if (value == nullptr || value->isNull()) {
    sink.missing(path, "must be {\"sequenceLength\": n, \"globalBatchSequences\": n, ...}");
    return false;
  }
  ObjectReader reader(value, path, sink);
  if (sink.errorCount() != before) return false;
  Job job;
  visitJob(reader, job);
  reader.text("framework", framework);
  reader.text("precisionRaw", precisionRaw);
  reader.finish();
  if (!reader.has("sequenceLength")) {
    reader.missing("sequenceLength",
                   "must be a whole number of tokens from 1 to " + std::to_string(kMaxSequenceLength));
  }
  if (!reader.has("globalBatchSequences")) {
    reader.missing("globalBatchSequences",
                   "must be a whole number of sequences per step from 1 to " + std::to_string(kMaxBatch));
  }
  out = job;
  return sink.errorCount() == before;
}

bool resolveSoftware(const JsonValue* given, const std::string& path, const Catalogue& catalogue, Labels labels,
                     const std::string& framework, IssueSink& sink, SoftwareProfile& out) {
  const std::size_t before = sink.errorCount();
  const SectionValue value(given, "profile");
  ObjectReader reader(value.get(), path, sink);
  if (sink.errorCount() != before) return false;
  SoftwareProfile profile;
  const PresetChoice named(reader, "profile", catalogue.software, profile);
  if (!named.isNamed()) {
    const std::string id = catalogue.profileOfFramework(framework);
    const auto found = catalogue.software.find(id);
    if (found != catalogue.software.end()) profile = found->second;
    profile.software.profile = id;
  } else {
    profile.software.profile = named.id();
  }
  Software& software = profile.software;
  const AttentionKernel own = software.attentionKernel;
  readLabels(reader, labels);
  visitSoftware(reader, software);
  const std::size_t absent = reader.absentCount();

  // "flash" without a version: the profile's own version where it has one.
  const JsonValue* kernel = reader.get("attentionKernel");
  const bool isFlash =
      own == AttentionKernel::Flash1 || own == AttentionKernel::Flash2 || own == AttentionKernel::Flash3;
  if (kernel != nullptr && kernel->isString() && kernel->text == "flash" && isFlash) software.attentionKernel = own;

  readNested(reader, "overlap", [&](ObjectReader& r) {
    const auto read = [&](const char* key, const char* longKey, bool& field) {
      bool overlap = false;
      if (!r.boolean(key, overlap)) return;
      if (reader.has(longKey) && field != overlap) {
        r.fault("field.conflict", joinPath(r.path(), key),
                std::string("overlap.") + key + " disagrees with " + longKey + "; state one of them.");
      }
      field = overlap;
    };
    read("tp", "overlapTensor", software.overlapTensor);
    read("dp", "overlapData", software.overlapData);
    read("pp", "overlapPipeline", software.overlapPipeline);
    read("ep", "overlapExpert", software.overlapExpert);
  });
  reader.finish();
  named.report(reader, "software", absent);
  out = profile;
  return sink.errorCount() == before;
}

bool resolveLimits(const JsonValue* value, const std::string& path, IssueSink& sink, Limits& out) {
  const std::size_t before = sink.errorCount();
  ObjectReader reader(value, path, sink);
  if (sink.errorCount() != before) return false;
  Limits limits;
  reader.number("memoryFraction", limits.memoryFraction, 0.01, 1);
  const auto readRange = [&](const char* key, Range& range, std::int64_t max) {
    const JsonValue* member = reader.get(key);
    if (member == nullptr) return;
    const std::string rangePath = joinPath(path, key);
    if (!member->isObject()) {
      std::int64_t pinned = 0;
      if (member->kind != JsonValue::Kind::Integer && member->kind != JsonValue::Kind::Number) {
        sink.refuse("field.type", rangePath, quoteForMessage(*member),
                    "must be a whole number, or {\"min\": n, \"max\": n}");
      } else if (reader.readInteger(*member, rangePath, pinned, 1, max)) {
        range = {pinned, pinned};
      }
      return;
    }
    ObjectReader bounds(member, rangePath, sink);
    bounds.integer("min", range.min, 0, max);
    bounds.integer("max", range.max, 0, max);
    bounds.finish();
    if (range.max > 0 && range.min > range.max) {
      sink.add("field.range", rangePath,
               "min (" + std::to_string(range.min) + ") must not be above max (" + std::to_string(range.max) + ").");
    }
  };
  readRange("tensor", limits.tensor, kMaxDevices);
  readRange("pipeline", limits.pipeline, kMaxDevices);
  readRange("data", limits.data, kMaxDevices);
  readRange("context", limits.context, kMaxDevices);
  readRange("expert", limits.expert, kMaxDevices);
  readRange("expertTensor", limits.expertTensor, kMaxDevices);
  readRange("virtualStages", limits.virtualStages, kMaxLayers);
  readRange("microBatchSequences", limits.microBatchSequences, kMaxBatch);

  const auto readList = [&](const char* key, auto readItem) {
    const JsonValue* list = reader.get(key);
    if (list == nullptr) return;
    const std::string listPath = joinPath(path, key);
    if (!list->isArray()) {
      sink.refuse("field.type", listPath, quoteForMessage(*list), "must be an array");
      return;
    }
    constexpr std::size_t kMaxChoices = 32;
    if (list->items.size() > kMaxChoices) {
      sink.refuse("field.range", listPath, "a list of " + std::to_string(list->items.size()),
                  "must have at most 32 elements");
      return;
    }
    for (std::size_t i = 0; i < list->items.size(); ++i) readItem(list->items[i], joinPath(listPath, i));
  };
  const auto addOnce = [](auto& list, auto item) {
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
  };
  readList("zeroStages", [&](const JsonValue& item, const std::string& itemPath) {
    std::int64_t stage = 0;
    if (reader.readInteger(item, itemPath, stage, 0, 3)) addOnce(limits.zeroStages, static_cast<int>(stage));
  });
  readList("recompute", [&](const JsonValue& item, const std::string& itemPath) {
    Recompute recompute{};
    if (reader.readChoice(item, itemPath, recompute)) addOnce(limits.recompute, recompute);
  });
  readList("schedules", [&](const JsonValue& item, const std::string& itemPath) {
    Schedule schedule{};
    if (reader.readChoice(item, itemPath, schedule)) addOnce(limits.schedules, schedule);
  });
  reader.boolean("launcherRules", limits.launcherRules);
  reader.finish();
  out = limits;
  return sink.errorCount() == before;
}

namespace {

void readZeroStage(ObjectReader& reader, Strategy& strategy) {
  std::int64_t stage = strategy.zeroStage;
  reader.integer("zeroStage", stage, 0, 3);
  strategy.zeroStage = static_cast<int>(stage);
}

// True when at least one module is stated; an empty list states none.
bool readModules(ObjectReader& reader, RecomputeModules& out) {
  const JsonValue* list = reader.get("recomputeModules");
  if (list == nullptr) return false;
  const std::string path = joinPath(reader.path(), "recomputeModules");
  if (!list->isArray()) {
    reader.sink().refuse("field.type", path, quoteForMessage(*list), "must be an array of module names");
    return false;
  }
  if (list->items.empty()) return false;
  RecomputeModules modules;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const JsonValue& item = list->items[i];
    bool isKnown = false;
    for (const RecomputeModuleName& module : recomputeModuleNames()) {
      if (item.isString() && item.text == module.name) {
        modules.*module.member = true;
        isKnown = true;
      }
    }
    if (!isKnown) {
      reader.sink().refuse(item.isString() ? "field.choice" : "field.type", joinPath(path, i), quoteForMessage(item),
                           "must be one of \"core_attn\", \"mlp\", \"layernorm\", \"moe_act\", \"mla_up_proj\"");
    }
  }
  out = modules;
  return true;
}

struct ScheduleChoice {
  bool isStated = false;
  bool isNone = false;  // "none": the row says that there is no pipeline
};

ScheduleChoice readSchedule(ObjectReader& reader, Schedule& out) {
  const JsonValue* value = reader.get("schedule");
  if (value == nullptr) return {};
  if (value->isString() && value->text == "none") return {true, true};
  // Half the micro-batch of ZB-2p for the memory of ZB-1p (arXiv 2401.10241, section 5): the same schedule, and the
  // micro-batch stands beside it.
  if (value->isString() && value->text == "zb-2p-half") {
    out = Schedule::ZeroBubble2p;
    return {true, false};
  }
  return {reader.readChoice(*value, joinPath(reader.path(), "schedule"), out), false};
}

}  // namespace

bool resolveStrategy(const JsonValue* value, const std::string& path, const SoftwareProfile& profile, bool isMoe,
                     std::int64_t devices, IssueSink& sink, Strategy& out) {
  const std::size_t before = sink.errorCount();
  ObjectReader reader(value, path, sink);
  if (sink.errorCount() != before) return false;
  Strategy s = profile.defaults;
  visitStrategyDegrees(reader, s);
  readZeroStage(reader, s);
  const ScheduleChoice schedule = readSchedule(reader, s.schedule);
  const bool hasModules = readModules(reader, s.recomputeModules);
  reader.finish();

  if (schedule.isNone) {
    s.schedule = Schedule::OneForwardOneBackward;
    if (s.pipeline > 1) {
      sink.add("field.conflict", joinPath(path, "schedule"),
               "schedule \"none\" means a pipeline degree of 1; pipeline is " + std::to_string(s.pipeline) + ".");
    }
  }
  const bool isTwoChunk = s.schedule == Schedule::ZeroBubbleV || s.schedule == Schedule::DualPipe;
  if (!reader.has("virtualStages")) {
    if (s.pipeline == 1) {
      s.virtualStages = 1;
    } else if (schedule.isStated && isTwoChunk) {
      s.virtualStages = 2;
    } else if (schedule.isStated && s.schedule != Schedule::Interleaved) {
      s.virtualStages = 1;
    } else if (schedule.isStated && s.virtualStages == 1) {
      reader.missing("virtualStages", "must be a whole number from 2 with schedule \"interleaved-1f1b\"");
    }
  }
  if (!schedule.isStated) {
    if (s.pipeline == 1) {
      s.schedule = Schedule::OneForwardOneBackward;
    } else if (s.virtualStages > 1 && !isTwoChunk) {
      s.schedule = Schedule::Interleaved;
    } else if (s.schedule == Schedule::Interleaved) {
      s.schedule = Schedule::OneForwardOneBackward;  // one chunk per rank
    }
  }
  if (!reader.has("sequenceParallel") && s.tensor == 1) s.sequenceParallel = false;
  if (!reader.has("expertTensor")) {
    if (!isMoe) {
      s.expertTensor = 1;
    } else if (profile.expertTensorFollowsTensor) {
      s.expertTensor = s.tensor;
    }
  }
  if (s.recompute != Recompute::Selective) {
    if (hasModules) {
      sink.add("field.conflict", joinPath(path, "recomputeModules"),
               std::string("recomputeModules needs recompute \"selective\"; recompute is \"") + enumName(s.recompute) +
                   "\".");
    }
    s.recomputeModules = {};
  } else if (s.recomputeModules == RecomputeModules{}) {
    s.recomputeModules.coreAttention = true;  // what selective means in Megatron-Core without a list
  }
  if (s.recompute != Recompute::Full && !reader.has("recomputeLayers")) s.recomputeLayers = 0;
  if (!reader.has("data")) {
    // At most 2^20 * 2^11 * 2^20.
    const std::int64_t others = s.tensor * s.pipeline * s.context;
    if (devices > 0 && sink.errorCount() == before) {
      if (devices % others == 0) {
        s.data = devices / others;
      } else {
        reader.missing("data",
                       "does not follow from the other degrees: " + std::to_string(devices) +
                           " devices are not a multiple of tensor * pipeline * context = " + std::to_string(others));
      }
    }
  }
  // Keeps the product of the degrees inside 63 bits for the rules that multiply them.
  std::int64_t product = 1;
  for (const std::int64_t degree : {s.tensor, s.pipeline, s.context, s.data}) {
    product = product > kMaxDevices ? product : product * degree;
  }
  if (product > kMaxDevices) {
    sink.add("field.range", path,
             "tensor * pipeline * data * context must be at most " + std::to_string(kMaxDevices) + " devices.");
  }
  out = s;
  return sink.errorCount() == before;
}

bool resolveStrategyDefaults(const JsonValue* value, const std::string& path, IssueSink& sink, SoftwareProfile& out) {
  const std::size_t before = sink.errorCount();
  ObjectReader reader(value, path, sink);
  Strategy s = out.defaults;
  if (const JsonValue* expertTensor = reader.get("expertTensor"); expertTensor != nullptr) {
    if (expertTensor->isString() && expertTensor->text == "tensor") {
      out.expertTensorFollowsTensor = true;
    } else {
      reader.readInteger(*expertTensor, joinPath(path, "expertTensor"), s.expertTensor, 1, kMaxDevices);
    }
  }
  reader.integer("virtualStages", s.virtualStages, 1, kMaxLayers);
  reader.integer("microBatchSequences", s.microBatchSequences, 1, kMaxBatch);
  reader.boolean("sequenceParallel", s.sequenceParallel);
  reader.choice("recompute", s.recompute);
  reader.integer("recomputeLayers", s.recomputeLayers, 0, kMaxLayers);
  reader.integer("fsdpGroup", s.shardGroup, 0, kMaxDevices);
  reader.choice("contextKind", s.contextKind);
  reader.choice("placement", s.placement);
  reader.boolean("offloadActivations", s.offloadActivations);
  readZeroStage(reader, s);
  readSchedule(reader, s.schedule);
  readModules(reader, s.recomputeModules);
  reader.finish();
  out.defaults = s;
  return sink.errorCount() == before;
}

}  // namespace meshwise
