// Pipelines drawn at random: the laws of the simulation, and how far the closed form of the span is from it.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "meshwise/schedule.h"
#include "support/pipeline_check.h"
#include "support/random_problem.h"

namespace meshwise {
namespace {

using testing::brokenLaw;
using testing::describe;
using testing::hasTwoChunks;
using testing::kAllSchedules;
using testing::Random;

// Any pipeline of up to 6 ranks. Times are whole numbers, so that sums and comparisons are exact.
PipelineShape arbitraryPipeline() {
  PipelineShape shape;
  shape.schedule = *rc::gen::elementOf(kAllSchedules);
  shape.ranks = *rc::gen::inRange<std::int64_t>(1, 7);
  shape.virtualStages = 1;
  if (hasTwoChunks(shape.schedule)) shape.virtualStages = 2;
  if (shape.schedule == Schedule::Interleaved) shape.virtualStages = *rc::gen::inRange<std::int64_t>(1, 5);
  shape.microBatches = *rc::gen::inRange<std::int64_t>(1, 14);
  if (shape.schedule == Schedule::DualPipe) shape.microBatches += 2 * shape.ranks;
  for (std::int64_t i = 0; i < shape.ranks * shape.virtualStages; ++i) {
    const auto time = rc::gen::inRange(0, 100);
    shape.chunks.push_back({static_cast<double>(*time), static_cast<double>(*time), static_cast<double>(*time)});
  }
  shape.sendSeconds = *rc::gen::inRange(0, 30);
  shape.asyncSend = *rc::gen::arbitrary<bool>();
  return shape;
}

bool hasSoundForm(Schedule schedule) { return !hasTwoChunks(schedule); }

RC_GTEST_PROP(SimulatedPipeline, KeepsItsLaws, ()) {
  const PipelineShape shape = arbitraryPipeline();
  const std::string broken = brokenLaw(shape, simulatePipeline(shape));
  if (!broken.empty()) RC_FAIL(broken + " in " + describe(shape));
}

RC_GTEST_PROP(SimulatedPipeline, BubbleIsWhatTheBusiestRankDoesNotWork, ()) {
  const PipelineShape shape = arbitraryPipeline();
  const Timeline timeline = simulatePipeline(shape);
  double busiest = 0;
  for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
    double busy = 0;
    for (const Task& task : timeline.tasks) busy += task.rank == rank ? task.end - task.start : 0.0;
    busiest = std::max(busiest, busy);
  }
  RC_ASSERT(timeline.bubble >= 0);
  RC_ASSERT(timeline.span == timeline.bubble + busiest);
}

RC_GTEST_PROP(SimulatedPipeline, ScalesWithItsTimes, ()) {
  PipelineShape shape = arbitraryPipeline();
  const double span = simulatePipeline(shape).span, form = pipelineSpan(shape);
  for (ChunkTimes& chunk : shape.chunks) {
    chunk = {4 * chunk.forward, 4 * chunk.backwardInput, 4 * chunk.backwardWeight};
  }
  shape.sendSeconds *= 4;
  RC_ASSERT(simulatePipeline(shape).span == 4 * span);
  RC_ASSERT(pipelineSpan(shape) == 4 * form);
}

// The longest path grows with each of its edges; ZB-2p and ZB-V measure from a rank's own first task, which may move.
RC_GTEST_PROP(SimulatedPipeline, IsNeverFasterWhenATaskIsSlower, ()) {
  PipelineShape shape = arbitraryPipeline();
  RC_PRE(shape.schedule != Schedule::ZeroBubble2p && shape.schedule != Schedule::ZeroBubbleV);
  const double span = simulatePipeline(shape).span;
  ChunkTimes& chunk = shape.chunks[*rc::gen::inRange<std::size_t>(0, shape.chunks.size())];
  double* const task = *rc::gen::element(&chunk.forward, &chunk.backwardInput, &chunk.backwardWeight);
  *task += 5;
  RC_ASSERT(simulatePipeline(shape).span >= span);
}

RC_GTEST_PROP(PipelineSpan, IsNeverAboveTheSimulation, ()) {
  const PipelineShape shape = arbitraryPipeline();
  RC_PRE(hasSoundForm(shape.schedule));
  RC_ASSERT(pipelineSpan(shape) <= simulatePipeline(shape).span);
}

RC_GTEST_PROP(PipelineSpan, IsNeverBelowTheBusiestRank, ()) {
  const PipelineShape shape = arbitraryPipeline();
  const Timeline timeline = simulatePipeline(shape);
  const double busiest = *std::max_element(timeline.busySeconds.begin(), timeline.busySeconds.end());
  RC_ASSERT(pipelineSpan(shape) >= busiest);
}

RC_GTEST_PROP(PipelineSpan, EqualsTheSimulationOfUneven1F1BAndGPipe, ()) {
  PipelineShape shape = arbitraryPipeline();
  RC_PRE(shape.schedule == Schedule::OneForwardOneBackward || shape.schedule == Schedule::GPipe);
  if (shape.schedule == Schedule::OneForwardOneBackward && shape.asyncSend) shape.sendSeconds = 0;
  RC_ASSERT(pipelineSpan(shape) == simulatePipeline(shape).span);
}

// --- The distances that schedule/span.cpp states, on the same random pipelines everywhere. ---

struct Distance {
  double below = 0, above = 0, mean = 0;  // of the closed form from the simulation, as shares of the latter
};

enum class Uneven { Ends, All };

Distance measure(Schedule schedule, Uneven uneven, double sendSeconds) {
  constexpr int kPipelines = 1500;
  Random random(static_cast<std::uint64_t>(schedule) * 16 + static_cast<std::uint64_t>(uneven));
  Distance distance;
  for (int i = 0; i < kPipelines; ++i) {
    PipelineShape shape;
    shape.schedule = schedule;
    shape.ranks = random.between(2, 12);
    shape.virtualStages = hasTwoChunks(schedule) ? 2 : schedule == Schedule::Interleaved ? random.between(2, 4) : 1;
    shape.microBatches = random.between(1, 72);
    // The V-shaped forms are stated for pipelines that fill.
    if (hasTwoChunks(schedule)) shape.microBatches += 2 * shape.ranks - 1;
    shape.sendSeconds = sendSeconds;
    shape.asyncSend = random.oneIn(2);
    const auto factor = [&] { return 1 + random.fraction(); };
    const std::size_t chunks = static_cast<std::size_t>(shape.ranks * shape.virtualStages);
    const bool whole = random.oneIn(2);
    for (std::size_t c = 0; c < chunks; ++c) {
      if (uneven == Uneven::Ends) {
        shape.chunks.push_back({1, 1.2, 0.8});
      } else if (whole) {  // chunks with more or fewer layers
        const double layers = factor();
        shape.chunks.push_back({layers, 1.2 * layers, 0.8 * layers});
      } else {
        shape.chunks.push_back({factor(), factor(), factor()});
      }
    }
    if (uneven == Uneven::Ends) {  // an embedding and a head
      const std::size_t last = hasTwoChunks(schedule) ? 1 : chunks - 1;
      const double head = factor(), embedding = factor();
      shape.chunks[last] = {head, 1.2 * head, 0.8 * head};
      shape.chunks[0].forward *= embedding;
      shape.chunks[0].backwardWeight *= embedding;
    }
    const double span = simulatePipeline(shape).span;
    const double apart = pipelineSpan(shape) / span - 1;
    distance.below = std::max(distance.below, -apart);
    distance.above = std::max(distance.above, apart);
    distance.mean += (apart < 0 ? -apart : apart) / kPipelines;
  }
  return distance;
}

constexpr double kRounding = 1e-12;

TEST(PipelineSpanDistance, GPipeIsExact) {
  for (const double send : {0.0, 0.15}) {
    EXPECT_LT(measure(Schedule::GPipe, Uneven::All, send).below, kRounding);
    EXPECT_LT(measure(Schedule::GPipe, Uneven::All, send).above, kRounding);
  }
}

TEST(PipelineSpanDistance, OneForwardOneBackwardMissesLittleOfTheSends) {
  EXPECT_LT(measure(Schedule::OneForwardOneBackward, Uneven::All, 0).below, kRounding);
  EXPECT_LT(measure(Schedule::OneForwardOneBackward, Uneven::Ends, 0.15).below, 0.002);
  const Distance all = measure(Schedule::OneForwardOneBackward, Uneven::All, 0.15);
  EXPECT_LT(all.below, 0.03);
  EXPECT_LT(all.mean, 0.001);
  EXPECT_LT(all.above, kRounding);
}

TEST(PipelineSpanDistance, OtherBoundsStayNearTheSimulation) {
  for (const Schedule schedule : {Schedule::Interleaved, Schedule::ZeroBubbleH1, Schedule::ZeroBubble2p}) {
    for (const double send : {0.0, 0.15}) {
      const Distance ends = measure(schedule, Uneven::Ends, send);
      EXPECT_LT(ends.below, 0.07) << testing::nameOf(schedule);
      EXPECT_LT(ends.mean, 0.001) << testing::nameOf(schedule);
      EXPECT_LT(ends.above, kRounding) << testing::nameOf(schedule);
      const Distance all = measure(schedule, Uneven::All, send);
      EXPECT_LT(all.below, 0.11) << testing::nameOf(schedule);
      EXPECT_LT(all.mean, 0.009) << testing::nameOf(schedule);
      EXPECT_LT(all.above, kRounding) << testing::nameOf(schedule);
    }
  }
}

TEST(PipelineSpanDistance, VShapedFormsStayNearTheSimulation) {
  for (const double send : {0.0, 0.15}) {
    for (const Uneven uneven : {Uneven::Ends, Uneven::All}) {
      const Distance zeroBubble = measure(Schedule::ZeroBubbleV, uneven, send);
      EXPECT_LT(zeroBubble.below, 0.08);
      EXPECT_LT(zeroBubble.above, 0.06);
      const Distance dualPipe = measure(Schedule::DualPipe, uneven, send);
      EXPECT_LT(dualPipe.below, 0.05);
      EXPECT_LT(dualPipe.above, 0.15);
    }
  }
}

// ZB-V with p < m < 2p - 1 has many longest paths; the rarest are left out.
TEST(PipelineSpanDistance, ZeroBubbleVIsNearlyExactBeforeThePipelineFills) {
  Random random(7);
  for (int i = 0; i < 4000; ++i) {
    const std::int64_t p = random.between(3, 12), m = random.between(p + 1, 2 * p - 2);
    const auto time = [&] { return 0.3 + 2.7 * random.fraction(); };
    const ChunkTimes chunk = {time(), time(), time()};
    const PipelineShape shape = testing::uniformPipeline(Schedule::ZeroBubbleV, p, 2, m, chunk);
    const double span = simulatePipeline(shape).span;
    EXPECT_LE(pipelineSpan(shape), span * (1 + kRounding)) << describe(shape);
    EXPECT_GE(pipelineSpan(shape), span * 0.995) << describe(shape);
  }
}

}  // namespace
}  // namespace meshwise
