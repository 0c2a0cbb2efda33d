// What a launcher accepts, and how layers and vocabulary are cut: the conventions that every room shares.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "meshwise/plan.h"

namespace meshwise {

// One named constraint on a strategy. Arithmetic rules (launcher None) hold always; the others hold when
// request.limits.launcherRules is set and request.software.launcher is that launcher (MindSpeed runs Megatron-LM's
// checks too).
struct Rule {
  std::string_view code;  // stable machine name, for example "strategy.worldSize"
  Launcher launcher = Launcher::None;
  std::string_view path;  // JSON pointer to the field that breaks it
  std::string_view text;  // one line for the user, with the framework and its version for launcher rules
};

// The catalogue, in the order in which firstBrokenRule looks.
std::span<const Rule> allRules();

// Does the rule hold for the request's launcher?
bool ruleApplies(const Request& request, const Rule& rule);

// Index into allRules() of the first rule that the strategy breaks; -1 = it breaks none. Never allocates. Agrees with
// checkStrategy (estimate.h), which words every broken rule.
int firstBrokenRule(const Request& request, const Strategy& strategy);

// One rule alone, by its index: firstBrokenRule is the least index for which this holds. False for a rule that does not
// apply to the request. A rule reads only the fields of the strategy that it is about: the search asks as soon as those
// are chosen, with the others at any value, to remove whole parts of the space. Never allocates.
bool breaksRule(const Request& request, const Strategy& strategy, int rule);

// Micro-batches that one data-parallel replica runs per step: G / (b d); 0 when the batch does not divide.
std::int64_t microBatchesPerReplica(const Request& request, const Strategy& strategy);

// How layers are cut into the pipeline * virtualStages chunks. Without stated counts every chunk gets floor(layers /
// chunks); left-over layers go to the earliest middle chunks first, then to the first one, and to the last one never:
// it carries the head. So layers + 2 divisible by the chunks gives first and last one layer less than the rest, as
// when embedding and head count as a layer each (BLOOM, Qi et al. arXiv 2401.10241). With firstStageLayers or
// lastStageLayers stated (Megatron-LM decoder-first/last-pipeline-num-layers) those ranks get that many and the others
// share the rest in the same way; each rank's layers are then spread over its chunks, earliest first.
std::int64_t layersOfChunk(std::int64_t layers, const Strategy& strategy, std::int64_t rank, std::int64_t chunk);
// Number of layers that come before that chunk's first layer.
std::int64_t firstLayerOfChunk(std::int64_t layers, const Strategy& strategy, std::int64_t rank, std::int64_t chunk);
// Layers of all chunks of a pipeline rank.
std::int64_t layersOfStage(std::int64_t layers, const Strategy& strategy, std::int64_t rank);
// The same for every rank; adds up to `layers`.
std::vector<std::int64_t> stageLayers(std::int64_t layers, const Strategy& strategy);

// States firstStageLayers and lastStageLayers so that Megatron-LM takes layers that do not divide (its rules 7 and 9:
// the middle ranks must share the rest evenly, virtual stages must divide each). The choice has the least fullest
// stage, then the fewest layers on the last rank. False, and strategy unchanged, when there is none.
bool stateUnevenStages(std::int64_t layers, Strategy& strategy);

// Rows of the embedding and of the head: the next multiple of software.vocabularyMultiple * tensor, as Megatron-LM
// pads (training/vocab_utils.py).
std::int64_t paddedVocabulary(const Request& request, const Strategy& strategy);

}  // namespace meshwise
