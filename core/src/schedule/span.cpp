// Closed forms of the pipeline's span.
//
// A step is a graph of tasks: its span is the longest path. The forms below measure the paths that can be longest and
// take the largest, so for 1F1B, GPipe, interleaved, ZB-H1 and ZB-2p the result is never above the simulation. With
// sendSeconds 0 it equals the simulation on uniform chunks, for GPipe and 1F1B on any. Otherwise, measured over 12,000
// random pipelines a schedule (2 <= p <= 12, v <= 4, m <= 72, sends up to 0.15 of a forward; held by
// tests/property/schedule_property_test.cpp):
//
//                                        first and last chunk differ, by up to 2    all drawn apart from [1, 2]
//   GPipe                                equal                                      equal
//   1F1B                                 0.2 % below                                3 % below with sends, else equal
//   interleaved, ZB-H1, ZB-2p            at most 7 % below, 0.1 % on average        at most 11 % below, 0.9 % on
//   average
//
// ZB-V and DualPipe take the busiest rank and the bubble of the mean chunk. Uniform chunks: equal, but for ZB-V with
// p < m < 2p - 1, where rare ratios of F, B and W come out up to 0.5 % low. Uneven chunks: ZB-V 8 % below to 6 % above,
// DualPipe 5 % below to 15 % above (its busiest rank hides part of the bubble). DualPipe needs m >= 2p.
#include <algorithm>
#include <array>
#include <cstddef>

#include "meshwise/schedule.h"
#include "schedule/order.h"

namespace meshwise {
namespace {

// Times of a chunk as the closed forms see it: a blocking send makes the task that sends longer, and then there is no
// latency; an asynchronous one is latency only.
class PathTimes {
 public:
  PathTimes(const PipelineShape& shape, const ChunkTimes* everyChunk)
      : shape(shape),
        latency(shape.asyncSend && shape.ranks > 1 ? shape.sendSeconds : 0.0),
        hold(!shape.asyncSend && shape.ranks > 1 ? shape.sendSeconds : 0.0),
        first_(everyChunk != nullptr ? everyChunk : shape.chunks.data()),
        stride_(everyChunk != nullptr ? 0 : 1) {}

  const ChunkTimes& at(std::int64_t rank, std::int64_t chunk) const {
    return first_[(rank * shape.virtualStages + chunk) * stride_];
  }
  double forward(std::int64_t rank, std::int64_t chunk) const {
    const bool last = rank == shape.ranks - 1 && chunk == shape.virtualStages - 1;
    return at(rank, chunk).forward + (last ? 0.0 : hold);
  }
  double input(std::int64_t rank, std::int64_t chunk) const {
    return at(rank, chunk).backwardInput + (rank == 0 && chunk == 0 ? 0.0 : hold);
  }
  double weight(std::int64_t rank, std::int64_t chunk) const { return at(rank, chunk).backwardWeight; }
  double backward(std::int64_t rank, std::int64_t chunk) const { return input(rank, chunk) + weight(rank, chunk); }

  const PipelineShape& shape;
  double latency;  // of an asynchronous send
  double hold;     // of a blocking one

 private:
  const ChunkTimes* first_;
  std::int64_t stride_;
};

// Per-rank results of the closed forms live on the stack; pipelines with more ranks are simulated.
constexpr std::int64_t kMaxRanks = 512;
using PerRank = std::array<double, kMaxRanks>;

// Longest paths through 1F1B and interleaved 1F1B. A step is a graph of tasks whose longest path is the span. Every
// number below is the length of a real path, so the result is never above the simulation. Paths dwell on one rank
// (its own order of tasks), reach it by a descent of forwards and of backwards, and leave it in the same way; a path
// that dwells on several ranks is left out.
class OneForwardOneBackwardPaths {
 public:
  explicit OneForwardOneBackwardPaths(const PathTimes& times)
      : times_(times),
        ranks_(times.shape.ranks),
        chunks_(times.shape.virtualStages),
        microBatches_(times.shape.microBatches),
        total_(microBatches_ * chunks_),
        group_(chunks_ == 1 ? microBatches_ : interleavedGroup(ranks_, microBatches_)) {}

