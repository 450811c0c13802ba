#include "optimized/artifact/reading.hpp"
#include "optimized/artifact/layout.hpp"
#include "optimized/artifact/sha256.hpp"

#include <limits>

#include "slip/error.hpp"

namespace slip::artifact::reading {
namespace {

namespace parameters = base::parameters;
using importing::JsonObject;

void require_text(JsonObject& object, const std::string& name, const std::string& expected) {
    if (object.text(name) != expected) object.refuse(name, "\"" + expected + "\"");
}

/// PARAM-4.
void require_version(JsonObject& object, const std::filesystem::path& path) {
    constexpr std::size_t own = parameters::artifact_version;
    const std::size_t found =
        object.integer("version", 0, std::numeric_limits<std::uint32_t>::max());
    if (found == own) return;
    fail(path, "is of an artifact of version " + std::to_string(found) +
                   "; this program reads version " + std::to_string(own) +
                   ": split the model again with this version's 'slip split'");
}

}  // namespace

void fail(const std::filesystem::path& path, const std::string& what) {
    throw BadInput(path.string() + ": " + what);
}

const parameters::ParameterSet* header(JsonObject& object, const char* format,
                                       const std::filesystem::path& path) {
    require_text(object, "format", format);
    require_version(object, path);
    const parameters::ParameterSet* const set = parameters::set_named(object.text("set"));
    if (set == nullptr) object.refuse("set", "one of " + layout::names_of_sets());
    return set;
}

Sha256 digest_field(JsonObject& object, const std::string& name) {
    const auto digest = from_hex(object.text(name));
    if (!digest) object.refuse(name, "64 lower-case hexadecimal digits");
    return *digest;
}

std::optional<base::Convolution> convolution(JsonObject& group, std::size_t rows,
                                             std::size_t cols) {
    if (!group.has("convolution")) return std::nullopt;
    JsonObject object = group.object("convolution");
    const auto size = [&](const char* name) {
        return object.integer(name, 1, parameters::largest_extent);
    };
    const base::Convolution shape{
        .H = size("height"),
        .W = size("width"),
        .C = size("channels"),
        .kH = size("kernel_height"),
        .kW = size("kernel_width"),
        .N = rows,
        .stride = size("stride"),
        .padding = object.integer("padding", 0, parameters::largest_extent)};
    object.refuse_unknown_fields();
    if (!base::within_limits(shape)) {
        group.refuse("convolution",
                     "a window that fits the image, and at most 2^20 entries of "
                     "an image, a patch and an output (PARAM-3)");
    }
    if (shape.patch() != cols) group.refuse("convolution", "patches as long as the matrix is wide");
    return shape;
}

}  // namespace slip::artifact::reading
