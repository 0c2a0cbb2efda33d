// Rows of the file of published runs -> requests with one strategy.
#pragma once

#include <string>
#include <string_view>

#include "meshwise_codec/decode.h"

namespace meshwise {

struct RunDocument {
  std::string id;
  RequestDocument document;
};

// Reads one run. What the row leaves open takes the default of the profile of its framework; a degree that it leaves
// open and that does not follow from the others is an issue. Rules of launchers are off (the run happened); rules of
// arithmetic stay. The value's id is set even when the row is refused, if it could be read.
Result<RunDocument> decodeRun(std::string_view json, const Catalogue& catalogue);

}  // namespace meshwise
