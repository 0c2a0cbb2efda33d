// Fits the few constants of the presets on published runs, and states the error on the groups left out.
//
//   meshwise_fit CATALOGUE.json RUNS.json [--families a,b] [--rounds N] [--all] [--rows] > result.json
//
// Groups are split in two halves by a hash of their name: one half fits, the other only scores. --all fits on every
// group (for the constants that ship once the split has shown that they hold). Deterministic: no clock, no randomness.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <nlopt.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "meshwise/estimate.h"
#include "meshwise/rules.h"
#include "meshwise_codec/catalogue.h"
#include "meshwise_codec/runs.h"

namespace {

using nlohmann::json;
using namespace meshwise;

// One constant that may move: where it lives and its physical bounds.
struct Knob {
  const char* name;
  double Efficiency::*efficiency = nullptr;
  double Software::*software = nullptr;
  double lower, upper;
  // Weight of the prior: above 1 for constants that operators or links were measured for alone.
  double pull = 1;
};

const Knob kEfficiencyKnobs[] = {
    {"matrixFraction", &Efficiency::matrixFraction, nullptr, 0.45, 0.98, 60},
    {"matrixFractionFp8", &Efficiency::matrixFractionFp8, nullptr, 0.30, 0.95},
    {"matrixFractionFp4", &Efficiency::matrixFractionFp4, nullptr, 0.20, 0.90},
    {"matrixRampK", &Efficiency::matrixRampK, nullptr, 20, 1500, 3},
    {"attentionForward", &Efficiency::attentionForward, nullptr, 0.20, 0.85, 20},
    {"attentionBackward", &Efficiency::attentionBackward, nullptr, 0.15, 0.80, 20},
    {"memoryFraction", &Efficiency::memoryFraction, nullptr, 0.65, 0.95},
    {"kernelSeconds", &Efficiency::kernelSeconds, nullptr, 1e-6, 6e-6},
    {"launchSeconds", &Efficiency::launchSeconds, nullptr, 1e-6, 4e-5},
    {"scaleUpFraction", &Efficiency::scaleUpFraction, nullptr, 0.30, 0.95, 5},
    {"scaleUpLatencySeconds", &Efficiency::scaleUpLatencySeconds, nullptr, 1e-6, 4e-5, 3},
    {"scaleOutFraction", &Efficiency::scaleOutFraction, nullptr, 0.20, 0.95},
    {"scaleOutLatencySeconds", &Efficiency::scaleOutLatencySeconds, nullptr, 3e-6, 1e-4},
    {"scaleOutGrowth", &Efficiency::scaleOutGrowth, nullptr, 0.005, 0.5, 0.2},
    {"overlapContention", &Efficiency::overlapContention, nullptr, 0.01, 0.6},
    {"stepSeconds", &Efficiency::stepSeconds, nullptr, 1e-3, 0.02, 0.3},
    {"jitterFraction", &Efficiency::jitterFraction, nullptr, 1e-3, 0.05, 0.1},
};
const Knob kSoftwareKnobs[] = {
    {"launchFactor", nullptr, &Software::launchFactor, 0.2, 8.0},
    {"launchSpreadFraction", nullptr, &Software::launchSpreadFraction, 0.01, 1.0, 0.2},
    {"vectorFactor", nullptr, &Software::vectorFactor, 0.7, 5.0},
};

// Accelerators that share their constants.
std::string generationOf(const std::string& id) {
  const auto starts = [&](const char* p) { return id.rfind(p, 0) == 0; };
  if (starts("a100") || starts("a800")) return "a100";
  if (starts("h100") || starts("h800") || starts("h200") || starts("gh200")) return "h100";
  if (starts("b200") || starts("b300") || starts("gb200") || starts("gb300")) return "b200";
  if (starts("ascend-910b")) return "ascend-910b";
  return id;
}

struct Row {
  std::string id, family, group, generation, profile;
  Request request;
  Strategy strategy;
  double measured = 0;  // seconds per step
  bool fitted = false;
  double predicted = 0;
};

std::uint64_t hash(const std::string& text) {
  std::uint64_t h = 1469598103934665603ull;
  for (const unsigned char c : text) h = (h ^ c) * 1099511628211ull;
  return h ^ (h >> 31);
}

// A constant counts as seen by the runs when moving it by a fifth changes the loss by more than this.
constexpr double kSeenChange = 0.0003;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

double percentile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(q * static_cast<double>(values.size())))];
}

