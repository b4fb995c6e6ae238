// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/process.h"

#include <map>
#include <mutex>
#include <optional>

namespace slipway {

struct KernelTools;

/// The files of one run of a CUDA compiler.
struct CudaFiles {
    fs::path source;
    fs::path ptx;
    fs::path dependencies; ///< a make rule
    std::string id;        ///< 16 hex digits of the source's content: clang names externalised variables by it

    /// A compiler's command with these files.
    [[nodiscard]] Command addedTo(Command command, bool isClang) const;
};

/// The headers that every .cu file begins with cost most of a clang run. They are kept precompiled in
/// `KernelTools::preludes`/KEY, where KEY covers everything that goes into them: compiler, toolkit, capability, PTX
/// version and flags. One process makes one, once; it counts as long as no header in it has another size or time.
/// Thread-safe.
class CudaPreludes {
public:
    explicit CudaPreludes(const KernelTools &tools)
        : m_tools(tools) {}

    /// The command that makes the same PTX as `command` with `files` would, from a precompiled prelude. The first call
    /// makes it. Nothing: others are making it just now, or these flags rule it out; compile without it then.
    [[nodiscard]] std::optional<Command> faster(const Command &command, const CudaFiles &files, Progress &progress);
    /// What `faster` gave did not work although the source is good: the prelude is made again by a later run.
    static void distrust(const Command &faster);

private:
    enum class State { missing, making, ready, impossible };
    /// A compiler line with marks in the place of files, for one set of flags.
    struct Prelude {
        State state = State::missing;
        Command line;
    };

    [[nodiscard]] Result<Prelude> make(const Command &command, Progress &progress) const;
    [[nodiscard]] Result<std::string> keyOf(const Command &line, bool withFlags, Progress &progress) const;

    const KernelTools &m_tools;
    std::mutex m_mutex;
    std::map<std::string, Prelude> m_preludes; ///< by command line
};

} // namespace slipway
