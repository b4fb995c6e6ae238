// SPDX-License-Identifier: Apache-2.0
//
// PTX text: header, entries with their parameters and limits, functions that nobody defines. Follows the PTX ISA manual
// where ptxas 13.0 agrees with it, and ptxas where they differ (later .target lines, for one).

#include "core/base/text.h"
#include "core/image/kernelimage.h"
#include "core/image/ptxlexer.h"

#include <algorithm>
#include <set>

namespace slipway {

namespace {

using Kind = PtxToken::Kind;

/// The driver brings these itself (CUDA programming guide, formatted output, dynamic allocation, assertions).
const std::set<std::string_view> driverFunctions = {"vprintf", "malloc", "free", "__assertfail"};

/// Bytes of one element of a type; 0 for what has no size here (.pred, .texref).
std::uint64_t typeBytes(std::string_view type) {
    const auto digits = type.find_first_of("0123456789");
    if (digits == std::string_view::npos)
        return 0;
    const auto count = type.find_first_not_of("0123456789", digits);
    const auto bits = parseNumber(type.substr(digits, count == std::string_view::npos ? count : count - digits));
    return bits.value_or(0) / 8 * (type.ends_with("x2") ? 2 : 1);
}

bool isType(std::string_view directive) {
    static const std::set<std::string_view> types = {
        ".u8",  ".u16",  ".u32", ".u64", ".s8",  ".s16",   ".s32",  ".s64",    ".b8",     ".b16",        ".b32",
        ".b64", ".b128", ".f16", ".f32", ".f64", ".f16x2", ".bf16", ".bf16x2", ".texref", ".samplerref", ".surfref"};
    return types.contains(directive);
}

class PtxReader {
public:
    explicit PtxReader(std::string_view text)
        : m_lexer(text) {
        m_image.bytes = text.size();
    }
    KernelImage read();

private:
    void advance() { m_token = m_lexer.next(); }
    void damage(std::string text);
    bool atEnd() const { return m_token.kind == Kind::end; }
    bool readHeader();
    bool readVersion();
    bool readTargets();
    void readAddressSize();
    void readItem();
    void readEntry();
    void readFunction(bool isExtern);
    void readParameters(KernelEntry &entry);
    void readLimits(KernelEntry &entry);
    std::optional<int> readProduct();
    void skipParentheses();
    void readBody(std::string_view owner);
    void readShared();
    void finish();

