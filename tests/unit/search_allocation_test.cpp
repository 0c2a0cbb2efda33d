// The hot loop of the search does not allocate: the number of allocations does not grow with the strategies.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>

#include "meshwise/search.h"

#if defined(__SANITIZE_ADDRESS__)
#define MESHWISE_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MESHWISE_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef MESHWISE_COUNTS_ALLOCATIONS
#define MESHWISE_COUNTS_ALLOCATIONS 1
#endif

#if MESHWISE_COUNTS_ALLOCATIONS
namespace {
std::int64_t allocations = 0;
}

// The sanitizers bring their own operators; elsewhere these count for the whole test program.
void* operator new(std::size_t size) {
  ++allocations;
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace meshwise {
namespace {

TEST(SearchAllocations, DoNotGrowWithTheStrategies) {
  Request request;
  Model& model = request.model;
  model.layers = 48;
  model.hidden = 4096;
  model.heads = 32;
  model.kvHeads = 32;
  model.headDim = 128;
  model.ffn = 16384;
  model.vocab = 32000;
  Accelerator& chip = request.cluster.accelerator;
  chip.matrixFlopsPerSecond = {19.5e12, 156e12, 312e12, 312e12, 0, 0};
  chip.vectorFlopsPerSecond = 19.5e12;
  chip.memoryBytes = 80e9;
  chip.memoryBytesPerSecond = 2e12;
  chip.computeUnits = 108;
  chip.scaleUpBytesPerSecond = 300e9;
  request.cluster.devices = 256;
  request.cluster.networkBytesPerSecondPerDevice = 25e9;
  request.job.sequenceLength = 2048;
  request.job.globalBatchSequences = 768;
  request.software.launcher = Launcher::None;

  Search search(request);
  const std::int64_t before = allocations;
  search.step(std::numeric_limits<std::int64_t>::max());
  const std::int64_t during = allocations - before;
  const SearchReport report = search.result().report;
  std::int64_t bounded = report.evaluated;
  for (const RemovedCount& removed : report.removed) {
    if (removed.rule.rfind("search.", 0) == 0) bounded += removed.count;
  }
  EXPECT_GT(bounded, 200000);
  // Left are the cut of each pipeline shape, once, and the pages of the memo up to its fixed size.
  EXPECT_LT(during, 2000);
}

}  // namespace
}  // namespace meshwise
#endif