  double span() {
    // Time runs backwards in the second call: backwards play forwards, in the same order of ranks and chunks.
    fill(false, entry_, arrival_);
    fill(true, exit_, departure_);
    double longest = 0;
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const std::int64_t warm = warmUp(rank);
      longest = std::max(longest, arrival_[r] + exit_[r]);
      longest = std::max(longest, entry_[r] + departure_[r]);
      const std::int64_t middle = total_ - 2 - warm;  // rounds between the first backward and the last forward
      if (middle < 0) continue;
      longest = std::max(longest, entry_[r] + dwell(rank) + exit_[r]);
      if (times_.shape.schedule == Schedule::OneForwardOneBackward && times_.latency > 0)
        longest = std::max(longest, entry_[r] + tours(rank, middle) + exit_[r]);
    }
    return longest;
  }

 private:
  // warmUpForwards (order.h) with the group at hand.
  std::int64_t warmUp(std::int64_t rank) const {
    const std::int64_t after = (times_.shape.schedule == Schedule::Interleaved ? 2 : 1) * (ranks_ - 1 - rank);
    return std::min(after + (chunks_ - 1) * group_, total_);
  }

  // Time of one task in the direction of the walk.
  double out(bool reversed, std::int64_t rank, std::int64_t chunk) const {
    return reversed ? times_.backward(rank, chunk) : times_.forward(rank, chunk);
  }
  double back(bool reversed, std::int64_t rank, std::int64_t chunk) const { return out(!reversed, rank, chunk); }

  // Both, of all chunks and micro-batches of a rank.
  double outAll(bool reversed, std::int64_t rank) const {
    double sum = 0;
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) sum += out(reversed, rank, chunk);
    return static_cast<double>(microBatches_) * sum;
  }

  // Consecutive micro-batches of a chunk at the start of the walk.
  std::int64_t firstGroup(bool reversed) const {
    return reversed && microBatches_ % group_ != 0 ? microBatches_ % group_ : group_;
  }

  // A rank's own forwards before its first backward, the last of them included: the first w + 1 (reversed: the last
  // w + 1 backwards). Requires w < total.
  double opening(bool reversed, std::int64_t rank) const {
    const std::int64_t warm = warmUp(rank), group = firstGroup(reversed);
    const std::int64_t extra = warm - (chunks_ - 1) * group;  // of the last chunk, less the last one
    if (extra < group) {
      double sum = 0;
      for (std::int64_t chunk = 0; chunk < chunks_ - 1; ++chunk) sum += out(reversed, rank, chunk);
      return static_cast<double>(group) * sum + static_cast<double>(extra + 1) * out(reversed, rank, chunks_ - 1);
    }
    return reversed ? outAll(true, rank) - slots(rank, total_ - warm - 1, true) : slots(rank, warm + 1, false);
  }

  // The first `count` forwards, or backwards (whose chunks run last to first), of a rank.
  double slots(std::int64_t rank, std::int64_t count, bool backwards) const {
    const std::int64_t before = std::min(count / (group_ * chunks_) * group_, microBatches_);
    const std::int64_t size = std::max<std::int64_t>(1, std::min(group_, microBatches_ - before));
    std::int64_t left = count - before * chunks_;
    double sum = 0;
    for (std::int64_t i = 0; i < chunks_; ++i) {
      const std::int64_t runs = before + std::clamp<std::int64_t>(left, 0, size);
      left -= size;
      sum += static_cast<double>(runs) * (backwards ? times_.backward(rank, chunks_ - 1 - i) : times_.forward(rank, i));
    }
    return sum;
  }

  // What the rank itself runs between its first backward and its last forward.
  double dwell(std::int64_t rank) const {
    const std::int64_t last = chunks_ - 1;
    return outAll(false, rank) - opening(false, rank) - times_.forward(rank, last) + outAll(true, rank) -
           opening(true, rank) - times_.backward(rank, last);
  }

