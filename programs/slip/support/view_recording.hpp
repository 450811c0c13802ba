// David's own view in a file: the masked residues that reached him, for `slip conform view`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <vector>

#include "optimized/base/files.hpp"
#include "optimized/protocol/david.hpp"
#include "slip/transport.hpp"

namespace slip::tool {

/// JSON lines as conformance/README.md defines them: a head, and a line for each APPLY. The file is
/// 0600, and stands under its name once finish() is reached. Sessions may write at one time. The
/// model outlives it.
class ViewRecording {
public:
    /// Throws BadInput, naming the file, if it exists already or cannot be created.
    ViewRecording(const std::filesystem::path& path, const protocol::DavidModel& model);

    /// The number of the next session, from 0.
    std::uint64_t begin_session();
    /// `payload` is a frame without its length field. What is no canonical APPLY is left out.
    void add(std::uint64_t session, std::span<const std::byte> payload);
    void finish() { file_.commit(); }

private:
    void add_columns(std::uint64_t session, std::span<const std::byte> payload);
    void append(const std::string& line);

    const protocol::DavidModel& model_;
    std::mutex mutex_;  // of what follows
    base::StagedFile file_;
    std::uint64_t sessions_ = 0;
};

/// A connection whose received frames are also recorded.
class RecordedTransport : public Transport {
public:
    RecordedTransport(Transport& connection, ViewRecording& recording)
        : connection_(connection), recording_(recording), session_(recording.begin_session()) {}

    void send(std::span<const std::byte> bytes) override { connection_.send(bytes); }
    void receive(std::span<std::byte> bytes) override;
    void await_frame() override { connection_.await_frame(); }

private:
    Transport& connection_;
    ViewRecording& recording_;
    std::uint64_t session_;
    std::vector<std::byte> frame_;  // the part of a frame that has come
};

}  // namespace slip::tool
