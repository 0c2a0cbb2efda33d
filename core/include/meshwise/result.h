// Outcome of an operation that can refuse its input: a value, or every fault found in the input.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace meshwise {

enum class Severity { Error, Warning, Note };

// One fault or remark about the input.
struct Issue {
  std::string code;     // stable machine name, for example "strategy.worldSizeMismatch"
  std::string path;     // JSON pointer to the field of the request, for example "/job/sequenceLength"; "" = whole
  std::string message;  // one English sentence that names the value and what is allowed
  Severity severity = Severity::Error;
};

using Issues = std::vector<Issue>;

inline bool hasErrors(const Issues& issues) {
  for (const Issue& issue : issues) {
    if (issue.severity == Severity::Error) return true;
  }
  return false;
}

// Value plus remarks, or no value plus at least one error.
template <class T>
struct Result {
  T value{};
  Issues issues;
  bool ok() const { return !hasErrors(issues); }
};

}  // namespace meshwise
