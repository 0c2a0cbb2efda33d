#include "meshwise/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "support/pipeline_check.h"

namespace meshwise {
namespace {

using testing::brokenLaw;
using testing::describe;
using testing::hasTwoChunks;
using testing::kAllSchedules;
using testing::uniformPipeline;

constexpr ChunkTimes kUnit = {1, 1, 1};

// The order of one rank's tasks as text: f, b (whole), i (input gradient), w (weight gradient), with the chunk where
// there are several, and the micro-batch.
std::string orderOf(const Timeline& timeline, std::int64_t rank, bool chunks) {
  std::string text;
  for (const Task& task : timeline.tasks) {
    if (task.rank != rank) continue;
    if (!text.empty()) text += ' ';
    text += "fbiw"[static_cast<std::size_t>(task.kind)];
    if (chunks) text += static_cast<char>('a' + task.chunk);
    text += std::to_string(task.microBatch);
  }
  return text;
}

// --- Spans that can be worked out by hand. ---

TEST(OneForwardOneBackward, IsExactOnAPipelineWorkedOutByHand) {
  // p = 2, m = 2, F = 1, B = 2. Rank 0: f0 0-1, f1 1-2. Rank 1: f0 1-2, b0 2-4, f1 4-5, b1 5-7. Rank 0: b0 4-6, b1 7-9.
  const Timeline timeline = simulatePipeline(uniformPipeline(Schedule::OneForwardOneBackward, 2, 1, 2, kUnit));
  EXPECT_EQ(orderOf(timeline, 0, false), "f0 f1 b0 b1");
  EXPECT_EQ(orderOf(timeline, 1, false), "f0 b0 f1 b1");
  const std::vector<std::pair<double, double>> expected = {{0, 1}, {1, 2}, {4, 6}, {7, 9},
                                                           {1, 2}, {2, 4}, {4, 5}, {5, 7}};
  ASSERT_EQ(timeline.tasks.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_DOUBLE_EQ(timeline.tasks[i].start, expected[i].first) << i;
    EXPECT_DOUBLE_EQ(timeline.tasks[i].end, expected[i].second) << i;
  }
  EXPECT_DOUBLE_EQ(timeline.span, 9);
  EXPECT_DOUBLE_EQ(timeline.bubble, 3);  // 9 less 2 (1 + 2)
}

TEST(OneForwardOneBackward, SpanIsMicroBatchesAndRanksLessOne) {
  // (m + p - 1)(F + B) = (8 + 3) * 3; Narayanan et al. arXiv 2104.04473, section 2.2.
  const PipelineShape shape = uniformPipeline(Schedule::OneForwardOneBackward, 4, 1, 8, kUnit);
  EXPECT_DOUBLE_EQ(simulatePipeline(shape).span, 33);
  EXPECT_DOUBLE_EQ(simulatePipeline(shape).bubble, 9);
  EXPECT_DOUBLE_EQ(pipelineSpan(shape), 33);
  EXPECT_DOUBLE_EQ(uniformPipelineSpan(shape.schedule, 4, 1, 8, kUnit), 33);
}

TEST(OneForwardOneBackward, UnevenStagesPaceTheSlowest) {
  // Rank 1 takes twice as long: F = 2, B = 4. Rank 1: f0 1-3, b0 3-7, f1 7-9, b1 9-13. Rank 0: b0 7-9, b1 13-15.
  PipelineShape shape = uniformPipeline(Schedule::OneForwardOneBackward, 2, 1, 2, kUnit);
  shape.chunks[1] = {2, 2, 2};
  const Timeline timeline = simulatePipeline(shape);
  EXPECT_DOUBLE_EQ(timeline.span, 15);
  EXPECT_DOUBLE_EQ(timeline.bubble, 3);  // 15 less the 12 of rank 1
  EXPECT_EQ(timeline.busySeconds, (std::vector<double>{6, 12}));
  EXPECT_DOUBLE_EQ(pipelineSpan(shape), 15);
}

TEST(OneForwardOneBackward, BubbleIsFreeOfTheMicroBatchCount) {
  for (const std::int64_t m : {1, 4, 5, 64}) {
    EXPECT_DOUBLE_EQ(simulatePipeline(uniformPipeline(Schedule::OneForwardOneBackward, 5, 1, m, kUnit)).bubble, 12);
  }
}

TEST(GPipe, RunsAllForwardsFirst) {
  const PipelineShape shape = uniformPipeline(Schedule::GPipe, 4, 1, 8, kUnit);
  const Timeline timeline = simulatePipeline(shape);
  EXPECT_EQ(orderOf(timeline, 2, false), "f0 f1 f2 f3 f4 f5 f6 f7 b0 b1 b2 b3 b4 b5 b6 b7");
  EXPECT_DOUBLE_EQ(timeline.span, 33);  // the same bubble as 1F1B
  EXPECT_DOUBLE_EQ(pipelineSpan(shape), 33);
}

TEST(Interleaved, DividesTheBubbleByTheChunks) {
  // m (F + B) + (p - 1)(F + B) / v with chunks of half the work: 8 * 3 + 3 * 1.5; arXiv 2104.04473, section 2.2.
  const PipelineShape shape = uniformPipeline(Schedule::Interleaved, 4, 2, 8, {0.5, 0.5, 0.5});
  EXPECT_DOUBLE_EQ(simulatePipeline(shape).span, 28.5);
  EXPECT_DOUBLE_EQ(simulatePipeline(shape).bubble, 4.5);
  EXPECT_DOUBLE_EQ(pipelineSpan(shape), 28.5);
  EXPECT_DOUBLE_EQ(uniformPipelineSpan(Schedule::Interleaved, 4, 2, 8, {0.5, 0.5, 0.5}), 28.5);
}

TEST(Interleaved, KeepsMegatronsOrder) {
  // Warm-up of 2 (p - 1 - r) + (v - 1) p forwards: 4, that is all, on rank 0; 2 on rank 1. Backwards start with the
  // last chunk (get_pp_rank_microbatches in core/pipeline_parallel/schedules.py).
  const Timeline timeline = simulatePipeline(uniformPipeline(Schedule::Interleaved, 2, 2, 2, kUnit));
  EXPECT_EQ(orderOf(timeline, 0, true), "fa0 fa1 fb0 fb1 bb0 bb1 ba0 ba1");
  EXPECT_EQ(orderOf(timeline, 1, true), "fa0 fa1 fb0 bb0 fb1 bb1 ba0 ba1");
}

TEST(Interleaved, GroupsMicroBatchesSoThatTheyFillThePipeline) {
  // 14 micro-batches on 4 ranks: groups of 5 leave 4 (case c03); groups of 4 would leave 2, which Megatron-LM refuses.
  const PipelineShape shape = uniformPipeline(Schedule::Interleaved, 4, 2, 14, kUnit);
  const Timeline timeline = simulatePipeline(shape);
  EXPECT_EQ(orderOf(timeline, 3, true).substr(0, 30), "fa0 fa1 fa2 fa3 fa4 fb0 bb0 fb");
  EXPECT_DOUBLE_EQ(timeline.span, (14 * 2 + 3) * 3);
  EXPECT_DOUBLE_EQ(pipelineSpan(shape), timeline.span);
}

TEST(Interleaved, FewerMicroBatchesThanRanksWaitForEachOther) {
  // A chunk's results come back after p tasks, of which m fill the time: (v p + m - 1)(F + B).
  const PipelineShape shape = uniformPipeline(Schedule::Interleaved, 4, 3, 2, kUnit);
  EXPECT_DOUBLE_EQ(simulatePipeline(shape).span, (3 * 4 + 2 - 1) * 3);
  EXPECT_DOUBLE_EQ(pipelineSpan(shape), simulatePipeline(shape).span);
}

TEST(ZeroBubbleH1, KeepsTheMemoryOf1F1BAndAThirdOfItsBubble) {
  // Bubble (p - 1)(F + B - W), arXiv 2401.10241, table 1.
  const PipelineShape shape = uniformPipeline(Schedule::ZeroBubbleH1, 4, 1, 8, kUnit);
  const Timeline timeline = simulatePipeline(shape);
  EXPECT_DOUBLE_EQ(timeline.bubble, 3);
  EXPECT_DOUBLE_EQ(pipelineSpan(shape), 27);
  EXPECT_EQ(timeline.peakInFlight, (std::vector<std::int64_t>{4, 4, 4, 4}));
  EXPECT_EQ(orderOf(timeline, 3, false), "f0 i0 f1 i1 f2 i2 f3 i3 w0 f4 i4 w1 f5 i5 w2 f6 i6 w3 f7 i7 w4 w5 w6 w7");
}

TEST(ZeroBubble2p, HasNoBubbleWhereTheTasksAreEven) {
  // Bubble (p - 1)(F + B - 2W) and 2p - 1 activations, arXiv 2401.10241, table 1.
  const PipelineShape even = uniformPipeline(Schedule::ZeroBubble2p, 4, 1, 8, kUnit);
  EXPECT_DOUBLE_EQ(simulatePipeline(even).bubble, 0);
  EXPECT_DOUBLE_EQ(pipelineSpan(even), 24);
  EXPECT_EQ(simulatePipeline(even).peakInFlight, (std::vector<std::int64_t>{7, 7, 7, 7}));
  const PipelineShape light = uniformPipeline(Schedule::ZeroBubble2p, 4, 1, 8, {1, 1, 0.75});
  EXPECT_DOUBLE_EQ(simulatePipeline(light).bubble, 1.5);  // 3 (1 + 1 - 1.5)
  EXPECT_DOUBLE_EQ(pipelineSpan(light), simulatePipeline(light).span);
}

TEST(ZeroBubbleV, HasNoBubbleAndTheMemoryOf1F1B) {
  // arXiv 2401.10241, section 6: F = B = W, activations of p whole stages = 2p chunks.
  for (const std::int64_t m : {7, 8, 20}) {
    const PipelineShape shape = uniformPipeline(Schedule::ZeroBubbleV, 4, 2, m, kUnit);
    const Timeline timeline = simulatePipeline(shape);
    EXPECT_DOUBLE_EQ(timeline.bubble, 0) << m;
    EXPECT_DOUBLE_EQ(pipelineSpan(shape), static_cast<double>(6 * m));
    EXPECT_EQ(timeline.peakInFlight, (std::vector<std::int64_t>{8, 8, 8, 8}));
  }
}

TEST(DualPipe, HasTheBubbleThatDeepSeekStates) {
  // DeepSeek-V3 (arXiv 2412.19437), table 2, for p ranks of two chunks each (DualPipeV): (p - 1)(F&B + B - 3W), where B
  // has both gradients, and activations of 2p + 1 chunks. F = 1, B = 2, W = 1, F&B = 3: 3 * 2.
  const PipelineShape shape = uniformPipeline(Schedule::DualPipe, 4, 2, 8, kUnit);
  const Timeline timeline = simulatePipeline(shape);
  EXPECT_DOUBLE_EQ(timeline.bubble, 6);
  EXPECT_DOUBLE_EQ(pipelineSpan(shape), 54);
  EXPECT_EQ(timeline.peakInFlight, (std::vector<std::int64_t>{9, 9, 9, 9}));
}

TEST(DualPipe, PassesAPairOnAsOneBlock) {
  // p = 2, m = 4: steps 1 to 8 of dualpipev.py by hand. On rank 0 fa3 and bb1 are the first block.
  const PipelineShape shape = uniformPipeline(Schedule::DualPipe, 2, 2, 4, kUnit);
  const Timeline timeline = simulatePipeline(shape);
  EXPECT_EQ(orderOf(timeline, 0, true), "fa0 fa1 fa2 fb0 ib0 wb0 fb1 fa3 bb1 fb2 ba0 bb2 fb3 ba1 bb3 ia2 wa2 ia3 wa3");
  EXPECT_EQ(orderOf(timeline, 1, true), "fa0 fb0 fa1 fb1 fa2 bb0 fb2 ba0 fa3 bb1 fb3 ba1 bb2 ba2 ib3 ia3 wb3 wa3");
  const auto find = [&](TaskKind kind, std::int64_t rank, std::int64_t chunk, std::int64_t microBatch) {
    return *std::find_if(timeline.tasks.begin(), timeline.tasks.end(), [&](const Task& task) {
      return task.kind == kind && task.rank == rank && task.chunk == chunk && task.microBatch == microBatch;
    });
  };
  const Task forward = find(TaskKind::Forward, 0, 0, 3), backward = find(TaskKind::Backward, 0, 1, 1);
  EXPECT_DOUBLE_EQ(backward.start, forward.end);
  EXPECT_GE(forward.start, find(TaskKind::Forward, 0, 1, 1).end);   // what bb1 needs
  EXPECT_GE(find(TaskKind::Forward, 1, 0, 3).start, backward.end);  // not from fa3's own end on
}

// --- Sends. ---

TEST(Sends, AsynchronousOnesLetBothEndsCompute) {
  // p = 2, m = 2, F = 1, B = 2, send 0.5. Rank 1: f0 1.5-2.5, b0 2.5-4.5, f1 4.5-5.5, b1 5.5-7.5. Rank 0: b0 5-7, b1
  // 8-10.
  PipelineShape shape = uniformPipeline(Schedule::OneForwardOneBackward, 2, 1, 2, kUnit);
  shape.sendSeconds = 0.5;
  EXPECT_DOUBLE_EQ(simulatePipeline(shape).span, 10);
  EXPECT_DOUBLE_EQ(pipelineSpan(shape), 10);
}

TEST(Sends, BlockingOnesHoldTheSender) {
  // Rank 0: f0 0-1, f1 1.5-2.5. Rank 1: f0 1.5-2.5, b0 2.5-4.5 and held to 5, f1 5-6, b1 6-8 and held to 8.5.
  // Rank 0: b0 5-7, b1 8.5-10.5.
  PipelineShape shape = uniformPipeline(Schedule::OneForwardOneBackward, 2, 1, 2, kUnit);
  shape.sendSeconds = 0.5;
  shape.asyncSend = false;
  const Timeline timeline = simulatePipeline(shape);
  EXPECT_DOUBLE_EQ(timeline.span, 10.5);
  EXPECT_DOUBLE_EQ(timeline.bubble, 4.5);  // a held rank is not busy
  EXPECT_DOUBLE_EQ(pipelineSpan(shape), 10.5);
}

TEST(Sends, OneRankHasNobodyToSendTo) {
  for (const Schedule schedule : kAllSchedules) {
    const std::int64_t v = hasTwoChunks(schedule) ? 2 : 1;
    for (const bool async : {true, false}) {
      PipelineShape shape = uniformPipeline(schedule, 1, v, 3, kUnit);
      shape.sendSeconds = 7;
      shape.asyncSend = async;
      EXPECT_DOUBLE_EQ(simulatePipeline(shape).span, static_cast<double>(9 * v)) << describe(shape);
      EXPECT_DOUBLE_EQ(pipelineSpan(shape), static_cast<double>(9 * v)) << describe(shape);
      EXPECT_DOUBLE_EQ(uniformPipelineSpan(schedule, 1, v, 3, kUnit, 7, async), static_cast<double>(9 * v));
    }
  }
}

TEST(Sends, TheTurnOfAVStaysOnItsRank) {
  // One micro-batch through 2 ranks and back: stages 0 and 3 on rank 0, 1 and 2 on rank 1. Sends 0-1, 2-3, 3-2, 1-0.
  PipelineShape shape = uniformPipeline(Schedule::DualPipe, 2, 2, 1, {1, 1, 0});
  shape.sendSeconds = 0.25;
  EXPECT_DOUBLE_EQ(simulatePipeline(shape).span, 8 + 4 * 0.25);
}

// --- All schedules: laws, closed forms and memory over a grid. ---

class EverySchedule : public ::testing::TestWithParam<Schedule> {
 protected:
  // All pipelines of up to 6 ranks; DualPipe needs 2p micro-batches, the others take any number.
  template <class Visit>
  void forEachSize(Visit visit) const {
    const Schedule schedule = GetParam();
    for (std::int64_t p = 1; p <= 6; ++p) {
      for (const std::int64_t v : chunkCounts(p)) {
        const std::int64_t fewest = schedule == Schedule::DualPipe ? 2 * p : 1;
        for (std::int64_t m = fewest; m <= fewest + 16; ++m) visit(p, v, m);
      }
    }
  }

