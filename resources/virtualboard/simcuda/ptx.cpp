// SPDX-License-Identifier: Apache-2.0
//
// Accepts or refuses PTX text by its header, its nesting and its unresolved functions, in the words of ptxas 13.0 as a real
// driver passes them on (measured on an H200, driver 580.159.04). Instructions are not checked: nothing is compiled here.
#include "image.h"

#include "ptxlexer.h"
#include "table.h"

namespace simcuda {
namespace {

constexpr char aborted[] = "ptxas fatal   : Ptx assembly aborted due to errors";
constexpr char where[] = "ptxas application ptx input, line";

bool isNumber(std::string_view text) {
    for (const char c : text) {
        if (c < '0' || c > '9')
            return false;
    }
    return !text.empty() && text.size() <= 4;
}

int toInt(std::string_view digits) {
    int value = 0;
    for (const char c : digits)
        value = value * 10 + (c - '0');
    return value;
}

/// Reads one module; every step returns false once `m_result` is decided.
class PtxReader {
public:
    PtxReader(const Board &board, std::string_view text, Image &image, Log &errors)
        : m_board(board), m_lexer(text), m_image(image), m_errors(errors) {}

    CUresult accept() {
        if (!m_lexer.take(".version")) {
            m_errors.line("error   : Binary format for key='0', ident='' is not recognized");
            return invalidImage;
        }
        if (!version() || !target())
            return m_result;
        if (!addressSize() || !statements())
            return m_result;
        if (m_bad) {
            m_errors.line("%s", aborted);
            return invalidPtx;
        }
        if (!ptxTargetRuns(*m_target, m_board.capability, m_errors))
            return invalidPtx;
        return resolveCalls();
    }

private:
    bool refuse(CUresult result) {
        m_result = result;
        return false;
    }
    bool fatal(int line, const char *text, std::string_view subject = {}) {
        m_errors.line("%s %d; fatal   : %s%.*s%s", where, line, text, SIMCUDA_SV(subject), subject.data() ? "'" : "");
        m_errors.line("%s", aborted);
        return refuse(invalidPtx);
    }
    bool syntaxError(std::string_view near) {
        m_errors.line("%s %d; fatal   : Parsing error near '%.*s': syntax error", where, m_lexer.line(), SIMCUDA_SV(near));
        m_errors.line("%s", aborted);
        return refuse(invalidPtx);
    }

    bool version();
    bool target();
    bool addressSize();
    bool statements();
    bool statement();
    bool body();
    bool function(bool external);
    bool parameters();
    CUresult resolveCalls();

