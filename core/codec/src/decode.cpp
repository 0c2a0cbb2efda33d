#include "meshwise_codec/decode.h"

#include <algorithm>
#include <exception>

#include "meshwise/version.h"
#include "resolve.h"

namespace meshwise {
namespace {

void checkVersion(ObjectReader& root, IssueSink& sink) {
  const JsonValue* version = root.get("version");
  if (version == nullptr) return;
  const bool isNumber = version->kind == JsonValue::Kind::Integer || version->kind == JsonValue::Kind::Number;
  const double number =
      version->kind == JsonValue::Kind::Integer ? static_cast<double>(version->integer) : version->number;
  if (isNumber && number == kRequestVersion) return;
  sink.refuse("request.version", "/version", quoteForMessage(*version),
              "must be " + std::to_string(kRequestVersion) + ", the version of the request that this engine reads");
}

bool isSameIssue(const Issue& a, const Issue& b) {
  return a.path == b.path && a.code == b.code && a.message == b.message;
}

void addNew(const Issues& issues, Issues& to) {
  for (const Issue& issue : issues) {
    if (std::none_of(to.begin(), to.end(), [&](const Issue& other) { return isSameIssue(issue, other); })) {
      to.push_back(issue);
    }
  }
}

}  // namespace

Result<RequestDocument> decodeRequest(std::string_view json, const Catalogue& catalogue) {
  IssueSink sink;
  Result<RequestDocument> result;
  try {
    JsonValue value;
    if (!parseJson(json, JsonLimits{}, value, sink)) {
      result.issues = sink.take();
      return result;
    }
    if (!value.isObject()) {
      sink.refuse("field.type", "", quoteForMessage(value), "must be an object");
      result.issues = sink.take();
      return result;
    }
    RequestDocument& document = result.value;
    Request& request = document.request;
    ObjectReader root(&value, "", sink);
    checkVersion(root, sink);
    const bool isModelSound = resolveModel(root.get("model"), "/model", catalogue, {}, sink, request.model);
    const bool isClusterSound =
        resolveCluster(root.get("cluster"), "/cluster", catalogue, {}, true, sink, request.cluster);
    const bool isJobSound =
        resolveJob(root.get("job"), "/job", sink, request.job, document.framework, document.precisionRaw);
    SoftwareProfile profile;
    const bool isSoftwareSound =
        resolveSoftware(root.get("software"), "/software", catalogue, {}, document.framework, sink, profile);
    request.software = profile.software;
    const bool areLimitsSound = resolveLimits(root.get("limits"), "/limits", sink, request.limits);
    root.choice("objective", request.objective);
    root.integer("top", request.top, 1, 1000);
    if (const JsonValue* strategy = root.get("strategy"); strategy != nullptr) {
      document.hasStrategy = true;
      resolveStrategy(strategy, "/strategy", profile, request.model.isMoe(),
                      isClusterSound ? request.cluster.devices : 0, sink, document.strategy);
    }
    root.finish();
    result.issues = sink.take();
    // The core's own checks, of the parts that are what the document says.
    if (isModelSound && isClusterSound && isJobSound && isSoftwareSound && areLimitsSound) {
      addNew(validateRequest(request), result.issues);
    } else {
      if (isModelSound) addNew(validateModel(request.model, "/model"), result.issues);
      if (isClusterSound) addNew(validateCluster(request.cluster, "/cluster"), result.issues);
    }
    return result;
  } catch (const std::exception& error) {
    sink.add("internal.exception", "", std::string("The request could not be read: ") + error.what());
  }
  result.issues = sink.take();
  return result;
}

Issues checkLimits(const Limits& limits, const Strategy& strategy) {
  Issues issues;
  const auto degree = [&](const char* key, const Range& range, std::int64_t value) {
    const bool isBelow = range.min > 0 && value < range.min;
    const bool isAbove = range.max > 0 && value > range.max;
    if (!isBelow && !isAbove) return;
    std::string allowed;
    if (range.min > 0 && range.min == range.max) {
      allowed = "only " + std::to_string(range.min);
    } else {
      if (range.min > 0) allowed = "at least " + std::to_string(range.min);
      if (range.max > 0) allowed += (allowed.empty() ? "at most " : " and at most ") + std::to_string(range.max);
    }
    issues.push_back(
        {"limits.degree", std::string("/strategy/") + key,
         std::string(key) + " is " + std::to_string(value) + "; the limits of the request allow " + allowed + ".",
         Severity::Error});
  };
  degree("tensor", limits.tensor, strategy.tensor);
  degree("pipeline", limits.pipeline, strategy.pipeline);
  degree("data", limits.data, strategy.data);
  degree("context", limits.context, strategy.context);
  degree("expert", limits.expert, strategy.expert);
  degree("expertTensor", limits.expertTensor, strategy.expertTensor);
  degree("virtualStages", limits.virtualStages, strategy.virtualStages);
  degree("microBatchSequences", limits.microBatchSequences, strategy.microBatchSequences);
  const auto choice = [&](const char* key, const auto& allowed, const auto& value, const std::string& text) {
    if (allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
    issues.push_back({"limits.choice", std::string("/strategy/") + key,
                      std::string(key) + " " + text + " is not among the choices that the limits of the request allow.",
                      Severity::Error});
  };
  choice("zeroStage", limits.zeroStages, strategy.zeroStage, std::to_string(strategy.zeroStage));
  choice("recompute", limits.recompute, strategy.recompute, enumName(strategy.recompute));
  choice("schedule", limits.schedules, strategy.schedule, enumName(strategy.schedule));
  return issues;
}

}  // namespace meshwise
