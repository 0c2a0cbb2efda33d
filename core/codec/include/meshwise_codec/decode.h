// Request documents -> the core's types.
#pragma once

#include <string>
#include <string_view>

#include "meshwise_codec/catalogue.h"

namespace meshwise {

// A request as the engine takes it, with what the document carried for people.
struct RequestDocument {
  Request request;
  bool hasStrategy = false;
  Strategy strategy;         // when hasStrategy; open fields filled with the profile's defaults
  std::string precisionRaw;  // job.precisionRaw: the precision as the source printed it; a label
  std::string framework;     // job.framework: picks the software profile when none is named
};

// Reads a request. Reports every fault at once; never throws. Presets are resolved, defaults filled in, and the parts
// that decoded without a fault are checked by the core as well.
Result<RequestDocument> decodeRequest(std::string_view json, const Catalogue& catalogue);

// Checks a strategy's degrees and choices against the limits of the request; one issue for each that is outside.
Issues checkLimits(const Limits& limits, const Strategy& strategy);

}  // namespace meshwise
