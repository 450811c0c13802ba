#include "programs/slip/support/view_recording.hpp"

#include <cstring>
#include <string>

#include "optimized/base/error.hpp"
#include "optimized/protocol/frames.hpp"

namespace slip::tool {

namespace wire = protocol::wire;

ViewRecording::ViewRecording(const std::filesystem::path& path, const protocol::DavidModel& model)
    : model_(model), file_(path, base::StagedFile::Existing::refuse) {
    append(R"({"format":"slip-view","version":2,"set":")" + std::string(model.set.name) + "\"}\n");
}

void ViewRecording::append(const std::string& line) {
    file_.append(std::as_bytes(std::span(line)));
}

std::uint64_t ViewRecording::begin_session() {
    const std::lock_guard lock(mutex_);
    return sessions_++;
}

void ViewRecording::add(std::uint64_t session, std::span<const std::byte> payload) {
    try {
        if (wire::frame_type(payload) != wire::FrameType::apply) return;
        add_columns(session, payload);
    } catch (const ProtocolError&) {
        return;  // David refuses this frame himself
    }
}

void ViewRecording::add_columns(std::uint64_t session, std::span<const std::byte> payload) {
    const auto header = wire::decode_columns_header(wire::FrameType::apply, payload);
    if (header.group >= model_.weights.size()) return;
    const std::size_t rows = model_.weights[header.group].shape().inputs();
    const auto residues = wire::decode_residues(payload, header, model_.set.planes, rows);

    std::string line = R"({"session":)" + std::to_string(session) + R"(,"sequence":)" +
                       std::to_string(header.sequence) + R"(,"group":)" +
                       std::to_string(header.group) + R"(,"columns":)";
    const std::size_t column = model_.set.planes * rows;
    for (std::size_t i = 0; i < residues.size(); ++i) {
        const char* before = i == 0 ? "[[" : i % column == 0 ? "],[" : ",";
        line += before + std::to_string(residues[i]);
    }
    const std::lock_guard lock(mutex_);
    append(line + "]]}\n");
}

void RecordedTransport::receive(std::span<std::byte> bytes) {
    connection_.receive(bytes);
    frame_.insert(frame_.end(), bytes.begin(), bytes.end());
    if (frame_.size() < wire::length_bytes) return;
    std::uint32_t length = 0;
    std::memcpy(&length, frame_.data(), sizeof length);
    if (frame_.size() < wire::length_bytes + length) return;
    recording_.add(session_, std::span(frame_).subspan(wire::length_bytes));
    frame_.clear();
}

}  // namespace slip::tool
