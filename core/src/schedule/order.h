// The order in which each rank of a pipeline runs its tasks. Private to the schedule room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "meshwise/schedule.h"

namespace meshwise {

struct Step {
  TaskKind kind;
  std::int64_t chunk, microBatch;
  bool joined = false;  // this forward and the backward that follows run as one block: both start with what both need
};

inline bool isV(Schedule schedule) { return schedule == Schedule::ZeroBubbleV || schedule == Schedule::DualPipe; }

inline bool isWellFormed(const PipelineShape& shape) {
  return shape.ranks >= 1 && shape.virtualStages >= 1 && shape.microBatches >= 1 &&
         (isV(shape.schedule) ? shape.virtualStages == 2
                              : shape.virtualStages == 1 || shape.schedule == Schedule::Interleaved) &&
         shape.chunks.size() == static_cast<std::size_t>(shape.ranks * shape.virtualStages);
}

// Consecutive micro-batches that a rank runs through one chunk before it turns to the next
// (microbatch_group_size_per_vp_stage of Megatron-LM, schedules.py): the pipeline degree where that divides, otherwise
// the smallest group that Megatron-LM accepts.
inline std::int64_t interleavedGroup(std::int64_t ranks, std::int64_t microBatches) {
  if (microBatches < 2 * ranks) return microBatches;
  std::int64_t group = ranks;
  while (microBatches % group != 0 && microBatches % group < ranks) ++group;
  return group;
}

// Forwards before the first backward of a rank, less the one that directly precedes it.
inline std::int64_t warmUpForwards(Schedule schedule, std::int64_t ranks, std::int64_t rank, std::int64_t virtualStages,
                                   std::int64_t microBatches) {
  const std::int64_t after = ranks - 1 - rank;
  switch (schedule) {
    case Schedule::Interleaved:
      // get_pp_rank_microbatches of Megatron-LM core/pipeline_parallel/schedules.py
      return std::min(2 * after + (virtualStages - 1) * interleavedGroup(ranks, microBatches),
                      microBatches * virtualStages);
    case Schedule::ZeroBubble2p:
      return std::min(2 * after, microBatches);
    default:
      return std::min(after, microBatches);
  }
}

// The order in which one rank runs its tasks, one call per task.
template <class Emit>
void forEachStep(Schedule schedule, std::int64_t ranks, std::int64_t rank, std::int64_t virtualStages,
                 std::int64_t microBatches, Emit emit) {
  const std::int64_t m = microBatches;
  const auto forward = [&](std::int64_t chunk, std::int64_t microBatch) {
    if (microBatch < m) emit(Step{TaskKind::Forward, chunk, microBatch});
  };
  const auto backward = [&](std::int64_t chunk, std::int64_t microBatch) {
    if (microBatch < m) emit(Step{TaskKind::Backward, chunk, microBatch});
  };
  const auto input = [&](std::int64_t chunk, std::int64_t microBatch) {
    if (microBatch < m) emit(Step{TaskKind::BackwardInput, chunk, microBatch});
  };
  const auto weight = [&](std::int64_t chunk, std::int64_t microBatch) {
    if (microBatch < m) emit(Step{TaskKind::BackwardWeight, chunk, microBatch});
  };

  switch (schedule) {
    case Schedule::GPipe: {
      for (std::int64_t k = 0; k < m; ++k) forward(0, k);
      for (std::int64_t k = 0; k < m; ++k) backward(0, k);
      return;
    }
    case Schedule::OneForwardOneBackward:
    case Schedule::Interleaved: {
      const std::int64_t group = interleavedGroup(ranks, m);
      const std::int64_t total = m * virtualStages;
      const std::int64_t warm = warmUpForwards(schedule, ranks, rank, virtualStages, m);
      // k-th chunk run of a rank: group by group, in each group chunk by chunk.
      const auto place = [&](std::int64_t k, std::int64_t& chunk, std::int64_t& microBatch) {
        if (virtualStages == 1) {
          chunk = 0;
          microBatch = k;
          return;
        }
        const std::int64_t before = k / (group * virtualStages) * group;
        const std::int64_t size = std::min(group, m - before);
        const std::int64_t inside = k - before * virtualStages;
        chunk = inside / size;
        microBatch = before + inside % size;
      };
      std::int64_t chunk = 0, microBatch = 0;
      const auto emitForward = [&](std::int64_t k) {
        place(k, chunk, microBatch);
        forward(chunk, microBatch);
      };
      const auto emitBackward = [&](std::int64_t k) {
        place(k, chunk, microBatch);
        backward(virtualStages - 1 - chunk, microBatch);
      };
      for (std::int64_t k = 0; k < warm; ++k) emitForward(k);
      for (std::int64_t k = warm; k < total; ++k) {
        emitForward(k);
        emitBackward(k - warm);
      }
      for (std::int64_t k = total - warm; k < total; ++k) emitBackward(k);
      return;
    }
    case Schedule::ZeroBubbleH1:
    case Schedule::ZeroBubble2p: {
      // Handcrafted schedules H1 and H2 of arXiv 2401.10241, figures 2 and 3: rank r starts with p - r (H1) or
      // 2 (p - r) - 1 (H2) forwards and runs each weight gradient r (H1) or 2 r (H2) backwards late.
      const std::int64_t warm = warmUpForwards(schedule, ranks, rank, virtualStages, m);
      const std::int64_t lag = schedule == Schedule::ZeroBubbleH1 ? rank : 2 * rank;
      for (std::int64_t k = 0; k < warm; ++k) forward(0, k);
      for (std::int64_t k = 0; k < m; ++k) {
        forward(0, warm + k);
        input(0, k);
        if (k >= lag) weight(0, k - lag);
      }
      for (std::int64_t k = std::max<std::int64_t>(0, m - lag); k < m; ++k) weight(0, k);
      return;
    }
    case Schedule::ZeroBubbleV: {
      // Order of PyTorch's ScheduleZBVZeroBubble (torch/distributed/pipelining/schedules.py), which follows section 6
      // of arXiv 2401.10241. With few micro-batches those past the last are left out.
      const std::int64_t n = std::max(2 * ranks - 1, m);
      std::int64_t forward0 = 0, forward1 = 0, backward0 = 0, backward1 = 0;
      const auto both1 = [&] {
        input(1, backward1);
        weight(1, backward1++);
      };
      for (std::int64_t i = 0; i < 2 * (ranks - rank) - 1; ++i) forward(0, forward0++);
      for (std::int64_t i = 0; i < rank; ++i) {
        forward(1, forward1++);
        forward(0, forward0++);
      }
      for (std::int64_t i = 0; i < ranks - rank; ++i) {
        forward(1, forward1++);
        both1();
      }
      while (forward1 < forward0 || forward0 < n) {
        if (forward0 < n) forward(0, forward0++);
        input(0, backward0);
        weight(0, backward0++);
        forward(1, forward1++);
        both1();
      }
      std::int64_t weight0 = backward0, weight1 = backward1;
      for (std::int64_t i = 0; i < rank; ++i) {
        input(0, backward0++);
        input(1, backward1++);
      }
      for (std::int64_t i = 0; i < ranks - rank; ++i) {
        input(0, backward0++);
        weight(0, weight0++);
      }
      while (weight1 < backward1) weight(1, weight1++);
      while (weight0 < backward0) weight(0, weight0++);
      return;
    }
    case Schedule::DualPipe: {
      // DualPipeV, the form of DualPipe that keeps one copy of the weights: steps 1 to 8 of dualpipev.py
      // (github.com/deepseek-ai/DualPipe). It needs 2 p micro-batches; those past the last are left out.
      const std::int64_t n = std::max(2 * ranks, m);
      std::int64_t forwards[2] = {0, 0}, backwards[2] = {0, 0};
      const auto runForward = [&](std::int64_t chunk) { forward(chunk, forwards[chunk]++); };
      const auto runBackward = [&](std::int64_t chunk) { backward(chunk, backwards[chunk]++); };
      const auto after = ranks - 1 - rank;
      for (std::int64_t i = 0; i < 2 * after; ++i) runForward(0);
      for (std::int64_t i = 0; i <= rank; ++i) {
        runForward(0);
        runForward(1);
      }
      for (std::int64_t i = 0; i < after; ++i) {
        input(1, backwards[1]);
        weight(1, backwards[1]++);
        runForward(1);
      }
      const auto runBlock = [&](std::int64_t chunk) {
        const std::int64_t f = forwards[chunk]++, b = backwards[1 - chunk]++;
        if (f < m) emit(Step{TaskKind::Forward, chunk, f, b < m});
        backward(1 - chunk, b);
      };
      for (std::int64_t i = 0; i < n - 2 * ranks + rank + 1; ++i) {
        if (i == 0 && after == 0) {  // the last rank keeps its first pair apart: a smaller bubble
          runForward(0);
          runBackward(1);
        } else {
          runBlock(0);
        }
        runBlock(1);
      }
      for (std::int64_t i = 0; i < after; ++i) {
        runBackward(1);
        runBlock(1);
      }
      // Of the 2 (rank + 1) backwards here, chunk 1 and 0 in turn, the second half leaves its weight gradient for
      // later.
      for (std::int64_t i = 0; i <= rank; ++i) runBackward(1 - i % 2);
      std::int64_t weights[2] = {backwards[0], backwards[1]};
      std::int64_t chunk = 1 - (rank + 1) % 2;
      for (std::int64_t i = 0; i <= rank; ++i) {
        input(chunk, backwards[chunk]++);
        chunk = 1 - chunk;
      }
      // Waiting weight gradients run in the order of their backwards: those rank + 1, then those of chunk 0 that
      // follow.
      chunk = 1 - (rank + 1) % 2;
      for (std::int64_t i = 0; i < ranks; ++i) {
        weight(chunk, weights[chunk]++);
        chunk = i < rank ? 1 - chunk : 0;
        if (i < after) input(0, backwards[0]++);
      }
      return;
    }
  }
}

}  // namespace meshwise
