// The core's types -> answer documents. Every function returns one JSON document and never throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "meshwise/estimate.h"
#include "meshwise/schedule.h"
#include "meshwise/search.h"
#include "meshwise_codec/decode.h"

namespace meshwise {

// The request with everything resolved: reading it again gives the same request.
std::string encodeRequest(const RequestDocument& document);

// {engineVersion, issues}: the answer to a request that cannot be served.
std::string encodeRefusal(const Issues& issues);

// {engineVersion, request, issues}: the answer of validate.
std::string encodeValidation(const RequestDocument& document, const Issues& issues);

// The answer of plan: plans best first, and what became of the rest of the space.
std::string encodePlanAnswer(const RequestDocument& document, const SearchResult& result, const Issues& issues);

// The answer of estimate: one strategy, with the memory of every stage.
std::string encodeEstimateAnswer(const RequestDocument& document, const Estimate& estimate,
                                 const std::vector<StageMemory>& stages, const Issues& issues);

// Why a strategy is where it is among the plans.
struct Explanation {
  // "refused": breaks a rule; "outsideLimits": the request's limits exclude it; "doesNotFit": needs more memory than
  // there is; "best": nothing in the searched space is better; "listed": among the plans; "slower": legal and fits, and
  // others are better; "unsearched": better than every plan, so outside the space that was searched.
  std::string verdict;
  std::string summary;               // one English sentence
  Issues rules;                      // rules and limits that the strategy breaks
  std::optional<Estimate> estimate;  // none when arithmetic rules are broken
  std::optional<RankedPlan> best;    // none when nothing fits
  std::int64_t rank = 0;             // place among the plans, from 1; 0 = not among them
  SearchResult search;
};
std::string encodeExplanation(const RequestDocument& document, const Explanation& explanation, const Issues& issues);

// {engineVersion, request, strategy, timeline: {spanSeconds, bubbleSeconds, ranks, ...}, issues}.
std::string encodeTimeline(const RequestDocument& document, const PipelineShape& shape, const Timeline& timeline,
                           const Issues& issues);

// {id, stepSeconds, tokensPerSecondPerDevice, peakMemoryBytes, allocatedMemoryBytes, fits, issues}: one line of the
// accuracy report. Without an estimate the numbers are null.
std::string encodeRunAnswer(const std::string& id, const std::optional<Estimate>& estimate, const Issues& issues);

// {ok, counts, issues}: the answer of loadCatalogue.
std::string encodeCatalogueAnswer(const Catalogue& catalogue, const Issues& issues);

// {done, progress, issues}: the state of a search in slices. progress is a share in 0..1.
std::string encodeSearchState(bool done, double progress, const Issues& issues);

}  // namespace meshwise
