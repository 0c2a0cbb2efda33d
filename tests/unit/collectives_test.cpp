// Collectives against alpha-beta-gamma costs worked by hand.
#include "collectives/collectives.h"

#include <gtest/gtest.h>

namespace meshwise {
namespace {

// 64 devices in nodes of 8: 100 GB/s inside, 10 GB/s out, everything achieved, reductions free.
Cluster cluster() {
  Cluster c;
  c.devices = 64;
  c.devicesPerNode = 8;
  c.networkBytesPerSecondPerDevice = 10e9;
  Accelerator& a = c.accelerator;
  a.scaleUpDomain = 8;
  a.scaleUpBytesPerSecond = 100e9;
  a.memoryBytesPerSecond = 1e12;
  a.efficiency.memoryFraction = 1;
  a.efficiency.scaleUpFraction = a.efficiency.scaleOutFraction = 1;
  a.efficiency.scaleUpLatencySeconds = 1e-6;
  a.efficiency.scaleOutLatencySeconds = 1e-5;
  a.efficiency.scaleOutGrowth = 0;
  return c;
}

TEST(Groups, KnowWhereTheirMembersSit) {
  const Cluster c = cluster();
  const Network network(c);
  EXPECT_EQ(network.group(1, 8).domains, 1);    // tensor 8 fills a node
  EXPECT_EQ(network.group(8, 8).perDomain, 1);  // data ranks 8 apart: one in each node
  EXPECT_EQ(network.group(8, 8).domains, 8);
  EXPECT_EQ(network.group(2, 16).perDomain, 4);  // every second device: four in each of four nodes
  EXPECT_EQ(network.group(2, 16).domains, 4);
}

// 8 members, 80 MB: each half moves 7/8 of it at 100 GB/s, 0.7 ms, and log2(8) = 3 steps of 1 us. The reduction reads
// 70 MB at 1 TB/s.
TEST(AllReduce, InsideANode) {
  const Cluster c = cluster();
  const Network network(c);
  const CollectiveCost cost = network.allReduce(network.group(1, 8), 80e6);
  EXPECT_NEAR(cost.seconds, 2 * (0.7e-3 + 3e-6), 1e-12);
  EXPECT_NEAR(cost.reductionSeconds, 70e-6, 1e-12);
  EXPECT_NEAR(network.allGather(network.group(1, 8), 80e6).total(), 0.7e-3 + 3e-6, 1e-12);
}

// One member in each of 8 nodes: 7/8 of 80 MB at 10 GB/s, and 3 steps of 10 us.
TEST(AllGather, BetweenNodes) {
  const Cluster c = cluster();
  const Network network(c);
  EXPECT_NEAR(network.allGather(network.group(8, 8), 80e6).total(), 7e-3 + 3e-5, 1e-12);
}

// A full mesh of 8: a group of 2 has one of the seven links, 100/7 GB/s, and one step whatever its size.
TEST(FullMesh, AGroupHasTheLinksBetweenItsMembers) {
  Cluster c = cluster();
  c.accelerator.scaleUpTopology = Topology::FullMesh;
  const Network network(c);
  EXPECT_NEAR(network.allGather(network.group(1, 2), 80e6).total(), 40e6 / (100e9 / 7) + 1e-6, 1e-12);
  EXPECT_NEAR(network.allGather(network.group(1, 8), 80e6).total(), 70e6 / 100e9 + 1e-6, 1e-12);
}

// 16 members in two nodes, 160 MB each: 7/16 stay inside at 100 GB/s, 8/16 leave at 10 GB/s; both tiers at once.
TEST(AllToAll, TheSlowerTierSetsThePace) {
  const Cluster c = cluster();
  const Network network(c);
  EXPECT_NEAR(network.allToAll(network.group(1, 16), 160e6).seconds, 8e-3 + 1e-6 + 1.1e-5, 1e-12);
  // copies for one node travel once: half of the traffic between nodes is left
  EXPECT_NEAR(network.allToAll(network.group(1, 16), 160e6, 0.5).seconds, 4e-3 + 1e-6 + 1.1e-5, 1e-12);
}

TEST(Collectives, CostNothingAloneAndNeverSlowDownOnAFasterNetwork) {
  const Cluster c = cluster();
  const Network network(c);
  EXPECT_EQ(network.allReduce(network.group(1, 1), 1e9).total(), 0);
  EXPECT_EQ(network.allToAll(network.group(1, 1), 1e9).total(), 0);
  Cluster faster = cluster();
  faster.networkBytesPerSecondPerDevice *= 2;
  const Network better(faster);
  for (const double stride : {1.0, 2.0, 8.0}) {
    for (const double members : {2.0, 4.0, 6.0, 8.0}) {
      EXPECT_LE(better.allReduce(better.group(stride, members), 1e8).total(),
                network.allReduce(network.group(stride, members), 1e8).total());
    }
  }
}

}  // namespace
}  // namespace meshwise
