// What the page and the terminal can call. Registration only.
#include <emscripten/bind.h>

#include <string>

#include "api.h"

namespace {

// One engine an instance of the module: its catalogue is loaded once and shared by every call.
meshwise::Api& api() {
  static meshwise::Api instance;
  return instance;
}

class SearchJob {
 public:
  explicit SearchJob(const std::string& json) : job_(api(), json) {}
  std::string step(double budget) { return job_.step(budget); }
  std::string take() const { return job_.take(); }

 private:
  meshwise::SearchJob job_;
};

std::string apiVersion() { return meshwise::Api::apiVersion(); }
std::string loadCatalogue(const std::string& json) { return api().loadCatalogue(json); }
std::string validate(const std::string& json) { return api().validate(json); }
std::string plan(const std::string& json) { return api().plan(json); }
std::string estimate(const std::string& json) { return api().estimate(json); }
std::string explain(const std::string& json) { return api().explain(json); }
std::string timeline(const std::string& json) { return api().timeline(json); }
std::string estimateRun(const std::string& json) { return api().estimateRun(json); }

}  // namespace

EMSCRIPTEN_BINDINGS(meshwise) {
  emscripten::function("apiVersion", &apiVersion);
  emscripten::function("loadCatalogue", &loadCatalogue);
  emscripten::function("validate", &validate);
  emscripten::function("plan", &plan);
  emscripten::function("estimate", &estimate);
  emscripten::function("explain", &explain);
  emscripten::function("timeline", &timeline);
  emscripten::function("estimateRun", &estimateRun);
  emscripten::class_<SearchJob>("SearchJob")
      .constructor<std::string>()
      .function("step", &SearchJob::step)
      .function("take", &SearchJob::take);
}
