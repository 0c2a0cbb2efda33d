#include <cmath>

#include "facts/checks.h"
#include "meshwise/plan.h"

namespace meshwise {
namespace {

void append(Issues& to, Issues more) {
  for (Issue& issue : more) to.push_back(std::move(issue));
}

// Narrow products on a device without units for them run at the next wider rate: allowed, but worth saying.
void remarkOnPrecision(const Request& r, Issues& issues) {
  const MatrixPeaks& peaks = r.cluster.accelerator.matrixFlopsPerSecond;
  const bool eight = r.job.precision == Precision::Fp8 || r.job.precision == Precision::Mxfp8;
  const bool four = r.job.precision == Precision::Nvfp4;
  if ((eight && !(peaks.fp8 > 0)) || (four && !(peaks.fp4 > 0))) {
    issues.push_back({"job.precisionNotNative", "/job/precision",
                      std::string("The accelerator states no ") + (eight ? "fp8" : "fp4") +
                          " peak; the products are timed at its next wider one.",
                      Severity::Warning});
  }
}

void checkRange(Checks& check, const char* name, const Range& range) {
  constexpr std::int64_t kMost = 1'000'000'000;
  check.count(std::string(name) + "/min", range.min, 0, kMost);
  check.count(std::string(name) + "/max", range.max, 0, kMost);
  if (range.min > 0 && range.max > 0 && range.min > range.max) {
    check.fault("limits.emptyRange", name,
                std::string(name) + " allows " + std::to_string(range.min) + " to " + std::to_string(range.max) +
                    "; min must not exceed max.");
  }
}

}  // namespace

Issues validateRequest(const Request& r) {
  Issues issues = validateModel(r.model, "/model");
  append(issues, validateCluster(r.cluster, "/cluster"));

  Checks job("/job");
  job.count("sequenceLength", r.job.sequenceLength, 1, 100'000'000);
  job.count("globalBatchSequences", r.job.globalBatchSequences, 1, 100'000'000);
  job.number("tokenBudget", r.job.tokenBudget, 0, 1e18, "tokens");
  append(issues, job.take());
  remarkOnPrecision(r, issues);

  Checks software("/software");
  const Software& s = r.software;
  software.number("launchFactor", s.launchFactor, 0, 1000);
  software.number("launchSpreadFraction", s.launchSpreadFraction, 0, 10);
  software.number("vectorFactor", s.vectorFactor, 0, 1000);
  software.number("reservedBytes", s.reservedBytes, 0, 1e15, "bytes");
  software.number("allocatorFraction", s.allocatorFraction, 0, 1);
  software.count("vocabularyMultiple", s.vocabularyMultiple, 1, 1'000'000);
  append(issues, software.take());

  Checks limits("/limits");
  const Limits& l = r.limits;
  limits.number("memoryFraction", l.memoryFraction, 0.01, 1);
  checkRange(limits, "tensor", l.tensor);
  checkRange(limits, "pipeline", l.pipeline);
  checkRange(limits, "data", l.data);
  checkRange(limits, "context", l.context);
  checkRange(limits, "expert", l.expert);
  checkRange(limits, "expertTensor", l.expertTensor);
  checkRange(limits, "virtualStages", l.virtualStages);
  checkRange(limits, "microBatchSequences", l.microBatchSequences);
  for (const int stage : l.zeroStages) limits.count("zeroStages", stage, 0, 3);
  append(issues, limits.take());

  Checks top("");
  top.count("top", r.top, 1, 1'000);
  append(issues, top.take());
  return issues;
}

}  // namespace meshwise
