// MODEL-15: normalisation. Unicode's forms are utf8proc's.
#include "optimized/import/normalizer.hpp"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "optimized/base/error.hpp"
#include "optimized/import/utf8.hpp"

namespace slip::importing {
namespace {

using Kind = NormalizerStep::Kind;

utf8proc_option_t options_of(Kind kind) {
    const bool composed = kind == Kind::nfc || kind == Kind::nfkc;
    const bool compatible = kind == Kind::nfkc || kind == Kind::nfkd;
    int options = UTF8PROC_STABLE | (composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE);
    if (compatible) options |= UTF8PROC_COMPAT;
    // utf8proc's sets of flags have the type of a single one.
    // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange)
    return static_cast<utf8proc_option_t>(options);
}

/// `text` is UTF-8.
std::string normal_form(std::string_view text, Kind kind) {
    utf8proc_uint8_t* mapped = nullptr;
    const utf8proc_ssize_t size =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                     static_cast<utf8proc_ssize_t>(text.size()), &mapped, options_of(kind));
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(mapped, &std::free);
    if (size < 0) {
        throw BadInput(std::string("the text cannot be normalised: ") + utf8proc_errmsg(size));
    }
    return {reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(size)};
}

std::string normal_form_of_bytes(std::string_view text, Kind kind) {
    std::string result;
    while (!text.empty()) {
        const std::size_t valid = utf8_prefix(text);
        if (valid > 0) result += normal_form(text.substr(0, valid), kind);
        text.remove_prefix(valid);
        if (text.empty()) break;
        result.push_back(text.front());
        text.remove_prefix(1);
    }
    return result;
}

std::string replaced(std::string_view text, const NormalizerStep& step, std::size_t most) {
    std::string result;
    while (result.size() <= most) {
        const std::size_t found = text.find(step.pattern);
        result += text.substr(0, found);
        if (found == std::string_view::npos) return result;
        result += step.content;
        text.remove_prefix(found + step.pattern.size());
    }
    return result;  // the caller refuses it
}

}  // namespace

std::string Normalizer::apply(std::string_view text) const {
    std::string result(text);
    const std::size_t most = largest_growth * text.size() + 64;
    for (const NormalizerStep& step : steps_) {
        if (step.kind == Kind::prepend) {
            if (!result.empty()) result.insert(0, step.content);
        } else if (step.kind == Kind::replace) {
            result = replaced(result, step, most);
        } else {
            result = normal_form_of_bytes(result, step.kind);
        }
        if (result.size() > most)
            throw BadInput("the tokenizer's normalizer makes the text too long");
    }
    return result;
}

}  // namespace slip::importing
