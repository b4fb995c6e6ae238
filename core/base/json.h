// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/files.h"

#include <nlohmann/json.hpp>

namespace slipway {

/// Keys keep the order in which they were written: what people read should be in the order that we chose.
using Json = nlohmann::ordered_json;

/// Parses text from outside. `what` names it in the error ("slipway.json"), which says line and column. Nesting deeper than
/// `deepest` is refused before it can exhaust the stack.
[[nodiscard]] Result<Json> parseJson(std::string_view text, std::string_view what, int deepest = 64);
/// Reads and parses a file of at most 64 MiB.
[[nodiscard]] Result<Json> readJsonFile(const fs::path &file);
/// Writes atomically, indented, with a final newline. Invalid UTF-8 is replaced, never thrown.
[[nodiscard]] Result<void> writeJsonFile(const fs::path &file, const Json &json, unsigned mode = 0644);
/// The text `writeJsonFile` writes.
[[nodiscard]] std::string jsonText(const Json &json);

/// Reads one member of an object with its type checked: missing gives `fallback`, another type an error with the key's name.
template <typename T> [[nodiscard]] Result<T> member(const Json &object, const char *key, T fallback, std::string_view what);
/// The same for a member that must be there.
template <typename T> [[nodiscard]] Result<T> required(const Json &object, const char *key, std::string_view what);

namespace detail {
template <typename T> struct JsonType;
template <> struct JsonType<std::string> {
    static constexpr const char *name = "a text";
    static bool fits(const Json &j) { return j.is_string(); }
};
template <> struct JsonType<bool> {
    static constexpr const char *name = "true or false";
    static bool fits(const Json &j) { return j.is_boolean(); }
};
template <> struct JsonType<int> {
    static constexpr const char *name = "a whole number";
    static bool fits(const Json &j) {
        return j.is_number_integer() && j.get<double>() >= -2147483648.0 && j.get<double>() <= 2147483647.0;
    }
};
template <> struct JsonType<std::uint64_t> {
    static constexpr const char *name = "a whole number from 0";
    static bool fits(const Json &j) { return j.is_number_unsigned(); }
};
template <> struct JsonType<double> {
    static constexpr const char *name = "a number";
    static bool fits(const Json &j) { return j.is_number(); }
};
template <> struct JsonType<std::vector<std::string>> {
    static constexpr const char *name = "a list of texts";
    static bool fits(const Json &j) {
        return j.is_array() && std::all_of(j.begin(), j.end(), [](const Json &e) { return e.is_string(); });
    }
};
template <> struct JsonType<std::map<std::string, std::string>> {
    static constexpr const char *name = "an object of texts";
    static bool fits(const Json &j) {
        return j.is_object() && std::all_of(j.begin(), j.end(), [](const Json &e) { return e.is_string(); });
    }
};
} // namespace detail

template <typename T> Result<T> required(const Json &object, const char *key, std::string_view what) {
    if (!object.is_object())
        return fail("{}: found {}, needed an object", what, object.type_name());
    const auto found = object.find(key);
    if (found == object.end())
        return fail("{}: \"{}\" is missing (needed {})", what, key, detail::JsonType<T>::name);
    if (!detail::JsonType<T>::fits(*found))
        return fail("{}: \"{}\" is {}, needed {}", what, key, found->type_name(), detail::JsonType<T>::name);
    return found->template get<T>();
}

template <typename T> Result<T> member(const Json &object, const char *key, T fallback, std::string_view what) {
    if (object.is_object() && !object.contains(key))
        return fallback;
    return required<T>(object, key, what);
}

} // namespace slipway
