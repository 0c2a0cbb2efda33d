// Names of the enumerations in JSON documents.
#pragma once

#include <span>
#include <string_view>

#include "meshwise/estimate.h"
#include "meshwise/plan.h"

namespace meshwise {

template <class E>
struct EnumName {
  E value;
  const char* name;
};

// All names of an enumeration. The first entry of a value is the one that is written; the others are read as well.
template <class E>
std::span<const EnumName<E>> enumNames();

template <>
std::span<const EnumName<AttentionType>> enumNames<AttentionType>();
template <>
std::span<const EnumName<Position>> enumNames<Position>();
template <>
std::span<const EnumName<Norm>> enumNames<Norm>();
template <>
std::span<const EnumName<QkNorm>> enumNames<QkNorm>();
template <>
std::span<const EnumName<Topology>> enumNames<Topology>();
template <>
std::span<const EnumName<Precision>> enumNames<Precision>();
template <>
std::span<const EnumName<GradientPrecision>> enumNames<GradientPrecision>();
template <>
std::span<const EnumName<Optimizer>> enumNames<Optimizer>();
template <>
std::span<const EnumName<AttentionKernel>> enumNames<AttentionKernel>();
template <>
std::span<const EnumName<Launcher>> enumNames<Launcher>();
template <>
std::span<const EnumName<Recompute>> enumNames<Recompute>();
template <>
std::span<const EnumName<Schedule>> enumNames<Schedule>();
template <>
std::span<const EnumName<ContextKind>> enumNames<ContextKind>();
template <>
std::span<const EnumName<Placement>> enumNames<Placement>();
template <>
std::span<const EnumName<Objective>> enumNames<Objective>();
template <>
std::span<const EnumName<Severity>> enumNames<Severity>();
template <>
std::span<const EnumName<TimeTerm>> enumNames<TimeTerm>();
template <>
std::span<const EnumName<MemoryClass>> enumNames<MemoryClass>();

// The written name of a value.
template <class E>
const char* enumName(E value) {
  for (const EnumName<E>& entry : enumNames<E>()) {
    if (entry.value == value) return entry.name;
  }
  return "";
}

// Finds a value by any of its names; false when there is none.
template <class E>
bool enumFromName(std::string_view name, E& out) {
  for (const EnumName<E>& entry : enumNames<E>()) {
    if (name == entry.name) {
      out = entry.value;
      return true;
    }
  }
  return false;
}

}  // namespace meshwise
