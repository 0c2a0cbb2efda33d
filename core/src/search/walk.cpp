// How a search goes through its space: what breaks a rule is counted, what needs too much memory is left out.
#include <algorithm>
#include <array>

#include "search/search_state.h"

namespace meshwise {
namespace {

// Kinds of context parallelism, sequence parallelism off and on, recomputations.
constexpr std::size_t kWorkShapes = 2 * 2 * 3;

std::int64_t bitCount(unsigned bits) {
  std::int64_t count = 0;
  for (; bits != 0; bits &= bits - 1) ++count;
  return count;
}

}  // namespace

// Settles the blocks that break a rule as a whole and lines up the others.
void Search::State::openBlocks() {
  const std::vector<Block>& blocks = space.blocks();
  std::vector<std::uint32_t> row;  // open blocks with the same tensor and context
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& b = blocks[i];
    choose(b, strategy);
    strategy.microBatchSequences = space.microBatches()[b.microBatches.begin];
    brokenBlocks.push_back(rules.check(Level::Block, strategy, RuleLevels::kNone));
    if (rules.settled(brokenBlocks[i], Level::Block)) {
      remove(brokenBlocks[i], space.sizeOf(b));
    } else {
      row.push_back(static_cast<std::uint32_t>(i));
    }
    const bool rowEnds =
        i + 1 == blocks.size() || blocks[i + 1].tensor != b.tensor || blocks[i + 1].context != b.context;
    if (!rowEnds) continue;
    for (std::size_t option = b.experts.begin; option < b.experts.end; ++option) {
      for (const std::uint32_t open : row) visits.push_back({open, static_cast<std::uint32_t>(option)});
    }
    row.clear();
  }
}

void Search::State::remove(int rule, std::int64_t strategies) {
  removedByRule[static_cast<std::size_t>(rule)] += strategies;
}

// True when nothing below the choices of this level has to be looked at; when counting, its strategies are then
// removed.
bool Search::State::skips(bool counting, int broken, Level level, std::int64_t strategies) {
  if (broken == RuleLevels::kNone) return false;
  if (!counting) return true;
  if (!rules.settled(broken, level)) return false;
  remove(broken, strategies);
  ++looked;
  return true;
}

// Moves to the next group that has to be looked at; false at the end of the space. When counting, the parts in between,
// which break a rule as a whole, are removed.
bool Search::State::nextGroup(bool counting) {
  for (; visit < visits.size(); ++visit, entered = false) {
    block = visits[visit].block;
    expert = visits[visit].expert;
    const Block& b = space.blocks()[block];
    if (!entered) {
      choose(b, strategy);
      choose(space.experts()[expert], strategy);
      brokenExpert = rules.check(Level::Expert, strategy, brokenBlocks[block]);
      if (skips(counting, brokenExpert, Level::Expert, space.sizePerExpert(b))) continue;
      pipeline = b.pipelines.begin;
      entered = true;
    } else {
      ++pipeline;
    }
    for (; pipeline < b.pipelines.end; ++pipeline) {
      choose(space.pipelines()[pipeline], strategy);
      brokenPipeline = rules.check(Level::Pipeline, strategy, brokenExpert);
      if (!skips(counting, brokenPipeline, Level::Pipeline, space.sizePerPipeline(b))) return true;
    }
  }
  return false;
}

void Search::State::chooseLast(std::int64_t bit) {
  const std::int64_t placements = space.blocks()[block].placementChoices;
  strategy.zeroStage = space.zeroStages()[static_cast<std::size_t>(bit / placements)];
  choosePlacement(bit % placements, strategy);
}

// The ZeRO stages and placements that break no rule, one bit each.
unsigned Search::State::legalLast(bool counting, int broken) {
  const Block& b = space.blocks()[block];
  unsigned legal = 0;
  for (std::int64_t zero = 0; zero < b.zeroChoices; ++zero) {
    chooseLast(zero * b.placementChoices);
    const int brokenZero = rules.check(Level::Zero, strategy, broken);
    if (rules.settled(brokenZero, Level::Zero)) {
      if (counting) remove(brokenZero, b.placementChoices);
      continue;
    }
    for (std::int64_t placement = 0; placement < b.placementChoices; ++placement) {
      choosePlacement(placement, strategy);
      const int brokenLast = rules.check(Level::Placement, strategy, brokenZero);
      if (brokenLast == RuleLevels::kNone) {
        legal |= 1u << (zero * b.placementChoices + placement);
      } else if (counting) {
        remove(brokenLast, 1);
      }
    }
  }
  return legal;
}

