// The engine as strings: JSON in, JSON out. Used by the WebAssembly module, and natively by the tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace meshwise {

// Holds one catalogue of presets. No function throws; every answer is one valid JSON document whose `issues` list says
// what is wrong with the input. Request and answer documents are described in meshwise.d.ts.
class Api {
 public:
  Api();
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  // Version of the engine, for example "0.1.0". Numbers may change with it.
  static std::string apiVersion();

  // Replaces the catalogue; keeps the old one when the new one has faults.
  std::string loadCatalogue(const std::string& json);

  // Resolves presets and defaults, and checks; estimates nothing.
  std::string validate(const std::string& json) const;
  // Searches the whole space of strategies. SearchJob does the same in slices.
  std::string plan(const std::string& json) const;
  // Estimates the request's strategy.
  std::string estimate(const std::string& json) const;
  // Why the request's strategy is where it is among the plans.
  std::string explain(const std::string& json) const;
  // The tasks of the pipeline of the request's strategy, for drawing.
  std::string timeline(const std::string& json) const;
  // One row of the file of published runs.
  std::string estimateRun(const std::string& json) const;

 private:
  friend class SearchJob;
  struct State;
  std::unique_ptr<State> state_;
};

// A search in slices, so that its owner can show progress, answer early and cancel. Independent of the Api after
// construction.
class SearchJob {
 public:
  SearchJob(const Api& api, const std::string& json);
  ~SearchJob();
  SearchJob(const SearchJob&) = delete;
  SearchJob& operator=(const SearchJob&) = delete;

  // Looks at up to `budget` more strategies (at least one). {done, progress, issues}.
  std::string step(double budget);
  // The answer so far, as `plan` gives it; final when step has said done.
  std::string take() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace meshwise
