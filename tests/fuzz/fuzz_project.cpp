// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: slipway.json: a project that was read, written and read again is the same.

#include "core/build/project.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char *>(data), size);
    const auto json = slipway::parseJson(bytes, "slipway.json");
    const auto project = json ? slipway::Project::fromJson(*json, "/nowhere") : slipway::fail("no JSON");
    if (!project)
        return 0;
    const auto again = slipway::Project::fromJson(project->toJson(), "/nowhere");
    if (!again || again->toJson() != project->toJson())
        std::abort();
    return 0;
}