  // As many rounds of a forward and a backward spent on tours from the rank down to the last and back up, which pay the
  // latency on every hop.
  double tours(std::int64_t rank, std::int64_t rounds) const {
    const std::int64_t length = ranks_ - rank, rest = rounds % length;
    double tour = 0, shortTour = 0;
    for (std::int64_t i = rank; i < ranks_; ++i) {
      const double both = times_.forward(i, 0) + times_.backward(i, 0) + (i > rank ? 2 * times_.latency : 0.0);
      tour += both;
      if (i >= ranks_ - rest) shortTour += both;
    }
    if (rest > 0) shortTour -= 2 * times_.latency;
    return static_cast<double>(rounds / length) * tour +
           std::max(shortTour, static_cast<double>(rest) * (times_.forward(rank, 0) + times_.backward(rank, 0)));
  }

  // entry[r]: end of the first backward on rank r. arrival[r]: start of the last forward on rank r.
  // Reversed: from the start of the last forward to the end, and from the end of the first backward to the end.
  void fill(bool reversed, PerRank& entry, PerRank& arrival) const {
    const std::int64_t last = chunks_ - 1;
    const double hop = times_.latency;
    const std::int64_t group = firstGroup(reversed);
    // Start of the first micro-batch's chunk on each rank, chunk by chunk: after the rank before it, or after the
    // group's runs of the rank's chunk before.
    PerRank& first = entry;
    for (std::int64_t chunk = 0; chunk <= last; ++chunk) {
      double handed =
          chunk == 0 ? 0.0 : first[static_cast<std::size_t>(ranks_ - 1)] + out(reversed, ranks_ - 1, chunk - 1) + hop;
      for (std::int64_t rank = 0; rank < ranks_; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        first[r] = chunk == 0
                       ? handed
                       : std::max(handed, first[r] + static_cast<double>(group) * out(reversed, rank, chunk - 1));
        handed = first[r] + out(reversed, rank, chunk) + hop;
      }
    }
    double prefix = 0, lastOut = 0;
    double slowest = 0, sinceSlowest = 0, reachSlowest = 0;
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const double own = out(reversed, rank, last);
      const double reach = first[r];
      // All forwards of a rank on the way dwelt on, then straight down.
      double allDone = prefix + outAll(reversed, rank) - own;
      if (microBatches_ <= group_) allDone = std::max(allDone, reach + static_cast<double>(group_ - 1) * own);
      arrival[r] = rank == 0 ? allDone : std::max(arrival[r - 1] + lastOut + hop, allDone);
      if (rank == 0 || own > slowest) {
        slowest = own;
        reachSlowest = reach;
        sinceSlowest = own;
      } else {
        sinceSlowest += hop + own;
      }
      const std::int64_t warm = warmUp(rank);
      if (warm >= total_) {
        entry[r] = arrival[r] + own;
      } else {
        // From the first micro-batch's last chunk on: the rank's own runs up to the last one before its first backward,
        // or those of the slowest rank on the way, if all are of that chunk.
        const std::int64_t extra = warm - last * group;
        double earlier = 0;
        for (std::int64_t chunk = 0; chunk < last; ++chunk) earlier += out(reversed, rank, chunk);
        entry[r] = reach + opening(reversed, rank) - static_cast<double>(group) * earlier;
        if (extra < group)
          entry[r] = std::max(entry[r], reachSlowest + static_cast<double>(extra) * slowest + sinceSlowest);
      }
      prefix += out(reversed, rank, 0) + hop;
      lastOut = own;
    }
    for (std::int64_t rank = ranks_ - 1; rank >= 0; --rank) {
      const auto r = static_cast<std::size_t>(rank);
      if (rank + 1 < ranks_) entry[r] = std::max(entry[r], entry[r + 1] + hop);
      entry[r] += back(reversed, rank, last);
    }
  }

  PathTimes times_;
  std::int64_t ranks_, chunks_, microBatches_, total_, group_;
  PerRank entry_, exit_, arrival_, departure_;
};