struct Model0 {
  std::map<std::string, std::map<std::string, double>> efficiency;  // generation -> constant -> value
  std::map<std::string, std::map<std::string, double>> software;    // profile -> constant -> value
};

void apply(const Model0& values, Row& row) {
  const auto e = values.efficiency.find(row.generation);
  if (e != values.efficiency.end()) {
    for (const Knob& k : kEfficiencyKnobs) {
      const auto it = e->second.find(k.name);
      if (it != e->second.end()) row.request.cluster.accelerator.efficiency.*(k.efficiency) = it->second;
    }
  }
  const auto s = values.software.find(row.profile);
  if (s != values.software.end()) {
    for (const Knob& k : kSoftwareKnobs) {
      const auto it = s->second.find(k.name);
      if (it != s->second.end()) row.request.software.*(k.software) = it->second;
    }
  }
}

double predict(Row& row) { return row.predicted = estimateStrategy(row.request, row.strategy).stepSeconds; }

// Mean over families of the mean smooth absolute log error; families count alike.
double loss(std::vector<Row*>& rows, const Model0& values) {
  std::map<std::string, std::pair<double, double>> byFamily;
  for (Row* row : rows) {
    apply(values, *row);
    const double error = std::log(predict(*row) / row->measured);
    // rows of one large group weigh less each
    auto& f = byFamily[row->family];
    f.first += std::sqrt(error * error + 1e-4);
    f.second += 1;
  }
  double sum = 0;
  for (const auto& [name, f] : byFamily) sum += f.first / f.second;
  return byFamily.empty() ? 0 : sum / static_cast<double>(byFamily.size());
}

