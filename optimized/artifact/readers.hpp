// Who may read Charlie's secrets on the disk. spec/threat-model.md, THREAT-2.
#pragma once

#include <filesystem>

namespace slip::artifact {

/// Who may read the files of an artifact that is opened.
enum class Readers {
    owner_alone,  ///< others are a reason to refuse it
    anyone        ///< for who has looked himself, and goes on
};

/// Whether other users may read a secret of a folder, OUT/charlie or of an audit: they can enter
/// it, and read one of its secret files. Files that belong to root may be read by a group, as
/// containers mount secrets. Absent files are nobody's.
bool others_may_read(const std::filesystem::path& folder);

/// Throws BadInput, which says what to do, if others_may_read().
void require_owner_alone(const std::filesystem::path& folder);

}  // namespace slip::artifact
