#include "api.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <optional>
#include <utility>

#include "meshwise/estimate.h"
#include "meshwise/schedule.h"
#include "meshwise/search.h"
#include "meshwise/version.h"
#include "meshwise_codec/catalogue.h"
#include "meshwise_codec/decode.h"
#include "meshwise_codec/encode.h"
#include "meshwise_codec/enums.h"
#include "meshwise_codec/runs.h"

namespace meshwise {
namespace {

constexpr std::int64_t kSliceBudget = 1 << 16;

// Nothing that our own code throws may reach JavaScript: there it would be an opaque object.
template <class Work>
std::string answer(Work work) {
  try {
    return work();
  } catch (const std::exception& error) {
    return encodeRefusal({{"internal.exception", "", std::string("The engine failed: ") + error.what()}});
  } catch (...) {
    return encodeRefusal({{"internal.exception", "", "The engine failed."}});
  }
}

// A request for a function that looks at its strategy.
Result<RequestDocument> decodeWithStrategy(const std::string& json, const Catalogue& catalogue) {
  Result<RequestDocument> decoded = decodeRequest(json, catalogue);
  const bool isText = decoded.issues.size() == 1 && decoded.issues.front().path.empty();
  if (!decoded.value.hasStrategy && !isText) {  // text that is no document has no fields to miss
    decoded.issues.push_back({"field.missing", "/strategy",
                              "strategy is missing; it must be the parallel layout to look at.", Severity::Error});
  }
  return decoded;
}

// The same, refused as well when the strategy breaks a rule.
Result<RequestDocument> decodeLegal(const std::string& json, const Catalogue& catalogue) {
  Result<RequestDocument> decoded = decodeWithStrategy(json, catalogue);
  if (!decoded.ok()) return decoded;
  const Issues broken = checkStrategy(decoded.value.request, decoded.value.strategy);
  decoded.issues.insert(decoded.issues.end(), broken.begin(), broken.end());
  return decoded;
}

SearchResult searchAll(const Request& request) {
  Search search(request);
  while (!search.step(kSliceBudget)) {
  }
  return search.result();
}

// Four significant digits, for sentences; the exact numbers stand beside them.
std::string rounded(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string gibibytes(double bytes) { return rounded(bytes / 1073741824.0) + " GiB"; }

// Plans without any that fits: said outright, so that an empty list is never read as success.
void explainEmptyPlans(const SearchResult& result, Issues& issues) {
  if (!result.complete || !result.plans.empty()) return;
  if (!result.closest.empty()) {
    const MemoryEstimate& least = result.closest.front().estimate.memory;
    issues.push_back({"plan.nothingFits", "",
                      "No strategy that rules and limits allow fits in memory: the least needs " +
                          gibibytes(least.peakBytes) + " of " + gibibytes(least.capacityBytes) + ".",
                      Severity::Warning});
  } else {
    issues.push_back({"plan.nothingLegal", "",
                      "Rules and limits leave no strategy; search.removed says which did what.", Severity::Warning});
  }
}

// "rule text; rule text" of at most three issues.
std::string joinMessages(const Issues& issues) {
  std::string out;
  for (std::size_t i = 0; i < issues.size() && i < 3; ++i) out += (i == 0 ? "" : "; ") + issues[i].message;
  if (issues.size() > 3) out += "; and " + std::to_string(issues.size() - 3) + " more";
  return out;
}

Issues errorsOf(const Issues& issues) {
  Issues errors;
  for (const Issue& issue : issues) {
    if (issue.severity == Severity::Error) errors.push_back(issue);
  }
  return errors;
}

// The term that costs this estimate most beyond the other.
std::string largestDifference(const Estimate& own, const Estimate& other) {
  std::size_t largest = 0;
  for (std::size_t i = 1; i < kTimeTermCount; ++i) {
    if (own.time[i] - other.time[i] > own.time[largest] - other.time[largest]) largest = i;
  }
  if (own.time[largest] <= other.time[largest]) return "";
  return std::string(", most of it ") + enumName(static_cast<TimeTerm>(largest)) + " (+" +
         rounded(own.time[largest] - other.time[largest]) + " s)";
}

Explanation explainStrategy(const RequestDocument& document) {
  const Request& request = document.request;
  const Strategy& strategy = document.strategy;
  Explanation out;
  const Issues broken = errorsOf(checkStrategy(request, strategy));
  Request lenient = request;
  lenient.limits.launcherRules = false;
  // Arithmetic cannot be waived; a launcher's refusal still leaves a number to look at.
  const bool isPossible = !hasErrors(checkStrategy(lenient, strategy));
  const Issues outside = checkLimits(request.limits, strategy);
  out.rules = broken;
  out.rules.insert(out.rules.end(), outside.begin(), outside.end());
  if (isPossible) out.estimate = estimateStrategy(lenient, strategy);
  out.search = searchAll(request);
  if (!out.search.plans.empty()) out.best = out.search.plans.front();
  for (std::size_t i = 0; i < out.search.plans.size(); ++i) {
    if (out.search.plans[i].strategy == strategy) out.rank = static_cast<std::int64_t>(i) + 1;
  }

  if (!broken.empty()) {
    out.verdict = "refused";
    out.summary = (isPossible ? "The launcher refuses it: " : "It cannot run: ") + joinMessages(broken);
    return out;
  }
  if (!outside.empty()) {
    out.verdict = "outsideLimits";
    out.summary = "The limits of the request exclude it: " + joinMessages(outside);
    return out;
  }
  const Estimate& own = *out.estimate;
  if (!own.fits) {
    std::size_t largest = 0;
    for (std::size_t i = 1; i < kMemoryClassCount; ++i) {
      if (own.memory.classes[i] > own.memory.classes[largest]) largest = i;
    }
    out.verdict = "doesNotFit";
    out.summary = "Stage " + std::to_string(own.memory.peakStage) + " needs " + gibibytes(own.memory.peakBytes) +
                  " of " + gibibytes(own.memory.capacityBytes) + "; the largest part is " +
                  enumName(static_cast<MemoryClass>(largest)) + " (" + gibibytes(own.memory.classes[largest]) + ")";
    return out;
  }
  if (out.rank == 1) {
    out.verdict = "best";
    out.summary = "Nothing in the searched space is better";
    return out;
  }
  if (!out.best) {
    out.verdict = "unsearched";
    out.summary = "It is legal and fits, and the search found no plan: it lies outside the space that was searched";
    return out;
  }
  const Estimate& best = out.best->estimate;
  if (out.rank == 0 && ranksBefore(request, {strategy, own}, *out.best)) {
    out.verdict = "unsearched";
    out.summary = "It ranks before the best plan: it lies outside the space that was searched";
    return out;
  }
  out.verdict = out.rank > 0 ? "listed" : "slower";
  out.summary =
      (out.rank > 0 ? "Number " + std::to_string(out.rank) + " of the list: " : "It is legal and fits, but ") +
      ("a step takes " + rounded(own.stepSeconds) + " s where the best plan takes " + rounded(best.stepSeconds) +
       " s") +
      largestDifference(own, best);
  return out;
}

}  // namespace

struct Api::State {
  Catalogue catalogue;
};

Api::Api() : state_(std::make_unique<State>()) {}
Api::~Api() = default;

std::string Api::apiVersion() { return kEngineVersion; }

std::string Api::loadCatalogue(const std::string& json) {
  return answer([&] {
    Result<Catalogue> loaded = meshwise::loadCatalogue(json);
    if (loaded.ok()) state_->catalogue = std::move(loaded.value);
    return encodeCatalogueAnswer(loaded.ok() ? state_->catalogue : Catalogue{}, loaded.issues);
  });
}

std::string Api::validate(const std::string& json) const {
  return answer([&] {
    const Result<RequestDocument> decoded = decodeRequest(json, state_->catalogue);
    if (!decoded.ok()) return encodeRefusal(decoded.issues);
    Issues issues = decoded.issues;
    if (decoded.value.hasStrategy) {
      const Issues broken = checkStrategy(decoded.value.request, decoded.value.strategy);
      issues.insert(issues.end(), broken.begin(), broken.end());
      if (hasErrors(broken)) return encodeRefusal(issues);
    }
    return encodeValidation(decoded.value, issues);
  });
}

std::string Api::plan(const std::string& json) const {
  return answer([&] {
    const Result<RequestDocument> decoded = decodeRequest(json, state_->catalogue);
    if (!decoded.ok()) return encodeRefusal(decoded.issues);
    const SearchResult result = searchAll(decoded.value.request);
    Issues issues = decoded.issues;
    explainEmptyPlans(result, issues);
    return encodePlanAnswer(decoded.value, result, issues);
  });
}

std::string Api::estimate(const std::string& json) const {
  return answer([&] {
    const Result<RequestDocument> decoded = decodeLegal(json, state_->catalogue);
    if (!decoded.ok()) return encodeRefusal(decoded.issues);
    const Request& request = decoded.value.request;
    const Strategy& strategy = decoded.value.strategy;
    return encodeEstimateAnswer(decoded.value, estimateStrategy(request, strategy), stageMemory(request, strategy),
                                decoded.issues);
  });
}

std::string Api::explain(const std::string& json) const {
  return answer([&] {
    const Result<RequestDocument> decoded = decodeWithStrategy(json, state_->catalogue);
    if (!decoded.ok()) return encodeRefusal(decoded.issues);
    return encodeExplanation(decoded.value, explainStrategy(decoded.value), decoded.issues);
  });
}

std::string Api::timeline(const std::string& json) const {
  return answer([&] {
    const Result<RequestDocument> decoded = decodeLegal(json, state_->catalogue);
    if (!decoded.ok()) return encodeRefusal(decoded.issues);
    const Request& request = decoded.value.request;
    const Strategy& strategy = decoded.value.strategy;
    const PipelineShape shape = pipelineShape(request, strategy);
    constexpr std::int64_t kMaxTasks = 200000;  // about 16 MB of text
    const std::int64_t tasks = 3 * shape.ranks * shape.virtualStages * shape.microBatches;
    if (tasks > kMaxTasks) {
      return encodeRefusal({{"timeline.tooLarge", "/job/globalBatchSequences",
                             "The pipeline has up to " + std::to_string(tasks) + " tasks; at most " +
                                 std::to_string(kMaxTasks) + " are listed.",
                             Severity::Error}});
    }
    return encodeTimeline(decoded.value, shape, simulatePipeline(shape), decoded.issues);
  });
}

std::string Api::estimateRun(const std::string& json) const {
  return answer([&] {
    Result<RunDocument> decoded = decodeRun(json, state_->catalogue);
    Issues issues = decoded.issues;
    std::optional<Estimate> estimate;
    if (decoded.ok()) {
      const RequestDocument& document = decoded.value.document;
      const Issues broken = checkStrategy(document.request, document.strategy);
      issues.insert(issues.end(), broken.begin(), broken.end());
      if (!hasErrors(broken)) estimate = estimateStrategy(document.request, document.strategy);
    }
    return encodeRunAnswer(decoded.value.id, estimate, issues);
  });
}

struct SearchJob::State {
  RequestDocument document;
  Issues issues;
  std::optional<Search> search;  // none when the request was refused
  bool done = false;
};

SearchJob::SearchJob(const Api& api, const std::string& json) : state_(std::make_unique<State>()) {
  try {
    Result<RequestDocument> decoded = decodeRequest(json, api.state_->catalogue);
    state_->issues = decoded.issues;
    state_->document = std::move(decoded.value);
    if (decoded.ok()) state_->search.emplace(state_->document.request);
  } catch (const std::exception& error) {
    state_->issues.push_back({"internal.exception", "", std::string("The engine failed: ") + error.what()});
    state_->search.reset();
  }
  state_->done = !state_->search.has_value();
}

SearchJob::~SearchJob() = default;

std::string SearchJob::step(double budget) {
  return answer([&] {
    State& state = *state_;
    if (!state.done) {
      const bool isCount = std::isfinite(budget) && budget >= 1;
      const double bounded = isCount ? std::min(budget, 1e15) : 1;
      state.done = state.search->step(static_cast<std::int64_t>(bounded));
    }
    const double progress = state.done ? 1.0 : state.search->progress();
    return encodeSearchState(state.done, progress, state.issues);
  });
}

std::string SearchJob::take() const {
  return answer([&] {
    const State& state = *state_;
    if (!state.search) return encodeRefusal(state.issues);
    const SearchResult result = state.search->result();
    Issues issues = state.issues;
    explainEmptyPlans(result, issues);
    return encodePlanAnswer(state.document, result, issues);
  });
}

}  // namespace meshwise