std::string readFile(const char* path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr,
                 "usage: meshwise_fit CATALOGUE.json RUNS.json [--families a,b] [--rounds N] [--all] [--rows]\n");
    return 2;
  }
  std::set<std::string> families;
  int rounds = 2;
  std::size_t effort = 60;  // evaluations per constant and round
  bool all = false, listRows = false;
  for (int i = 3; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--all")) all = true;
    if (!std::strcmp(argv[i], "--rows")) listRows = true;
    if (!std::strcmp(argv[i], "--rounds") && i + 1 < argc) rounds = std::atoi(argv[++i]);
    if (!std::strcmp(argv[i], "--effort") && i + 1 < argc)
      effort = static_cast<std::size_t>(std::max(1, std::atoi(argv[++i])));
    if (!std::strcmp(argv[i], "--families") && i + 1 < argc) {
      std::stringstream list(argv[++i]);
      for (std::string name; std::getline(list, name, ',');) families.insert(name);
    }
  }
  const auto catalogue = loadCatalogue(readFile(argv[1]));
  if (!catalogue.ok()) {
    for (const Issue& issue : catalogue.issues)
      std::fprintf(stderr, "%s %s\n", issue.path.c_str(), issue.message.c_str());
    return 2;
  }
  const json runs = json::parse(readFile(argv[2]));
  std::vector<Row> rows;
  int refused = 0;
  for (const json& run : runs) {
    const std::string grade = run.value("grade", "A");
    if (grade != "A" && grade != "B") continue;
    Row row;
    row.family = run.value("family", "");
    if (!families.empty() && !families.count(row.family)) continue;
    row.group = run.value("group", row.family);
    const auto decoded = decodeRun(run.dump(), catalogue.value);
    const json measured = run.value("measured", json::object());
    const auto number = [&](const char* key) {
      const auto it = measured.find(key);
      return it != measured.end() && it->is_number() ? it->get<double>() : 0.0;
    };
    double step = number("stepSeconds");
    const double rate = number("tokensPerSecondPerDevice");
    if (step <= 0 && rate <= 0 && row.family == "sc21" && decoded.ok() && number("source_tflops_per_device") > 0) {
      // arXiv 2104.04473, Eq. 3: hardware FLOP of a step with full recomputation
      const Request& r = decoded.value.document.request;
      const double b = static_cast<double>(r.job.globalBatchSequences), q = static_cast<double>(r.job.sequenceLength);
      const double l = static_cast<double>(r.model.layers), h = static_cast<double>(r.model.hidden);
      const double v = static_cast<double>(r.model.vocab);
      step = 96 * b * q * l * h * h * (1 + q / (6 * h) + v / (16 * l * h)) /
             (number("source_tflops_per_device") * 1e12 * static_cast<double>(r.cluster.devices));
    }
    if (step <= 0 && rate <= 0) continue;
    if (!decoded.ok()) {
      ++refused;
      continue;
    }
    row.id = decoded.value.id;
    row.request = decoded.value.document.request;
    row.strategy = decoded.value.document.strategy;
    const Job& job = row.request.job;
    row.measured = step > 0 ? step
                            : static_cast<double>(job.sequenceLength) * static_cast<double>(job.globalBatchSequences) /
                                  (rate * static_cast<double>(row.request.cluster.devices));
    row.generation = generationOf(row.request.cluster.accelerator.preset);
    row.profile = row.request.software.profile;
    row.fitted = all || hash(row.group) % 2 == 0;
    rows.push_back(std::move(row));
  }
  Model0 prior, values;
  for (const Row& row : rows) {
    for (const Knob& k : kEfficiencyKnobs) {
      prior.efficiency[row.generation].try_emplace(
          k.name, std::clamp(row.request.cluster.accelerator.efficiency.*(k.efficiency), k.lower, k.upper));
    }
    for (const Knob& k : kSoftwareKnobs) {
      prior.software[row.profile].try_emplace(k.name, std::clamp(row.request.software.*(k.software), k.lower, k.upper));
    }
  }
  values = prior;

  // A constant of the block that is being fitted: where its value and its prior live.
  struct Slot {
    double* value;
    double prior, lower, upper, pull;
  };
  const auto fitBlock = [&](std::vector<Row*> touched, const std::vector<Slot>& slots, int evaluations) {
    const std::size_t count = slots.size();
    if (touched.size() < 4 || count == 0) return;
    std::vector<double> lower(count), upper(count), start(count), centre(count);
    for (std::size_t i = 0; i < count; ++i) {
      lower[i] = std::log(slots[i].lower);
      upper[i] = std::log(slots[i].upper);
      start[i] = std::log(*slots[i].value);
      centre[i] = std::log(slots[i].prior);
    }
    const auto objective = [&](const std::vector<double>& x) {
      double pull = 0;
      for (std::size_t i = 0; i < count; ++i) {
        *slots[i].value = std::exp(x[i]);
        pull += slots[i].pull * (x[i] - centre[i]) * (x[i] - centre[i]);
      }
      // what the data do not see stays at its prior
      return loss(touched, values) + 0.004 * pull;
    };
    nlopt::opt optimizer(nlopt::LN_SBPLX, static_cast<unsigned>(count));
    using Function = std::function<double(const std::vector<double>&)>;
    Function function = objective;
    optimizer.set_min_objective([](const std::vector<double>& x, std::vector<double>&,
                                   void* data) { return (*static_cast<Function*>(data))(x); },
                                &function);
    optimizer.set_lower_bounds(lower);
    optimizer.set_upper_bounds(upper);
    optimizer.set_initial_step(0.1);
    optimizer.set_maxeval(evaluations);
    optimizer.set_xtol_rel(1e-4);
    double best = 0;
    std::vector<double> x = start;
    // A scan of each constant first: where a bound does not bind (host launches, say) the loss is flat around the
    // prior.
    double least = objective(x);
    for (std::size_t i = 0; i < count; ++i) {
      const std::vector<double> before = x;
      for (const double factor : {0.25, 0.5, 0.75, 1.33, 2.0, 4.0}) {
        std::vector<double> trial = before;
        trial[i] = std::clamp(before[i] + std::log(factor), lower[i], upper[i]);
        const double value = objective(trial);
        if (value < least) {
          least = value;
          x = trial;
        }
      }
    }
    optimizer.optimize(x, best);
    objective(x);
  };
  const auto addSlots = [](std::vector<Slot>& slots, std::map<std::string, double>& block,
                           const std::map<std::string, double>& priorBlock, const Knob* knobs, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      slots.push_back(
          {&block.at(knobs[i].name), priorBlock.at(knobs[i].name), knobs[i].lower, knobs[i].upper, knobs[i].pull});
    }
  };

  // A generation is fitted together with the profiles that run on it: host, vector and kernel costs trade off.
  // Profiles of one generation only are fitted with it; profiles that several generations run have blocks of their own.
  std::map<std::string, std::set<std::string>> generationsOf;
  for (const Row& row : rows) {
    if (row.fitted) generationsOf[row.profile].insert(row.generation);
  }
  // Constants that turned out not to be seen by the runs: back at their priors and out of the later rounds.
  std::set<const double*> frozen;
  const auto isSeen = [&](std::vector<Row*>& touched, const Slot& slot, double base) {
    const double value = *slot.value;
    double change = 0;
    for (const double factor : {1.2, 1 / 1.2}) {
      *slot.value = value * factor;
      change = std::max(change, std::fabs(loss(touched, values) - base));
    }
    *slot.value = value;
    return change > kSeenChange;
  };
  const auto freezeUnseen = [&](std::vector<Row*> touched, const std::vector<Slot>& slots) {
    if (touched.size() < 4) return;
    const double base = loss(touched, values);
    std::vector<const Slot*> unseen;
    for (const Slot& slot : slots) {
      if (!isSeen(touched, slot, base)) unseen.push_back(&slot);
    }
    for (const Slot* slot : unseen) {
      *slot->value = slot->prior;
      frozen.insert(slot->value);
    }
  };
  const auto active = [&](std::vector<Slot> slots) {
    slots.erase(
        std::remove_if(slots.begin(), slots.end(), [&](const Slot& slot) { return frozen.count(slot.value) > 0; }),
        slots.end());
    return slots;
  };
  for (int round = 0; round < rounds; ++round) {
    const bool freeze = round == rounds / 2 && rounds > 1;
    for (auto& [generation, block] : values.efficiency) {
      std::vector<Row*> touched;
      std::set<std::string> profiles;
      for (Row& row : rows) {
        if (!row.fitted || row.generation != generation) continue;
        touched.push_back(&row);
        if (generationsOf[row.profile].size() == 1) profiles.insert(row.profile);
      }
      std::vector<Slot> slots;
      for (const std::string& profile : profiles) {
        addSlots(slots, values.software[profile], prior.software[profile], kSoftwareKnobs, std::size(kSoftwareKnobs));
      }
      addSlots(slots, block, prior.efficiency[generation], kEfficiencyKnobs, std::size(kEfficiencyKnobs));
      if (freeze) freezeUnseen(touched, slots);
      fitBlock(touched, active(slots), static_cast<int>(effort * slots.size()));
    }
    for (const auto& [profile, generations] : generationsOf) {
      if (generations.size() < 2) continue;
      std::vector<Row*> touched;
      for (Row& row : rows) {
        if (row.fitted && row.profile == profile) touched.push_back(&row);
      }
      std::vector<Slot> slots;
      addSlots(slots, values.software[profile], prior.software[profile], kSoftwareKnobs, std::size(kSoftwareKnobs));
      if (freeze) freezeUnseen(touched, slots);
      fitBlock(touched, active(slots), static_cast<int>(effort * slots.size()));
    }
    std::vector<Row*> fitted;
    for (Row& row : rows) {
      if (row.fitted) fitted.push_back(&row);
    }
    std::fprintf(stderr, "round %d: loss %.4f\n", round + 1, loss(fitted, values));
  }

  // Which constants the fitted runs see: the loss must rise when the constant moves by a fifth either way.
  json out;
  const auto describe = [&](std::vector<Row*> touched, std::map<std::string, double>& block,
                            const std::map<std::string, double>& priorBlock, const Knob* knobs, std::size_t count) {
    json result = json::object();
    const double base = loss(touched, values);
    for (std::size_t i = 0; i < count; ++i) {
      const double value = block[knobs[i].name];
      double rise = 1e9;
      for (const double factor : {1.2, 1 / 1.2}) {
        block[knobs[i].name] = value * factor;
        rise = std::min(rise, loss(touched, values) - base);
      }
      block[knobs[i].name] = value;
      result[knobs[i].name] = {{"value", value},
                               {"prior", priorBlock.at(knobs[i].name)},
                               {"identified", touched.size() >= 4 && frozen.count(&block[knobs[i].name]) == 0},
                               {"lossRise", touched.empty() ? 0 : rise}};
    }
    loss(touched, values);
    return result;
  };
  for (auto& [generation, block] : values.efficiency) {
    std::vector<Row*> touched;
    std::set<std::string> groups, names;
    for (Row& row : rows) {
      if (row.fitted && row.generation == generation) {
        touched.push_back(&row);
        groups.insert(row.group);
        names.insert(row.family);
      }
    }
    out["generations"][generation] = {{"constants", describe(touched, block, prior.efficiency[generation],
                                                             kEfficiencyKnobs, std::size(kEfficiencyKnobs))},
                                      {"runs", touched.size()},
                                      {"groups", groups.size()},
                                      {"families", names}};
  }
  for (auto& [profile, block] : values.software) {
    std::vector<Row*> touched;
    for (Row& row : rows) {
      if (row.fitted && row.profile == profile) touched.push_back(&row);
    }
    out["profiles"][profile] = {
        {"constants", describe(touched, block, prior.software[profile], kSoftwareKnobs, std::size(kSoftwareKnobs))},
        {"runs", touched.size()}};
  }

  std::vector<Row*> everything;
  for (Row& row : rows) everything.push_back(&row);
  loss(everything, values);
  std::map<std::string, std::array<std::vector<double>, 2>> errors;
  for (const Row& row : rows)
    errors[row.family][row.fitted ? 0 : 1].push_back(std::fabs(row.predicted / row.measured - 1));
  const char* const sides[2] = {"fitted", "leftOut"};
  for (int side = 0; side < 2; ++side) {
    double sum = 0;
    int count = 0;
    std::vector<double> pooled;
    for (auto& [family, both] : errors) {
      if (both[static_cast<std::size_t>(side)].empty()) continue;
      const auto& list = both[static_cast<std::size_t>(side)];
      out["errors"][sides[side]]["families"][family] = {
          {"runs", list.size()}, {"median", median(list)}, {"p90", percentile(list, 0.9)}};
      sum += median(list);
      ++count;
      pooled.insert(pooled.end(), list.begin(), list.end());
    }
    if (count) {
      out["errors"][sides[side]]["meanOfFamilyMedians"] = sum / count;
      out["errors"][sides[side]]["p90"] = percentile(pooled, 0.9);
    }
  }
  if (listRows) {
    for (const Row& row : rows) {
      const Estimate e = estimateStrategy(row.request, row.strategy);
      json terms = json::array();
      for (const double term : e.time) terms.push_back(term);
      out["rows"].push_back({{"id", row.id},
                             {"family", row.family},
                             {"group", row.group},
                             {"fitted", row.fitted},
                             {"measured", row.measured},
                             {"predicted", row.predicted},
                             {"terms", terms}});
    }
  }
  out["refused"] = refused;
  std::printf("%s\n", out.dump(1).c_str());
  return 0;
}
