// SPDX-License-Identifier: Apache-2.0
//
// Progress for people: one line for each finished step, and on a terminal a live line for the one that runs.

#include "app/cli/terminal.h"

#include "core/base/process.h"
#include "core/base/text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace slipway::cli {

namespace {

constexpr const char *green = "32";
constexpr const char *yellow = "33";
constexpr const char *red = "31";
constexpr const char *grey = "90";

std::size_t terminalWidth() {
    winsize size{};
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

std::string amount(const Event &event) {
    const auto number = [&](std::uint64_t n) {
        return event.unit == Event::Unit::bytes ? formatBytes(n) : std::to_string(n);
    };
    std::string text = number(event.done);
    if (event.total > 0)
        text += fmt::format(" of {} ({} %)", number(event.total), event.done * 100 / event.total);
    if (event.unit == Event::Unit::bytes && event.perSecond > 0)
        text += fmt::format(", {}/s", formatBytes(std::uint64_t(event.perSecond)));
    if (event.left)
        text += fmt::format(", {} left", formatDuration(*event.left));
    return text;
}

/// Length in columns, counting UTF-8 sequences once.
std::size_t columns(std::string_view text) {
    return std::size_t(std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

} // namespace

Terminal::Terminal()
    : m_isTerminal(::isatty(STDERR_FILENO) == 1), m_colours(m_isTerminal && std::getenv("NO_COLOR") == nullptr) {}

std::string Terminal::painted(const char *colour, const std::string &text) const {
    return m_colours ? fmt::format("\x1b[{}m{}\x1b[0m", colour, text) : text;
}

void Terminal::clearLive() {
    if (std::exchange(m_liveShown, false))
        std::fputs("\r\x1b[K", stderr);
}

void Terminal::line(const std::string &mark, const char *colour, const Event &event, const std::string &text) {
    clearLive();
    const std::string indent(std::size_t(std::max(0, event.depth - 1)) * 2, ' ');
    std::fputs(fmt::format("{}{} {}\n", indent, painted(colour, mark), text).c_str(), stderr);
}

void Terminal::show(const Event &event) {
    const auto index = std::size_t(event.step);
    if (event.kind == Event::Kind::begin) {
        m_titles.resize(std::max(m_titles.size(), index + 1));
        m_titles[index] = event.text;
    }
    if (m_quiet && event.kind != Event::Kind::warning)
        return;
    const std::string title = index < m_titles.size() ? m_titles[index] : "";
    const auto with = [&](const std::string &what) { return what.empty() ? title : title + ": " + what; };
    switch (event.kind) {
    case Event::Kind::begin:
    case Event::Kind::advance: {
        if (!m_isTerminal)
            return;
        clearLive();
        auto text = std::string(std::size_t(std::max(0, event.depth - 1)) * 2, ' ') + "… " + title;
        if (event.kind == Event::Kind::advance)
            text += ": " + amount(event);
        std::fputs(printable(text, terminalWidth() - 2).c_str(), stderr);
        m_liveShown = true;
        return;
    }
    case Event::Kind::end:
        return line("✓", green, event, fmt::format("{} {}", with(event.text), painted(grey, "(" + formatDuration(event.elapsed) + ")")));
    case Event::Kind::skip: return line("–", grey, event, fmt::format("{}: skipped, {}", title, event.text));
    case Event::Kind::fail: return line("✗", red, event, with(event.text));
    case Event::Kind::note: return line("·", grey, event, event.text);
    case Event::Kind::warning: return line("!", yellow, event, "warning: " + event.text);
    }
}

void Terminal::show(const Error &error) {
    clearLive();
    std::fputs(fmt::format("{} {}\n", painted(red, "error:"), error.message).c_str(), stderr);
    if (!error.hint.empty())
        std::fputs(fmt::format("  fix: {}\n", error.hint).c_str(), stderr);
    if (m_verbose && !error.detail.empty())
        std::fputs(fmt::format("{}\n", error.detail).c_str(), stderr);
}

bool Terminal::interactive() const {
    return m_isTerminal && ::isatty(STDIN_FILENO) == 1;
}

bool Terminal::confirm(const std::string &question) {
    if (!interactive())
        return false;
    clearLive();
    std::fputs((question + " [y/N] ").c_str(), stderr);
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

std::optional<Secret> Terminal::askSecret(const std::string &prompt) {
    if (!interactive()) {
        const char *helper = std::getenv("SSH_ASKPASS");
        if (!helper)
            return std::nullopt;
        Progress progress;
        auto answer = slipway::run({.program = helper, .arguments = {prompt}}, progress);
        if (!answer || answer->exitCode != 0)
            return std::nullopt;
        Secret secret(lines(answer->output).empty() ? "" : lines(answer->output).front());
        std::fill(answer->output.begin(), answer->output.end(), '\0');
        return secret;
    }
    clearLive();
    std::fputs(prompt.c_str(), stderr);
    termios before{};
    ::tcgetattr(STDIN_FILENO, &before);
    termios silent = before;
    silent.c_lflag &= ~tcflag_t(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
    std::string typed;
    const bool read = bool(std::getline(std::cin, typed));
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    std::fputs("\n", stderr);
    if (!read)
        return std::nullopt;
    Secret secret(typed);
    std::fill(typed.begin(), typed.end(), '\0');
    return secret;
}

void Terminal::table(const std::vector<std::vector<std::string>> &rows) {
    std::vector<std::size_t> widths;
    for (const auto &row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], columns(row[i]));
    }
    for (const auto &row : rows) {
        std::string text;
        for (std::size_t i = 0; i < row.size(); ++i) {
            text += row[i];
            if (i + 1 < row.size())
                text += std::string(widths[i] - columns(row[i]) + 2, ' ');
        }
        std::fputs((text + "\n").c_str(), stdout);
    }
}

} // namespace slipway::cli
