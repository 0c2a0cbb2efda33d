#include "meshwise/schedule.h"

#include <algorithm>
#include <cstddef>

#include "schedule/order.h"

namespace meshwise {
namespace {

double seconds(const ChunkTimes& chunk, TaskKind kind) {
  switch (kind) {
    case TaskKind::Forward:
      return chunk.forward;
    case TaskKind::Backward:
      return chunk.backwardInput + chunk.backwardWeight;
    case TaskKind::BackwardInput:
      return chunk.backwardInput;
    case TaskKind::BackwardWeight:
      return chunk.backwardWeight;
  }
  return 0;
}

}  // namespace

Timeline simulatePipeline(const PipelineShape& shape) {
  Timeline timeline;
  if (!isWellFormed(shape)) return timeline;
  const std::int64_t ranks = shape.ranks, m = shape.microBatches;
  const std::int64_t stages = ranks * shape.virtualStages;
  constexpr double kNotYet = -1;
  // When the result of a stage for a micro-batch has left its rank; asynchronous sends arrive sendSeconds later.
  std::vector<double> forwardSent(static_cast<std::size_t>(stages * m), kNotYet), backwardSent = forwardSent;
  const auto at = [&](std::int64_t stage, std::int64_t microBatch) {
    return static_cast<std::size_t>(stage * m + microBatch);
  };
  std::vector<std::int64_t> rankOf(static_cast<std::size_t>(stages));
  std::vector<std::vector<Step>> order(static_cast<std::size_t>(ranks));
  std::vector<std::vector<Task>> done(static_cast<std::size_t>(ranks));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    for (std::int64_t chunk = 0; chunk < shape.virtualStages; ++chunk) {
      rankOf[static_cast<std::size_t>(globalStage(shape.schedule, ranks, rank, chunk))] = rank;
    }
    auto& steps = order[static_cast<std::size_t>(rank)];
    steps.reserve(static_cast<std::size_t>(3 * m * shape.virtualStages));
    forEachStep(shape.schedule, ranks, rank, shape.virtualStages, m, [&](const Step& step) { steps.push_back(step); });
    done[static_cast<std::size_t>(rank)].reserve(steps.size());
  }
  std::vector<double> freeAt(static_cast<std::size_t>(ranks), 0.0);

  const auto stageOf = [&](std::int64_t rank, const Step& step) {
    return globalStage(shape.schedule, ranks, rank, step.chunk);
  };
  // When what the task needs from other stages is there; kNotYet when it has not been sent.
  const auto inputsAt = [&](std::int64_t rank, const Step& step) {
    if (step.kind == TaskKind::BackwardWeight) return 0.0;
    const std::int64_t stage = stageOf(rank, step);
    const bool isForward = step.kind == TaskKind::Forward;
    if (isForward && stage == 0) return 0.0;
    if (!isForward && stage + 1 == stages) return forwardSent[at(stage, step.microBatch)];
    const std::int64_t from = isForward ? stage - 1 : stage + 1;
    const double sent = (isForward ? forwardSent : backwardSent)[at(from, step.microBatch)];
    if (sent == kNotYet) return kNotYet;
    return sent + (shape.asyncSend && rankOf[static_cast<std::size_t>(from)] != rank ? shape.sendSeconds : 0.0);
  };
  // Seconds for which the sender of the task's result is held.
  const auto held = [&](std::int64_t rank, const Step& step) {
    if (shape.asyncSend || step.kind == TaskKind::BackwardWeight) return 0.0;
    const std::int64_t to = stageOf(rank, step) + (step.kind == TaskKind::Forward ? 1 : -1);
    return to >= 0 && to < stages && rankOf[static_cast<std::size_t>(to)] != rank ? shape.sendSeconds : 0.0;
  };

  // Each pass runs every rank as far as what it has received lets it; the order decides, not the passes.
  for (bool progress = true; progress;) {
    progress = false;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      while (done[r].size() < order[r].size()) {
        const std::size_t count = order[r][done[r].size()].joined ? 2 : 1;
        double start = freeAt[r];
        bool ready = true;
        for (std::size_t i = 0; i < count; ++i) {
          const double inputs = inputsAt(rank, order[r][done[r].size() + i]);
          ready = ready && inputs != kNotYet;
          start = std::max(start, inputs);
        }
        if (!ready) break;
        const std::size_t first = done[r].size();
        for (std::size_t i = 0; i < count; ++i) {
          const Step& step = order[r][first + i];
          const ChunkTimes& chunk = shape.chunks[static_cast<std::size_t>(rank * shape.virtualStages + step.chunk)];
          const double end = start + seconds(chunk, step.kind);
          done[r].push_back(Task{step.kind, rank, step.chunk, step.microBatch, start, end});
          start = end + held(rank, step);
        }
        freeAt[r] = start;
        for (std::size_t i = 0; i < count; ++i) {
          const Step& step = order[r][first + i];
          if (step.kind == TaskKind::BackwardWeight) continue;
          (step.kind == TaskKind::Forward ? forwardSent : backwardSent)[at(stageOf(rank, step), step.microBatch)] =
              start;
        }
        progress = true;
      }
    }
  }

  const bool overlapsSteps = shape.schedule == Schedule::ZeroBubble2p || shape.schedule == Schedule::ZeroBubbleV;
  double busiest = 0;
  for (const auto& tasks : done) {
    double busy = 0;
    std::int64_t alive = 0, peak = 0;
    for (const Task& task : tasks) {
      busy += task.end - task.start;
      if (task.kind == TaskKind::Forward) peak = std::max(peak, ++alive);
      if (task.kind == TaskKind::Backward || task.kind == TaskKind::BackwardWeight) --alive;
    }
    if (!tasks.empty()) {
      timeline.span = std::max(timeline.span, tasks.back().end - (overlapsSteps ? tasks.front().start : 0.0));
    }
    busiest = std::max(busiest, busy);
    timeline.busySeconds.push_back(busy);
    timeline.peakInFlight.push_back(peak);
    timeline.tasks.insert(timeline.tasks.end(), tasks.begin(), tasks.end());
  }
  timeline.bubble = timeline.span - busiest;
  return timeline;
}

std::int64_t globalStage(Schedule schedule, std::int64_t ranks, std::int64_t rank, std::int64_t chunk) {
  if (isV(schedule) && chunk == 1) return 2 * ranks - 1 - rank;
  return chunk * ranks + rank;
}

double inFlightChunks(Schedule schedule, std::int64_t ranks, std::int64_t rank, std::int64_t virtualStages,
                      std::int64_t microBatches) {
  const std::int64_t m = microBatches;
  std::int64_t alive = 0;
  switch (schedule) {
    case Schedule::GPipe:
      alive = m;
      break;
    case Schedule::OneForwardOneBackward:
    case Schedule::Interleaved:
      alive = std::min(warmUpForwards(schedule, ranks, rank, virtualStages, m) + 1, m * virtualStages);
      break;
    case Schedule::ZeroBubbleH1:  // p - r before the first backward, r weight gradients late
      alive = std::min(m, ranks);
      break;
    case Schedule::ZeroBubble2p:
      alive = std::min(m, 2 * ranks - 1);
      break;
    case Schedule::ZeroBubbleV:
      alive = std::min({2 * m, m + rank + 1, 2 * ranks});
      break;
    case Schedule::DualPipe:
      alive = std::min({2 * m, m + rank + 1, 2 * ranks + 1});
      break;
  }
  return static_cast<double>(alive);
}

}  // namespace meshwise