// Calls use(work) for each piece of work of the current group with at least one legal strategy. When counting, all
// strategies that break a rule are removed on the way.
template <class Use>
void Search::State::forEachWork(bool counting, Use use) {
  const Block& b = space.blocks()[block];
  Work work;
  for (std::size_t batch = b.microBatches.begin; batch < b.microBatches.end; ++batch) {
    strategy.microBatchSequences = space.microBatches()[batch];
    work.microBatch = static_cast<std::uint32_t>(batch);
    const int brokenBatch = rules.check(Level::MicroBatch, strategy, brokenPipeline);
    if (skips(counting, brokenBatch, Level::MicroBatch, space.sizePerMicroBatch(b))) continue;
    for (std::int64_t kind = 0; kind < b.contextKindChoices; ++kind) {
      chooseContextKind(kind, strategy);
      work.contextKind = static_cast<std::uint8_t>(kind);
      const int brokenKind = rules.check(Level::ContextKind, strategy, brokenBatch);
      if (skips(counting, brokenKind, Level::ContextKind, space.sizePerContextKind(b))) continue;
      for (std::int64_t sequence = 0; sequence < b.sequenceParallelChoices; ++sequence) {
        strategy.sequenceParallel = sequence != 0;
        work.sequenceParallel = static_cast<std::uint8_t>(sequence);
        const int brokenSequence = rules.check(Level::SequenceParallel, strategy, brokenKind);
        if (skips(counting, brokenSequence, Level::SequenceParallel, space.sizePerSequenceParallel(b))) continue;
        for (std::size_t recompute = 0; recompute < space.recomputes().size(); ++recompute) {
          choose(space.recomputes()[recompute], strategy);
          work.recompute = static_cast<std::uint8_t>(recompute);
          const int brokenRecompute = rules.check(Level::Recompute, strategy, brokenSequence);
          if (skips(counting, brokenRecompute, Level::Recompute, space.sizePerRecompute(b))) continue;
          looked += space.sizePerRecompute(b);
          work.legal = static_cast<std::uint8_t>(legalLast(counting, brokenRecompute));
          if (work.legal != 0) use(work);
        }
      }
    }
  }
}

// Fills `works` with what passes the memory bound, and bounds its time. The micro-batches come in ascending order:
// where one needs too much by the bound for larger ones too, these need not be priced.
void Search::State::collect(bool counting) {
  works.clear();
  worksStrategies = 0;
  std::array<unsigned, kWorkShapes> hopeless{};  // ZeRO stages and placements, one bit each
  const Block& b = space.blocks()[block];
  const unsigned placements = (1u << b.placementChoices) - 1;
  forEachWork(counting, [&](Work& work) {
    unsigned& lost =
        hopeless[static_cast<std::size_t>((work.contextKind * 2 + work.sequenceParallel) * 3) + work.recompute];
    unsigned kept = 0;
    for (std::int64_t zero = 0; zero < b.zeroChoices; ++zero) {
      const unsigned both = placements << (zero * b.placementChoices);
      if ((work.legal & both & ~lost) == 0) continue;
      chooseLast(zero * b.placementChoices);
      if (estimator.memoryLowerBoundBytes(strategy) <= capacityBytes) {
        kept |= work.legal & both;
      } else if (estimator.memoryFloorBytes(strategy) > capacityBytes) {
        lost |= both;
      }
    }
    if (counting) {
      removedByMemory += bitCount(work.legal & ~kept);
    }
    if (kept == 0) return;
    work.legal = static_cast<std::uint8_t>(kept);
    work.leastSeconds = estimator.stepSecondsLowerBound(strategy);
    worksStrategies += bitCount(kept);
    works.push_back(work);
  });
}

void Search::State::closestGroup() {
  forEachWork(false, [&](const Work& work) {
    for (std::int64_t bit = 0; bit < 8; ++bit) {
      if ((work.legal & (1u << bit)) == 0) continue;
      chooseLast(bit);
      if (closest.full() && !closest.empty() && estimator.memoryLowerBoundBytes(strategy) > closest.worst().peakBytes) {
        continue;
      }
      const Estimate estimate = estimator.estimate(strategy);
      closest.offer({estimate.stepSeconds, estimate.memory.peakBytes, strategy});
    }
  });
}

}  // namespace meshwise
