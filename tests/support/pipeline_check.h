// Laws that every simulated pipeline must keep, and small pipelines to try them on.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <tuple>

#include "meshwise/schedule.h"

namespace meshwise::testing {

inline constexpr std::array kAllSchedules = {
    Schedule::OneForwardOneBackward, Schedule::GPipe,       Schedule::Interleaved, Schedule::ZeroBubbleH1,
    Schedule::ZeroBubble2p,          Schedule::ZeroBubbleV, Schedule::DualPipe};

inline const char* nameOf(Schedule schedule) {
  constexpr std::array kNames = {"1F1B",         "GPipe",       "Interleaved", "ZeroBubbleH1",
                                 "ZeroBubble2p", "ZeroBubbleV", "DualPipe"};
  return kNames[static_cast<std::size_t>(schedule)];
}

inline bool hasTwoChunks(Schedule schedule) {
  return schedule == Schedule::ZeroBubbleV || schedule == Schedule::DualPipe;
}

inline PipelineShape uniformPipeline(Schedule schedule, std::int64_t ranks, std::int64_t virtualStages,
                                     std::int64_t microBatches, const ChunkTimes& chunk) {
  PipelineShape shape;
  shape.schedule = schedule;
  shape.ranks = ranks;
  shape.virtualStages = virtualStages;
  shape.microBatches = microBatches;
  shape.chunks.assign(static_cast<std::size_t>(ranks * virtualStages), chunk);
  return shape;
}

inline std::string describe(const PipelineShape& shape) {
  std::string text = std::string(nameOf(shape.schedule)) + " p" + std::to_string(shape.ranks) + " v" +
                     std::to_string(shape.virtualStages) + " m" + std::to_string(shape.microBatches) + " send " +
                     std::to_string(shape.sendSeconds) + (shape.asyncSend ? " async" : " blocking") + ":";
  for (const ChunkTimes& chunk : shape.chunks) {
    text += " (" + std::to_string(chunk.forward) + ", " + std::to_string(chunk.backwardInput) + ", " +
            std::to_string(chunk.backwardWeight) + ")";
  }
  return text;
}

// The first law that a timeline breaks, in words; empty = none. Laws: every stage runs every micro-batch's forward and
// backward once, whole or in two halves; a rank runs one task at a time; a task starts after what it needs has arrived.
inline std::string brokenLaw(const PipelineShape& shape, const Timeline& timeline) {
  constexpr double kRounding = 1e-9;
  const std::int64_t stages = shape.ranks * shape.virtualStages;
  std::map<std::tuple<TaskKind, std::int64_t, std::int64_t>, Task> byStage;
  std::map<std::int64_t, double> freeAt;
  for (const Task& task : timeline.tasks) {
    const std::int64_t stage = globalStage(shape.schedule, shape.ranks, task.rank, task.chunk);
    if (!byStage.emplace(std::tuple(task.kind, stage, task.microBatch), task).second) return "a task runs twice";
    if (task.start < freeAt[task.rank] - kRounding) return "a rank runs two tasks at once";
    freeAt[task.rank] = task.end;
    const ChunkTimes& chunk = shape.chunks[static_cast<std::size_t>(task.rank * shape.virtualStages + task.chunk)];
    const double expected = task.kind == TaskKind::Forward          ? chunk.forward
                            : task.kind == TaskKind::BackwardInput  ? chunk.backwardInput
                            : task.kind == TaskKind::BackwardWeight ? chunk.backwardWeight
                                                                    : chunk.backwardInput + chunk.backwardWeight;
    if (task.end - task.start < expected - kRounding || task.end - task.start > expected + kRounding) {
      return "a task does not take its time";
    }
  }
  const auto find = [&](TaskKind kind, std::int64_t stage, std::int64_t microBatch) -> const Task* {
    const auto found = byStage.find({kind, stage, microBatch});
    return found == byStage.end() ? nullptr : &found->second;
  };
  const auto arrives = [&](const Task* from, const Task* to) {
    const double latency = from->rank == to->rank ? 0.0 : shape.sendSeconds;
    return to->start >= from->end + latency - kRounding;
  };
  std::size_t seen = 0;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    for (std::int64_t microBatch = 0; microBatch < shape.microBatches; ++microBatch) {
      const Task* forward = find(TaskKind::Forward, stage, microBatch);
      const Task* whole = find(TaskKind::Backward, stage, microBatch);
      const Task* input = find(TaskKind::BackwardInput, stage, microBatch);
      const Task* weight = find(TaskKind::BackwardWeight, stage, microBatch);
      if (forward == nullptr) return "a forward is missing";
      if ((whole == nullptr) == (input == nullptr) || (input == nullptr) != (weight == nullptr)) {
        return "a backward is missing, or is there whole and in halves";
      }
      seen += whole != nullptr ? 2 : 3;
      const Task* backward = whole != nullptr ? whole : input;
      if (!arrives(forward, backward)) return "a backward starts before its forward";
      if (weight != nullptr && weight->start < input->end - kRounding) return "a weight gradient comes too early";
      if (stage > 0 && !arrives(find(TaskKind::Forward, stage - 1, microBatch), forward)) {
        return "a forward starts before its input arrives";
      }
      if (stage + 1 < stages) {
        const Task* next = find(TaskKind::Backward, stage + 1, microBatch);
        if (next == nullptr) next = find(TaskKind::BackwardInput, stage + 1, microBatch);
        if (next == nullptr) return "a backward is missing";
        if (!arrives(next, backward)) return "a backward starts before its gradient arrives";
      }
    }
  }
  return seen == timeline.tasks.size() ? "" : "there are tasks of no stage";
}

}  // namespace meshwise::testing

namespace meshwise {

inline void PrintTo(Schedule schedule, std::ostream* out) { *out << testing::nameOf(schedule); }

}  // namespace meshwise
