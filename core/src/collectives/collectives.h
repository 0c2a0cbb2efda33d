// Collectives by topology: alpha-beta-gamma costs over one or two tiers. Private to the core.
#pragma once

#include "meshwise/plan.h"

namespace meshwise {

// Where the members of a group sit. Ranks are numbered innermost first; a group takes every stride-th rank.
struct Group {
  double members = 1;
  double perDomain = 1;  // members that share one scale-up domain
  double domains = 1;    // scale-up domains that the group touches
  bool crossesLeaf = false;
};

struct CollectiveCost {
  double seconds = 0;           // transfers and latencies
  double reductionSeconds = 0;  // arithmetic inside (the paper's TAT and TAD)
  double total() const { return seconds + reductionSeconds; }
};

class Network {
 public:
  explicit Network(const Cluster& cluster);

  Group group(double stride, double members) const;

  // `bytes`: size of the whole vector before sharding, on each member.
  CollectiveCost allReduce(const Group& group, double bytes) const;
  CollectiveCost reduceScatter(const Group& group, double bytes) const;
  CollectiveCost allGather(const Group& group, double bytes) const;
  // `bytes`: what each member holds and redistributes. `betweenShare`: part of the traffic between domains that is left
  // when copies for one domain travel once.
  CollectiveCost allToAll(const Group& group, double bytes, double betweenShare = 1) const;
  // One message to the rank `stride` further on.
  double pointToPoint(double stride, double bytes) const;

 private:
  double scaleUpRate(double members) const;  // bytes/s of one member, one direction
  double scaleOutRate(const Group& group) const;
  // One half of an all-reduce: everything is moved once.
  double halfSeconds(const Group& group, double bytes) const;

  const Cluster& cluster_;
  const Efficiency& efficiency_;
  double domain_ = 1;
  double reductionRate_ = 0;
};

}  // namespace meshwise
