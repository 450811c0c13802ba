// INSECURE, for demonstration only.
#include "reference/insecure/pooled_views.hpp"

#include <algorithm>
#include <map>

#include "reference/masking.hpp"

namespace slip::reference::insecure {

namespace {

/// Every mask that the offline David could compute, by group.
std::map<std::uint32_t, std::vector<Vector>> masks_of(const Shapes& shapes,
                                                      const std::vector<Bytes>& offline) {
    const Ring ring(shapes.profile.modulus);
    std::map<std::uint32_t, std::vector<Vector>> masks;
    Key key{};
    for (const Bytes& bytes : offline) {
        const OfflineFrame frame = decode_offline(bytes, shapes);
        if (const auto* first = std::get_if<OfflineKey>(&frame)) key = first->key;
        const auto* request = std::get_if<Request>(&frame);
        if (request == nullptr) continue;
        const std::size_t n = shapes.groups.at(request->group).inputs;
        for (std::uint32_t j = 0; j < request->columns; ++j) {
            masks[request->group].push_back(
                uniform_residues(ring, key, Tag::mask, request->index + j, n));
        }
    }
    return masks;
}

bool within(const Vector& q, const Integer& qa_max) {
    return std::all_of(q.begin(), q.end(), [&](const Integer& v) { return abs(v) <= qa_max; });
}

}  // namespace

std::vector<Unmasked> pooled_activations(const Shapes& shapes, const std::vector<Bytes>& davids,
                                         const std::vector<Bytes>& offline,
                                         const Integer& qa_max) {  // OFF-12
    const Ring ring(shapes.profile.modulus);
    const auto masks = masks_of(shapes, offline);
    std::vector<Unmasked> found;
    for (const Bytes& bytes : davids) {
        const Frame frame = decode(bytes, shapes);
        const auto* apply = std::get_if<Apply>(&frame);
        if (apply == nullptr || !masks.contains(apply->group)) continue;
        for (std::size_t t = 0; t < apply->residues.cols(); ++t) {
            for (const Vector& r : masks.at(apply->group)) {
                Vector q = ring.lift(ring.subtract(apply->residues.column(t), r));
                if (within(q, qa_max)) found.push_back({apply->group, std::move(q)});
            }
        }
    }
    return found;
}

}  // namespace slip::reference::insecure
