#include "meshwise_codec/encode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <utility>

#include "fields.h"
#include "meshwise/version.h"

namespace meshwise {
namespace {

JsonValue encodeIssues(const Issues& issues) {
  JsonValue list = JsonValue::array();
  for (const Issue& issue : issues) {
    ObjectWriter writer;
    writer.text("code", issue.code);
    writer.text("path", issue.path);
    writer.text("message", issue.message);
    writer.choice("severity", issue.severity);
    list.append(writer.take());
  }
  return list;
}

template <class Visit>
JsonValue encodeObject(Visit visit) {
  ObjectWriter writer;
  visit(writer);
  return writer.take();
}

JsonValue encodeModel(const Model& model) {
  ObjectWriter writer;
  if (!model.preset.empty()) writer.text("preset", model.preset);
  visitModel(writer, model);
  writer.add("biases", encodeObject([&](ObjectWriter& w) { visitBiases(w, model.biases); }));
  writer.add("attention", encodeObject([&](ObjectWriter& w) { visitAttention(w, model.attention); }));
  writer.add("moe", encodeObject([&](ObjectWriter& w) { visitMoe(w, model.moe); }));
  return writer.take();
}

JsonValue encodeAccelerator(const Accelerator& accelerator) {
  ObjectWriter writer;
  if (!accelerator.preset.empty()) writer.text("preset", accelerator.preset);
  visitAccelerator(writer, accelerator);
  writer.add("matrixFlopsPerSecond",
             encodeObject([&](ObjectWriter& w) { visitMatrixPeaks(w, accelerator.matrixFlopsPerSecond); }));
  writer.add("efficiency", encodeObject([&](ObjectWriter& w) { visitEfficiency(w, accelerator.efficiency); }));
  return writer.take();
}

JsonValue encodeCluster(const Cluster& cluster) {
  ObjectWriter writer;
  if (!cluster.preset.empty()) writer.text("preset", cluster.preset);
  visitCluster(writer, cluster);
  writer.add("accelerator", encodeAccelerator(cluster.accelerator));
  return writer.take();
}

JsonValue encodeJob(const RequestDocument& document) {
  ObjectWriter writer;
  visitJob(writer, document.request.job);
  if (!document.precisionRaw.empty()) writer.text("precisionRaw", document.precisionRaw);
  if (!document.framework.empty()) writer.text("framework", document.framework);
  return writer.take();
}

JsonValue encodeSoftware(const Software& software) {
  ObjectWriter writer;
  writer.text("profile", software.profile);
  visitSoftware(writer, software);
  return writer.take();
}

JsonValue encodeLimits(const Limits& limits) {
  ObjectWriter writer;
  writer.number("memoryFraction", limits.memoryFraction);
  const auto range = [&](const char* key, const Range& value) {
    if (value.min == 0 && value.max == 0) return;
    writer.add(key, encodeObject([&](ObjectWriter& w) {
                 w.integer("min", value.min);
                 w.integer("max", value.max);
               }));
  };
  range("tensor", limits.tensor);
  range("pipeline", limits.pipeline);
  range("data", limits.data);
  range("context", limits.context);
  range("expert", limits.expert);
  range("expertTensor", limits.expertTensor);
  range("virtualStages", limits.virtualStages);
  range("microBatchSequences", limits.microBatchSequences);
  JsonValue zeroStages = JsonValue::array();
  for (const int stage : limits.zeroStages) zeroStages.append(JsonValue::of(std::int64_t{stage}));
  if (!limits.zeroStages.empty()) writer.add("zeroStages", std::move(zeroStages));
  JsonValue recompute = JsonValue::array();
  for (const Recompute choice : limits.recompute) recompute.append(JsonValue::of(enumName(choice)));
  if (!limits.recompute.empty()) writer.add("recompute", std::move(recompute));
  JsonValue schedules = JsonValue::array();
  for (const Schedule choice : limits.schedules) schedules.append(JsonValue::of(enumName(choice)));
  if (!limits.schedules.empty()) writer.add("schedules", std::move(schedules));
  writer.boolean("launcherRules", limits.launcherRules);
  return writer.take();
}

JsonValue encodeStrategy(const Strategy& strategy) {
  ObjectWriter writer;
  visitStrategyDegrees(writer, strategy);
  writer.integer("zeroStage", strategy.zeroStage);
  writer.choice("schedule", strategy.schedule);
  JsonValue modules = JsonValue::array();
  RecomputeModules left = strategy.recomputeModules;
  for (const RecomputeModuleName& module : recomputeModuleNames()) {
    if (!(left.*module.member)) continue;
    modules.append(JsonValue::of(module.name));
    left.*module.member = false;  // the further names of a module are for reading
  }
  writer.add("recomputeModules", std::move(modules));
  return writer.take();
}

JsonValue encodeRequestValue(const RequestDocument& document) {
  const Request& request = document.request;
  ObjectWriter writer;
  writer.integer("version", kRequestVersion);
  writer.add("model", encodeModel(request.model));
  writer.add("cluster", encodeCluster(request.cluster));
  writer.add("job", encodeJob(document));
  writer.add("software", encodeSoftware(request.software));
  writer.add("limits", encodeLimits(request.limits));
  writer.choice("objective", request.objective);
  writer.integer("top", request.top);
  if (document.hasStrategy) writer.add("strategy", encodeStrategy(document.strategy));
  return writer.take();
}

template <std::size_t N, class E>
void addTerms(ObjectWriter& writer, const std::array<double, N>& values, E) {
  for (const EnumName<E>& entry : enumNames<E>()) {
    writer.number(entry.name, values[static_cast<std::size_t>(entry.value)]);
  }
}

JsonValue encodeEstimateValue(const Estimate& estimate) {
  ObjectWriter writer;
  writer.number("stepSeconds", estimate.stepSeconds);
  writer.number("tokensPerSecondPerDevice", estimate.tokensPerSecondPerDevice);
  writer.number("modelFlopsUtilization", estimate.modelFlopsUtilization);
  writer.add("time", encodeObject([&](ObjectWriter& w) { addTerms(w, estimate.time, TimeTerm{}); }));
  writer.add("memory", encodeObject([&](ObjectWriter& w) {
               w.number("peakBytes", estimate.memory.peakBytes);
               w.integer("peakStage", estimate.memory.peakStage);
               w.number("allocatedBytes", estimate.memory.allocatedBytes);
               w.number("capacityBytes", estimate.memory.capacityBytes);
               w.add("classes",
                     encodeObject([&](ObjectWriter& c) { addTerms(c, estimate.memory.classes, MemoryClass{}); }));
             }));
  writer.boolean("fits", estimate.fits);
  writer.add("reasons", encodeIssues(estimate.reasons));
  return writer.take();
}

JsonValue encodePlans(const std::vector<RankedPlan>& plans) {
  JsonValue list = JsonValue::array();
  for (const RankedPlan& plan : plans) {
    ObjectWriter writer;
    writer.add("strategy", encodeStrategy(plan.strategy));
    writer.add("estimate", encodeEstimateValue(plan.estimate));
    list.append(writer.take());
  }
  return list;
}

JsonValue encodeSearch(const SearchResult& result) {
  ObjectWriter writer;
  writer.integer("rawSpace", result.report.rawSpace);
  writer.add("removed", encodeObject([&](ObjectWriter& w) {
               for (const RemovedCount& removed : result.report.removed) w.integer(removed.rule.c_str(), removed.count);
             }));
  writer.add("reasons", encodeObject([&](ObjectWriter& w) {
               for (const RemovedCount& removed : result.report.removed) w.text(removed.rule.c_str(), removed.reason);
             }));
  writer.integer("evaluated", result.report.evaluated);
  writer.integer("feasible", result.report.feasible);
  writer.boolean("complete", result.complete);
  // Not a number where there is no plan that a bound could be compared with.
  const bool hasBound = std::isfinite(result.bestPossible) && !result.plans.empty();
  writer.add("bestPossible", hasBound ? JsonValue::of(result.bestPossible) : JsonValue::null());
  return writer.take();
}

ObjectWriter startAnswer() {
  ObjectWriter writer;
  writer.text("engineVersion", kEngineVersion);
  return writer;
}

// Adds the issues, those of unsafe numbers among them, and writes the document.
std::string finishAnswer(ObjectWriter writer, Issues issues) {
  JsonValue document = writer.take();
  const Issues unsafe = replaceUnsafeNumbers(document);
  issues.insert(issues.end(), unsafe.begin(), unsafe.end());
  document.add("issues", encodeIssues(issues));
  return writeJson(document);
}

constexpr const char* kOutOfMemoryAnswer =
    "{\"issues\":[{\"code\":\"internal.exception\",\"path\":\"\",\"message\":\"the answer could not be written\","
    "\"severity\":\"error\"}]}";

template <class Make>
std::string guarded(Make make) {
  try {
    return make();
  } catch (const std::exception&) {
    return kOutOfMemoryAnswer;
  }
}

}  // namespace

std::string encodeRequest(const RequestDocument& document) {
  return guarded([&] { return writeJson(encodeRequestValue(document)); });
}

std::string encodeRefusal(const Issues& issues) {
  return guarded([&] { return finishAnswer(startAnswer(), issues); });
}

std::string encodeValidation(const RequestDocument& document, const Issues& issues) {
  return guarded([&] {
    ObjectWriter writer = startAnswer();
    writer.add("request", encodeRequestValue(document));
    return finishAnswer(std::move(writer), issues);
  });
}

std::string encodePlanAnswer(const RequestDocument& document, const SearchResult& result, const Issues& issues) {
  return guarded([&] {
    ObjectWriter writer = startAnswer();
    writer.add("request", encodeRequestValue(document));
    writer.add("plans", encodePlans(result.plans));
    if (!result.closest.empty()) writer.add("closest", encodePlans(result.closest));
    writer.add("search", encodeSearch(result));
    return finishAnswer(std::move(writer), issues);
  });
}

std::string encodeEstimateAnswer(const RequestDocument& document, const Estimate& estimate,
                                 const std::vector<StageMemory>& stages, const Issues& issues) {
  return guarded([&] {
    ObjectWriter writer = startAnswer();
    writer.add("request", encodeRequestValue(document));
    writer.add("strategy", encodeStrategy(document.strategy));
    writer.add("estimate", encodeEstimateValue(estimate));
    JsonValue list = JsonValue::array();
    for (const StageMemory& stage : stages) {
      ObjectWriter item;
      item.add("classes", encodeObject([&](ObjectWriter& w) { addTerms(w, stage.bytes, MemoryClass{}); }));
      item.number("totalBytes", stage.total());
      list.append(item.take());
    }
    writer.add("stages", std::move(list));
    return finishAnswer(std::move(writer), issues);
  });
}

std::string encodeExplanation(const RequestDocument& document, const Explanation& explanation, const Issues& issues) {
  return guarded([&] {
    ObjectWriter writer = startAnswer();
    writer.add("request", encodeRequestValue(document));
    writer.add("strategy", encodeStrategy(document.strategy));
    writer.text("verdict", explanation.verdict);
    writer.text("summary", explanation.summary);
    writer.add("rules", encodeIssues(explanation.rules));
    writer.add("estimate", explanation.estimate ? encodeEstimateValue(*explanation.estimate) : JsonValue::null());
    JsonValue memory = JsonValue::null();
    if (explanation.estimate) {
      const MemoryEstimate& needed = explanation.estimate->memory;
      std::size_t largest = 0;
      for (std::size_t i = 1; i < kMemoryClassCount; ++i) {
        if (needed.classes[i] > needed.classes[largest]) largest = i;
      }
      memory = encodeObject([&](ObjectWriter& w) {
        w.number("neededBytes", needed.peakBytes);
        w.number("capacityBytes", needed.capacityBytes);
        w.number("overBytes", std::max(0.0, needed.peakBytes - needed.capacityBytes));
        w.choice("largestClass", static_cast<MemoryClass>(largest));
      });
    }
    writer.add("memory", std::move(memory));
    JsonValue best = JsonValue::null();
    JsonValue comparison = JsonValue::null();
    if (explanation.best) {
      best = encodeObject([&](ObjectWriter& w) {
        w.add("strategy", encodeStrategy(explanation.best->strategy));
        w.add("estimate", encodeEstimateValue(explanation.best->estimate));
      });
      const Estimate& other = explanation.best->estimate;
      if (explanation.estimate && other.stepSeconds > 0) {
        const Estimate& own = *explanation.estimate;
        comparison = encodeObject([&](ObjectWriter& w) {
          w.number("ratio", own.stepSeconds / other.stepSeconds);
          w.number("seconds", own.stepSeconds - other.stepSeconds);
          std::array<double, kTimeTermCount> terms{};
          for (std::size_t i = 0; i < kTimeTermCount; ++i) terms[i] = own.time[i] - other.time[i];
          w.add("terms", encodeObject([&](ObjectWriter& t) { addTerms(t, terms, TimeTerm{}); }));
        });
      }
    }
    writer.add("best", std::move(best));
    writer.add("comparison", std::move(comparison));
    writer.add("rank", explanation.rank > 0 ? JsonValue::of(explanation.rank) : JsonValue::null());
    writer.add("search", explanation.search.report.rawSpace > 0 ? encodeSearch(explanation.search) : JsonValue::null());
    return finishAnswer(std::move(writer), issues);
  });
}

std::string encodeTimeline(const RequestDocument& document, const PipelineShape& shape, const Timeline& timeline,
                           const Issues& issues) {
  return guarded([&] {
    static constexpr const char* kKinds[] = {"forward", "backward", "backwardInput", "backwardWeight"};
    ObjectWriter writer = startAnswer();
    writer.add("strategy", encodeStrategy(document.strategy));
    writer.number("spanSeconds", timeline.span);
    writer.number("bubbleSeconds", timeline.bubble);
    writer.integer("ranks", shape.ranks);
    writer.integer("virtualStages", shape.virtualStages);
    writer.integer("microBatches", shape.microBatches);
    JsonValue inFlight = JsonValue::array();
    for (const std::int64_t count : timeline.peakInFlight) inFlight.append(JsonValue::of(count));
    writer.add("peakInFlight", std::move(inFlight));
    JsonValue tasks = JsonValue::array();
    for (const Task& task : timeline.tasks) {
      ObjectWriter item;
      item.text("kind", kKinds[static_cast<std::size_t>(task.kind)]);
      item.integer("rank", task.rank);
      item.integer("chunk", task.chunk);
      item.integer("microBatch", task.microBatch);
      item.number("startSeconds", task.start);
      item.number("endSeconds", task.end);
      tasks.append(item.take());
    }
    writer.add("tasks", std::move(tasks));
    return finishAnswer(std::move(writer), issues);
  });
}

std::string encodeRunAnswer(const std::string& id, const std::optional<Estimate>& estimate, const Issues& issues) {
  return guarded([&] {
    ObjectWriter writer;
    writer.add("id", id.empty() ? JsonValue::null() : JsonValue::of(std::string_view(id)));
    const auto number = [&](double value) { return estimate ? JsonValue::of(value) : JsonValue::null(); };
    writer.add("stepSeconds", number(estimate ? estimate->stepSeconds : 0));
    writer.add("tokensPerSecondPerDevice", number(estimate ? estimate->tokensPerSecondPerDevice : 0));
    writer.add("peakMemoryBytes", number(estimate ? estimate->memory.peakBytes : 0));
    writer.add("allocatedMemoryBytes", number(estimate ? estimate->memory.allocatedBytes : 0));
    writer.add("fits", estimate ? JsonValue::of(estimate->fits) : JsonValue::null());
    return finishAnswer(std::move(writer), issues);
  });
}

std::string encodeCatalogueAnswer(const Catalogue& catalogue, const Issues& issues) {
  return guarded([&] {
    ObjectWriter writer;
    writer.boolean("ok", !hasErrors(issues));
    writer.add("counts", encodeObject([&](ObjectWriter& w) {
                 w.integer("models", static_cast<std::int64_t>(catalogue.models.size()));
                 w.integer("accelerators", static_cast<std::int64_t>(catalogue.accelerators.size()));
                 w.integer("clusters", static_cast<std::int64_t>(catalogue.clusters.size()));
                 w.integer("software", static_cast<std::int64_t>(catalogue.software.size()));
               }));
    return finishAnswer(std::move(writer), issues);
  });
}

std::string encodeSearchState(bool done, double progress, const Issues& issues) {
  return guarded([&] {
    ObjectWriter writer;
    writer.boolean("done", done);
    writer.number("progress", progress);
    return finishAnswer(std::move(writer), issues);
  });
}

}  // namespace meshwise