// The same for ZB-H1 and ZB-2p, where the weight gradients of a rank come `lag` backwards late.
class ZeroBubblePaths {
 public:
  explicit ZeroBubblePaths(const PathTimes& times)
      : times_(times),
        ranks_(times.shape.ranks),
        microBatches_(times.shape.microBatches),
        overlapsSteps_(times.shape.schedule == Schedule::ZeroBubble2p) {}

  double span() {
    const std::int64_t m = microBatches_;
    const double hop = times_.latency;
    // entry[r]: end of the first backward on rank r. leave[r]: from the end of its last backward to the end of a step.
    double prefix = 0, reached = 0, slowest = 0, reachSlowest = 0, sinceSlowest = 0;
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const double own = forward(rank);
      const double count = static_cast<double>(std::min(warmUp(rank), m - 1));
      arrival_[r] = prefix + static_cast<double>(m - 1) * own;
      if (rank > 0) arrival_[r] = std::max(arrival_[r], arrival_[r - 1] + forward(rank - 1) + hop);
      reached = prefix;
      if (rank == 0 || own > slowest) {
        slowest = own;
        reachSlowest = reached;
        sinceSlowest = own;
      } else {
        sinceSlowest += hop + own;
      }
      entry_[r] = std::max(reached + count * own + own, reachSlowest + count * slowest + sinceSlowest);
      const double tail = static_cast<double>(std::min(lag(rank) + 1, m)) * weight(rank);
      leave_[r] = tail - (overlapsSteps_ ? prefix : 0.0);
      if (rank > 0) leave_[r] = std::max(leave_[r], hop + input(rank - 1) + leave_[r - 1]);
      prefix += own + hop;
    }
    double longest = 0, last = 0;  // last: from the start of the last forward on a rank to the end
    for (std::int64_t rank = ranks_ - 1; rank >= 0; --rank) {
      const auto r = static_cast<std::size_t>(rank);
      if (rank + 1 < ranks_) entry_[r] = std::max(entry_[r], entry_[r + 1] + hop);
      entry_[r] += input(rank);
      const std::int64_t warm = warmUp(rank);
      const std::int64_t closing =
          std::max<std::int64_t>(0, m - 1 - warm);  // the backward that follows the last forward
      const double local =
          forward(rank) + static_cast<double>(m - closing) * input(rank) + weights(rank, closing, m - 1) + leave_[r];
      last = rank + 1 < ranks_ ? std::max(local, forward(rank) + hop + last) : local;
      longest = std::max(longest, arrival_[r] + last);
      longest =
          std::max(longest, entry_[r] + static_cast<double>(m - 1) * input(rank) + weights(rank, 0, m - 1) + leave_[r]);
      const std::int64_t middle = m - 2 - warm;
      if (middle >= 0) {
        longest = std::max(longest, entry_[r] + static_cast<double>(middle) * (forward(rank) + input(rank)) +
                                        weights(rank, 0, middle + 1) + last);
      }
    }
    return longest;
  }

 private:
  double forward(std::int64_t rank) const { return times_.forward(rank, 0); }
  double input(std::int64_t rank) const { return times_.input(rank, 0); }
  double weight(std::int64_t rank) const { return times_.weight(rank, 0); }
  std::int64_t lag(std::int64_t rank) const { return overlapsSteps_ ? 2 * rank : rank; }
  std::int64_t warmUp(std::int64_t rank) const {
    return warmUpForwards(times_.shape.schedule, ranks_, rank, 1, microBatches_);
  }
  // Weight gradients that follow the backwards from, ..., to - 1 of a rank.
  double weights(std::int64_t rank, std::int64_t from, std::int64_t to) const {
    return static_cast<double>(std::max<std::int64_t>(0, to - std::max(from, lag(rank)))) * weight(rank);
  }

  PathTimes times_;
  std::int64_t ranks_, microBatches_;
  bool overlapsSteps_;
  PerRank entry_, arrival_, leave_;
};

}  // namespace

