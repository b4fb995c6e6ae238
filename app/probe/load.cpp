// SPDX-License-Identifier: Apache-2.0
//
// `slipway-probe load`: every image goes through the board's own driver, which also fills the driver's JIT cache.

#include "child.h"
#include "driver.h"
#include "images.h"
#include "verbs.h"

#include <cstring>

namespace slipway::probe {

namespace {

/// What the child works through: images from `first` on.
struct Work {
    const TextList *images;
    std::size_t first;
};

enum JitOption { infoLog = 3, infoLogSize = 4, errorLog = 5, errorLogSize = 6 };

constexpr int notFound = 500; // CUDA_ERROR_NOT_FOUND

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\0'))
        text.remove_suffix(1);
    return text;
}

void refuse(Text &result, const Driver &driver, int code, std::string_view log) {
    result.field("status", "refused").field("code", std::uint64_t(code)).field("error", errorName(driver, code));
    log = trimmed(log);
    if (!log.empty())
        result.field("log", log);
}

/// The names of all kernels of a loaded module, where the driver is new enough (CUDA 12.4) to tell.
TextList enumeratedEntries(const Driver &driver, void *module) {
    constexpr unsigned most = 512;
    TextList names;
    void *functions[most] = {};
    unsigned count = 0;
    if (!driver.functionCount || !driver.functions || !driver.functionName || driver.functionCount(&count, module) != 0)
        return names;
    count = count < most ? count : most;
    if (count == 0 || driver.functions(functions, count, module) != 0)
        return names;
    for (unsigned i = 0; i < count; ++i)
        if (const char *name = nullptr; driver.functionName(&name, functions[i]) == 0 && name)
            names.add(name);
    return names;
}

/// Asks the module for each kernel that its text promises; an image without one of them is no use to its program.
void checkEntries(Text &result, const Driver &driver, void *module, std::string_view image, std::uint64_t duration) {
    const TextList promised = namedEntries(image);
    TextList found;
    TextList missing;
    for (std::size_t i = 0; i < promised.size() && driver.moduleFunction; ++i) {
        void *function = nullptr;
        (driver.moduleFunction(&function, module, promised[i]) == 0 ? found : missing).add(promised[i]);
    }
    if (promised.size() == 0)
        found = enumeratedEntries(driver, module);
    if (missing.size() == 0)
        result.field("status", "ok");
    else
        refuse(result, driver, notFound, Text("no kernel named ").append(missing[0]));
    result.key("ms").milliseconds(duration).key("entries");
    found.appendJson(result);
    if (missing.size() != 0) {
        result.key("missing");
        missing.appendJson(result);
    }
}

Text loadOne(const Driver &driver, const char *path) {
    Text result("{");
    result.field("file", path);
    Text bytes;
    Text reason;
    std::size_t size = 0;
    if (!readImage(path, bytes, size, reason))
        return result.field("status", "unreadable").field("error", reason).append('}');
    static char info[4096];
    static char error[65536];
    info[0] = error[0] = '\0';
    int keys[] = {infoLog, infoLogSize, errorLog, errorLogSize};
    void *values[] = {info, reinterpret_cast<void *>(sizeof info - 1), error,
                      reinterpret_cast<void *>(sizeof error - 1)};
    void *module = nullptr;
    const std::uint64_t start = now();
    const int code = driver.moduleLoad(&module, bytes.data(), 4, keys, values);
    const std::uint64_t duration = now() - start;
    if (code == 0) {
        checkEntries(result, driver, module, std::string_view(bytes.data(), size), duration);
        if (driver.moduleUnload)
            driver.moduleUnload(module);
    } else {
        refuse(result, driver, code, std::string_view(error, std::strlen(error)));
        result.key("ms").milliseconds(duration);
    }
    return result.append('}');
}

/// A context on the first GPU, or the CUDA error that prevents it.
int makeContext(const Driver &driver) {
    int device = 0;
    void *context = nullptr;
    if (!driver.contextRetain || !driver.contextSetCurrent || !driver.moduleLoad)
        return notFound;
    int code = driver.device(&device, 0);
    code = code ? code : driver.contextRetain(&context, device);
    return code ? code : driver.contextSetCurrent(context);
}

/// In the child: the driver's lines, `C`, `E` and `Serror` again if no context is to be had, then for each image `B`
/// before and `R{…}` after, and `.` at the end.
void loadAll(int descriptor, const void *input) {
    const Work &work = *static_cast<const Work *>(input);
    Driver driver;
    if (openDriver(driver, descriptor)) {
        if (const int code = makeContext(driver)) {
            Text lines("C");
            lines.number(std::uint64_t(code)).append("\nE");
            lines.json(Text("cannot make a context on the GPU: ").append(errorName(driver, code))).append("\nSerror\n");
            writeAll(descriptor, lines);
        } else {
            for (std::size_t i = work.first; i < work.images->size(); ++i) {
                writeAll(descriptor, "B\n");
                writeAll(descriptor, Text("R").append(loadOne(driver, (*work.images)[i])).append('\n'));
            }
        }
    }
    writeAll(descriptor, ".\n");
}

/// The parent's side: prints the lines and counts, starting a new child after each one that was lost.
class Loading {
public:
    Loading(const TextList &images, long seconds)
        : m_images(images)
        , m_limit(std::uint64_t(seconds) * 1000000) {}

