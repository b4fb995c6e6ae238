// SPDX-License-Identifier: Apache-2.0
//
// Which libraries the board's loader finds for the shipped files: its search rules (ld.so(8)) on the package's own files,
// the board's list of libraries and, for folders outside that list, the sysroot.

#include "core/preflight/libraryclosure.h"

#include "core/base/text.h"

#include <algorithm>

namespace slipway {

namespace {

std::string fileName(const std::string &path) {
    return path.substr(path.rfind('/') + 1);
}

std::string folderOf(const std::string &path) {
    return path.find('/') == std::string::npos ? "." : path.substr(0, path.rfind('/'));
}

void replaceAll(std::string &text, std::string_view what, const std::string &by) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
}

/// A folder of the package without "." and ".." ("bin/../lib" is "lib"); nothing when it leaves the package.
std::optional<std::string> insidePackage(const std::string &folder) {
    const auto normal = fs::path(folder).lexically_normal().generic_string();
    if (normal.starts_with("..") || normal.starts_with('/'))
        return std::nullopt;
    const auto trimmedEnd = normal.ends_with('/') ? normal.substr(0, normal.size() - 1) : normal;
    return trimmedEnd == "." ? std::string() : trimmedEnd;
}

bool setsLibraryPath(const Evidence &evidence) {
    constexpr std::string_view variable = "LD_LIBRARY_PATH";
    if (evidence.package.manifest.run.find(variable) != std::string::npos)
        return true;
    return std::any_of(evidence.package.manifest.files.begin(), evidence.package.manifest.files.end(), [&](const auto &file) {
        if (!file.path.starts_with("bin/") || !isInsidePath(file.path))
            return false;
        const auto text = readHead(evidence.package.directory / file.path, 64 * 1024);
        return text && text->starts_with("#!") && text->find(variable) != std::string::npos;
    });
}

/// Folders as ELF files and LD_LIBRARY_PATH name them -> "lib" of the package, or "/usr/lib" of the board.
std::vector<std::string> folders(const std::vector<std::string> &paths, const std::string &origin) {
    std::vector<std::string> found;
    for (auto path : paths) {
        const bool relative = path.starts_with("$ORIGIN") || path.starts_with("${ORIGIN}") || path.starts_with("$RELEASE");
        replaceAll(path, "${ORIGIN}", origin);
        replaceAll(path, "$ORIGIN", origin);
        replaceAll(path, "$RELEASE", ".");
        if (path.starts_with('/'))
            found.push_back(fs::path(path).lexically_normal().generic_string());
        else if (const auto inside = relative ? insidePackage(path.empty() ? "." : path) : std::nullopt)
            found.push_back(*inside);
    }
    return found;
}

bool sameMachine(const ShippedElf &a, const ShippedElf &b) {
    return a.elf.machine == b.elf.machine && a.elf.bits == b.elf.bits;
}

} // namespace

LibraryClosure::LibraryClosure(const Evidence &evidence)
    : m_evidence(evidence)
    , m_scripted(setsLibraryPath(evidence)) {
    for (const auto &shipped : evidence.elves) {
        m_byPath[shipped.path] = &shipped;
        m_byName.emplace(fileName(shipped.path), &shipped);
        if (!shipped.elf.soname.empty() && shipped.elf.soname != fileName(shipped.path))
            m_byName.emplace(shipped.elf.soname, &shipped);
    }
    if (evidence.facts.libraries)
        m_board.insert(evidence.facts.libraries->begin(), evidence.facts.libraries->end());
    if (evidence.facts.cudaDriver)
        m_board.insert("libcuda.so.1");
    std::vector<std::string> paths;
    const auto searchPath = evidence.variable("LD_LIBRARY_PATH").value_or("");
    for (const auto piece : split(searchPath, ':'))
        paths.emplace_back(piece);
    m_environment = folders(paths, ".");
    for (const auto &shipped : evidence.elves) {
        if (!shipped.elf.interpreter.empty() || shipped.elf.type == "executable")
            load(shipped);
    }
}

std::vector<std::string> LibraryClosure::searched(const ShippedElf &file, const std::vector<std::string> &inherited) const {
    const auto origin = folderOf(file.path);
    std::vector<std::string> all;
    const auto add = [&](const std::vector<std::string> &more) { all.insert(all.end(), more.begin(), more.end()); };
    if (file.elf.runpath.empty()) {
        add(folders(file.elf.rpath, origin));
        add(inherited);
    }
    add(m_environment);
    add(folders(file.elf.runpath, origin));
    return all;
}

NeededLibrary LibraryClosure::resolve(const ShippedElf &file, const std::string &name,
                                      const std::vector<std::string> &inherited) const {
    NeededLibrary library{.name = name};
    const auto base = fileName(name);
    const auto [first, last] = m_byName.equal_range(base);
    for (const auto &folder : searched(file, inherited)) {
        std::error_code ignored;
        if (!folder.starts_with('/')) {
            const auto at = m_byPath.find(folder.empty() ? base : folder + "/" + base);
            if (at != m_byPath.end() && sameMachine(*at->second, file))
                return {name, NeededLibrary::Where::package, at->second->path};
        } else if (m_evidence.sysroot && fs::exists(m_evidence.sysroot->path / folder.substr(1) / base, ignored)) {
            return {name, NeededLibrary::Where::board, folder};
        } else if (library.at.empty() && !m_evidence.sysroot) {
            library = {name, NeededLibrary::Where::perhaps, folder};
        }
    }
    if (m_board.contains(base) || base.starts_with("ld-linux"))
        return {name, NeededLibrary::Where::board, {}};
    for (auto entry = first; entry != last; ++entry) {
        if (!sameMachine(*entry->second, file) || (library.where == NeededLibrary::Where::perhaps && !m_scripted))
            continue;
        if (m_scripted || m_loadedNames.contains(base))
            return {name, NeededLibrary::Where::package, entry->second->path};
        return {name, NeededLibrary::Where::elsewhere, entry->second->path};
    }
    return library;
}

void LibraryClosure::load(const ShippedElf &program) {
    std::vector<const ShippedElf *> queue{&program};
    for (std::size_t i = 0; i < queue.size(); ++i) { // breadth first, as the loader does
        const auto &file = *queue[i];
        if (!m_loaded.insert(&file).second)
            continue;
        m_loadedNames.insert(fileName(file.path));
        m_loadedNames.insert(file.elf.soname);
        auto onward = m_inherited[&file];
        if (file.elf.runpath.empty()) {
            const auto own = folders(file.elf.rpath, folderOf(file.path));
            onward.insert(onward.end(), own.begin(), own.end());
        }
        for (const auto &name : file.elf.needed) {
            const auto library = resolve(file, name, m_inherited[&file]);
            if (library.where != NeededLibrary::Where::package)
                continue;
            const auto *shipped = m_byPath.at(library.at);
            m_inherited.try_emplace(shipped, onward);
            queue.push_back(shipped);
        }
    }
}

std::vector<NeededLibrary> LibraryClosure::unresolved(const ShippedElf &file) const {
    const auto inherited = m_inherited.find(&file);
    std::vector<NeededLibrary> list;
    for (const auto &name : file.elf.needed) {
        auto library = resolve(file, name, inherited == m_inherited.end() ? std::vector<std::string>() : inherited->second);
        if (library.where != NeededLibrary::Where::package && library.where != NeededLibrary::Where::board)
            list.push_back(std::move(library));
    }
    return list;
}

} // namespace slipway