namespace {

// Identical jobs through machines in a row: one passes all, the others follow at the pace of the slowest. All forwards
// come before the last rank's first backward.
double gpipeSpan(const PathTimes& times) {
  const std::int64_t ranks = times.shape.ranks;
  double sum = 0, slowestForward = 0, slowestBackward = 0;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    sum += times.forward(rank, 0) + times.backward(rank, 0);
    slowestForward = std::max(slowestForward, times.forward(rank, 0));
    slowestBackward = std::max(slowestBackward, times.backward(rank, 0));
  }
  return sum + 2 * static_cast<double>(ranks - 1) * times.latency +
         static_cast<double>(times.shape.microBatches - 1) * (slowestForward + slowestBackward);
}

// Bubbles of the zero-bubble schedules on uniform chunks. Each form is the length of one path less the work of a rank;
// which of them is longest depends on the ratio of forward F, input gradient B and weight gradient W.

// ZB-H1: (p - 1)(F + B - W) in arXiv 2401.10241, table 1, and in DeepSeek-V3 (arXiv 2412.19437, table 2, whose B
// includes W); that is where W <= F and W <= B. With m < p fewer weight gradients fill it.
double zeroBubbleH1Bubble(double p, double m, double f, double b, double w) {
  const double n = p - 1, missing = std::max(0.0, p - m);
  return std::max({n * f + missing * b, missing * f + n * b, n * (f + b) - std::min(n, m - 1) * w});
}

// ZB-2p with m >= 2p - 1: (p - 1)(F + B - 2W) in arXiv 2401.10241, table 1, never below zero. The last rank's first
// backward reaches the first rank late where B > F.
double zeroBubble2pBubble(double p, double f, double b, double w) {
  const double n = p - 1;
  return std::max({0.0, n * (b - f), n * (f + b - 2 * w)});
}

// ZB-V: zero where F = B = W and m >= 2p - 1 (arXiv 2405.15362). `e` counts micro-batches past p, up to p - 1. The
// paths were read off the simulation.
double zeroBubbleVBubble(double p, double m, double f, double b, double w) {
  const double n = p - 1;
  if (n == 0) return 0;
  if (m <= p) {
    const double d = p - m;
    return std::max({2 * (d * f + n * b), (n + d) * (f + b), 2 * n * f + (3 * d - n) * b - (n - d) * w,
                     2 * (n * f + d * b - (n - d) * w)});
  }
  const double e = std::min(m - p, n);
  const double oneShort = e == n - 1 ? std::max((n - 3) * (w - f) + b, e * f - (e - 2) * b - w) : 0.0;
  return std::max({0.0, oneShort, 2 * (n - e) * b, 2 * n * b - 2 * e * w, (n - e) * (f + b),
                   (n + e - 1) * f + (n - e + 1) * b - 2 * e * w, (n + e) * f + (n - 2 * e) * b - e * w,
                   (n + e) * f + (n - e) * b - (2 * e + 1) * w, n * (2 * f - b - w),
                   2 * n * f - e * b - (2 * n - e) * w, 2 * n * f - (2 * n + 1) * w,
                   -n * f + (n + 1 - e) * b + (e - 1) * w, (e - 1) * (w - f),
                   -e * f + (2 * n + 1 - 2 * e) * b + (2 * e - n - 1) * w, -e * f + (2 * n - e) * b - (n - e) * w,
                   (e - 1) * (f - b)});
}

// DualPipeV with m >= 2p. DeepSeek (arXiv 2412.19437, table 2, and the DualPipe repository) states
// (p - 1)(F&B + B - 3W) for p ranks with two chunks each, where B includes W: with F&B = F + B that is
// (p - 1)(F + 2B - W) in our terms, one F more than the first of these, because the last rank's first pair runs apart.
double dualPipeBubble(double p, double f, double b, double w) {
  const double n = p - 1;
  if (n == 0) return 0;
  return std::max({(n - 1) * f + n * (2 * b - w), 2 * n * f, n * (2 * f + b - w), (n - 1) * f + n * b});
}

double vBubble(Schedule schedule, double p, double m, double f, double b, double w) {
  return schedule == Schedule::DualPipe ? dualPipeBubble(p, f, b, w) : zeroBubbleVBubble(p, m, f, b, w);
}

