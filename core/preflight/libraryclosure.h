// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/preflight/evidence.h"

#include <set>

namespace slipway {

/// What became of one NEEDED entry.
struct NeededLibrary {
    /// `elsewhere`: the package has it, but the loader does not look there. `perhaps`: a folder of the board is searched
    /// whose contents are not known.
    enum class Where { package, board, perhaps, elsewhere, nowhere };
    std::string name;
    Where where = Where::nowhere;
    std::string at; ///< the shipped file, or the folder that is not known
};

/// Resolves NEEDED entries as the board's loader does (ld.so(8): DT_RPATH of the file and of those that load it unless it
/// has DT_RUNPATH, LD_LIBRARY_PATH, DT_RUNPATH, then the loader's own list), without the board.
class LibraryClosure {
public:
    explicit LibraryClosure(const Evidence &evidence);

    /// The entries of one shipped file that are not simply found; a library that a shipped program brings along counts as
    /// found by its plug-ins too.
    [[nodiscard]] std::vector<NeededLibrary> unresolved(const ShippedElf &file) const;
    /// Shipped files that a program loads at its start, and the programs themselves.
    [[nodiscard]] const std::set<const ShippedElf *> &loaded() const { return m_loaded; }

private:
    [[nodiscard]] NeededLibrary resolve(const ShippedElf &file, const std::string &name,
                                        const std::vector<std::string> &inherited) const;
    [[nodiscard]] std::vector<std::string> searched(const ShippedElf &file, const std::vector<std::string> &inherited) const;
    void load(const ShippedElf &program);

    const Evidence &m_evidence;
    std::map<std::string, const ShippedElf *> m_byPath;
    std::multimap<std::string, const ShippedElf *> m_byName; ///< file names and sonames
    std::set<std::string> m_board;
    std::set<const ShippedElf *> m_loaded;
    std::set<std::string> m_loadedNames;
    std::map<const ShippedElf *, std::vector<std::string>> m_inherited; ///< DT_RPATH folders of those that load it
    std::vector<std::string> m_environment; ///< LD_LIBRARY_PATH, from conf/env or the board
    bool m_scripted = false; ///< a script or the run command sets LD_LIBRARY_PATH: any folder of the package may be searched
};

} // namespace slipway
