// How layers and vocabulary are cut: arithmetic that every room shares.
#include <algorithm>

#include "meshwise/rules.h"
#include "meshwise/schedule.h"

namespace meshwise {
namespace {

std::int64_t chunkCount(const Strategy& s) { return std::max<std::int64_t>(1, s.pipeline * s.virtualStages); }

// Parts of `total` over `parts` places in a row: floor each, the left-over to the earliest middle places, then to the
// first, never to the last.
std::int64_t share(std::int64_t total, std::int64_t parts, std::int64_t place) {
  const std::int64_t each = total / parts;
  const std::int64_t rest = total % parts;
  if (rest == 0 || place == parts - 1) return each;
  const std::int64_t middle = parts - 2;
  if (place == 0) return each + (rest > middle ? 1 : 0);
  return each + (place - 1 < rest ? 1 : 0);
}

std::int64_t shareBefore(std::int64_t total, std::int64_t parts, std::int64_t place) {
  const std::int64_t each = total / parts;
  const std::int64_t rest = total % parts;
  std::int64_t sum = each * place;
  if (rest == 0 || place == 0) return sum;
  const std::int64_t middle = parts - 2;
  if (rest > middle) sum += 1;
  return sum + std::min({place - 1, rest, middle});
}

bool stated(const Strategy& s) { return s.pipeline > 1 && (s.firstStageLayers >= 0 || s.lastStageLayers >= 0); }

// Layers of one rank when the end ranks are stated; the others share the rest, earlier ones first.
std::int64_t statedRankLayers(std::int64_t layers, const Strategy& s, std::int64_t rank) {
  const bool first = s.firstStageLayers >= 0, last = s.lastStageLayers >= 0;
  if (first && rank == 0) return s.firstStageLayers;
  if (last && rank == s.pipeline - 1) return s.lastStageLayers;
  const std::int64_t rest = layers - (first ? s.firstStageLayers : 0) - (last ? s.lastStageLayers : 0);
  const std::int64_t places = s.pipeline - (first ? 1 : 0) - (last ? 1 : 0);
  if (places <= 0 || rest <= 0) return 0;
  const std::int64_t place = rank - (first ? 1 : 0);
  return rest / places + (place < rest % places ? 1 : 0);
}

// A rank's layers over its chunks, earliest first.
std::int64_t spread(std::int64_t own, std::int64_t chunks, std::int64_t chunk) {
  const std::int64_t count = std::max<std::int64_t>(1, chunks);
  return own / count + (chunk < own % count ? 1 : 0);
}

}  // namespace

std::int64_t microBatchesPerReplica(const Request& request, const Strategy& s) {
  std::int64_t each = 0;
  if (__builtin_mul_overflow(s.microBatchSequences, s.data, &each)) return 0;
  if (each <= 0 || request.job.globalBatchSequences % each != 0) return 0;
  return request.job.globalBatchSequences / each;
}

std::int64_t layersOfChunk(std::int64_t layers, const Strategy& s, std::int64_t rank, std::int64_t chunk) {
  if (stated(s)) return spread(statedRankLayers(layers, s, rank), s.virtualStages, chunk);
  return share(layers, chunkCount(s), globalStage(s.schedule, s.pipeline, rank, chunk));
}

std::int64_t firstLayerOfChunk(std::int64_t layers, const Strategy& s, std::int64_t rank, std::int64_t chunk) {
  if (!stated(s)) return shareBefore(layers, chunkCount(s), globalStage(s.schedule, s.pipeline, rank, chunk));
  // Whole chunks that come before, then the ranks before it in its own chunk, which the second chunk of ZB-V and
  // DualPipe passes from the last to the first.
  const bool downwards =
      globalStage(s.schedule, s.pipeline, 0, chunk) > globalStage(s.schedule, s.pipeline, s.pipeline - 1, chunk);
  std::int64_t sum = 0;
  for (std::int64_t r = 0; r < s.pipeline; ++r) {
    const std::int64_t own = statedRankLayers(layers, s, r);
    for (std::int64_t c = 0; c < chunk; ++c) sum += spread(own, s.virtualStages, c);
    if (downwards ? r > rank : r < rank) sum += spread(own, s.virtualStages, chunk);
  }
  return sum;
}

std::int64_t layersOfStage(std::int64_t layers, const Strategy& s, std::int64_t rank) {
  if (stated(s)) return statedRankLayers(layers, s, rank);
  std::int64_t sum = 0;
  for (std::int64_t chunk = 0; chunk < s.virtualStages; ++chunk) sum += layersOfChunk(layers, s, rank, chunk);
  return sum;
}

std::vector<std::int64_t> stageLayers(std::int64_t layers, const Strategy& s) {
  std::vector<std::int64_t> all;
  for (std::int64_t rank = 0; rank < s.pipeline; ++rank) all.push_back(layersOfStage(layers, s, rank));
  return all;
}

bool stateUnevenStages(std::int64_t layers, Strategy& s) {
  const std::int64_t p = s.pipeline;
  const std::int64_t v = std::max<std::int64_t>(1, s.virtualStages);
  if (p < 2 || layers < p * v) return false;
  std::int64_t bestFullest = -1, bestLast = 0, bestFirst = 0;
  // each count is a multiple of the virtual stages; the middle ranks get the same
  const std::int64_t highest = (layers / p / v + 2) * v;
  for (std::int64_t middle = p > 2 ? v : 0; middle <= (p > 2 ? highest : 0); middle += v) {
    const std::int64_t ends = layers - middle * (p - 2);
    if (ends < 2 * v) break;
    for (std::int64_t last = v; last <= ends - v; last += v) {
      const std::int64_t first = ends - last;
      if (first % v != 0) continue;
      const std::int64_t fullest = std::max({first, last, middle});
      if (bestFullest < 0 || fullest < bestFullest || (fullest == bestFullest && last < bestLast)) {
        bestFullest = fullest;
        bestLast = last;
        bestFirst = first;
      }
    }
    if (p <= 2) break;
  }
  if (bestFullest < 0) return false;
  s.firstStageLayers = bestFirst;
  s.lastStageLayers = bestLast;
  return true;
}

std::int64_t paddedVocabulary(const Request& request, const Strategy& s) {
  const std::int64_t multiple =
      std::max<std::int64_t>(1, request.software.vocabularyMultiple) * std::max<std::int64_t>(1, s.tensor);
  return (request.model.vocab + multiple - 1) / multiple * multiple;
}

}  // namespace meshwise
