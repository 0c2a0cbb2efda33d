// Small helpers that word the faults of a description: the value, and what is allowed. Private to the core.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "meshwise/result.h"

namespace meshwise {

// Short decimal text of a number for messages: at most six significant digits.
std::string numberText(double value);

class Checks {
 public:
  explicit Checks(std::string path) : path_(std::move(path)) {}

  void fault(const char* code, const std::string& field, const std::string& message) {
    issues_.push_back({code, path_ + "/" + field, message, Severity::Error});
  }

  // Whole number between two bounds, both allowed.
  void count(const std::string& field, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high) {
      fault("value.outOfRange", field,
            field + " is " + std::to_string(value) + "; it must be a whole number from " + std::to_string(low) +
                " to " + std::to_string(high) + ".");
    }
  }

  // Finite number between two bounds, both allowed.
  void number(const std::string& field, double value, double low, double high, const char* unit = "") {
    if (!std::isfinite(value) || value < low || value > high) {
      fault("value.outOfRange", field,
            field + " is " + numberText(value) + "; it must be a number from " + numberText(low) + " to " +
                numberText(high) + (*unit ? std::string(" ") + unit : std::string()) + ".");
    }
  }

  Issues take() { return std::move(issues_); }

 private:
  std::string path_;
  Issues issues_;
};

}  // namespace meshwise
