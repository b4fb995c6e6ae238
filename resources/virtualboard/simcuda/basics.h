// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

/// The simulated driver must load on every board's C library, so it uses nothing of libstdc++ at run time: no exceptions,
/// no operator new, no containers. These few types replace them.
namespace simcuda {

/// A growing array of trivially copyable values.
template <typename T> class List {
public:
    List() = default;
    List(const List &) = delete;
    List &operator=(const List &) = delete;
    ~List() { std::free(m_items); }

    /// False when memory is out.
    bool add(const T &item) {
        if (m_count == m_room) {
            const std::size_t room = m_room ? m_room * 2 : 16;
            auto *items = static_cast<T *>(std::realloc(m_items, room * sizeof(T)));
            if (!items)
                return false;
            m_items = items;
            m_room = room;
        }
        m_items[m_count++] = item;
        return true;
    }
    /// Takes item `i` out; the last one moves into its place.
    void removeAt(std::size_t i) { m_items[i] = m_items[--m_count]; }
    [[nodiscard]] std::size_t size() const { return m_count; }
    [[nodiscard]] T &operator[](std::size_t i) { return m_items[i]; }
    [[nodiscard]] const T &operator[](std::size_t i) const { return m_items[i]; }
    [[nodiscard]] const T *begin() const { return m_items; }
    [[nodiscard]] const T *end() const { return m_items + m_count; }

private:
    T *m_items = nullptr;
    std::size_t m_count = 0;
    std::size_t m_room = 0;
};

/// What the JIT writes for the caller: lines joined by newlines, no newline at the end, as the real driver's.
class Log {
public:
    __attribute__((format(printf, 2, 3))) void line(const char *format, ...) {
        if (m_used && m_used + 1 < sizeof m_text)
            m_text[m_used++] = '\n';
        va_list arguments;
        va_start(arguments, format);
        const std::size_t room = sizeof m_text - m_used;
        const int wanted = std::vsnprintf(m_text + m_used, room, format, arguments);
        va_end(arguments);
        if (wanted > 0)
            m_used += std::size_t(wanted) < room ? std::size_t(wanted) : room - 1;
    }
    [[nodiscard]] const char *text() const { return m_text; }
    [[nodiscard]] std::size_t size() const { return m_used; }

private:
    char m_text[4096] = {};
    std::size_t m_used = 0;
};

/// A lock without libpthread; held for a few instructions only.
class SpinLock {
public:
    void lock() {
        while (m_flag.test_and_set(std::memory_order_acquire)) {
        }
    }
    void unlock() { m_flag.clear(std::memory_order_release); }

private:
    std::atomic_flag m_flag = ATOMIC_FLAG_INIT;
};

/// Holds a lock as long as it lives.
class Locked {
public:
    explicit Locked(SpinLock &lock) : m_lock(lock) { m_lock.lock(); }
    ~Locked() { m_lock.unlock(); }
    Locked(const Locked &) = delete;
    Locked &operator=(const Locked &) = delete;

private:
    SpinLock &m_lock;
};

/// The characters [from, from + count), cut to what is there. (string_view::substr may throw.)
[[nodiscard]] inline std::string_view piece(std::string_view text, std::size_t from, std::size_t count = std::size_t(-1)) {
    if (from >= text.size())
        return {};
    const std::size_t left = text.size() - from;
    return {text.data() + from, count < left ? count : left};
}

/// printf arguments for "%.*s".
#define SIMCUDA_SV(view) int((view).size()), ((view).data() ? (view).data() : "")

} // namespace simcuda
