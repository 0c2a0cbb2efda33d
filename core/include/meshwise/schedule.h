// Pipeline schedules: the event simulation that is the reference, and the closed forms that the estimate uses.
#pragma once

#include <cstdint>
#include <vector>

#include "meshwise/plan.h"

namespace meshwise {

// Place of a rank's chunk among the ranks * virtualStages stages that a token passes. One chunk: the rank. Interleaved:
// chunk * ranks + rank. V-shaped schedules (ZB-V, DualPipe): the second chunk of rank r is 2 * ranks - 1 - r.
std::int64_t globalStage(Schedule schedule, std::int64_t ranks, std::int64_t rank, std::int64_t chunk);

// Work of one model chunk for one micro-batch, seconds on its device.
struct ChunkTimes {
  double forward = 0;
  double backwardInput = 0;   // gradient with respect to the input (includes recomputation)
  double backwardWeight = 0;  // gradient with respect to the weights; may be delayed by zero-bubble schedules
};

struct PipelineShape {
  Schedule schedule = Schedule::OneForwardOneBackward;
  std::int64_t ranks = 1;          // pipeline degree
  std::int64_t virtualStages = 1;  // chunks per rank; more than 1 only with Interleaved; ZB-V and DualPipe have 2
  std::int64_t microBatches = 1;
  // chunks[rank * virtualStages + j] = j-th chunk of that rank. Interleaved: global stage j * ranks + rank. ZB-V and
  // DualPipe: the second chunk of rank r is global stage 2 * ranks - 1 - r.
  std::vector<ChunkTimes> chunks;
  double sendSeconds = 0;  // point-to-point time of one activation between neighbouring stages
  bool asyncSend = true;   // both ends compute while the message is under way; otherwise a send holds the sender
};

enum class TaskKind { Forward, Backward, BackwardInput, BackwardWeight };

struct Task {
  TaskKind kind;
  std::int64_t rank, chunk, microBatch;
  double start, end;  // seconds from the start of the step
};

struct Timeline {
  std::vector<Task> tasks;  // by rank, then start
  // Seconds that one step holds the pipeline: end of the last task. ZB-2p and ZB-V let the next step follow on each
  // rank at once (post-validation of the optimizer step, arXiv 2401.10241 section 4): there it is the longest time
  // from the first to the last task of one rank.
  double span = 0;
  double bubble = 0;                       // span less the busiest rank's busy time; sends are not busy
  std::vector<double> busySeconds;         // per rank: sum of its tasks
  std::vector<std::int64_t> peakInFlight;  // per rank: most micro-batch chunks whose activations are alive at once
};

// Runs the schedule's own task order on the given times.
Timeline simulatePipeline(const PipelineShape& shape);

// Closed form of the span, without allocation, O(chunks). Equals the simulation on uniform chunks with sendSeconds 0;
// schedule.cpp states how far it may be from it otherwise.
double pipelineSpan(const PipelineShape& shape);

// The same where every chunk takes the same time, O(1).
double uniformPipelineSpan(Schedule schedule, std::int64_t ranks, std::int64_t virtualStages, std::int64_t microBatches,
                           const ChunkTimes& chunk, double sendSeconds = 0, bool asyncSend = true);

// Micro-batch chunks whose activations are alive at once on `rank`, in units of one chunk: from the start of the
// forward to the end of the (weight) backward. Exact: it depends on the order of tasks only.
double inFlightChunks(Schedule schedule, std::int64_t ranks, std::int64_t rank, std::int64_t virtualStages,
                      std::int64_t microBatches);

}  // namespace meshwise