    void run() {
        bool usable = true;
        do
            usable = runChild();
        while (usable && m_next < m_images.size());
        for (; m_next < m_images.size(); ++m_next, ++m_notTried)
            ;
    }

    int summarise(std::uint64_t duration) const {
        Text line("{\"summary\":true,\"driver\":");
        m_driver.appendJson(line);
        line.field("images", m_images.size()).field("ok", m_ok).field("refused", m_refused);
        line.field("unreadable", m_unreadable).field("hung", m_hung).field("crashed", m_crashed);
        line.field("not_tried", m_notTried).key("ms").milliseconds(duration).append("}\n");
        writeAll(1, line);
        if (!m_driver.isOk())
            return noDriver;
        return m_ok == m_images.size() && m_ok > 0 ? allOk : someRefused;
    }

private:
    /// False when the driver itself cannot be used, or nothing is left.
    bool runChild() {
        const Work work{&m_images, m_next};
        Child child;
        if (!child.start(loadAll, &work)) {
            m_driver.fail("error", "cannot start a process to ask the driver");
            return false;
        }
        Text line;
        bool loading = false;
        bool complete = false;
        while (!complete && child.nextLine(line, m_limit)) {
            const std::string_view text = line;
            complete = text == ".";
            if (text == "B")
                loading = true;
            else if (startsWith(text, "R")) {
                loading = false;
                takeResult(text);
            } else {
                m_driver.take(text);
            }
        }
        Text detail;
        const Ending ending = child.end(detail);
        if (complete)
            return false;
        if (loading)
            takeLoss(ending, detail);
        else
            m_driver.fail(ending == Ending::hung ? "hung" : "crashed", detail);
        return loading;
    }

    void takeResult(std::string_view text) {
        text.remove_prefix(1);
        Text line(text);
        writeAll(1, line.append('\n'));
        // "file" comes first and is escaped, so a status found like this is ours
        if (std::strstr(line.c_str(), "\",\"status\":\"ok\""))
            ++m_ok;
        else if (std::strstr(line.c_str(), "\",\"status\":\"unreadable\""))
            ++m_unreadable;
        else
            ++m_refused;
        ++m_next;
    }

    void takeLoss(Ending ending, std::string_view detail) {
        const bool hung = ending == Ending::hung;
        Text line("{");
        line.field("file", m_images[m_next])
            .field("status", hung ? "hung" : "crashed")
            .field("error", detail)
            .append("}\n");
        writeAll(1, line);
        ++(hung ? m_hung : m_crashed);
        ++m_next;
    }

    const TextList &m_images;
    std::uint64_t m_limit;
    DriverReport m_driver;
    std::size_t m_next = 0;
    std::size_t m_ok = 0;
    std::size_t m_refused = 0;
    std::size_t m_unreadable = 0;
    std::size_t m_hung = 0;
    std::size_t m_crashed = 0;
    std::size_t m_notTried = 0;
};

} // namespace

int load(const char *const *paths, int count, long seconds) {
    TextList images;
    for (int i = 0; i < count; ++i)
        addImages(images, paths[i]);
    const std::uint64_t start = now();
    Loading loading(images, seconds);
    loading.run();
    return loading.summarise(now() - start);
}

} // namespace slipway::probe