// Busiest rank and the bubble of the mean chunk. Sends count like longer tasks where they cannot hide: in the bubble,
// and with blocking sends in the work.
double vSpan(const PathTimes& times) {
  const PipelineShape& shape = times.shape;
  double busiest = 0, f = 0, b = 0, w = 0;
  for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
    double busy = 0;
    for (std::int64_t chunk = 0; chunk < 2; ++chunk) {
      const ChunkTimes& own = times.at(rank, chunk);
      f += own.forward;
      b += own.backwardInput;
      w += own.backwardWeight;
      busy += own.forward + own.backwardInput + own.backwardWeight;
      // Each chunk sends both ways, but for the turn between the last rank's chunks and the ends on the first rank.
      busy += (rank == 0 ? 1.0 : 2.0) * times.hold - (rank == shape.ranks - 1 ? times.hold : 0.0);
    }
    busiest = std::max(busiest, busy);
  }
  const double chunks = static_cast<double>(2 * shape.ranks);
  const double hop = shape.ranks > 1 ? shape.sendSeconds : 0.0;
  const double m = static_cast<double>(shape.microBatches);
  return m * busiest +
         vBubble(shape.schedule, static_cast<double>(shape.ranks), m, f / chunks + hop, b / chunks + hop, w / chunks);
}

double pathSpan(const PathTimes& times) {
  switch (times.shape.schedule) {
    case Schedule::GPipe:
      return gpipeSpan(times);
    case Schedule::OneForwardOneBackward:
    case Schedule::Interleaved:
      return OneForwardOneBackwardPaths(times).span();
    case Schedule::ZeroBubbleH1:
    case Schedule::ZeroBubble2p:
      return ZeroBubblePaths(times).span();
    case Schedule::ZeroBubbleV:
    case Schedule::DualPipe:
      return vSpan(times);
  }
  return 0;
}

}  // namespace

double pipelineSpan(const PipelineShape& shape) {
  if (!isWellFormed(shape)) return 0;
  if (shape.ranks > kMaxRanks) return simulatePipeline(shape).span;
  return pathSpan(PathTimes(shape, nullptr));
}

double uniformPipelineSpan(Schedule schedule, std::int64_t ranks, std::int64_t virtualStages, std::int64_t microBatches,
                           const ChunkTimes& chunk, double sendSeconds, bool asyncSend) {
  const double p = static_cast<double>(ranks), v = static_cast<double>(virtualStages);
  const double m = static_cast<double>(microBatches);
  const double f = chunk.forward, b = chunk.backwardInput, w = chunk.backwardWeight;
  const double all = f + b + w;
  if (sendSeconds == 0) {
    switch (schedule) {
      case Schedule::GPipe:
      case Schedule::OneForwardOneBackward:
        return (m + p - 1) * all;
      case Schedule::Interleaved:  // Narayanan et al. arXiv 2104.04473, section 2.2; m < p leaves gaps between chunks
        return (std::max(m, p) * (v - 1) + m + p - 1) * all;
      case Schedule::ZeroBubbleH1:
        return m * all + zeroBubbleH1Bubble(p, m, f, b, w);
      case Schedule::ZeroBubble2p:
        if (m >= 2 * p - 1) return m * all + zeroBubble2pBubble(p, f, b, w);
        break;
      case Schedule::ZeroBubbleV:
      case Schedule::DualPipe:
        return 2 * m * all + vBubble(schedule, p, m, f, b, w);
    }
  }
  PipelineShape shape;
  shape.schedule = schedule;
  shape.ranks = ranks;
  shape.virtualStages = virtualStages;
  shape.microBatches = microBatches;
  shape.sendSeconds = sendSeconds;
  shape.asyncSend = asyncSend;
  if (ranks > kMaxRanks) {
    shape.chunks.assign(static_cast<std::size_t>(ranks * virtualStages), chunk);
    return simulatePipeline(shape).span;
  }
  return pathSpan(PathTimes(shape, &chunk));
}

}  // namespace meshwise