    const Board &m_board;
    PtxLexer m_lexer;
    Image &m_image;
    Log &m_errors;
    CUresult m_result = success;
    int m_version = 0;
    const TargetRow *m_target = nullptr;
    bool m_bad = false; ///< an error after which ptxas reads on
    bool m_wantsDebug = false;
    bool m_hasDebug = false;
    List<std::string_view> m_externs;
    List<std::string_view> m_defined;
    List<std::string_view> m_called; ///< words in bodies that follow `call`
};

bool PtxReader::version() {
    const int line = m_lexer.line();
    const std::string_view major = m_lexer.token();
    if (!isNumber(major))
        return fatal(line, "Missing .version directive at start of file 'application ptx input'");
    m_lexer.next();
    const std::string_view minor = m_lexer.token();
    if (minor.size() < 2 || minor[0] != '.' || !isNumber(piece(minor, 1)))
        return fatal(line, "Missing .version directive at start of file 'application ptx input'");
    m_lexer.next();
    const int most = newestPtx(m_board.driverCuda);
    const int low = toInt(piece(minor, 1));
    m_version = toInt(major) * 10 + low;
    if (low > 9 || m_version > most || !ptxVersionExists(m_version)) {
        m_errors.line("%s %d; fatal   : Unsupported .version %.*s%.*s; current version is '%d.%d'", where, line, SIMCUDA_SV(major),
                      SIMCUDA_SV(minor), most / 10, most % 10);
        return refuse(unsupportedPtxVersion);
    }
    return true;
}

bool PtxReader::target() {
    if (m_lexer.token() != ".target")
        return fatal(m_lexer.line(), "Missing .target directive at start of file 'application ptx input'");
    const int line = m_lexer.line();
    m_lexer.next();
    const std::string_view name = m_lexer.token();
    if (name.empty())
        return syntaxError({});
    if (piece(name, 0, 3) != "sm_" && piece(name, 0, 8) != "compute_")
        return fatal(line, "Target architecture not defined at start of file 'application ptx input'");
    m_target = findTarget(name);
    if (!m_target || m_target->minPtx > newestPtx(m_board.driverCuda))
        return fatal(line, "Unsupported .target '", name);
    if (m_version < m_target->minPtx) {
        m_errors.line("%s %d; error   : PTX .version %d.%d does not support .target %.*s", where, line, m_version / 10, m_version % 10,
                      SIMCUDA_SV(name));
        m_bad = true;
    }
    m_lexer.next();
    while (m_lexer.take(",")) {
        m_wantsDebug = m_wantsDebug || m_lexer.token() == "debug";
        m_lexer.next();
    }
    return true;
}

bool PtxReader::addressSize() {
    if (!m_lexer.take(".address_size"))
        return true;
    const bool narrow = m_lexer.token() == "32";
    if (!narrow && m_lexer.token() != "64")
        return syntaxError(m_lexer.token());
    if (narrow && m_board.capability >= 90) {
        m_errors.line("ptxas fatal   :  32-Bit ABI (--machine 32 or 32-Bit addressing) is not supported on sm_90 or higher architectures.");
        return refuse(invalidPtx);
    }
    m_lexer.next();
    return true;
}

bool PtxReader::statements() {
    while (!m_lexer.atEnd()) {
        if (!statement())
            return false;
    }
    if (m_wantsDebug && !m_hasDebug) {
        m_errors.line("ptxas error   : Debug information not found in presence of .target debug");
        m_bad = true;
    }
    return true;
}

bool PtxReader::statement() {
    static constexpr std::string_view linkage[] = {".visible", ".weak", ".extern", ".common"};
    static constexpr std::string_view plain[] = {".global", ".const", ".shared", ".tex", ".pragma", ".alias", ".texref",
                                                 ".samplerref", ".surfref", ".param", ".metadata", ".local"};
    bool external = false;
    for (bool more = true; more;) {
        more = false;
        for (const std::string_view word : linkage) {
            if (m_lexer.token() == word) {
                external = external || word == ".extern";
                m_lexer.next();
                more = true;
            }
        }
    }
    const std::string_view first = m_lexer.token();
    if (first == ".entry" || first == ".func")
        return function(external);
    if (first == ".file" || first == ".loc") {
        m_lexer.skipLine();
        return true;
    }
    if (first == ".section") {
        m_hasDebug = true;
        while (!m_lexer.atEnd() && m_lexer.token() != "{")
            m_lexer.next();
        return body();
    }
    if (m_lexer.take(";"))
        return true;
    for (const std::string_view word : plain) {
        if (first != word)
            continue;
        while (!m_lexer.atEnd() && m_lexer.token() != ";")
            m_lexer.next();
        return m_lexer.take(";") || syntaxError({});
    }
    return syntaxError(first);
}

bool PtxReader::parameters() {
    if (!m_lexer.take("("))
        return true;
    std::string_view last;
    while (!m_lexer.atEnd() && m_lexer.token() != ")") {
        last = m_lexer.token();
        m_lexer.next();
    }
    return m_lexer.take(")") || syntaxError(last == "." ? last : std::string_view());
}

bool PtxReader::function(bool external) {
    const bool entry = m_lexer.token() == ".entry";
    m_lexer.next();
    if (!entry && !parameters()) // what it returns
        return false;
    const std::string_view name = m_lexer.token();
    const int line = m_lexer.line();
    if (name.empty())
        return syntaxError({});
    m_lexer.next();
    if (!parameters())
        return false;
    while (!m_lexer.atEnd() && m_lexer.token() != "{" && m_lexer.token() != ";") // .reqntid 128, 1, 1 and the like
        m_lexer.next();
    if (m_lexer.take(";")) {
        if (external)
            m_externs.add(name);
        return true;
    }
    for (const std::string_view known : m_defined) {
        if (known == name) {
            m_errors.line("%s %d; error   : Duplicate definition of function '%.*s'", where, line, SIMCUDA_SV(name));
            m_bad = true;
        }
    }
    m_defined.add(name);
    if (entry)
        m_image.addEntry(name);
    return body();
}

/// A braced block. ptxas names the token that it stopped at, which is empty at the end of the text.
bool PtxReader::body() {
    int depth = 0;
    bool afterCall = false;
    std::string_view last;
    while (!m_lexer.atEnd()) {
        const std::string_view token = m_lexer.token();
        if (token == "{")
            ++depth;
        if (token == "}" && --depth == 0) {
            m_lexer.next();
            return true;
        }
        if (token == "call")
            afterCall = true;
        else if (token == ";")
            afterCall = false;
        else if (afterCall)
            m_called.add(token);
        last = token;
        m_lexer.next();
    }
    return syntaxError(last == "." ? last : std::string_view());
}

CUresult PtxReader::resolveCalls() {
    static constexpr std::string_view provided[] = {"vprintf", "malloc", "free", "__assertfail"};
    for (const std::string_view called : m_called) {
        bool external = false;
        for (const std::string_view name : m_externs)
            external = external || name == called;
        for (const std::string_view name : provided)
            external = external && name != called;
        for (const std::string_view name : m_defined)
            external = external && name != called;
        if (external) {
            m_errors.line("ptxas fatal   : Unresolved extern function '%.*s'", SIMCUDA_SV(called));
            return invalidPtx;
        }
    }
    return success;
}

} // namespace

bool ptxTargetRuns(const TargetRow &target, int capability, Log &errors) {
    // Thor was sm_101 before PTX 9.0: with a suffix, which ties code to one machine, the old name means the same machine.
    const int number = target.number == 101 && target.suffix ? 110 : target.number;
    if (number > capability) {
        errors.line("ptxas fatal   : SM version specified by .target is higher than default SM version assumed");
        return false;
    }
    if (target.suffix == 'a' && number != capability) {
        errors.line("ptxas fatal   : Program with .target '%.*s' cannot be compiled to future architecture", SIMCUDA_SV(target.name));
        return false;
    }
    if (target.suffix == 'f' && !inFamily(target.name, capability)) {
        errors.line("ptxas fatal   : Program with .target '%.*s' cannot be compiled to different SM-family architecture",
                    SIMCUDA_SV(target.name));
        return false;
    }
    return true;
}

CUresult acceptPtx(const Board &board, std::string_view text, Image &image, Log &errors, Log &info) {
    const CUresult result = PtxReader(board, text, image, errors).accept();
    if (result == success)
        info.line("info    : simulated by Slipway: the text was accepted by its header, nothing was compiled");
    return result;
}

} // namespace simcuda
