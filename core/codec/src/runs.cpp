#include "meshwise_codec/runs.h"

#include <exception>

#include "resolve.h"

namespace meshwise {
namespace {

// What a row says about itself and its measurement; nothing here describes the run to the engine.
constexpr const char* kMetadata[] = {"family", "group", "grade", "source", "license", "measured", "notes"};

// Data note of the family "zb" (Qi et al., arXiv 2401.10241): its interleaved rows hold one layer per chunk, and the
// first and last chunk none of the two that embedding and head stand for, so there are (layers + 2) / pipeline chunks.
void stateInterleavedChunks(const JsonValue& row, std::int64_t layers, JsonValue& strategy) {
  const JsonValue* family = row.find("family");
  const JsonValue* schedule = strategy.find("schedule");
  const JsonValue* pipeline = strategy.find("pipeline");
  const JsonValue* chunks = strategy.find("virtualStages");
  if (family == nullptr || !family->isString() || family->text != "zb") return;
  if (schedule == nullptr || !schedule->isString() || schedule->text != "interleaved-1f1b") return;
  if (pipeline == nullptr || pipeline->kind != JsonValue::Kind::Integer || pipeline->integer < 1) return;
  if (chunks != nullptr && !chunks->isNull()) return;
  if ((layers + 2) % pipeline->integer != 0) return;
  const JsonValue stated = JsonValue::of((layers + 2) / pipeline->integer);
  for (auto& [key, value] : strategy.members) {
    if (key == "virtualStages") {
      value = stated;
      return;
    }
  }
  strategy.add("virtualStages", stated);
}

}  // namespace

Result<RunDocument> decodeRun(std::string_view json, const Catalogue& catalogue) {
  IssueSink sink;
  Result<RunDocument> result;
  try {
    JsonValue row;
    if (!parseJson(json, JsonLimits{}, row, sink)) {
      result.issues = sink.take();
      return result;
    }
    if (!row.isObject()) {
      sink.refuse("field.type", "", quoteForMessage(row), "must be an object");
      result.issues = sink.take();
      return result;
    }
    RequestDocument& document = result.value.document;
    Request& request = document.request;
    ObjectReader root(&row, "", sink);
    root.text("id", result.value.id);
    for (const char* key : kMetadata) root.label(key);
    resolveModel(root.get("model"), "/model", catalogue, {}, sink, request.model);
    const bool isClusterSound =
        resolveCluster(root.get("cluster"), "/cluster", catalogue, {}, true, sink, request.cluster);
    resolveJob(root.get("job"), "/job", sink, request.job, document.framework, document.precisionRaw);
    SoftwareProfile profile;
    resolveSoftware(root.get("software"), "/software", catalogue, {}, document.framework, sink, profile);
    request.software = profile.software;
    request.limits.launcherRules = false;
    const JsonValue* strategy = root.get("strategy");
    if (strategy == nullptr) {
      root.missing("strategy", "must be the one strategy of the run");
    } else if (strategy->isObject()) {
      for (const char* degree : {"tensor", "pipeline"}) {
        const JsonValue* stated = strategy->find(degree);
        if (stated == nullptr || stated->isNull()) {
          sink.add("run.missingDegree", joinPath("/strategy", degree),
                   std::string("The run does not state its ") + degree + " degree, so it cannot be represented.");
        }
      }
      JsonValue completed = *strategy;
      stateInterleavedChunks(row, request.model.layers, completed);
      resolveStrategy(&completed, "/strategy", profile, request.model.isMoe(),
                      isClusterSound ? request.cluster.devices : 0, sink, document.strategy);
      // logs print the switch also where there is nothing to split
      if (document.strategy.tensor == 1) document.strategy.sequenceParallel = false;
      document.hasStrategy = true;
    } else {
      sink.refuse("field.type", "/strategy", quoteForMessage(*strategy), "must be an object");
    }
    root.finish();
    if (sink.errorCount() == 0) sink.addAll(validateRequest(request));
  } catch (const std::exception& error) {
    sink.add("internal.exception", "", std::string("The run could not be read: ") + error.what());
  }
  result.issues = sink.take();
  return result;
}

}  // namespace meshwise