 private:
  std::vector<std::int64_t> chunkCounts(std::int64_t p) const {
    if (hasTwoChunks(GetParam())) return {2};
    if (GetParam() == Schedule::Interleaved && p > 1) return {1, 2, 3, 5};
    return {1};
  }
};

TEST_P(EverySchedule, KeepsTheLawsOfAPipeline) {
  forEachSize([&](std::int64_t p, std::int64_t v, std::int64_t m) {
    PipelineShape shape = uniformPipeline(GetParam(), p, v, m, kUnit);
    // Uneven in a way that repeats nowhere.
    for (std::size_t i = 0; i < shape.chunks.size(); ++i) {
      const double x = static_cast<double>(i);
      shape.chunks[i] = {1 + 0.3 * x, 1.5 + 0.1 * x * x, 2.0 / (1 + x)};
    }
    for (const bool async : {true, false}) {
      shape.sendSeconds = 0.37;
      shape.asyncSend = async;
      EXPECT_EQ(brokenLaw(shape, simulatePipeline(shape)), "") << describe(shape);
    }
  });
}

TEST_P(EverySchedule, ClosedFormEqualsTheSimulationOnUniformChunks) {
  // Ratios of F, B and W for which different paths through the zero-bubble schedules are the longest.
  constexpr ChunkTimes kChunks[] = {{1, 1, 1},       {1, 2, 1},       {1, 1.1, 0.9}, {2, 1, 1},     {1, 0.8, 1.7},
                                    {0.4, 1.3, 1.3}, {1.7, 0.6, 0.5}, {1, 3, 0.25},  {1, 0.2, 0.1}, {3, 2, 5}};
  forEachSize([&](std::int64_t p, std::int64_t v, std::int64_t m) {
    for (const ChunkTimes& chunk : kChunks) {
      const PipelineShape shape = uniformPipeline(GetParam(), p, v, m, chunk);
      const double span = simulatePipeline(shape).span;
      EXPECT_NEAR(pipelineSpan(shape), span, 1e-12 * span) << describe(shape);
      EXPECT_NEAR(uniformPipelineSpan(GetParam(), p, v, m, chunk), span, 1e-12 * span) << describe(shape);
    }
  });
}

TEST_P(EverySchedule, UniformFormAgreesWithTheGeneralOneWhereThereAreSends) {
  forEachSize([&](std::int64_t p, std::int64_t v, std::int64_t m) {
    for (const bool async : {true, false}) {
      PipelineShape shape = uniformPipeline(GetParam(), p, v, m, {1, 1.25, 0.75});
      shape.sendSeconds = 0.125;
      shape.asyncSend = async;
      const double span = pipelineSpan(shape);
      EXPECT_NEAR(uniformPipelineSpan(GetParam(), p, v, m, {1, 1.25, 0.75}, 0.125, async), span, 1e-12 * span)
          << describe(shape);
    }
  });
}

TEST_P(EverySchedule, ActivationsInFlightEqualTheSimulation) {
  forEachSize([&](std::int64_t p, std::int64_t v, std::int64_t m) {
    const Timeline timeline = simulatePipeline(uniformPipeline(GetParam(), p, v, m, kUnit));
    for (std::int64_t rank = 0; rank < p; ++rank) {
      EXPECT_EQ(inFlightChunks(GetParam(), p, rank, v, m),
                static_cast<double>(timeline.peakInFlight[static_cast<std::size_t>(rank)]))
          << "p" << p << " v" << v << " m" << m << " rank " << rank;
    }
  });
}

TEST_P(EverySchedule, RefusesAShapeThatIsNone) {
  PipelineShape shape = uniformPipeline(GetParam(), 4, hasTwoChunks(GetParam()) ? 2 : 1, 8, kUnit);
  shape.chunks.pop_back();
  EXPECT_TRUE(simulatePipeline(shape).tasks.empty());
  EXPECT_EQ(pipelineSpan(shape), 0);
  shape = uniformPipeline(GetParam(), 4, hasTwoChunks(GetParam()) ? 1 : 2, 8, kUnit);
  EXPECT_EQ(pipelineSpan(shape) > 0, GetParam() == Schedule::Interleaved);  // only there the number of chunks is free
}

INSTANTIATE_TEST_SUITE_P(Schedules, EverySchedule, ::testing::ValuesIn(kAllSchedules),
                         [](const auto& info) { return std::string("With") + testing::nameOf(info.param); });

TEST(InFlight, HasTheKnownCounts) {
  // 1F1B: min(m, p - r) (Narayanan et al. arXiv 2104.04473, section 2.2). Interleaved: the warm-up and one more.
  const auto all = [](Schedule schedule, std::int64_t v, std::int64_t m) {
    std::vector<double> counts;
    for (std::int64_t rank = 0; rank < 4; ++rank) counts.push_back(inFlightChunks(schedule, 4, rank, v, m));
    return counts;
  };
  EXPECT_EQ(all(Schedule::OneForwardOneBackward, 1, 8), (std::vector<double>{4, 3, 2, 1}));
  EXPECT_EQ(all(Schedule::OneForwardOneBackward, 1, 2), (std::vector<double>{2, 2, 2, 1}));
  EXPECT_EQ(all(Schedule::GPipe, 1, 8), (std::vector<double>{8, 8, 8, 8}));
  EXPECT_EQ(all(Schedule::Interleaved, 2, 8), (std::vector<double>{11, 9, 7, 5}));
  EXPECT_EQ(all(Schedule::Interleaved, 2, 4), (std::vector<double>{8, 8, 7, 5}));
}

TEST(GlobalStage, FollowsTheSchedulesWay) {
  // Interleaved: chunk by chunk over the ranks. V: down the ranks and back up.
  EXPECT_EQ(globalStage(Schedule::Interleaved, 4, 1, 2), 9);
  EXPECT_EQ(globalStage(Schedule::ZeroBubbleV, 4, 0, 1), 7);
  EXPECT_EQ(globalStage(Schedule::DualPipe, 4, 3, 1), 4);
  EXPECT_EQ(globalStage(Schedule::OneForwardOneBackward, 4, 3, 0), 3);
}

TEST(PipelineSpan, GoesOnPastItsTables) {
  // More ranks than the closed form keeps on the stack: (m + p - 1) * 3.
  EXPECT_DOUBLE_EQ(pipelineSpan(uniformPipeline(Schedule::OneForwardOneBackward, 600, 1, 2, kUnit)), 601 * 3);
}

}  // namespace
}  // namespace meshwise