    PtxLexer m_lexer;
    PtxToken m_token;
    KernelImage m_image;
    std::set<std::string, std::less<>>
        m_declared; ///< prototypes without `.extern`: ptxas wants them defined, used or not
    std::set<std::string, std::less<>> m_external; ///< `.extern .func`: needed only where called
    std::set<std::string, std::less<>> m_called;
    std::set<std::string, std::less<>> m_defined;
    std::uint64_t m_moduleShared = 0;
    std::uint64_t m_bodyShared = 0;
    std::uint64_t m_largestShared = 0;
    bool m_inBody = false;
};

void PtxReader::damage(std::string text) {
    if (m_image.damage.size() < 20)
        m_image.damage.push_back(std::move(text));
}

bool PtxReader::readVersion() {
    if (!m_token.is(Kind::directive, ".version")) {
        damage(atEnd() ? "it ends before its header (needed a \".version\" line)"
                       : fmt::format("it is not PTX: it begins with \"{}\" on line {} (needed \".version\")",
                                     printable(m_token.text, 40), m_token.line));
        return false;
    }
    advance();
    const auto text = m_token.kind == Kind::number ? m_token.text : std::string_view();
    const auto version =
        text.find('.') == std::string_view::npos ? std::nullopt : std::optional(PtxVersion::parse(text));
    if (version && *version)
        m_image.ptxVersion = **version;
    else if (atEnd())
        damage("it ends inside its header (needed a number after \".version\")");
    else
        damage(fmt::format("its .version is \"{}\" (needed M.m, such as 8.2)", printable(m_token.text, 40)));
    if (m_token.kind == Kind::number)
        advance();
    return true;
}

bool PtxReader::readTargets() {
    if (!m_token.is(Kind::directive, ".target")) {
        damage(atEnd() ? "it ends inside its header (needed a \".target\" line)"
                       : fmt::format("line {} has \"{}\" (needed \".target\" after \".version\")", m_token.line,
                                     printable(m_token.text, 40)));
        return false;
    }
    do {
        advance();
        const auto capability = Capability::parse(m_token.text);
        if (capability && (!m_image.target || m_image.target->number < capability->number))
            m_image.target = *capability;
        else if (!m_image.target)
            damage(atEnd() ? std::string("it ends inside its header (needed a target such as sm_87)")
                           : fmt::format("its first .target is \"{}\" (needed sm_N)", printable(m_token.text, 40)));
        if (m_token.kind == Kind::word)
            advance();
    } while (m_token.is(','));
    return true;
}

void PtxReader::readAddressSize() {
    m_image.addressSize = 64; // the manual's default is 32, but a driver takes what has no such line as its own (measured)
    if (!m_token.is(Kind::directive, ".address_size"))
        return;
    advance();
    if (m_token.text == "32" || m_token.text == "64")
        m_image.addressSize = m_token.text == "64" ? 64 : 32;
    else
        damage(fmt::format("its .address_size is \"{}\" (needed 32 or 64)", printable(m_token.text, 40)));
    if (m_token.kind == Kind::number)
        advance();
}

bool PtxReader::readHeader() {
    advance();
    if (!readVersion() || !readTargets())
        return false;
    readAddressSize();
    return true;
}

void PtxReader::skipParentheses() {
    for (int depth = 0; !atEnd(); advance()) {
        depth += m_token.is('(');
        depth -= m_token.is(')');
        if (depth <= 0) {
            advance();
            return;
        }
    }
}

void PtxReader::readParameters(KernelEntry &entry) {
    std::string type;
    bool named = false;
    for (advance(); !atEnd() && !m_token.is(')'); advance()) {
        if (m_token.kind == Kind::directive && isType(m_token.text) && type.empty())
            type = m_token.text;
        else if (m_token.is('[') && !type.empty()) {
            advance();
            if (m_token.kind == Kind::number)
                type += fmt::format("[{}]", printable(m_token.text, 20));
        } else if (m_token.is(',')) {
            entry.parameters.push_back(std::exchange(type, {}));
            named = false;
        } else if (m_token.is('{') || m_token.is('}') || m_token.is(';')) {
            return;
        } else {
            named = named || m_token.kind == Kind::word;
        }
    }
    if (!type.empty() || named)
        entry.parameters.push_back(type);
    advance();
}

std::optional<int> PtxReader::readProduct() {
    std::uint64_t product = 1;
    bool any = false;
    do {
        advance();
        const auto number = m_token.kind == Kind::number ? parseNumber(m_token.text) : std::nullopt;
        if (!number || *number > 1024 * 1024 || product > 1024 * 1024)
            break;
        product *= std::max<std::uint64_t>(*number, 1);
        any = true;
        advance();
    } while (m_token.is(','));
    if (!any || product > 1024 * 1024)
        return std::nullopt;
    return int(product);
}

void PtxReader::readLimits(KernelEntry &entry) {
    while (!atEnd() && !m_token.is('{') && !m_token.is(';')) {
        if (m_token.is(Kind::directive, ".reqntid")) {
            entry.threads = readProduct();
        } else if (m_token.is(Kind::directive, ".maxntid")) {
            const auto most = readProduct();
            if (!entry.threads)
                entry.threads = most;
        } else {
            advance();
        }
    }
}

void PtxReader::readShared() {
    std::uint64_t bytes = 0;
    std::uint64_t lanes = 1;
    for (advance(); !atEnd() && !m_token.is(';') && !m_token.is('}') && !m_token.is('{'); advance()) {
        if (m_token.kind == Kind::directive && isType(m_token.text))
            bytes = typeBytes(m_token.text);
        else if (m_token.is(Kind::directive, ".v2") || m_token.is(Kind::directive, ".v4"))
            lanes = m_token.text == ".v2" ? 2 : 4;
        else if (m_token.is('[')) {
            advance();
            const auto count = m_token.kind == Kind::number ? parseNumber(m_token.text) : std::nullopt;
            // No GPU has a gigabyte of shared memory: a product beyond it only has to stay beyond it.
            bytes = count && *count < (1U << 30) ? std::min<std::uint64_t>(bytes * *count, 1U << 30) : 0;
        }
    }
    (m_inBody ? m_bodyShared : m_moduleShared) += bytes * lanes;
}

void PtxReader::readBody(std::string_view owner) {
    m_inBody = true;
    m_bodyShared = 0;
    int depth = 0;
    do {
        depth += m_token.is('{');
        depth -= m_token.is('}');
        if (m_token.kind == Kind::word && m_external.contains(m_token.text))
            m_called.emplace(m_token.text);
        if (m_token.is(Kind::directive, ".shared")) {
            readShared();
            continue;
        }
        if (depth > 0 && m_external.empty()) // else words may be calls
            m_lexer.skipPlain();
        advance();
    } while (depth > 0 && !atEnd());
    if (depth > 0)
        damage(fmt::format("it ends inside the body of {} ({} \"}}\" missing): it is truncated", printable(owner, 80),
                           depth));
    m_inBody = false;
}

void PtxReader::readEntry() {
    const int line = m_token.line;
    advance();
    if (m_token.kind != Kind::word) {
        damage(atEnd()
                   ? "it ends behind \".entry\": it is truncated"
                   : fmt::format("line {} has .entry with \"{}\" (needed a name)", line, printable(m_token.text, 40)));
        return;
    }
    KernelEntry entry{.name = std::string(m_token.text)};
    advance();
    if (m_token.is('('))
        readParameters(entry);
    readLimits(entry);
    if (atEnd()) {
        damage(fmt::format("it ends inside the header of {}: it is truncated", printable(entry.name, 80)));
    } else if (m_token.is('{')) {
        readBody(entry.name);
        m_largestShared = std::max(m_largestShared, m_bodyShared);
        m_image.entries.push_back(std::move(entry));
    }
}

void PtxReader::readFunction(bool isExtern) {
    advance();
    if (m_token.is('('))
        skipParentheses();
    if (m_token.kind != Kind::word) {
        damage(atEnd() ? "it ends behind \".func\": it is truncated"
                       : fmt::format("line {} has .func with \"{}\" (needed a name)", m_token.line,
                                     printable(m_token.text, 40)));
        return;
    }
    const std::string name(m_token.text);
    advance();
    if (m_token.is('('))
        skipParentheses();
    while (!atEnd() && !m_token.is('{') && !m_token.is(';'))
        advance();
    if (atEnd()) {
        damage(fmt::format("it ends inside the header of {}: it is truncated", printable(name, 80)));
    } else if (m_token.is('{')) {
        m_defined.insert(name);
        readBody(name);
    } else {
        (isExtern ? m_external : m_declared).insert(name);
    }
}

/// One item of the module: linkage words, then a function, an entry or a variable up to its ";".
void PtxReader::readItem() {
    bool isExtern = false;
    int braces = 0;
    const bool isFile = m_token.is(Kind::directive, ".file");
    for (; !atEnd(); advance()) {
        isExtern = isExtern || m_token.is(Kind::directive, ".extern");
        if (m_token.is(Kind::directive, ".entry"))
            return readEntry();
        if (m_token.is(Kind::directive, ".func"))
            return readFunction(isExtern);
        if (m_token.is(Kind::directive, ".target") || m_token.is(Kind::directive, ".version"))
            damage(fmt::format("line {} has a second {}, which ptxas refuses", m_token.line, m_token.text));
        if (m_token.is(Kind::directive, ".shared") && !isExtern)
            return readShared();
        braces += m_token.is('{');
        braces -= m_token.is('}');
        if (braces < 0) {
            damage(fmt::format("line {} has a \"}}\" that closes nothing", m_token.line));
            braces = 0;
        }
        if (braces == 0 && (m_token.is(';') || m_token.is('}')))
            return advance();
    }
    if (!isFile) // the one directive that ends without a mark
        damage(braces > 0 ? fmt::format("it ends inside an initialiser or section ({} \"}}\" missing): it is truncated",
                                        braces)
                          : std::string("it ends inside a declaration: it is truncated"));
}

void PtxReader::finish() {
    for (const auto &name : m_called) {
        if (!m_defined.contains(name) && !driverFunctions.contains(name))
            m_image.unresolved.push_back(name);
    }
    for (const auto &name : m_declared) {
        if (!m_defined.contains(name))
            m_image.unresolved.push_back(name);
    }
    if (m_image.entries.empty() && m_image.damage.empty())
        damage("it has no kernel (needed an \".entry\")");
    if (!m_image.entries.empty())
        m_image.sharedBytes = m_moduleShared + m_largestShared;
    m_image.meta = std::move(m_lexer.meta);
    m_image.damage.insert(m_image.damage.begin(), m_lexer.damage.begin(), m_lexer.damage.end());
}

KernelImage PtxReader::read() {
    if (readHeader()) {
        while (!atEnd())
            readItem();
    }
    finish();
    return std::move(m_image);
}

} // namespace

KernelImage readPtx(std::string_view text) {
    return PtxReader(text).read();
}

} // namespace slipway
